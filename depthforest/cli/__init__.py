"""The command line: one thin function per command, the options they share, and what a terminal shows.

Arguments in, exit code out. Nothing heavy is imported before a command runs: `depthforest --help` loads no numpy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
