"""Export: a depth forest as code that runs without Python.

Other rooms may use `export_c`, which writes a forest as one C header, `export_wasm`, which compiles that header for
browsers, and `export_page`, a page that labels there. `docs/EXPORT.md` shows how the results are used.
Ensembles go to ONNX by `depthforest.ensemble.to_onnx`.

Modules, from the ground up:

- `tables`: a forest as tables of bytes, nodes and records of leaves of both stages, and the blob that holds them.
- `literals`: bytes and numbers as C source.
- `renaming`: C code with the model's name in it.
- `header`: the header: constants, the code of `templates/label.h` and, for a context stage, `templates/context.h`, the
  tables; and the example program.
- `jointheader`: the second header, `templates/joints.h`, with the parameters of the model's joints.
- `wasm`: both headers compiled to WebAssembly by Zig, and the page in `static/` that labels a dropped picture.

C code lives in `templates/` as it is, with the prefixes `df_` and `DF_`; exporting replaces them by the model's name.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
