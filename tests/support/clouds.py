"""Point clouds as bytes."""

import struct

import numpy as np

from support import naive


def pcd(encoding, points, fields="x y z", extra=None, compress=naive.lzf_compress):
    """Return the bytes of an organized PCD of points (rows, cols, 3), with any extra uint32 field behind."""
    height, width = points.shape[:2]
    columns = [points[..., i].astype("<f4").ravel() for i in range(3)]
    if extra is not None:
        columns.append(extra.astype("<u4").ravel())
    n = len(columns)
    header = (
        f"# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS {fields}\nSIZE {' '.join(['4'] * n)}\n"
        f"TYPE {' '.join(['F', 'F', 'F', 'U'][:n])}\nCOUNT {' '.join(['1'] * n)}\nWIDTH {width}\nHEIGHT {height}\n"
        f"VIEWPOINT 0 0 0 1 0 0 0\nPOINTS {width * height}\nDATA {encoding}\n"
    ).encode()
    if encoding == "ascii":
        rows = "\n".join(" ".join(repr(v.item()) for v in row) for row in zip(*columns, strict=True))
        return header + rows.encode() + b"\n"
    if encoding == "binary":
        return header + np.rec.fromarrays(columns).tobytes()
    body = b"".join(c.tobytes() for c in columns)
    packed = compress(body)
    return header + struct.pack("<II", len(packed), len(body)) + packed
