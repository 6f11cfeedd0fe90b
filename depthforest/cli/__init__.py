"""The command line: one thin function per command, the options they share, and what a terminal shows.

Arguments come in, an exit code goes out; `main` is the only name for others. Nothing heavy is imported before a command
runs: `depthforest --help` loads no numpy.

Modules, from the ground up:

- `options`: options that several commands share, options made from the fields of a configuration, so that none is
  forgotten, and how a parameter that an error names is written as an option (`--camera`).
- `pictures`: images to look at: the samples of `demo` and the frames of `show`.
- `info`: what a model file or a checkpoint is, as lines of text.
- `terminal`: what commands show: a live line or bar on a terminal, plain lines in a log, errors in one line.
- `outputs`: the model file that a command writes: checked, and told if it replaces another.
- `warming`: tasks that compile what commands need, done in processes side by side before the first of them.
- `modelcommands`: the commands about models: `evaluate`, `compare`, `fit-joints`, `fit-confidence`, `fit-leaves`,
  `import-pcl`, `export`, `info`.
- `contextcommand`: `train-context` and `fit-context`.
- `cameras`: the commands for several cameras: `calibrate`, `fuse`.
- `startup`: how a command starts and ends sooner.
- `commands`: all other commands, and `main`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
