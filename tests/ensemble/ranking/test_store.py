"""Ranking networks as files: what is saved loads back the same, and what is wrong in a file is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from support.brokenfiles import changed, cut, fuzz_tools, item, key, one_entry

from depthforest.base import modelfile
from depthforest.base.errors import ModelError, UsageError
from depthforest.ensemble.files import RANK_NETWORKS
from depthforest.ensemble.ranking import RankNet
from depthforest.ensemble.ranking.store import COLUMNS, FORMAT_VERSION, KEYS, KIND, unpack_ranker

pytestmark = pytest.mark.filterwarnings("ignore:qid is not given")  # test_peers reads the warning

NAMES = ("net", "rank")
FUZZER, VALID = fuzz_tools()


def load_ranker(path):
    return unpack_ranker(modelfile.read(path), RANK_NETWORKS)


def table(n_features, n=20, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_features))


@pytest.fixture(scope="module")
def rankers():
    return dict(zip(NAMES, VALID.valid_networks(), strict=True))


@pytest.fixture(scope="module")
def files(rankers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("valid")
    for name, ranker in rankers.items():
        ranker.save(folder / name)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_loads_back(name, rankers, files, tmp_path):
    saved, loaded = rankers[name], load_ranker(files / name)
    assert type(loaded) is type(saved)
    expected = saved.get_params() | {"hidden_layer_sizes": tuple(saved.hidden_layer_sizes)}
    assert loaded.get_params() == expected
    x = table(3)
    np.testing.assert_array_equal(loaded.predict(x), saved.predict(x))
    assert len(np.unique(loaded.predict(x))) > 5
    for attribute in ("mean_", "scale_", "train_scores_", "validation_scores_"):
        np.testing.assert_array_equal(getattr(loaded, attribute), getattr(saved, attribute))
    assert (loaded.n_iter_, loaded.n_features_in_) == (saved.n_iter_, 3)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (files / name).read_bytes()
    y = np.arange(20) % 3
    np.testing.assert_array_equal(
        loaded.set_params(early_stopping=False).fit(x, y).predict(x),
        type(saved)(**expected | {"early_stopping": False}).fit(x, y).predict(x),
    )


def test_names_of_columns(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table(2), columns=["a", "b"])
    RankNet(max_iter=1).fit(frame, np.arange(20) % 2).save(tmp_path / "m")
    loaded = load_ranker(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"a": "z"}))


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        RankNet().save(tmp_path / "m")

    class Mine(RankNet):
        pass

    x, y = table(2), np.arange(20) % 2
    with pytest.raises(UsageError, match="only RankNet, LambdaRank can be saved, got Mine"):
        Mine(max_iter=1).fit(x, y).save(tmp_path / "m")
    other = RankNet(max_iter=1, random_state=np.random.RandomState(0)).fit(x, y)
    with pytest.raises(UsageError, match="as random_state, got RandomState"):
        other.save(tmp_path / "m")
    changed_ = RankNet(max_iter=1).fit(x, y).set_params(hidden_layer_sizes=(2,))
    with pytest.raises(UsageError, match=r"hidden_layer_sizes has changed since fit, from \(32,\)"):
        changed_.save(tmp_path / "m")
    broken = RankNet(max_iter=1).fit(x, y)
    broken.coefs_[0][0, 0] = np.nan
    with pytest.raises(ModelError, match=r"weights must be finite numbers up to 1e\+07"):
        broken.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


REFUSED = {
    "estimator": ("net", key("estimator", "os.system"), "one of RankNet, LambdaRank; got 'os.system'"),
    "estimator no text": ("net", key("estimator", []), r"estimator must be one of RankNet, LambdaRank; got \[\]"),
    "another estimator": ("net", key("estimator", "LambdaRank"), "parameters must be an object with"),
    "unknown key": ("net", key("more", 1), "has the unknown metadata key 'more'"),
    "unknown parameter": ("net", key("parameters", "verbose", 1), "parameters must be an object with"),
    "parameter": ("net", key("parameters", "max_iter", [1]), r"parameter max_iter cannot be \[1\]"),
    "hidden sizes twice": ("net", key("parameters", "hidden_layer_sizes", 4), "hidden_layer_sizes must be null"),
    "activation": ("net", key("activation", "sine"), "activation must be one of tanh, relu; got 'sine'"),
    "activation no text": ("net", key("activation", {}), "activation must be one of tanh, relu"),
    "n_features": ("net", key("n_features", 0), "n_features must be a whole number from 1 to 1048576, got 0"),
    "n_features another": ("net", key("n_features", 4), "sizes must start with 4 features and end with 1 score"),
    "names": ("net", key("feature_names", ["a"]), "feature_names must be null or 3 texts"),
    "two scores": ("net", item("sizes", -1, 2), "sizes must start with 3 features and end with 1 score"),
    "no hidden layer": ("net", cut("sizes", 2), "sizes must name 1 to 8 hidden layers of 1 to 4096 units"),
    "units none": ("net", item("sizes", 1, 0), "sizes must name 1 to 8 hidden layers of 1 to 4096 units"),
    "units negative": ("net", item("sizes", 1, -4), "sizes must name 1 to 8 hidden layers of 1 to 4096 units"),
    "units huge": ("net", item("sizes", 1, 2**62), "sizes must name 1 to 8 hidden layers of 1 to 4096 units"),
    "units too many": ("net", item("sizes", 1, 5), "weights must be 20, got 16"),
    "weights missing": ("net", cut("weights"), "weights must be 16, got 15"),
    "intercepts missing": ("rank", cut("intercepts"), "intercepts must be 5, got 4"),
    "means missing": ("net", lambda _, c: (cut("mean")(_, c), cut("scale")(_, c)), "mean must be 3, got 2"),
    "scale missing": ("net", cut("scale"), r"column scale must have shape \(3\), got"),
    "weight NaN": ("net", item("weights", 0, np.nan), r"weights must be finite numbers up to 1e\+07"),
    "weight huge": ("net", item("weights", 0, -1e8), r"weights must be finite numbers up to 1e\+07"),
    "intercept": ("net", item("intercepts", 0, np.inf), r"intercepts must be finite numbers up to 1e\+07"),
    "mean": ("net", item("mean", 0, np.nan), r"mean must be finite numbers up to 1e\+100"),
    "scale 0": ("net", item("scale", 0, 0.0), "scale must be numbers from 1e-100"),
    "scale negative": ("net", item("scale", 0, -1.0), "scale must be numbers from 1e-100"),
    "scale NaN": ("net", item("scale", 0, np.nan), "scale must be finite numbers"),
    "curve": ("net", item("train_scores", 0, 1.5), "train_scores must be numbers from 0 to 1"),
    "curve NaN": ("rank", item("validation_scores", 0, np.nan), "validation_scores must be numbers from 0 to 1"),
    "curves of different lengths": ("rank", cut("validation_scores"), "validation_scores must be none or 4, got 3"),
    "dtype": ("net", lambda _, c: c.update(mean=c["mean"].astype(np.float32)), "column mean must be float64"),
    "column missing": ("net", lambda _, c: c.pop("sizes"), "lacks the column sizes"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(name, change, message, files, tmp_path):
    path = tmp_path / "broken.safetensors"
    changed(files / name, path, change)
    with pytest.raises(ModelError, match=message) as caught:
        load_ranker(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_other_kinds_and_versions_are_refused(files, tmp_path):
    file = modelfile.read(files / "net")
    modelfile.write(tmp_path / "m", KIND, FORMAT_VERSION + 1, file.content, file.columns)
    with pytest.raises(ModelError, match="has format version 2, this depthforest reads 1; update depthforest"):
        load_ranker(tmp_path / "m")
    with pytest.raises(ModelError, match="kind 'depth_forest', expected 'rank_network'"):
        load_ranker(Path(__file__).resolve().parents[2] / "golden" / "forest.safetensors")


def test_the_fuzzer_knows_networks(files):
    assert [FUZZER.try_file(files / name) for name in NAMES] == [FUZZER.LOADED] * 2


def test_mutants_are_refused_or_work(files, tmp_path):
    raw = [(files / name).read_bytes() for name in NAMES]
    outcomes = {"loaded": 0, "refused": 0}
    for case in range(250):
        path = tmp_path / "mutant"
        path.write_bytes(FUZZER.mutant(raw, 3, case)[1])
        try:
            VALID.use_ensemble(load_ranker(path))
            outcomes["loaded"] += 1
        except ModelError as error:
            outcomes["refused" if len(str(error).splitlines()) == 1 else "long"] += 1
    assert min(outcomes.values()) > 20


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_one_entry_of_one_column_may_be_anything(data, files, tmp_path_factory):
    name = data.draw(st.sampled_from(NAMES))
    path = tmp_path_factory.getbasetemp() / "mutant.safetensors"
    changed(files / name, path, data.draw(one_entry(files / name)))
    try:
        loaded = load_ranker(path)
    except ModelError:
        return
    VALID.use_ensemble(loaded)


def test_the_layout():
    assert sorted(RANK_NETWORKS) == ["LambdaRank", "RankNet"]
    assert len(COLUMNS) == 7
    assert sorted(KEYS) == list(KEYS)
