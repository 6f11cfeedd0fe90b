"""Synthetic depth frames: labeled pixels for training and evaluating body labeling.

A `Config` and a seed come in, `LabeledFrame` values go out. Other packages may use `Config`, `Generator`, `Recording`,
`produce`, `identity`, and the exact solids of `scene`. Of depthforest, only `base`, `frames` and `io` are used.

Rooms and modules, from the ground up:

- `config`: `Config`: all settings of generated frames, in one frozen value that saves to TOML.
- `bodies`: a room: human bodies in a rest pose.
- `poses`: a room: how people stand and move.
- `scene`: a room: scenes of people and furniture, rendered as exact depth.
- `sensors`: a room: exact depth turned into what real cameras measure.
- `provenance`: the identity of generated frames: a text that lists everything they depend on, so that a data set can
  refuse frames of another origin.
- `generator`: `Generator`: (config, seed, index) to a `LabeledFrame`, independently for each frame. People come from a
  pool of bodies, because making a body takes much longer than posing it.
- `recording`: `Recording`: one room, the same people, new noise in every frame. Motion is generated forward in time
  only, so a frame depends on (config, seed, fps, index), not on the length of the recording.
- `production`: `produce`: many frames to disk on all cores, resumable. It uses threads, because kernels release the GIL
  and nothing has to be pickled.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
