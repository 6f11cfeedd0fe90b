"""Motion of one person: joints over time, a skeleton that follows them, and the files that other programs load.

`motion` collects joints and measures angles and bones; `skeleton` finds rotations of bones that keep their length;
`bvh`, `gltf`, `c3d`, `rerun` and `tables` write one format each. They belong to the room `joints`.
"""
