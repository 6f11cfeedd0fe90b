import json
import sys

import pytest
from support.command import run_here

from depthforest.base.errors import DepthForestError
from depthforest.cli import recipes as cli_recipes
from depthforest.forest.loading import load
from depthforest.recipes import kinds
from depthforest.recipes.recipe import read_recipe
from depthforest.recipes.run import RecipeRun

CONTEXT = """
[steps.context]
do = "train-context"
config = "small.context.toml"
model = "joints"
data = ["fresh"]

[steps.context_leaves]
do = "fit-context"
model = "context"
data = ["fresh"]
rounds = 1
"""


def test_a_recipe_with_context(recipe, tmp_path):
    recipe.write_text(recipe.read_text() + CONTEXT)
    (tmp_path / "small.context.toml").write_text("trees = 1\ndepth = 4\ncandidates = 20\npixels_per_frame = 40\n")
    output = tmp_path / "small.safetensors"
    done = run_here("train", "--recipe", recipe, "-o", output)
    assert done.returncode == 0, done.stderr
    forest = load(output)
    assert forest.context.n_trees == 1
    assert forest.context.config["candidates"] == 20
    assert forest.context.config["fit_context"]["rounds"] == 1
    assert "| context (train-context) | joints, fresh | trees 1, leaves" in output.with_suffix(".md").read_text()


def test_a_missing_package_is_told_before_anything_is_compiled(recipe, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    monkeypatch.setattr(cli_recipes, "compile_first", lambda _: pytest.fail("compiles"))
    done = run_here("train", "--recipe", recipe, "-o", tmp_path / "small.safetensors")
    assert done.returncode == 1
    assert done.stderr == (
        b"depthforest: error: Zarr stores need the package zarr, which is not installed: run pip install zarr\n"
    )
    assert not list(tmp_path.glob("*.steps"))
    planned = run_here("train", "--recipe", recipe, "-o", tmp_path / "small.safetensors", "--dry-run")
    assert planned.returncode == 0


def test_a_recipe_gives_a_model_and_its_card_and_goes_on_where_it_was(recipe, bench, tmp_path, monkeypatch):
    recipe.write_text(recipe.read_text() + bench)
    output = tmp_path / "small.safetensors"
    asked = ("train", "--recipe", recipe, "-o", output)
    planned = run_here(*asked, "--dry-run")
    assert planned.returncode == 0
    assert b"6 of 6 steps to do: about" in planned.stdout
    rows = [line.split() for line in planned.stdout.decode().splitlines()]
    assert rows[0] == ["step", "does", "key", "frames", "bytes", "evaluations", "time"]
    assert (rows[1][0], rows[1][3]) == ("first", "8")
    assert rows[1][5] in ("kB", "MB")
    # 2 trees of 5 levels, 60 pixels of 4 of 8 frames, 20 candidates
    assert (rows[2][0], rows[2][3], float(rows[2][4])) == ("grown", "8", 2 * 5 * 4 * 60 * 20)
    assert not output.with_name("small.safetensors.steps").exists()

    # stopped in the middle: what is done is kept
    real = kinds.KINDS["fit-leaves"]

    def stop(_job):
        raise KeyboardInterrupt

    monkeypatch.setitem(kinds.KINDS, "fit-leaves", kinds.Kind(**vars(real) | {"run": stop}))
    stopped = run_here(*asked)
    assert stopped.returncode == 130
    assert b"the same command continues with the steps that are kept in" in stopped.stderr
    assert not output.exists()
    monkeypatch.setitem(kinds.KINDS, "fit-leaves", real)
    done = run_here(*asked)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().splitlines()
    assert "[2 of 6] grown (train): done before" in lines
    assert any(line.startswith("[4 of 6] fitted (fit-leaves): done in") for line in lines)
    assert any("left for all" in line for line in lines)

    forest = load(output)
    assert forest.joints is not None
    assert forest.mirror
    assert forest.n_leaves <= 40
    card = output.with_suffix(".md").read_text()
    assert "# small\n\nA small model." in card
    assert "| `procedural` |" in card
    assert "Left out, for lack of the CMU clips: mocap." in card
    assert f"depthforest train --recipe {recipe.as_posix()} -o small.safetensors" in card
    assert "**Not good at** anything." in card
    log = [json.loads(line) for line in (tmp_path / "small.safetensors.steps/log.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in log if entry["event"] == "done"] == [
        "first", "grown", "fresh", "fitted", "joints", "bench",
    ]  # fmt: skip

    # another option of the last model: only that, and what stands on it, is done again
    recipe.write_text(recipe.read_text().replace("leaves = 40", "leaves = 30"))
    plan = {row["name"]: row["is_done"] for row in RecipeRun(read_recipe(recipe), output).plan()}
    assert plan == {
        "first": True, "grown": True, "fresh": True, "fitted": False, "joints": False, "bench": False,
    }  # fmt: skip


def test_the_same_recipe_gives_the_same_bytes(recipe, tmp_path):
    recipe.write_text(recipe.read_text().split("[steps.fresh]")[0])
    outputs = [tmp_path / name / "m.safetensors" for name in ("a", "b")]
    for output in outputs:
        output.parent.mkdir()
        RecipeRun(read_recipe(recipe), output).run()
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


@pytest.mark.slow
def test_a_recipe_on_workers_of_this_machine_gives_the_same_model_and_card(recipe, bench, tmp_path):
    pytest.importorskip("distributed", reason="needs the extra dask")
    recipe.write_text(recipe.read_text() + CONTEXT + bench.replace('model = "joints"', 'model = "context"'))
    (tmp_path / "small.context.toml").write_text("trees = 1\ndepth = 4\ncandidates = 20\npixels_per_frame = 40\n")
    made = []
    for name, more in (("here", ()), ("there", ("--dask", "local"))):
        (tmp_path / name).mkdir()
        output = tmp_path / name / "small.safetensors"
        done = run_here("train", "--recipe", recipe, "-o", output, *more)
        assert done.returncode == 0, done.stderr
        made.append((output.read_bytes(), output.with_suffix(".md").read_text()))
    assert made[0] == made[1]


def test_options_that_a_recipe_answers_itself_are_refused(recipe, tmp_path):
    output = tmp_path / "m.safetensors"
    refused = run_here("train", "--recipe", recipe, "-o", output, "--depth", 4)
    assert refused.returncode == 2
    assert b"a recipe defines everything that shapes the model; leave out --depth" in refused.stderr
    assert b"name one with --recipe" in run_here("train", "-o", output, "--dry-run").stderr


def test_a_broken_record_is_told(recipe, tmp_path):
    run = RecipeRun(read_recipe(recipe), tmp_path / "m.safetensors")
    step = run.recipe.steps[0]
    run.path_of(step).mkdir(parents=True)
    (run.folder / f"{step.name}-{step.key}.done").write_text("{}")
    with pytest.raises(DepthForestError, match="is not the record of a step; remove it"):
        run.plan()
