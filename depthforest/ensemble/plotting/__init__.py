"""Pictures of fitted learners, ours or scikit-learn's.

matplotlib is imported when a function is called: `pip install 'depthforest[plots]'`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
