"""Synthetic depth frames: labeled pixels to train and judge body labeling with.

A `Config` and a seed come in, `LabeledFrame` values go out. Others may use `Config`, `Generator`, `Recording`,
`produce`, `identity`, and the exact solids of `scene`. Of depthforest, only `base`, `frames` and `io` are used.

Rooms and modules, from the ground up:

- `config`: `Config`: every number that shapes generated frames, in one frozen value that saves to TOML.
- `bodies`: a room: people at rest.
- `poses`: a room: how people stand and move.
- `scene`: a room: people and furniture in front of a camera, as exact depth.
- `sensors`: a room: what real cameras make of exact depth.
- `provenance`: the identity of generated frames: the text of all that makes them, so that a data set knows which frames
  it may add.
- `generator`: `Generator`: (config, seed, index) to a `LabeledFrame`, each frame alone. People come from a pool of
  bodies, because making a body takes much longer than posing it.
- `recording`: `Recording`: one room, the same people, new noise in every frame. Motion is built forward in time only,
  so a frame depends on (config, seed, fps, index) and not on the length.
- `production`: `produce`: many frames to disk on all cores, resumable. It uses threads, because kernels release the GIL
  and nothing has to be pickled.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
