from . import pcl as pcl
from .file import KIND as KIND
from .forest import Forest as Forest
from .loading import find_model as find_model
from .loading import load as load
from .loading import shipped_models as shipped_models
from .pcl import import_pcl as import_pcl
