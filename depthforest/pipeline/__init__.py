"""The implementation of `depthforest label`: sources in, labels out, resumable.

Other rooms may use `LabelRun` with its `LabelOptions` and `LabelSummary`, `label_one` for a single frame,
`label_people` for all people in a frame, `Tracker` and `track` for live loops, and `check_frames`, which checks whether
frames were read correctly.

Modules, from the ground up:

- `options`: `LabelOptions`: the options of a run, with every default. It imports nothing heavy.
- `masks`: given masks, matched to frames by name.
- `merging`: every person of a frame labeled separately, and the answers merged into one image.
- `peoplemaps`: the people in the frames of a run: given masks, people found, or all readings.
- `plausibility`: checks unit, camera and orientation of frames, by the people in them.
- `continuity`: checks whether tracked frames are consecutive.
- `tracking`: `Tracker`: everyone in a frame with ids, parts and joints, followed from frame to frame.
- `outputs`: the outputs of a frame, each file written atomically.
- `outfolder`: the output folder. It gives every input a unique name, knows what is done, and refuses to mix models or
  options. `label.json` records which input each name belongs to; a file's existence alone could belong to another
  recording.
- `run`: `LabelRun`: the caller's thread reads, while workers label and write. Whatever needs the order of frames stays
  in the caller's thread.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
