"""The names of array types: the table in their docstring is what they are."""

import re
import typing

import numpy as np

from depthforest.base import arrays


def test_the_table_says_what_the_names_mean():
    told = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", arrays.__doc__, flags=re.MULTILINE))
    meant = {}
    for name, alias in vars(arrays).items():
        if typing.get_origin(alias) is np.ndarray:
            (dtype,) = typing.get_args(typing.get_args(alias)[1])
            meant[name] = np.dtype(dtype).name
    assert told == meant
    assert len(told) == len(set(told.values())) > 5
