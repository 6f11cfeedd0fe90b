"""Compiled kernels on disk: where they are kept, and how they are compiled ahead of time.

- `cache`: the folder, one for each state of the sources, and what numba reads and writes there.
- `warming`: tasks that call kernels, done in several processes at once, and marks that they were done.
"""
