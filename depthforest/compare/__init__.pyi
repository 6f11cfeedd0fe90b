from .budget import SECONDS as SECONDS
from .budget import Budget as Budget
from .budget import CompareSettings as CompareSettings
from .learners import LEARNERS as LEARNERS
from .run import prepare_comparison as prepare_comparison
from .table import TITLES as TITLES
from .table import text_rows as text_rows
