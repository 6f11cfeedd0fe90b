"""Leaves refitted: a grown forest and many more pixels in, the same splits with better leaves out.

Growing sees few pixels of each frame and overfits to them. Here leaves are counted again, preferably on new frames.
Other rooms may use `fit_leaves`, `first_trees` and `person_confidence`, through `training`. Counts are whole numbers
and shares are added in the order of the frames, so threads change no byte.

Modules, from the ground up:

- `facings`: evidence of each leaf for facings: a logistic regression on the leaves of whole people. Counts alone would
  treat the pixels of a person as independent.
- `counts`: pixels of each part in every leaf, by facing, plain and mirrored; and the pruning of small branches.
- `shares`: leaves fitted together, by expectation maximization. A pixel is shared among its leaves by how much
  probability each gives to the true part.
- `fit`: `fit_leaves`: distributions with priors from the counts, then evidence about facings, then shares.
"""
