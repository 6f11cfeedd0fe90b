"""What a run can be asked to do."""

import re

import pytest

from depthforest.base.errors import UsageError
from depthforest.pipeline.options import LabelOptions


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rule": "best"}, "rule must be one of mean, votes, purity, got 'best'"),
        ({"reject": 1.5}, "reject must be a confidence from 0 to 1, got 1.5"),
        ({"smooth": 5.0}, "smoothing must be a radius from 0 to 0.25 meters, got 5.0"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(given, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        LabelOptions(**given)
