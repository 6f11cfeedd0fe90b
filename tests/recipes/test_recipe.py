import tomllib
from pathlib import Path

import pytest

from depthforest.base.errors import UsageError
from depthforest.forest.loading import load
from depthforest.recipes.kinds import KINDS
from depthforest.recipes.recipe import read_recipe
from depthforest.recipes.steps import context_config

TOP = Path(__file__).resolve().parents[2]


def keys(path, **options):
    return {step.name: step.key for step in read_recipe(path, **options).steps}


def test_a_key_changes_with_what_its_step_depends_on_and_only_then(recipe):
    before = keys(recipe)
    assert keys(recipe) == before
    train = recipe.parent / "small.train.toml"
    train.write_text(train.read_text().replace("depth = 5", "depth = 4"))
    after = keys(recipe)
    assert {name for name in before if before[name] != after[name]} == {"grown", "fitted", "joints"}
    recipe.write_text(recipe.read_text().replace("seed = 2", "seed = 3"))
    last = keys(recipe)
    assert {name for name in after if after[name] != last[name]} == {"fresh", "fitted", "joints"}


def test_scale_shrinks_frames_and_leaves_down_to_the_least(recipe):
    recipe.write_text(recipe.read_text().replace("frames = 8", "frames = 1000").replace("leaves = 40", "leaves = 9000"))
    steps = {step.name: step for step in read_recipe(recipe, scale=0.1).steps}
    assert steps["first"].options["frames"] == 100
    assert steps["fitted"].options["leaves"] == 900
    assert {step.name: step for step in read_recipe(recipe, scale=1e-6).steps}["first"].options["frames"] == 32
    assert keys(recipe, scale=0.1)["grown"] != keys(recipe)["grown"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('do = "train"', 'do = "tarin"', "do must be one of synth, train,"),
        ("frames = 8\nseed = 1", "seed = 1", "step first: synth needs frames"),
        ("frames = 8\nseed = 1", "frames = -3\nseed = 1", "frames must be a whole number, 0 or more, got -3"),
        ('data = ["first"]', 'data = ["frist"]', "'frist' is none; there are first"),
        ('model = "fitted"', 'model = "fresh"', "'fresh' is none; there are grown, fitted"),
        ("rounds = 1", "runds = 1", "fit-leaves has no option runds"),
        ('name = "small"', 'naem = "small"', "unknown keys naem"),
        ('name = "small"', "name = [", "is not valid TOML"),
        ("small.train.toml", "other.toml", "other.toml: cannot be read: no such file or directory"),
        ("[steps.first]", '[steps."a/b"]', "a name has letters, digits, _ and - only"),
        ('data = ["first"]', "data = []", "data must name at least one step"),
        ('name = "small"', 'base = "small.recipe.toml"', "base must be the file of a recipe"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said_at_once(recipe, old, new, message):
    assert old in recipe.read_text()
    recipe.write_text(recipe.read_text().replace(old, new, 1))
    with pytest.raises(UsageError, match=message.replace("[", r"\[")):
        read_recipe(recipe)


def test_a_recipe_needs_a_model_and_a_scale_above_0(recipe):
    recipe.write_text('[steps.first]\ndo = "synth"\nframes = 3\n')
    with pytest.raises(UsageError, match="no step gives a model"):
        read_recipe(recipe)
    with pytest.raises(UsageError, match="scale must be a number above 0"):
        read_recipe(recipe, scale=0)


def test_bad_numbers_of_a_configuration_are_said_at_once(recipe):
    (recipe.parent / "small.train.toml").write_text("depth = 99\n")
    with pytest.raises(UsageError, match="grown: depth must be from 1 to 40"):
        read_recipe(recipe)


def test_the_recipe_of_body31_is_what_its_model_says_made_it():
    steps = {step.name: step for step in read_recipe(TOP / "models/body31.recipe.toml").steps}
    model = load(TOP / "models/body31.safetensors")
    config = dict(model.config)
    fitted = config.pop("fit_leaves")
    assert config == tomllib.loads((TOP / "models/body31.train.toml").read_text())
    assert config == dict(steps["grown"].configs["config"])
    assert fitted["frames"] == sum(one.options["frames"] for one in steps["fitted"].data)
    assert fitted["max_leaves"] == steps["fitted"].options["leaves"]
    assert fitted["mirror"] == steps["fitted"].options["mirror"]
    assert sum(one.options["frames"] for one in steps["grown"].data) == 160_000
    assert model.context.config == context_config(steps["context"]).to_dict()
    assert model.calibration is not None


def test_the_recipe_of_body31_fast_stands_on_that_of_body31():
    below = read_recipe(TOP / "models/body31.recipe.toml").steps
    whole = read_recipe(TOP / "models/body31-fast.recipe.toml")
    assert [step.name for step in whole.steps][: len(below)] == [step.name for step in below]
    assert whole.product.name == "fast_confidence"


def test_the_recipe_of_the_person_model_has_the_frames_of_its_card():
    steps = read_recipe(TOP / "models/people/person.recipe.toml").steps
    assert sum(one.options["frames"] for one in steps[-1].data) == 17_000
    assert steps[-1].kind is KINDS["train-people"]
