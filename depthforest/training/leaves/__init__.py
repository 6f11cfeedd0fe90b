"""Leaves made anew: a grown forest and many more pixels in, the same splits with better leaves out.

Pixels of each part are counted in every leaf by the way people face (`counts`), small branches are cut, evidence
about the facing is fitted (`facings`), and leaves are fitted together (`shares`); `fit` is `fit_leaves`.
"""
