"""The command line: one thin function per command, the options they share, and what a terminal shows.

Arguments come in, an exit code goes out; `main` is the only name for other rooms. Nothing heavy is imported before a
command runs: `depthforest --help` does not load numpy.

Modules, from the ground up:

- `options`: options that several commands share; options made from the fields of a configuration, so that none is
  forgotten; and the option (`--camera`) for a parameter that an error names.
- `pictures`: images to view: the samples of `demo` and the frames of `show`.
- `info`: describes a model file or a checkpoint, as lines of text.
- `terminal`: what commands show: a live line or bar on a terminal, plain lines in a log, errors in one line.
- `outputs`: checks the model file that a command will write, and warns if it replaces another.
- `warming`: tasks that compile kernels for commands, in parallel processes, before they run for the first time.
- `modelcommands`: the commands about models: `evaluate`, `compare`, `fit-joints`, `fit-confidence`, `fit-leaves`,
  `import-pcl`, `export`, `info`.
- `contextcommand`: `train-context` and `fit-context`.
- `cameras`: the commands for several cameras: `calibrate`, `fuse`.
- `startup`: makes commands start and end faster.
- `commands`: all other commands, and `main`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
