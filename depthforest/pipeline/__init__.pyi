from .merging import PeopleLabels as PeopleLabels
from .merging import label_people as label_people
from .options import LabelOptions as LabelOptions
from .outputs import panels as panels
from .outputs import parse_outputs as parse_outputs
from .run import LabelRun as LabelRun
from .run import label_one as label_one
