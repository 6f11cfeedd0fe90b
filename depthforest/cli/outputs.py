"""The model file that a command writes: checked before the work, saved after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from depthforest.base import DepthForestError, Parameter, UsageError, check_writable
from depthforest.cli.terminal import complain


def check_output(output: Path, *, model: str | None = None, is_forced: bool = False) -> None:
    """Check that a model can be written, before hours of work, and say so if it replaces a file.

    Parameters
    ----------
    output : Path
    model : str, optional
        The model that is read; it is only replaced if forced.
    is_forced : bool
        Allow the output to replace it.
    """
    check_writable(output)
    if is_forced or not output.exists():
        return
    if model is not None:
        from depthforest.forest import find_model

        place = find_model(model)
        if isinstance(place, Path) and place.resolve() == output.resolve():
            raise UsageError(
                f"{output}: is the model that is read; name another file with ", Parameter("output"), ", or pass ",
                Parameter("force", True), " to overwrite it",
            )  # fmt: skip
    complain("warning", f"{output}: is there already; the new model will replace it when it is finished")


def save_trained(model: Any, output: Path, checkpoint: Path, *, is_kept: bool) -> None:
    """Save a trained model, and remove its checkpoint unless it is kept."""
    from depthforest.training import remove_checkpoint

    try:
        model.save(output)
    except DepthForestError as error:
        raise DepthForestError(
            *error.args, f"; the same command with --resume writes it again from {checkpoint}"
        ) from None
    if not is_kept:
        remove_checkpoint(checkpoint)
