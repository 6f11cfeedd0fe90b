from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from depthforest.base.errors import UsageError
from synth.bodies import anthropometry as an

N = 2000


def table(people: list[an.Measures]) -> np.ndarray:
    return np.array([[getattr(person, name) for name in an.MEASURES] for person in people])


def correlation(values: np.ndarray, one: str, other: str) -> float:
    return float(np.corrcoef(values[:, an.MEASURES.index(one)], values[:, an.MEASURES.index(other)])[0, 1])


def load_fit() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "tools" / "fit_ansur.py"
    spec = importlib.util.spec_from_file_location("fit_ansur", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=an.SEXES)
def sample(request: pytest.FixtureRequest) -> tuple[str, np.ndarray]:
    rng = np.random.default_rng(11)
    return request.param, table([an.sample_measures(rng, request.param) for _ in range(N)])


def check_against(values: np.ndarray, means: np.ndarray, deviations: np.ndarray, correlations: np.ndarray) -> None:
    np.testing.assert_allclose(values.mean(axis=0), means, rtol=0.02)
    np.testing.assert_allclose(values.std(axis=0), deviations, rtol=0.2)
    np.testing.assert_allclose(np.corrcoef(values.T), correlations, atol=0.1)


def test_2000_adults_match_the_fitted_statistics(sample: tuple[str, np.ndarray]) -> None:
    sex, values = sample
    check_against(values, *an.survey_statistics(sex))


def test_2000_adults_match_the_survey_itself(
    sample: tuple[str, np.ndarray], shared_data: Callable[[str], Path]
) -> None:
    fit = load_fit()
    sex, values = sample
    survey = fit.read_survey(shared_data("ansur2") / fit.FILES[sex])
    assert tuple(fit.COLUMNS) == an.MEASURES
    check_against(values, survey.mean(axis=0), survey.std(axis=0), np.corrcoef(survey.T))


def test_the_fit_prints_the_constants(shared_data: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    load_fit().main(shared_data("ansur2"))
    printed = eval("{" + capsys.readouterr().out + "}", {"_Survey": an._Survey})
    for sex in an.SEXES:
        assert printed[sex].means == an._SURVEYS[sex].means
        assert printed[sex].deviations == an._SURVEYS[sex].deviations
        assert printed[sex].correlations.split() == an._SURVEYS[sex].correlations.split()


def test_nobody_is_beyond_three_deviations(sample: tuple[str, np.ndarray]) -> None:
    sex, values = sample
    means, deviations, _ = an.survey_statistics(sex)
    assert np.abs((values - means) / deviations).max() <= an.TRUNCATION


def test_spread_widens_girths_and_leaves_lengths() -> None:
    wide, plain = (
        table([an.sample_measures(np.random.default_rng(i), "male", girth_spread=spread) for i in range(500)])
        for spread in (1.6, 1.0)
    )
    waist, stature = an.MEASURES.index("waist_girth"), an.MEASURES.index("stature")
    assert 1.3 < wide[:, waist].std() / plain[:, waist].std() < 1.8
    # the few that leave the range of body mass indices are drawn again
    assert (wide[:, stature] == plain[:, stature]).mean() > 0.95
    index = wide[:, an.MEASURES.index("weight_kg")] / wide[:, stature] ** 2
    assert an.BMI_RANGE[0] <= index.min() < 20
    assert 35 < index.max() <= an.BMI_RANGE[1]


@pytest.mark.parametrize("sex", an.SEXES)
def test_children_grow_and_have_large_heads(sex: str) -> None:
    rng = np.random.default_rng(2)
    ages = (3, 6, 10, 14, 18)
    by_age = [table([an.child_measures(rng, age, sex) for _ in range(200)]) for age in ages]
    stature, head = an.MEASURES.index("stature"), an.MEASURES.index("head_length")
    statures = [values[:, stature].mean() for values in by_age]
    np.testing.assert_allclose(statures, [an.child_stature(age, sex) for age in ages], rtol=0.01)
    heads = [(values[:, head] / values[:, stature]).mean() for values in by_age]
    assert heads == sorted(heads, reverse=True)
    for values in by_age:
        assert correlation(values, "stature", "trochanter_height") > 0.7
        assert (values > 0).all()
    weights = [values[:, an.MEASURES.index("weight_kg")].mean() for values in by_age]
    assert weights == sorted(weights)
    assert 12 < weights[0] < 18  # a three-year-old


def test_same_seed_same_person() -> None:
    one, other = (an.sample_measures(np.random.default_rng(5), "female", age_years=40) for _ in range(2))
    assert one == other
    assert one.age_years == 40


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: an.sample_measures(rng, "man"), 'sex must be "male" or "female", got \'man\''),
        (lambda rng: an.sample_measures(rng, "male", girth_spread=9), "girth_spread must be from 0 to 3, got 9"),
        (lambda rng: an.child_measures(rng, 40, "male"), "from 2 to 18 years old, got 40"),
    ],
)
def test_nonsense_is_refused(call: Callable[[np.random.Generator], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call(np.random.default_rng(0))
