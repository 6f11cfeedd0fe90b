"""Label every pixel of a depth image with a body part, on a CPU, in milliseconds.

The rooms, each a folder that imports only rooms before it: `base`, `frames`, `io`, `people`, `trees`, `labeling`,
`forest`, `joints`, `training`, `pipeline`, `evaluation`, `compare`, `cli`; `ensemble` stands beside them and imports
`base` only. docs/ARCHITECTURE.md walks through them. Names are loaded when they are first used.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]


def __dir__() -> list[str]:
    return __all__
