"""Files cut short or with bytes changed, and whether a reader says so in one line."""

import warnings

import numpy as np

from depthforest.base import DepthForestError, DepthForestWarning


def outcomes(file, read, n_cut=20, n_changed=60):
    """Damage a file in many ways; return what `read` made of each, a DepthForestError where it refused.

    The first `n_cut` are cut short at even steps; the others have eight bytes changed by chance.
    """
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    found = []
    for trial in range(n_cut + n_changed):
        content = bytearray(whole[: len(whole) * trial // n_cut] if trial < n_cut else whole)
        for place in rng.integers(len(content), size=8) if trial >= n_cut else ():
            content[place] = rng.integers(256)
        file.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DepthForestWarning)
            try:
                found.append(read())
            except DepthForestError as error:
                found.append(error)
    file.write_bytes(whole)
    return found


def check_outcomes(found, n_frames):
    """Check that refusals are one line, and that some files were refused and some still read."""
    refused = [str(what) for what in found if isinstance(what, DepthForestError)]
    assert refused
    assert not [text for text in refused if "\n" in text]
    assert n_frames in found
