"""Leaves refitted: a grown forest and many more pixels in, the same splits with better leaves out.

Growing sees few pixels of each frame and trusts them too much. Here leaves are counted again, best on new frames. Other
rooms may use `fit_leaves`, `first_trees` and `person_confidence`, through `training`. Counts are whole numbers and
shares are added in the order of the frames, so threads change no byte.

Modules, from the ground up:

- `facings`: what each leaf says about the facing: a logistic regression on the leaves of whole people. Counts alone
  would treat the pixels of a person as independent.
- `counts`: pixels of each part in every leaf, by the way people face, straight and mirrored; and the pruning of small
  branches.
- `shares`: leaves fitted together, by expectation maximization. A pixel is shared among its leaves by how much
  probability each gives to the true part.
- `fit`: `fit_leaves`: distributions with priors from the counts, then evidence about facings, then shares.
"""
