"""Recipes: one TOML file from nothing to a model with its card: frames, trees, leaves, joints, evaluation.

`read_recipe` reads and checks a recipe, `RecipeRun` does what is missing of it. Every step is kept in one folder under
a name that holds a hash of all it depends on, so that a stopped run goes on and a changed step is done again with those
after it, and only those.

Modules, from the ground up:

- `kinds`: what a step can be: the registry of kinds, their options, and the `Job` that a kind is handed. A new kind is
  one decorated function in `steps`.
- `steps`: the kinds: make frames, grow, grow a context stage, fit leaves, fit joints, keep the first trees, train a
  person model, evaluate.
- `recipe`: the file: steps by name, checked, scaled, and each with its key.
- `outlook`: how much work a step is, and how long the rest will take, from rates measured in earlier steps.
- `card`: the model's card from what the steps noted.
- `run`: `RecipeRun`: the plan, the steps in their order, one log, and the model written at the end.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
