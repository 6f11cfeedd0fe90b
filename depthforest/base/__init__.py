"""Common foundations that know nothing of depth images.

Plain values come in; plain values or one-line errors go out. Every other room may use the names in the stub: errors and
checks, kernels and threads, files and model files, claimed folders, TOML configs, impurity, links of trees.

Modules, from the ground up:

- `arrays`: one name for each kind of array that modules pass to each other. Shapes are left to docstrings.
- `errors`: the one family of errors and warnings. An error knows its exit code, 2 for misuse and 1 for failure. Its
  message names parameters, which the command line shows as its own options.
- `checks`: what counts as a number in an argument. numpy's numbers do; `True` does not.
- `derived`: values computed from an object once and kept as long as it lives. The cache belongs to the function, so
  objects stay plain values that compare, copy and pickle.
- `compiling`: where compiled kernels are kept on disk, and how they are compiled ahead of time.
- `kernels`: the decorators of compiled kernels, a prefetch hint, a two-lane vector addition, and the transposition of
  rows. Kernels are serial and release the GIL. Without a writable cache folder, every process compiles them again
  instead of failing. `bare` kernels compile without reference counting, which would cost more than the split of a small
  node; `merged` ones are inlined by LLVM.
- `counters`: counter-based random numbers (SplitMix64), so that any thread can compute any of them independently.
- `scratch`: memory that is reused, because fresh pages cost more than many of the loops that fill them.
- `threads`: the one place that spreads work over threads. The pool is created on first use, and again after a fork,
  because a child process has none of its parent's threads.
- `interrupts`: the first Ctrl-C waits for a safe point; the second stops at once.
- `remote`: files by URL, read through fsspec with the methods of a path; each process downloads a file once.
- `files`: whole files: read with one-line errors, written to a temporary name and renamed, sorted in natural order
  (`frame2` before `frame10`).
- `resources`: where the sample frames and shipped models are. Samples live in the package. Models live in `models/` of
  a checkout; a wheel has them as `depthforest/_models`.
- `claims`: a folder that belongs to one run. Its record says what made it, so a stopped run can resume and two runs
  never mix.
- `configs`: frozen dataclasses that check their fields, save to TOML and load back. It imports neither numpy nor numba,
  so the command line shows defaults at once.
- `modelfile`: the one reader and writer of model files: safetensors with one key of JSON metadata. Files are untrusted:
  every size is bounded before memory is taken. Equal content gives equal bytes.
- `links`: whether the links between nodes form a tree, before a kernel follows them. Kernels check nothing.
- `criteria`: the names of the split criteria, for configurations.
- `splitting`: impurity, gain and the best split from integer class counts. Entropy is summed in fixed point, so that
  the order of a sum never matters. The trees of `ensemble` use the same formulas in float64.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
