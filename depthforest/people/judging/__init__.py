"""Deciding who is a person: proposals among the cells of a grid, the forests' answers on them, and the person model.

Modules, from the ground up:

- `looks`: the forests' answers in the cells of a grid: the scene forest on whole rooms, the body forest on candidates.
- `proposals`: bodies and their alternatives: single regions, trimmed bodies, two bodies as one.
- `columns`: the features of a candidate.
- `treesum`: the trees that classify candidates, as plain arrays.
- `candidates`: proposals with their columns, and the choice among overlapping ones.
- `pieces`: removes whole surfaces from people, or adds them, once people are known.
- `model`: `PersonModel`, its file, and the shipped one.
- `learning`: training data of a person model, from labeled frames.
"""
