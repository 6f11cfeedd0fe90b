import inspect
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

import depthforest as df
from depthforest.base.errors import UsageError
from depthforest.evaluation.options import EvaluateOptions, JudgeOptions


def test_the_defaults_are_those_of_evaluate():
    signature = inspect.signature(df.evaluate).parameters
    options = JudgeOptions()
    for name in ("threads", "mirror", "joints", "exact", "groupings", "timed_frames", "seed"):
        assert signature[name].default == getattr(options, name)


def test_options_are_frozen_and_named():
    options = EvaluateOptions(models=["a"], data=["d"], exact=True)
    assert isinstance(options, JudgeOptions)
    with pytest.raises(FrozenInstanceError):
        options.exact = False
    with pytest.raises(TypeError):
        EvaluateOptions(["a"], ["d"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": []}, "name at least one model"),
        ({"data": []}, "there is nothing to evaluate on"),
        ({"bench": ["all"]}, "leave out data"),
        ({"mocap": "clips"}, "give bench, too"),
        ({"marks": "m.json"}, "give both"),
        ({"frames": "f"}, "give both"),
        ({"limit": 0}, "1 or more; got 0"),
        ({"limit": True}, "1 or more; got True"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        EvaluateOptions(**{"models": ["a"], "data": ["d"]} | options)


def test_options_come_without_numpy():
    code = "import sys, depthforest.evaluation.options; assert not {'numpy', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
