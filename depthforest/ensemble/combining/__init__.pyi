from .averaging import AveragingRegressor as AveragingRegressor
from .averaging import VotingRegressor as VotingRegressor
from .members import NamedMembers as NamedMembers
from .rejecting import RejectCurve as RejectCurve
from .stacking import StackingClassifier as StackingClassifier
from .stacking import StackingRegressor as StackingRegressor
from .voting import VotingClassifier as VotingClassifier
