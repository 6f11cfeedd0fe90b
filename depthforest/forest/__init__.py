"""`Forest`, the model that users hold: trees that label, save and load themselves.

Model files, names of shipped models and PCL's people trees come in; a `Forest` goes out. Other rooms may use `Forest`,
`load`, `find_model`, `shipped_models` and `import_pcl`. This room is above `labeling` because `Forest.label` calls it.

Modules, from the ground up:

- `sparserows`: distributions without their zeros. Given the facing, a leaf has only a few parts; the zeros would make a
  file four times as large.
- `file`: forests in model files, as docs/MODEL_FORMAT.md describes. `tools/fuzz_models.py` fuzzes the loader.
- `forest`: `Forest`: `DepthTrees` with `label`, `label_many`, `save` and `load`.
- `pcl`: the trees of PCL's people detector as a forest (docs/PCL.md). A kernel parses the text in blocks, subtrees of
  one label become leaves, and offsets become meters, so that the forest fits any camera.
- `loading`: forests by name: the shipped ones, or any file.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
