"""Label every pixel of a depth image with a body part, on a CPU, in milliseconds.

The code is organized in rooms, folders that only import rooms below them; `ensemble` imports `base` only.
docs/ARCHITECTURE.md walks through them. Names are loaded on first use.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]


def __dir__() -> list[str]:
    return __all__
