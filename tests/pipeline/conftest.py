"""Fixtures of the tests that run `depthforest label`."""

from support.labelcommand import forest, frames, out

__all__ = ["forest", "frames", "out"]
