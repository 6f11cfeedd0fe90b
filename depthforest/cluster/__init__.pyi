from .connecting import connect as connect
from .crew import FAN_IN as FAN_IN
from .crew import ClusterError as ClusterError
from .crew import Crew as Crew
from .spreading import spread as spread
from .spreading import using as using
