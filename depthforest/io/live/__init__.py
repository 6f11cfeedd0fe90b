"""Live cameras as sources of frames: one small protocol, and a module for each kind of camera.

- `source`: `DepthCamera`, what a driver has to offer, and `LiveSource`, which reads one: the newest frame wins, frames
  that nobody took are counted, a camera that is lost is waited for.
- `naming`: which driver is meant by `realsense:`, `orbbec:`, `oak:`, `v4l2:`.
- `realsense`, `orbbec`, `oak`, `v4l2`: the drivers. Each takes camera and unit from the device where it tells them.
- `callback`: any function that returns arrays.
"""
