"""Models of real depth cameras: structured light, time of flight, stereo.

Exact depth and labels in; readings with noise, holes and shadows out. Other rooms may use `sense` and `find_sensor`. A
new sensor is an entry in `devices` and, if it works differently, a model in `models`.

Modules, from the ground up:

- `devices`: the sensors and their parameters, and real devices by name.
- `noise`: random fields from counter-based random numbers, so that a frame is the same on any thread.
- `kernels`: the compiled steps of the models: correlated noise, shadows, and where each reading comes from. Only basic
  arithmetic and square roots are used, so a seed gives the same bytes on every machine.
- `models`: each kind of sensor, step by step. Labels follow the readings: a pixel gets the label of the surface that
  its reading shows.
- `sensing`: `sense`, which checks its input and runs the model.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
