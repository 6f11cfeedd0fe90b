"""The viewer: a small server on this machine and one static page that shows what a forest sees.

Other rooms may use `ViewOptions`, which says what is looked at and who may come in, and `serve`, which runs until
Ctrl-C. Frames come in through `clips`; small binary messages go out to the page, which draws them on the GPU.

Modules, from the ground up:

- `options`: `ViewOptions` with every default. It imports nothing heavy.
- `clips`: frames of files and recordings by their number; or the newest frame of a live source.
- `looking`: a frame in, its people, parts and joints out, with the time that each stage took.
- `lines`: the command line and the lines of Python that do what the page shows.
- `protocol`: what the page may ask for, checked, and how frames are packed for it. No path ever comes from the page.
- `uploads`: the temporary folder of a server; what a killed one left is removed by the next.
- `viewer`: what all open pages share: the source, the models, the thread that labels.
- `session`: one open page: where it is, whether it plays, what it uploaded.
- `server`: who may come in, the few routes, and the page itself, from `static/`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
