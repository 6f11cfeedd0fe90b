"""The viewer: a small server on this machine and one static page that shows what a forest sees.

Other rooms may use `ViewOptions`, which says what is shown and who may connect, and `serve`, which runs until Ctrl-C.
Frames come in through `clips`; small binary messages go out to the page, which draws them on the GPU.

Modules, from the ground up:

- `options`: `ViewOptions` with every default. It imports nothing heavy.
- `clips`: frames of files and recordings by number, or the newest frame of a live source.
- `looking`: a frame in, its people, parts and joints out, with the time that each stage took.
- `lines`: the command line and the Python code that reproduce what the page shows.
- `protocol`: checks of the page's requests, and how frames are packed for it. No path ever comes from the page.
- `uploads`: the temporary folder of a server; each server removes what a killed one left.
- `viewer`: state that all open pages share: the source, the models, the labeling thread.
- `session`: one open page: its position, whether it plays, its uploads.
- `server`: access control, the few routes, and the page itself, from `static/`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
