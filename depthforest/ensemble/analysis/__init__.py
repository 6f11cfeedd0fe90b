"""Why an ensemble works: voters, decompositions, diversity, margins, and one report of all.

Arrays of what each member answers come in, or fitted ensembles of anybody's make; numbers and plots go out.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
