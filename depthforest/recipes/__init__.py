"""Recipes: one TOML file describes everything from synthetic frames to a model with its card.

`read_recipe` reads and checks a recipe, `RecipeRun` does the steps that are missing. The result of every step is kept
in one folder, under a name with a hash of everything it depends on. So a stopped run can resume, and only a changed
step and those that depend on it run again.

Modules, from the ground up:

- `kinds`: the registry of kinds of steps, their options, and the `Job` that a kind's function gets. A new kind is one
  decorated function in `steps`.
- `steps`: the kinds: make frames, grow, grow a context stage, fit leaves, fit joints, keep the first trees, train a
  person model, evaluate.
- `recipe`: the file: steps by name, checked, scaled, and each with its key.
- `outlook`: estimates how long the remaining steps will take, from rates measured in earlier ones.
- `card`: the model's card, from the records of the steps.
- `run`: `RecipeRun`: the plan, the steps in order, one log, and the model written at the end.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
