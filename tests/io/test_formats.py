import io
import os
import re
import struct
import zipfile
import zlib

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from support import naive
from support.clouds import pcd

import depthforest as df
from depthforest.base.errors import DepthForestWarning, FrameError
from depthforest.frames.camera import Camera
from depthforest.io import formats
from depthforest.io.formats import PictureFile, read_labels, sniff
from depthforest.io.lzf import decompress

DEPTH = np.random.default_rng(0).integers(0, 5000, (24, 32)).astype(np.uint16)
STACK = np.random.default_rng(1).integers(0, 5000, (5, 24, 32)).astype(np.uint16)


def pages(path, size=None):
    return [page.values for page in PictureFile(path, size).pages()]


def write(path, content):
    path.write_bytes(content)
    return path


def png(array, path):
    Image.fromarray(array).save(path, format="PNG")
    return path


CAMERA = Camera(40.0, 41.0, 15.2, 12.1, 32, 24)


@pytest.fixture
def cloud():
    points = CAMERA.unproject_frame(DEPTH)
    points[3:5, 3:9] = np.nan
    return points[:12, :14]  # small, because the packing twin is slow


# -- what opens --------------------------------------------------------------------------------------------------------


def test_png(tmp_path):
    path = png(DEPTH, tmp_path / "a.png")
    np.testing.assert_array_equal(pages(path)[0], DEPTH)
    assert PictureFile(path).count() == 1


@pytest.mark.parametrize("dtype", ["<u2", ">u2", "f4"])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_tiff_of_another_writer(tmp_path, dtype, compression):
    path = tmp_path / "a.tif"
    order = ">" if dtype.startswith(">") else "<"
    tifffile.imwrite(path, STACK.astype(dtype), byteorder=order, compression=compression, photometric="minisblack")
    assert PictureFile(path).count() == 5
    np.testing.assert_array_equal(np.stack(pages(path)), STACK)


def test_a_cut_stack_is_named_when_its_pages_are_counted(tmp_path):
    """Pillow raises whatever its parser meets: TypeError, SyntaxError, KeyError."""
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, STACK, photometric="minisblack")
    whole, refused = path.read_bytes(), []
    for n in range(40, len(whole), 97):
        path.write_bytes(whole[:n])
        try:
            PictureFile(path).count()
        except FrameError as error:
            refused.append(str(error))
    assert any("is truncated or damaged" in text for text in refused)
    assert all(text.startswith(f"{path}: ") for text in refused)


@pytest.mark.parametrize(
    ("ending", "descr"),
    [(ending, descr) for ending in ("npy", "npz") for descr in ("'<U1000'", "'<c16'", "[('a', '<u2')]")]
    + [("npz", "'(2,)<u2'")],  # a pair a pixel; of an .npy, numpy makes a third axis
)
def test_arrays_of_other_things_than_numbers_are_refused(tmp_path, ending, descr):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (4, 5), }}".ljust(117) + "\n"
    content = np.lib.format.magic(1, 0) + len(header).to_bytes(2, "little") + header.encode() + bytes(80_000)
    path = tmp_path / f"array.{ending}"
    if ending == "npz":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("depth.npy", content)
    else:
        path.write_bytes(content)
    with pytest.raises(FrameError, match="array"):
        list(PictureFile(path).pages())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(
    ("ending", "descr", "shape"),
    [
        ("npz", "'<U1000000'", (480, 640)),
        ("npz", "'<c32'", (480, 640)),
        ("npz", "'<f8'", (100_000, 100_000)),
        ("npz", "'|V0'", (2**40, 480, 640)),
        ("npy", "'|V0'", (2**40, 480, 640)),
    ],
)
def test_arrays_that_promise_gigabytes_are_refused_by_their_header(tmp_path, ending, descr, shape):
    """3 MB became 5.9 GB; values of no bytes made 2^40 pages. What follows the header would be read as truncated."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    content = np.lib.format.magic(1, 0) + len(header).to_bytes(2, "little") + header.encode()
    path = tmp_path / f"array.{ending}"
    if ending == "npz":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("depth.npy", content)
    else:
        path.write_bytes(content)
    for look in (PictureFile.count, lambda file: list(file.pages())):
        with pytest.raises(FrameError, match=r"expected an array of whole numbers or floats|100000 x 100000 pixels"):
            look(PictureFile(path))


def test_a_pipe_is_no_file(tmp_path):
    """It was opened, and waited for somebody to write for ever."""
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(FrameError, match="is a pipe or a device, not a file; pass -"):
        PictureFile(tmp_path / "pipe.png")


def test_a_pgm_header_of_blanks_is_refused_at_once(tmp_path):
    (tmp_path / "blanks.pgm").write_bytes(b"P5" + b" " * 4000 + b"x")
    with pytest.raises(FrameError, match="no valid PGM header"):
        list(PictureFile(tmp_path / "blanks.pgm").pages())


def test_tiff_with_lzw(tmp_path):
    path = tmp_path / "a.tiff"
    Image.fromarray(DEPTH).save(path, compression="tiff_lzw")
    np.testing.assert_array_equal(pages(path)[0], DEPTH)


@pytest.mark.parametrize("comments", [b" ", b"\n# depth of a room\n"])
def test_pgm(tmp_path, comments):
    binary = b"P5" + comments + b"32 24\n5000\n" + DEPTH.astype(">u2").tobytes()
    np.testing.assert_array_equal(pages(write(tmp_path / "a.pgm", binary))[0], DEPTH)
    text = b"P2" + comments + b"32 24 5000\n" + b" ".join(str(v).encode() for v in DEPTH.ravel()) + b"\n# end\n"
    np.testing.assert_array_equal(pages(write(tmp_path / "b.pgm", text))[0], DEPTH)
    small = b"P5\n2 1\n255\n\x01\x02"
    assert pages(write(tmp_path / "c.pgm", small))[0].dtype == np.uint8


@pytest.mark.parametrize("array", [DEPTH, STACK, DEPTH / 1000, np.asfortranarray(DEPTH)])
def test_npy(tmp_path, array):
    path = tmp_path / "a.npy"
    np.save(path, array)
    assert PictureFile(path).count() == (5 if array.ndim == 3 else 1)
    np.testing.assert_array_equal(np.squeeze(np.stack(pages(path))), array)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    path = tmp_path / "a.npz"
    save(path, depth=STACK, time=np.arange(5))
    assert PictureFile(path).count() == 5
    np.testing.assert_array_equal(np.stack(pages(path)), STACK)
    save(path, DEPTH)
    assert PictureFile(path).count() == 1
    np.testing.assert_array_equal(pages(path)[0], DEPTH)


def test_raw(tmp_path):
    path = write(tmp_path / "a.raw", STACK.astype("<u2").tobytes())
    assert PictureFile(path, (32, 24)).count() == 5
    np.testing.assert_array_equal(np.stack(pages(path, (32, 24))), STACK)


@pytest.mark.parametrize("encoding", ["ascii", "binary", "binary_compressed"])
def test_pcd(tmp_path, cloud, encoding):
    path = write(tmp_path / "a.pcd", pcd(encoding, cloud))
    (page,) = PictureFile(path).pages()
    np.testing.assert_array_equal(page.values, cloud[..., 2])
    assert page.camera is not None
    expected = CAMERA.cropped(0, 0, 12, 14)
    for name in ("fx", "fy", "cx", "cy", "width", "height"):
        assert getattr(page.camera, name) == pytest.approx(getattr(expected, name), abs=1e-3)


@pytest.mark.parametrize("encoding", ["ascii", "binary", "binary_compressed"])
def test_pcd_with_color(tmp_path, cloud, encoding):
    extra = np.random.default_rng(2).integers(0, 2**24, cloud.shape[:2])
    path = write(tmp_path / "a.pcd", pcd(encoding, cloud, "x y z rgb", extra))
    (page,) = PictureFile(path).pages()
    np.testing.assert_array_equal(page.values, cloud[..., 2])


def test_a_cloud_that_no_pinhole_made_has_no_camera(tmp_path, cloud):
    cloud[..., :2] = np.random.default_rng(3).normal(size=(12, 14, 2))
    (page,) = PictureFile(write(tmp_path / "a.pcd", pcd("binary", cloud))).pages()
    assert page.camera is None


@pytest.mark.parametrize("axes", [(1, 1, 1), (1, -1, 1), (1, -1, -1), (1, 1, -1), (-1, 1, 1), (-1, -1, -1)])
def test_clouds_of_other_axes_have_the_camera(tmp_path, cloud, axes):
    (page,) = PictureFile(write(tmp_path / "a.pcd", pcd("binary", cloud * np.array(axes, cloud.dtype)))).pages()
    expected = CAMERA.cropped(0, 0, 12, 14)
    for name in ("fx", "fy", "cx", "cy"):
        assert getattr(page.camera, name) == pytest.approx(getattr(expected, name), abs=1e-3)
    assert page.is_backwards == (axes[0] < 0)


def test_a_mirrored_cloud_is_told(tmp_path):
    cloud = CAMERA.unproject_frame(DEPTH)[:, ::-1]
    path = write(tmp_path / "a.pcd", pcd("binary", cloud))
    with pytest.warns(DepthForestWarning, match=r"a\.pcd: x falls from the left .* it is mirrored, pass flip=True"):
        df.read_depth(path)
    frame = df.read_depth(path, flip=True)  # nothing is said
    np.testing.assert_allclose(frame.depth_mm, DEPTH, atol=1)
    for name in ("fx", "fy", "cx", "cy"):
        assert getattr(frame.camera, name) == pytest.approx(getattr(CAMERA, name), abs=1e-3)


def test_formats_are_told_by_content_not_by_name(tmp_path):
    path = png(DEPTH, tmp_path / "a.tiff")
    assert sniff(path) == "png"
    np.testing.assert_array_equal(pages(path)[0], DEPTH)


def test_stacks_are_read_lazily(tmp_path):
    path = tmp_path / "a.npy"
    big = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint16, shape=(100_000, 480, 640))  # 61 GB of holes
    big[0, 0, 0] = 7
    del big
    first = next(PictureFile(path).pages()).values
    assert first[0, 0] == 7
    assert PictureFile(path).count() == 100_000


def test_labels_are_read_grey_or_indexed(tmp_path):
    labels = (DEPTH % 31).astype(np.uint8)
    np.testing.assert_array_equal(read_labels(png(labels, tmp_path / "a.png")), labels)
    indexed = Image.fromarray(labels)
    indexed.putpalette(bytes(range(256)) * 3)
    indexed.save(tmp_path / "b.png")
    np.testing.assert_array_equal(read_labels(tmp_path / "b.png"), labels)
    with pytest.raises(FrameError, match="expected an 8-bit PNG of label indices"):
        read_labels(png(DEPTH, tmp_path / "c.png"))
    with pytest.raises(FrameError, match="is not a PNG"):
        read_labels(write(tmp_path / "d.png", b"hello there"))


# -- what does not -----------------------------------------------------------------------------------------------------


def huge_png():
    header = struct.pack(">IIBBBBB", 60000, 60000, 16, 0, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)) + bytes(12)


def truncated_png():
    file = io.BytesIO()
    Image.fromarray(DEPTH).save(file, format="PNG")
    return file.getvalue()[:-700]


def damaged_png():
    """One bit of the pixels is wrong, as after a bad copy."""
    file = io.BytesIO()
    Image.fromarray(DEPTH).save(file, format="PNG")
    content = bytearray(file.getvalue())
    content[len(content) // 2] ^= 1
    return bytes(content)


def bad_header_png():
    """All check sums are right, but no picture has 7 bits a pixel."""
    chunks = b""
    for kind, content in ((b"IHDR", struct.pack(">IIBBBBB", 4, 4, 7, 0, 0, 0, 0)), (b"IEND", b"")):
        chunks += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return b"\x89PNG\r\n\x1a\n" + chunks


def npy(shape, dtype="<u2"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def npz(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name + ".npy", content)
    return file.getvalue()


def jpeg():
    file = io.BytesIO()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(file, format="JPEG")
    return file.getvalue()


def objects():
    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return file.getvalue()


SMALL_CLOUD = np.ones((4, 5, 3), np.float32)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty (0 bytes)"),
        (huge_png(), "60000 x 60000 pixels; expected 1 to 67108864"),
        (truncated_png(), "is truncated; copy it again"),
        (damaged_png(), "is damaged: a check sum is wrong; copy it again"),
        (b"\x89PNG\r\n\x1a\n123", "is truncated: 11 bytes are not a PNG"),
        (bad_header_png(), "cannot be opened as PNG"),
        (jpeg(), "is a JPEG picture of 8 bits a channel, which cannot hold depth"),
        (b"BM" + bytes(60), "is a BMP picture"),
        (b"II*\0" + bytes(4), "cannot be opened as TIFF"),
        (b"P5\n32 x\n", "no valid PGM header"),
        (b"P5\n60000 60000\n65535\n", "60000 x 60000 pixels"),
        (b"P5\n32 24\n99999\n" + bytes(2000), "largest value is 99999"),
        (b"P5\n32 24\n65535\n" + bytes(99), "truncated: 99 of 1536 bytes"),
        (b"P2\n2 2 9\n1 2 3 x", "something other than numbers"),
        (b"P2\n2 2 9\n1 2 3", "expected 4 values from 0 to 9, got 3"),
        (b"P2\n2 2 9\n1 2 3 10", "or some outside"),
        (npy((480, 640)), "cannot be read as a NumPy array"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': broken", "cannot be read as a NumPy array"),
        (objects(), "cannot be read as a NumPy array of numbers"),
        (npy((0, 24, 32)), "is a stack of 0 pictures"),
        (npy((7,)) + bytes(14), "expected shape (rows, cols) or (n, rows, cols), got (7,)"),
        (b"PK\x03\x04" + bytes(30), "cannot be read as .npz"),
        (npz(a=npy((2, 2)), b=npy((2, 2))), "holds a, b; expected one array, or one called depth"),
        (npz(), "holds no arrays; expected one array"),
        (npz(depth=npy((60000, 60000))), "pixels; expected 1 to"),
        (npz(depth=npy((24, 32)) + bytes(9)), "its array ends early"),
        (npz(depth=npy((2, 2), "|O")), "holds Python objects"),
        (b"# .PCD v0.7\nVERSION 0.7\n", "has no DATA line"),
        (b"# .PCD v0.7\nFIELDS x y z\nDATA ascii\n", "PCD header is broken"),
        (pcd("ascii", SMALL_CLOUD).replace(b"TYPE F F F", b"TYPE F F Q"), "PCD header is broken"),
        (pcd("ascii", SMALL_CLOUD, "x y intensity"), "expected fields x, y and z once each"),
        (pcd("ascii", SMALL_CLOUD).replace(b"DATA ascii", b"DATA zip"), "its data are 'zip'"),
        (pcd("ascii", SMALL_CLOUD[:1]), "unorganized cloud (5 x 1 points)"),
        (pcd("ascii", SMALL_CLOUD)[:-9], "is it truncated?"),
        (pcd("ascii", SMALL_CLOUD)[:-4] + b"one", "something other than numbers"),
        (pcd("binary", SMALL_CLOUD)[:-5], "truncated: 235 of 240 bytes"),
        (pcd("binary", SMALL_CLOUD).replace(b"HEIGHT 4", b"HEIGHT 90000000"), "pixels; expected 1 to"),
        (pcd("binary", SMALL_CLOUD).replace(b"COUNT 1 1 1", b"COUNT 1 1 0"), "PCD header is broken"),
        (pcd("binary_compressed", SMALL_CLOUD)[:-5], "truncated or damaged"),
        (pcd("binary_compressed", SMALL_CLOUD, compress=lambda _: b"\xff\xff\xff\xff"), "starts before the first byte"),
        (pcd("binary_compressed", SMALL_CLOUD, compress=lambda _: b"\x05abc"), "end in the middle of a run"),
        (pcd("binary_compressed", SMALL_CLOUD, compress=lambda _: b"\x00a"), "unpack to 1 bytes instead of 240"),
        (
            pcd("binary_compressed", SMALL_CLOUD, compress=lambda _: b"\x1f" + bytes(32) + b"\xe0\xff\x00" * 9),
            "more bytes",
        ),
        (b"what is this", "not a PNG, TIFF, PGM, NumPy or PCD file; if it holds raw 16-bit depth, pass its size"),
    ],
)
def test_broken_files_are_refused(tmp_path, content, message):
    path = write(tmp_path / "x.dat", content)
    with pytest.raises(FrameError) as error:
        list(PictureFile(path).pages())
    assert message in str(error.value)
    assert "x.dat" in str(error.value)
    assert "\n" not in str(error.value)


def test_raw_of_the_wrong_size_is_refused(tmp_path):
    path = write(tmp_path / "x.raw", bytes(1000))
    with pytest.raises(FrameError, match=r"1000 bytes are not a whole number of 32x24 pictures"):
        list(PictureFile(path, (32, 24)).pages())


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(FrameError, match="cannot be read: no such file or directory"):
        list(PictureFile(tmp_path / "x.png").pages())


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_files_open_or_are_refused(tmp_path_factory, data):
    """Whatever bytes change, the answer is pictures or a FrameError, never another exception."""
    folder = tmp_path_factory.getbasetemp()
    points = CAMERA.unproject_frame(DEPTH)[:4, :5]
    file = io.BytesIO()
    tifffile.imwrite(file, DEPTH)
    kind = data.draw(st.sampled_from(["png", "tiff", "npy", "npz", "ascii", "binary", "binary_compressed"]))
    content = bytearray(
        {
            "png": lambda: truncated_png() + bytes(700),
            "tiff": file.getvalue,
            "npy": lambda: npy((4, 5)) + bytes(40),
            "npz": lambda: npz(depth=npy((4, 5)) + bytes(40)),
        }.get(kind, lambda: pcd(kind, points))()
    )
    for _ in range(data.draw(st.integers(1, 6))):
        # headers are short: aim at them as often as at the rest
        limit = data.draw(st.sampled_from([min(200, len(content)), len(content)]))
        content[data.draw(st.integers(0, limit - 1))] = data.draw(st.integers(0, 255))
    path = write(folder / f"fuzz.{kind}", bytes(content[: data.draw(st.integers(1, len(content)))]))
    try:
        for page in PictureFile(path, (32, 24)).pages():
            assert page.values.size
    except FrameError as error:
        assert "\n" not in str(error)  # noqa: PT017  # either outcome is right


# -- LZF ---------------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=400) | st.lists(st.sampled_from([b"abc", b"abcd", b"\0" * 40]), max_size=30).map(b"".join))
def test_lzf_equals_its_twin(content):
    packed = naive.lzf_compress(content)
    assert naive.lzf_decompress(packed) == content
    assert decompress(packed, len(content)).tobytes() == content


@given(st.binary(max_size=60), st.integers(0, 300))
def test_lzf_survives_any_bytes(packed, n_bytes):
    try:
        comp = decompress(packed, n_bytes)
    except ValueError as error:
        assert re.search("run|more|before|instead", str(error))  # noqa: PT017  # either outcome is right
    else:
        assert comp.tobytes() == naive.lzf_decompress(packed)


def png_of(rows, width=9, height=8, *, bits=16, interlaced=0):
    """Return a PNG whose header says more rows than its data hold."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, interlaced)
    data = zlib.compress((b"\0" + b"\1" * (width * bits // 8)) * rows)
    half = len(data) // 2
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", header),
            chunk(b"IDAT", data[:half]),
            chunk(b"IDAT", data[half:]),
            chunk(b"IEND", b""),
        )
    )


@pytest.mark.parametrize("rows", [0, 3, 7])
def test_a_png_of_too_few_rows_is_refused(tmp_path, rows):
    """The rows that were missing were read as no readings."""
    (tmp_path / "a.png").write_bytes(png_of(rows))
    with pytest.raises(FrameError, match=r"is (damaged: fewer rows than its header says|truncated or damaged)"):
        pages(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes(png_of(8))
    assert (pages(tmp_path / "a.png")[0] == 257).all()


@pytest.mark.parametrize("width", [1, 2, 3, 9, 17])
@pytest.mark.parametrize("height", [1, 2, 5, 8])
def test_pngs_with_empty_rows_are_read_interlaced_or_not(tmp_path, width, height):
    """OpenCV writes no interlaced ones; ours are counted pass by pass."""
    values = np.zeros((height, width), dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / "plain.png")
    np.testing.assert_array_equal(pages(tmp_path / "plain.png")[0], values)
    passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
    parts = [values[y::dy, x::dx] for x, y, dx, dy in passes]
    rows = [b"\0" + row.tobytes() for part in parts if part.size for row in part]
    content = png_of(0, width, height, interlaced=1)
    for n, is_whole in ((len(rows), True), (len(rows) - 1, False)):
        data = zlib.compress(b"".join(rows[:n]))
        idat = struct.pack(">I", len(data)) + b"IDAT" + data + struct.pack(">I", zlib.crc32(b"IDAT" + data))
        (tmp_path / "passes.png").write_bytes(content[:33] + idat + content[-12:])
        if is_whole:
            np.testing.assert_array_equal(pages(tmp_path / "passes.png")[0], values)
        else:
            with pytest.raises(FrameError, match="damaged"):
                pages(tmp_path / "passes.png")


@pytest.mark.parametrize("is_big", [False, True])
def test_a_tiff_of_endless_pages_is_refused_at_once(tmp_path, is_big):
    """Pillow compares every page with all before it."""
    size = 16 if is_big else 6
    start = b"II+\0\10\0\0\0" + struct.pack("<Q", 16) if is_big else b"II*\0" + struct.pack("<I", 8)
    form = "<QQ" if is_big else "<HI"
    chain = b"".join(struct.pack(form, 0, len(start) + size * (i + 1)) for i in range(100_000))
    (tmp_path / "a.tif").write_bytes(start + chain)
    with pytest.raises(FrameError, match=r"has more than 20000 pages|cannot be opened as TIFF"):
        PictureFile(tmp_path / "a.tif").count()
    with pytest.raises(FrameError, match="has more than 20000 pages"):
        formats._n_pages(tmp_path / "a.tif")


def test_big_tiffs_are_counted(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", STACK, photometric="minisblack", bigtiff=True)
    assert PictureFile(tmp_path / "a.tif").count() == 5


def test_large_color_pictures_are_not_decoded(tmp_path):
    Image.new("RGBA", (4097, 4096)).save(tmp_path / "a.png", compress_level=1)
    with pytest.raises(FrameError, match="has 4 channels, a color picture of 4097 x 4096; depth has one"):
        pages(tmp_path / "a.png")


def test_a_copy_from_one_byte_before_the_start_is_refused():
    """A literal byte, then a copy of three from two bytes back."""
    with pytest.raises(ValueError, match="starts before the first byte"):
        decompress(bytes((0, 65, 0b001_00000, 1)), 4)
    assert bytes(decompress(bytes((0, 65, 0b001_00000, 0)), 4)) == b"AAAA"
