"""Label every pixel of a depth image with a body part, on a CPU, in milliseconds."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from depthforest.background import Background as Background
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
    from depthforest.jointfiles import read_joints as read_joints
    from depthforest.jointfiles import write_joints as write_joints
    from depthforest.jointfit import fit_joints as fit_joints
    from depthforest.joints import find_joints as find_joints
    from depthforest.jointtracks import JointTracks as JointTracks
    from depthforest.models import load as load
    from depthforest.parts import Grouping as Grouping
    from depthforest.parts import PartSet as PartSet
    from depthforest.peopletracks import PeopleTracker as PeopleTracker
    from depthforest.reading import read_depth as read_depth
    from depthforest.reading import read_frames as read_frames
    from depthforest.segmentation import People as People
    from depthforest.segmentation import find_people as find_people
    from depthforest.trainconfig import TrainConfig as TrainConfig
    from depthforest.training import train as train

# public name -> module that defines it; imported when first used (PEP 562)
_HOMES = {
    "Background": "background",
    "Camera": "camera",
    "DepthForestError": "errors",
    "DepthForestWarning": "errors",
    "Evaluation": "evaluation",
    "Forest": "forest",
    "Frame": "frames",
    "Grouping": "parts",
    "Joint": "frames",
    "JointTracks": "jointtracks",
    "LabeledFrame": "frames",
    "PartSet": "parts",
    "People": "segmentation",
    "PeopleTracker": "peopletracks",
    "TrainConfig": "trainconfig",
    "evaluate": "evaluation",
    "find_joints": "joints",
    "find_people": "segmentation",
    "fit_joints": "jointfit",
    "load": "models",
    "open_dataset": "datasets",
    "read_depth": "reading",
    "read_frames": "reading",
    "read_joints": "jointfiles",
    "train": "training",
    "write_dataset": "datasets",
    "write_joints": "jointfiles",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"depthforest.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'depthforest' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
