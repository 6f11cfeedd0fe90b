"""Depth files and data sets: files in, frames out, and back.

Other rooms may use `read_depth` and `open_source` for images, stacks, point clouds, recordings and streams, and
`open_dataset`, `open_datasets`, `write_dataset` and `open_store` for the folder and Zarr formats of
docs/CONVENTIONS.md. Files are untrusted: readers check headers before they take memory.

Modules, from the ground up:

- `lzf`: LZF decompression for compressed PCD files, as a numba kernel. Its input is untrusted, so this kernel, unlike
  all others, checks it.
- `pcd`: organized PCD point clouds as depth, with the camera fitted to the points.
- `formats`: files to raw arrays; the first bytes identify the format. It decodes and never interprets. Pillow decodes
  PNG and TIFF; PGM is decoded here because Pillow rescales its values.
- `recordings`: what depth cameras record, a module for each format; `recordings.opening` identifies the format.
- `live`: connected cameras, a module for each kind behind one small protocol; `live.naming` parses their names.
- `reading`: `read_depth` for one file; `open_source` for folders, globs, stacks, recordings, streams and cameras: lazy,
  in order, one frame in memory. A sequence yields frames, or frames and errors by name for callers that continue after
  a bad one.
- `writing`: labeled frames to disk in blocks, as a folder or a Zarr store. A complete block leaves a mark beside the
  identity of the run, so that a stopped run resumes and frames of different origin never mix.
- `remotestore`: a Zarr store at a URL, for `datasets`.
- `datasets`: labeled frames on disk as a `Sequence[LabeledFrame]`: the folder format and its Zarr twin. A data set can
  be opened once it is complete.
- `joining`: several data sets as one, for training and evaluation, and the sensor that made each.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
