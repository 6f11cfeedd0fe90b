from .estimator import AdaBoostClassifier as AdaBoostClassifier
from .pool import AdaBoostPoolClassifier as AdaBoostPoolClassifier
from .regression import AdaBoostRegressor as AdaBoostRegressor
