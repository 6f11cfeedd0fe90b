"""Several cameras, one body: where cameras stand, from the people who walk through their views, and one skeleton.

`views` holds what a camera saw as arrays; `rigid` fits motions to pairs of points; `rig` is the answer, with its file;
`calibrating` finds it, `fusing` uses it. They belong to the room `joints`.
"""
