"""Live cameras as sources of frames: one small protocol, and a module for each kind of camera.

- `source`: `DepthCamera`, the protocol of drivers, and `LiveSource`, which reads one. It always delivers the newest
  frame, counts dropped frames, and waits for a lost camera to come back.
- `naming`: maps `realsense:`, `orbbec:`, `oak:`, `v4l2:` to drivers.
- `realsense`, `orbbec`, `oak`, `v4l2`: the drivers. Each takes camera and unit from the device where the device reports
  them.
- `callback`: any function that returns arrays.
"""
