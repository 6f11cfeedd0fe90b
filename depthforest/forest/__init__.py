"""`Forest`, the model that users hold: trees that label, save and load themselves.

Model files, shipped names and PCL's people trees come in; a `Forest` goes out. It stands above `labeling` because
`Forest.label` calls it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
