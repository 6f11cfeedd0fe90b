"""Several cameras, one body: calibration of cameras by the people who walk through their views, and fused joints.

`views` holds a camera's joints as arrays; `rigid` fits rigid motions to pairs of points; `rig` has the calibration and
its file format; `calibrating` finds it, `fusing` uses it. They belong to the room `joints`.
"""
