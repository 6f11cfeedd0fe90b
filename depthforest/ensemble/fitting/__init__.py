"""What every `fit` needs: checks of parameters, tables, targets and folds, and how members are fitted.

Arguments as users pass them come in; checked arrays, or one-line errors, go out.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
