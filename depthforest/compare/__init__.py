"""The inside of `depthforest compare`: every ensemble as a baseline on the same pixels, under equal budgets.

Settings and frames in; a folder with one record for each finished learner, tables and plots out.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
