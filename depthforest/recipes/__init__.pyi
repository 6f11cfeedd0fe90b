from .outlook import shown_bytes as shown_bytes
from .recipe import Recipe as Recipe
from .recipe import read_recipe as read_recipe
from .run import RecipeRun as RecipeRun
from .run import RunOptions as RunOptions
