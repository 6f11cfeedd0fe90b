"""Who is a person: proposals among the cells of a grid, what forests see in them, and the model that judges.

Modules, from the ground up:

- `looks`: what forests see in the cells of a grid: the scene forest in whole rooms, the body forest in a candidate.
- `proposals`: bodies, and what else they may be: regions alone, trimmed bodies, two bodies as one.
- `columns`: a candidate in numbers.
- `treesum`: the trees that judge them, as plain arrays.
- `candidates`: proposals with their columns, and the choice among those that overlap.
- `pieces`: whole surfaces left out of people, or added, once it is known who is one.
- `model`: `PersonModel`, its file, and the shipped one.
- `learning`: labeled frames as what a person model learns from.
"""
