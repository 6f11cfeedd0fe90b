"""Label every pixel of a depth image with a body part, on a CPU, in milliseconds."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from depthforest.camera import Camera as Camera
    from depthforest.datasets import open_dataset as open_dataset
    from depthforest.datasets import write_dataset as write_dataset
    from depthforest.errors import DepthForestError as DepthForestError
    from depthforest.errors import DepthForestWarning as DepthForestWarning
    from depthforest.evaluation import Evaluation as Evaluation
    from depthforest.evaluation import evaluate as evaluate
    from depthforest.forest import Forest as Forest
    from depthforest.frames import Frame as Frame
    from depthforest.frames import Joint as Joint
    from depthforest.frames import LabeledFrame as LabeledFrame
    from depthforest.models import load as load
    from depthforest.parts import Grouping as Grouping
    from depthforest.parts import PartSet as PartSet
    from depthforest.reading import read_depth as read_depth
    from depthforest.reading import read_frames as read_frames
    from depthforest.trainconfig import TrainConfig as TrainConfig
    from depthforest.training import train as train

# public name -> module that defines it; imported when first used (PEP 562)
_HOMES = {
    "Camera": "camera",
    "DepthForestError": "errors",
    "DepthForestWarning": "errors",
    "Evaluation": "evaluation",
    "Forest": "forest",
    "Frame": "frames",
    "Grouping": "parts",
    "Joint": "frames",
    "LabeledFrame": "frames",
    "PartSet": "parts",
    "TrainConfig": "trainconfig",
    "evaluate": "evaluation",
    "load": "models",
    "open_dataset": "datasets",
    "read_depth": "reading",
    "read_frames": "reading",
    "train": "training",
    "write_dataset": "datasets",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"depthforest.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'depthforest' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
