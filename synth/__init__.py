"""Synthetic depth frames: labeled pixels to train and judge body labeling with."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synth.scene.analytic import Box as Box
    from synth.scene.analytic import Plane as Plane
    from synth.scene.analytic import Sphere as Sphere
    from synth.scene.analytic import cast as cast
    from synth.bodies.body import Body as Body
    from synth.bodies.body import Pose as Pose
    from synth.config import Config as Config
    from synth.generator import Generator as Generator
    from synth.production import produce as produce
    from synth.recording import Recording as Recording

# public name -> module that defines it; imported when first used (PEP 562)
_HOMES = {
    "Body": "body",
    "Box": "analytic",
    "Config": "config",
    "Generator": "generator",
    "Plane": "analytic",
    "Pose": "body",
    "Recording": "recording",
    "Sphere": "analytic",
    "cast": "analytic",
    "produce": "production",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"synth.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'synth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
