"""What `depthforest info` says of a model."""

import pytest
from support.smallforests import OPTIONS, small

from depthforest.base import modelfile
from depthforest.base.errors import ModelError
from depthforest.cli.info import describe
from depthforest.forest.forest import Forest


def test_info_says_what_a_model_is(tmp_path):
    path = tmp_path / "m.safetensors"
    small(0, 2, 4, **{**OPTIONS, "scores": {"by part": {"head": 0.5}, "odd\x1b[2J": "x" * 500}}).save(path)
    lines = dict(describe(path))
    forest = Forest.load(path)
    assert lines["kind"] == "depth_forest, format version 1"
    assert lines["trees"] == "2"
    assert lines["depth"] == str(forest.depth)
    assert lines["nodes"] == str(forest.n_nodes)
    assert lines["parts"] == "3: head, hand_l, hand_r"
    assert lines["background"] == "9000 mm"
    assert lines["mirrored walk"] == "yes"
    assert lines["facings"] == "none: each pixel by itself"
    assert lines["smoothing"] == "none"
    assert lines["config.nested.seed"] == str(2**64 - 1)
    assert lines["joints.bandwidth_m"] == "0.065"
    assert lines["scores.by part.head"] == "0.5"
    assert len(lines["scores.odd?[2J"]) == 200
    assert lines["size"] == f"{path.stat().st_size:,} bytes"


def test_info_refuses_what_it_does_not_know(tmp_path):
    modelfile.write(tmp_path / "m", "sandwich", 1, {}, {})
    with pytest.raises(ModelError, match="m: holds a model of kind 'sandwich'; known are depth_forest"):
        describe(tmp_path / "m")
    with pytest.raises(ModelError, match="cannot be read: no such file"):
        describe(tmp_path / "none")
