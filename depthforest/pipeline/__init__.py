"""The inside of `depthforest label`: sources in, answers out, resumable.

Other rooms may use `LabelRun` with its `LabelOptions` and `LabelSummary`, `label_one` for a single frame,
`label_people` for all people of a frame, `Tracker` and `track` for live loops, and `check_frames`, which judges
whether frames were read correctly.

Modules, from the ground up:

- `options`: `LabelOptions`: what a run is asked to do, with every default. It imports nothing heavy.
- `masks`: masks that were given, matched to frames by name.
- `merging`: every person of a frame labeled separately, and the answers merged into one image.
- `peoplemaps`: who is where in the frames of a run: given masks, people that are searched for, or all readings.
- `plausibility`: whether unit, camera and orientation of frames are right, judged by the people in them.
- `continuity`: whether frames that are tracked follow each other.
- `tracking`: `Tracker`: everyone in a frame with ids, parts and joints, followed from frame to frame.
- `outputs`: what is written for a frame, each file whole or not at all, and the video.
- `outfolder`: the output folder. It gives every input a unique name, knows what is done, and refuses to mix models or
  options. `label.json` records which input each name belongs to; a file's existence alone could belong to another
  recording.
- `run`: `LabelRun`: the caller's thread reads, while workers label and write. Whatever needs the order of frames stays
  in the caller's thread.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
