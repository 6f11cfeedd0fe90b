"""The context stage in forest files: kept to the byte, and every broken file refused."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support import naive_context
from support.randomframes import random_frame
from support.smallforests import PARTS, facing, small

from depthforest.base import modelfile
from depthforest.base.errors import ModelError
from depthforest.cli.info import describe
from depthforest.forest.file import KIND, OPTIONAL_VERSION, UNIT_VERSION
from depthforest.forest.forest import Forest
from depthforest.trees import ContextTrees


def with_context(seed=0, **options):
    context = naive_context.random_context(np.random.default_rng(seed), PARTS)
    return facing(seed, context=replace(context, config={"seed": 3}, scores={"parts": 0.7}), **options)


def test_what_is_saved_loads_back_the_same(tmp_path):
    frame = random_frame(np.random.default_rng(1), 20, 30)
    for forest in (with_context(1, smooth_m=0.03), replace(small(2), context=with_context(2).context)):
        forest.save(tmp_path / "m")
        raw = (tmp_path / "m").read_bytes()
        loaded = Forest.load(tmp_path / "m")
        assert loaded == forest
        assert loaded != replace(forest, context=None)
        assert loaded.context != with_context(5).context
        np.testing.assert_array_equal(loaded.label(frame).parts, forest.label(frame).parts)
        loaded.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == raw
        lines = dict(describe(tmp_path / "m"))
        assert lines["kind"] in [f"depth_forest, format version {n}" for n in (OPTIONAL_VERSION, UNIT_VERSION)]
        assert lines["context"].startswith("2 trees, depth ")
        assert lines["context.config.seed"] == "3"
        assert not loaded.context.offsets.flags.writeable
    with_context(1).save(tmp_path / "m")
    assert "context of" in repr(Forest.load(tmp_path / "m"))
    facing(1).save(tmp_path / "plain")
    assert Forest.load(tmp_path / "plain").context is None
    assert dict(describe(tmp_path / "plain"))["context"] == "none: one stage"


def _set(name, index, value):
    def change(_content, columns):
        columns[f"context_{name}"] = columns[f"context_{name}"].copy()
        columns[f"context_{name}"][index] = value

    return change


def _key(name, value):
    return lambda content, _columns: content["context"].update({name: value})


def _groups(**changes):
    return lambda content, _columns: content["context"]["groups"].update(changes)


BAD = {
    "a channel too many": (_set("channels", (0, 1), 19), "channels of node 0 must be below 19, got"),
    "the last channel": (_set("channels", (1, 0), 255), "channels of node 1 must be below 19"),
    "a link outside": (_set("children", (0, 0), 1000), r"child \[0, 0\] is 1000, outside"),
    "a cycle": (_set("children", (0, 0), 0), "node 0 has 2 parents"),
    "a root outside": (_set("roots", 0, -1000), r"root \[0\] is -1000, outside"),
    "a sum": (_set("row_shares", 0, 1), r"leaf \d+ sums to"),
    "a part": (_set("row_parts", 0, 200), "row 0 must have parts that rise"),
    "lengths": (_set("row_lengths", (0, 0), 0), "row_lengths sum to"),
    "no unit": (_key("unit_m", 0), "unit_m must be above 0"),
    "a large unit": (_key("unit_m", 0.1), "unit_m must be above 0 and at most"),
    "a text as unit": (_key("unit_m", "1"), "unit_m must be above 0"),
    "config": (_key("config", [1]), "config must be a mapping"),
    "another key": (_key("more", 1), "context must have exactly config, groups, scores, unit_m"),
    "no groups": (_key("groups", None), "context.groups must have exactly head, of_part, trunk"),
    "groups are no lists": (_groups(head=3), "context.groups must hold lists"),
    "a group too many": (_groups(of_part=[0, 1, 3]), "numbered from 0 without a gap"),
    "a group below 0": (_groups(of_part=[0, 1, -1]), "of_part must be whole numbers from 0 to 63"),
    "too few parts": (_groups(of_part=[0, 1]), "groups are of 2 parts, the part set has 3"),
    "half of a pair": (_groups(of_part=[0, 0, 1]), "groups must be mirror images"),
    "a head that is no group": (_groups(head=[7]), "head and trunk must be among the 3 groups"),
    "a head of one side": (_groups(head=[1]), "the groups of the head must be their own mirror images"),
}


@pytest.mark.parametrize("case", BAD)
def test_broken_files_are_refused(case, tmp_path):
    change, message = BAD[case]
    with_context().save(tmp_path / "good")
    file = modelfile.read(tmp_path / "good")
    content, columns = file.content, dict(file.columns)
    path = tmp_path / "bad.safetensors"
    modelfile.write(path, KIND, file.version, content, columns)
    assert Forest.load(path) == with_context()
    change(content, columns)
    modelfile.write(path, KIND, file.version, content, columns)
    with pytest.raises(ModelError, match=rf"^{re.escape(str(path))}: .*{message}") as caught:
        Forest.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["roots", "offsets", "channels", "thresholds", "children", "row_lengths"])
def test_columns_must_be_there_and_have_their_types(name, tmp_path):
    with_context().save(tmp_path / "good")
    file = modelfile.read(tmp_path / "good")
    columns = dict(file.columns)
    gone = {key: value for key, value in columns.items() if key != f"context_{name}"}
    modelfile.write(tmp_path / "bad", KIND, file.version, file.content, gone)
    with pytest.raises(ModelError, match=f"lacks the column context_{name}"):
        Forest.load(tmp_path / "bad")
    columns[f"context_{name}"] = columns[f"context_{name}"].astype(np.float32)
    modelfile.write(tmp_path / "bad", KIND, file.version, file.content, columns)
    with pytest.raises(ModelError, match=f"column context_{name} must be "):
        Forest.load(tmp_path / "bad")
    # columns without the key, and the key in a file of a version that knows none
    content = {key: value for key, value in file.content.items() if key != "context"}
    modelfile.write(tmp_path / "bad", KIND, file.version, content, dict(file.columns))
    with pytest.raises(ModelError, match="has the unknown column"):
        Forest.load(tmp_path / "bad")
    modelfile.write(tmp_path / "bad", KIND, 2, file.content, dict(file.columns))
    with pytest.raises(ModelError, match="has the unknown"):
        Forest.load(tmp_path / "bad")


def test_what_a_forest_refuses():
    context = with_context().context
    with pytest.raises(ModelError, match="context must be ContextTrees, got 3"):
        facing(context=3)
    other = naive_context.random_context(np.random.default_rng(0), PARTS.__class__(("a", "b")))
    with pytest.raises(ModelError, match="another part set"):
        facing(context=other)
    with pytest.raises(ModelError, match="leaves have 2 parts, the part set 3"):
        replace(context, leaves=other.leaves)
    with pytest.raises(ModelError, match="needs a PartSet and PartGroups"):
        replace(context, groups=None)
    assert isinstance(context, ContextTrees)
    assert repr(context).startswith("ContextTrees(2 trees, depth ")
