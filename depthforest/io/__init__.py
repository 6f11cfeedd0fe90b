"""Depth files and data sets: files in, frames out, and back.

`read_depth` and `read_frames` open images, stacks, point clouds and streams, told apart by their first bytes;
`open_dataset` and `write_dataset` are the folder and Zarr formats of docs/CONVENTIONS.md. Files are untrusted:
readers check headers before they take memory.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
