from . import labeling as labeling
from .calibrating import calibration_table as calibration_table
from .labeling import RULES as RULES
from .labeling import Labeling as Labeling
from .labeling import Sample as Sample
from .labeling import leaves_of_person as leaves_of_person
from .labeling import shares_at as shares_at
from .walks import thumbnail as thumbnail
