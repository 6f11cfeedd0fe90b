"""A person is cropped and walked once."""

import numpy as np
import pytest
from support.limbforests import forest_of
from support.randomframes import random_frame

from depthforest.labeling import walks


@pytest.fixture
def calls(monkeypatch):
    """What a person's pixels go through, as it is called."""
    made = []

    def watched(name, real):
        return lambda *arguments: (made.append(name), real(*arguments))[1]

    for name in ("crop_person", "find_leaves"):
        monkeypatch.setattr(walks, name, watched(name, getattr(walks, name)))
    return made


@pytest.mark.parametrize("options", [{}, {"mirror": True}, {"rule": "votes"}, {"smooth": 0.02}, {"reject": 0.4}])
def test_a_person_is_cropped_and_walked_once(calls, options):
    forest = forest_of(4, n_facings=4, person_confidence=0.3)
    result = forest.label(random_frame(np.random.default_rng(4), 40, 30), threads=1, **options)
    assert calls == ["crop_person", "find_leaves"]
    result.probabilities()
    result.probabilities(top=2)
    result.sample(7)
    assert len(calls) == 2
