import numpy as np
import pytest
from PIL import Image

import depthforest as df
from depthforest.base.errors import DepthForestError, PartSetError, UsageError
from depthforest.frames import drawing, shading
from depthforest.frames.parts import BODY31, NO_PART
from synth.scene.analytic import Plane, Sphere, cast

CAMERA = df.Camera(120.0, 120.0, 79.5, 59.5, 160, 120)


def analytic_frame(*solids):
    depth, _ = cast(CAMERA, solids)
    return df.Frame(np.where(np.isfinite(depth), depth, 0.0), CAMERA)


def expected_light(cosine):
    return shading.AMBIENT + (1 - shading.AMBIENT) * cosine


def test_a_plane_is_lit_by_its_angle():
    light = shading.LIGHT / np.linalg.norm(shading.LIGHT)
    for normal in ((0, 0, 1), (0.4, 0, 1), (0, -0.5, 1)):
        frame = analytic_frame(Plane((0, 0, 1.5), normal))
        picture = drawing.shade(frame)
        cosine = abs(np.array(normal) @ light) / np.linalg.norm(normal)
        near, far = np.percentile(frame.depth_mm, (2, 98))
        distance = np.clip((frame.depth_mm - near) / max(far - near, 1), 0, 1)
        for channel, (near_tint, far_tint) in enumerate(shading.TINTS):
            expected = 255 * expected_light(cosine) * (near_tint + (far_tint - near_tint) * distance)
            # borders see one neighbor only
            error = np.abs(picture[5:-5, 5:-5, channel] - expected[5:-5, 5:-5])
            assert np.median(error) < 3
            assert error.max() < 16


def test_a_sphere_is_brightest_towards_the_light():
    picture = drawing.shade(analytic_frame(Sphere((0, 0, 1.5), 0.5)))
    light = picture.max(axis=2).astype(float)
    row, col = np.average(np.argwhere(light > np.percentile(light[light > 0], 95)), axis=0)
    assert row < 55
    assert col < 75
    assert light[0, 0] == 0


def test_no_reading_is_black_and_everything_may_be_missing():
    empty = df.Frame(np.zeros((12, 16), np.uint16), df.Camera(9, 9, 8, 6, 16, 12))
    assert not drawing.shade(empty).any()
    one = df.Frame(np.array([[1000]], np.uint16), df.Camera(9, 9, 0, 0, 1, 1))
    assert drawing.shade(one).shape == (1, 1, 3)
    assert drawing.shade(one).any()
    row = df.Frame(np.full((1, 9), 1000, np.uint16), df.Camera(9, 9, 4, 0, 9, 1))
    assert drawing.shade(row).any()
    speck = np.zeros((12, 16), np.uint16)
    speck[5, 5] = 900
    picture = drawing.shade(df.Frame(speck, df.Camera(9, 9, 8, 6, 16, 12)))
    assert picture[5, 5].any()
    assert picture.any(axis=2).sum() == 1


def test_shading_is_the_same_at_any_noise_of_the_far_side():
    """A jump in depth is an edge, not a steep slope: both sides keep the light of their own plane."""
    depth = np.full((120, 160), 1000, np.uint16)
    depth[:, 80:] = 3000
    picture = drawing.shade(df.Frame(depth, CAMERA))[..., 2].astype(int)
    assert np.ptp(picture[20:100, 10:79]) <= 2
    assert np.ptp(picture[20:100, 81:150]) <= 2


def test_parts_are_painted_in_their_colors():
    parts = np.arange(40, dtype=np.uint8).reshape(5, 8)
    parts[parts > 30] = NO_PART
    painted = drawing.color_parts(parts, BODY31)
    np.testing.assert_array_equal(painted[0], BODY31.colors[:8])
    assert not painted[4, 7].any()
    with pytest.raises(PartSetError, match="outside the part set"):
        drawing.color_parts(np.full((2, 2), 99, np.uint8), BODY31)


def test_overlays_leave_the_rest_alone():
    frame = analytic_frame(Plane((0, 0, 1.5), (0, 0, 1)))
    parts = np.full(frame.shape, NO_PART, np.uint8)
    parts[50:60, 50:60] = BODY31.index("torso_lower_r")  # pure blue
    picture, shaded = drawing.overlay(frame, parts, BODY31), drawing.shade(frame)
    np.testing.assert_array_equal(picture[:50], shaded[:50])
    assert (picture[52, 52, 2] > picture[52, 52, :2] + 50).all()
    np.testing.assert_array_equal(drawing.overlay(frame, parts, BODY31, opacity=0.0), shaded)
    with pytest.raises(UsageError, match=r"parts of shape \(2, 2\) cannot be laid over"):
        drawing.overlay(frame, parts[:2, :2], BODY31)
    with pytest.raises(UsageError, match="opacity lies between 0 and 1, got 3"):
        drawing.overlay(frame, parts, BODY31, opacity=3)


@pytest.mark.parametrize(
    ("shaded", "message"),
    [
        (
            np.zeros((120, 159, 3), np.uint8),
            r"a shaded picture of \(120, 159\) cannot be painted for a frame of \(120, 16",
        ),
        (np.zeros((120, 160), np.uint8), "expected an RGB picture"),
    ],
)
def test_shading_of_another_size_is_refused(shaded, message):
    frame = analytic_frame(Sphere((0, 0, 1.5), 0.5))
    with pytest.raises(UsageError, match=message):
        drawing.overlay(frame, np.zeros(frame.shape, np.uint8), BODY31, shaded=shaded)


def test_skeletons_are_drawn_where_they_project():
    black = np.zeros((120, 160, 3), np.uint8)
    joints = {
        "shoulder_l": df.Joint((-0.2, 0.0, 2.0)),
        "elbow_l": df.Joint((0.2, 0.0, 2.0), is_visible=False),
        "hand_r": df.Joint((0.0, 0.3, -1.0)),  # behind the camera
    }
    drawn = drawing.draw_joints(black, CAMERA, [joints])
    assert not black.any()
    (row, col) = np.rint(CAMERA.project((0.0, 0.0, 2.0))).astype(int)
    np.testing.assert_allclose(drawn[row, col], drawing.LEFT_COLOR, atol=25)
    rows, cols = np.nonzero(drawn.any(axis=2))
    assert rows.min() > row - 6
    assert rows.max() < row + 6
    assert cols.min() >= 67 - 6
    assert cols.max() <= 92 + 6
    np.testing.assert_array_equal(drawing.draw_joints(black, CAMERA, {1: joints}), drawn)
    np.testing.assert_array_equal(drawing.draw_joints(black, CAMERA, [{}]), black)
    far = {"head": df.Joint((1e9, 0, 1.0)), "neck": df.Joint((0, 0, 1.0))}
    assert drawing.draw_joints(black, CAMERA, [far]).any()


def test_contact_sheets():
    red, green = np.zeros((10, 20, 3), np.uint8), np.zeros((6, 8, 3), np.uint8)
    red[..., 0], green[..., 1] = 255, 255
    sheet = drawing.contact_sheet([red, green, red], columns=2, gap_px=2)
    assert sheet.shape == (22, 42, 3)
    np.testing.assert_array_equal(sheet[:10, :20], red)
    np.testing.assert_array_equal(sheet[2:8, 28:36], green)
    assert not sheet[12:, 22:].any()
    assert drawing.side_by_side([red, red], gap_px=0).shape == (10, 40, 3)
    assert drawing.contact_sheet([red], cell_width=40).shape == (20, 40, 3)
    titled = drawing.contact_sheet([red, red], columns=1, titles=["a", "long " * 20 + "\N{SNOWMAN}"])
    assert titled[:18].any()
    wide = drawing.contact_sheet([red] * 12)
    assert 1 < wide.shape[1] / wide.shape[0] < 2.5


def test_legends_name_every_part():
    picture = drawing.legend(BODY31, columns=2)
    colors = {tuple(c) for c in picture.reshape(-1, 3).tolist()}
    assert colors >= set(BODY31.colors)


def test_pngs(tmp_path):
    parts = np.array([[0, 30, NO_PART]], np.uint8)
    drawing.write_labels(tmp_path / "labels.png", parts, BODY31)
    with Image.open(tmp_path / "labels.png") as image:
        np.testing.assert_array_equal(np.asarray(image), parts)
        shown = np.asarray(image.convert("RGB"))
    np.testing.assert_array_equal(shown[0], [BODY31.colors[0], BODY31.colors[30], (0, 0, 0)])
    depth = np.array([[0, 1, 65535]], np.uint16)
    drawing.write_depth(tmp_path / "depth.png", depth)
    with Image.open(tmp_path / "depth.png") as image:
        np.testing.assert_array_equal(np.asarray(image), depth)
    picture = np.random.default_rng(0).integers(0, 255, (5, 6, 3)).astype(np.uint8)
    drawing.write_picture(tmp_path / "rgb.png", picture)
    with Image.open(tmp_path / "rgb.png") as image:
        np.testing.assert_array_equal(np.asarray(image), picture)


def test_broken_pictures_are_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(UsageError, match=r"expected an RGB picture .* got uint8 of \(4, 4\)"):
        drawing.write_picture(tmp_path / "a.png", np.zeros((4, 4), np.uint8))
    with pytest.raises(UsageError, match="expected uint16 millimeters"):
        drawing.write_depth(tmp_path / "a.png", np.zeros((4, 4)))
    with pytest.raises(UsageError, match="needs at least one picture"):
        drawing.contact_sheet([])
    with pytest.raises(UsageError, match="one title for each of 1 pictures, got 2"):
        drawing.contact_sheet([np.zeros((4, 4, 3), np.uint8)], titles=["a", "b"])
    with pytest.raises(UsageError, match="columns must be 1 or more"):
        drawing.contact_sheet([np.zeros((4, 4, 3), np.uint8)], columns=0)
    with pytest.raises(DepthForestError, match="cannot be written: no such file or directory"):
        drawing.write_picture(tmp_path / "no" / "a.png", np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(UsageError, match=r"give a name that ends in \.png"):
        drawing.write_picture(tmp_path / "a.jpg", np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(UsageError, match="cell_width must be from 1 to"):
        drawing.contact_sheet([np.zeros((4, 4, 3), np.uint8)], cell_width=0)
    with pytest.raises(UsageError, match="columns must be 1 or more"):
        drawing.legend(BODY31, columns=0)
    with pytest.raises(UsageError, match="expected a Frame, got ndarray"):
        drawing.shade(np.zeros((4, 4), np.uint16))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [np.full((4, 4), 1.5, np.float32), np.full((4, 4), np.nan), np.zeros(4)])
def test_confidence_is_checked(tmp_path, bad):
    with pytest.raises(UsageError, match="expected confidence from 0 to 1"):
        drawing.write_confidence(tmp_path / "a.png", bad)


def joint(x, y, z, confidence=1.0, is_visible=True):
    return df.Joint((x, y, z), is_visible, confidence)


def test_sides_of_a_skeleton_have_their_colors():
    black = np.zeros((240, 320, 3), np.uint8)
    camera = df.Camera.preset("kinect_v1@320x240")
    people = {
        1: {
            "shoulder_l": joint(0.2, -0.2, 2.0),
            "elbow_l": joint(0.2, 0.2, 2.0),
            "shoulder_r": joint(-0.2, -0.2, 2.0),
            "elbow_r": joint(-0.2, 0.2, 2.0),
        }
    }
    drawn = drawing.with_skeletons(black, people, camera)
    assert not black.any()
    for x, color in ((0.2, drawing.LEFT_COLOR), (-0.2, drawing.RIGHT_COLOR)):
        row, col = np.rint(camera.project((x, 0.0, 2.0))).astype(int)
        np.testing.assert_allclose(drawn[row, col], color, atol=25)
    # of the same shape at twice the size
    large = drawing.with_skeletons(np.zeros((480, 640, 3), np.uint8), people, df.Camera.preset("kinect_v1"))
    assert large.any(axis=2).mean() == pytest.approx(drawn.any(axis=2).mean(), rel=0.5)


def test_found_joints_without_a_flag_are_visible_and_colors_fade_with_confidence():
    class Found:
        def __init__(self, position, confidence):
            self.position, self.confidence = position, confidence

    black = np.zeros((240, 320, 3), np.uint8)
    camera = df.Camera.preset("kinect_v1@320x240")
    ends = (0.2, -0.2, 2.0), (0.2, 0.2, 2.0)
    sure, unsure = (
        drawing.with_skeletons(black, {1: {"knee_l": Found(ends[0], c), "hip_l": Found(ends[1], 1.0)}}, camera)
        for c in (1.0, 0.1)
    )
    row, col = np.rint(camera.project((0.2, 0.0, 2.0))).astype(int)
    np.testing.assert_allclose(sure[row, col], drawing.LEFT_COLOR, atol=25)
    assert np.ptp(unsure[row, col].astype(int)) < 0.5 * np.ptp(sure[row, col].astype(int)), "greyer"
    assert unsure[row, col].any()


def test_bridged_joints_are_hollow_and_their_bones_dashed():
    black = np.zeros((480, 640, 3), np.uint8)
    camera = df.Camera.preset("kinect_v1")
    ends = (0.2, -0.4, 2.0), (0.2, 0.4, 2.0)

    def drawn(is_visible):
        people = {2: {"hip_r": joint(*ends[0]), "knee_r": joint(*ends[1], is_visible=is_visible)}}
        return drawing.with_skeletons(black, people, camera)

    col = round(camera.project((0.2, 0.0, 2.0))[1])
    seen, bridged = (drawn(v)[150:330, col].any(axis=1) for v in (True, False))
    assert seen.all()
    assert 0.3 < bridged.mean() < 0.9
    assert (np.diff(bridged.astype(int)) == 1).sum() >= 4
    row, col = np.rint(camera.project(ends[1])).astype(int)
    np.testing.assert_allclose(drawn(True)[row, col], drawing.RIGHT_COLOR, atol=5)
    np.testing.assert_allclose(drawn(False)[row, col], drawing.OUTLINE, atol=5)


def test_ids_are_written_above_heads_and_inside_the_picture():
    black = np.zeros((240, 320, 3), np.uint8)
    camera = df.Camera.preset("kinect_v1@320x240")
    for y in (-0.3, -5.0):
        people = {17: {"head": joint(0.0, y, 2.0)}}
        plain = drawing.with_skeletons(black, people, camera)
        added = drawing.with_skeletons(black, people, camera, ids=True).any(axis=2) & ~plain.any(axis=2)
        rows, cols = np.nonzero(added)
        assert len(rows) > 40
        assert abs(cols.mean() - 159.5) < 4
        if y == -0.3:
            assert rows.max() <= np.rint(camera.project((0, y, 2.0))[0])


def test_who_is_near_is_drawn_over_who_is_far():
    black = np.zeros((240, 320, 3), np.uint8)
    camera = df.Camera.preset("kinect_v1@320x240")
    near, far = ({name: joint(0.0, 0.0, z)} for name, z in (("hand_l", 1.0), ("hand_r", 3.0)))
    for people in ({1: near, 2: far}, {1: far, 2: near}):
        drawn = drawing.with_skeletons(black, people, camera)
        np.testing.assert_allclose(drawn[120, 160], drawing.LEFT_COLOR, atol=25)


def test_skeletons_outside_the_picture_and_wrong_cameras():
    black = np.zeros((240, 320, 3), np.uint8)
    camera = df.Camera.preset("kinect_v1@320x240")
    far = {1: {"head": joint(1e9, 0, 1.0), "neck": joint(0, 0, 1.0), "spine": joint(900, 0, 1.0, is_visible=False)}}
    assert drawing.with_skeletons(black, far, camera).any()
    np.testing.assert_array_equal(drawing.with_skeletons(black, {}, camera), black)
    np.testing.assert_array_equal(drawing.with_skeletons(black, {1: {}}, camera, ids=True), black)
    with pytest.raises(
        UsageError, match=r"a picture of \(240, 320\) needs a camera of this shape, got one of \(480, 640\)"
    ):
        drawing.with_skeletons(black, {}, df.Camera.preset("kinect_v1"))
