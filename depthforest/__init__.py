"""Label every pixel of a depth image with a body part, on a CPU, in milliseconds."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from depthforest.people.background import Background as Background
    from depthforest.frames.camera import Camera as Camera
    from depthforest.io.datasets import open_dataset as open_dataset
    from depthforest.io.datasets import write_dataset as write_dataset
    from depthforest.base.errors import DepthForestError as DepthForestError
    from depthforest.base.errors import DepthForestWarning as DepthForestWarning
    from depthforest.evaluation.run import Evaluation as Evaluation
    from depthforest.evaluation.run import evaluate as evaluate
    from depthforest.forest.forest import Forest as Forest
    from depthforest.frames.frame import Frame as Frame
    from depthforest.frames.frame import Joint as Joint
    from depthforest.frames.frame import LabeledFrame as LabeledFrame
    from depthforest.joints.files import read_joints as read_joints
    from depthforest.joints.files import write_joints as write_joints
    from depthforest.joints.fit import fit_joints as fit_joints
    from depthforest.joints.finding import find_joints as find_joints
    from depthforest.joints.tracks import JointTracks as JointTracks
    from depthforest.forest.loading import load as load
    from depthforest.frames.parts import Grouping as Grouping
    from depthforest.frames.parts import PartSet as PartSet
    from depthforest.people.tracks import PeopleTracker as PeopleTracker
    from depthforest.io.reading import read_depth as read_depth
    from depthforest.io.reading import read_frames as read_frames
    from depthforest.people.finding import People as People
    from depthforest.people.finding import find_people as find_people
    from depthforest.training.config import TrainConfig as TrainConfig
    from depthforest.training.run import train as train

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
