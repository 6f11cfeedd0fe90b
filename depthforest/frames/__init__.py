"""Frames: what a depth camera saw, as frozen, checked values.

Arrays in any unit come in; `Frame` and `LabeledFrame` in uint16 millimeters with a `Camera` go out. Other rooms may use
these values, part sets and joints, the checks of cameras and units, and `drawing`.

Modules, from the ground up:

- `camera`: pinhole intrinsics: presets, parsing, scaling, cropping, turning, projection. A camera with lens distortion
  describes a sensor and can only undistort. Everything else requires an ideal lens, so no formula can forget the
  distortion.
- `parts`: part sets, joints, and maps from fine parts to coarse ones, as plain values. A `Grouping` has one coarse part
  for each fine one, plus neighbors that also count as correct: an elbow is a band across two regions.
- `units`: raw numbers to millimeters, with checks that recognize wrong units. This is the only place that doubts a
  unit; a scale that is given is believed.
- `frame`: `Frame`, `LabeledFrame` and `Joint`: frozen, checked, compared by content. `Frame(array, camera)` is the
  fast, strict way in. `Frame.from_array` takes what a driver delivers: it converts units, undoes mirroring, removes
  distortion and rotates the image, once and in that order.
- `shading`: the pixels of shaded depth and painted parts, as kernels.
- `drawing`: RGB images of frames, labels and joints, and PNG files of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
