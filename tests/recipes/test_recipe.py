from pathlib import Path

import pytest

from depthforest.base.errors import UsageError
from depthforest.forest.loading import load
from depthforest.people.judging.model import load_person_model
from depthforest.recipes.kinds import KINDS
from depthforest.recipes.recipe import read_recipe
from depthforest.recipes.steps import context_config, train_config
from depthforest.training.config import PeopleConfig
from depthforest.training.leaves.fit import N_FACINGS, ROUNDS, SMOOTH_M

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


SHIPPED = sorted(path.relative_to(TOP / "models").as_posix()[:-12] for path in TOP.glob("models/**/*.safetensors"))


def test_every_shipped_model_has_a_recipe_and_a_card_that_names_it():
    assert len(SHIPPED) >= 4
    for name in SHIPPED:
        recipe = read_recipe(TOP / f"models/{name}.recipe.toml")
        assert recipe.name == name.rpartition("/")[2]
        assert f"train --recipe models/{name}.recipe.toml" in (TOP / f"models/{name}.md").read_text(encoding="utf-8")


def of_kind(recipe, kind):
    """Return the last step of a kind, or None."""
    return next((step for step in reversed(recipe.steps) if step.kind is KINDS[kind]), None)


def n_frames(step):
    return sum(one.options["frames"] for one in step.data)


@pytest.mark.parametrize("name", [name for name in SHIPPED if "/" not in name])
def test_a_recipe_is_what_its_model_says_made_it(name):
    recipe, model = read_recipe(TOP / f"models/{name}.recipe.toml"), load(TOP / f"models/{name}.safetensors")
    config = dict(model.config)
    stored = config.pop("fit_leaves")
    assert config == train_config(of_kind(recipe, "train")).to_dict()
    leaves = of_kind(recipe, "fit-leaves")
    said = {
        "facings": N_FACINGS, "rounds": ROUNDS, "smooth_m": SMOOTH_M, "max_leaves": leaves.options["leaves"],
        "mirror": leaves.options["mirror"], "frames": n_frames(leaves),
    }  # fmt: skip
    assert stored == said
    assert model.n_leaves <= stored["max_leaves"]
    first = of_kind(recipe, "first-trees")
    assert model.n_trees == (first.options["trees"] if first else config["trees"])
    assert model.mirror == (first or leaves).options["mirror"]
    # body31-fast stands on the steps of body31 without its context
    context, refit = (of_kind(recipe, kind) if first is None else None for kind in ("train-context", "fit-context"))
    said = context and context_config(context).to_dict()
    if refit:
        said["fit_context"] = {"frames": n_frames(refit), "rounds": refit.options["rounds"]}
    assert (model.context and model.context.config) == said
    assert (model.calibration is None) == (of_kind(recipe, "fit-confidence") is None)
    assert recipe.product.kind is KINDS["fit-confidence"]
    assert of_kind(recipe, "evaluate").model is recipe.product


def test_the_recipe_of_body31_has_the_frames_that_its_card_tells_of():
    steps = {step.name: step for step in read_recipe(TOP / "models/body31.recipe.toml").steps}
    assert n_frames(steps["grown"]) == 160_000


def test_the_recipe_of_body31_fast_stands_on_that_of_body31():
    below = read_recipe(TOP / "models/body31.recipe.toml").steps
    whole = read_recipe(TOP / "models/body31-fast.recipe.toml")
    assert [step.name for step in whole.steps][: len(below)] == [step.name for step in below]
    assert whole.product.name == "fast_confidence"


def test_the_recipe_of_the_person_model_is_what_the_model_says_made_it():
    step = read_recipe(TOP / "models/people/person.recipe.toml").product
    model = load_person_model(TOP / "models/people/person.safetensors")
    assert step.kind is KINDS["train-people"]
    config = PeopleConfig.from_dict(step.configs["config"], step.name)
    assert model.config == config.to_dict()
    assert n_frames(step) == 17_000
    assert model.scores["frames"] == round(n_frames(step) * (1 - config.scene_share))
