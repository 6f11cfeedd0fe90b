from .estimator import AdaBoostClassifier as AdaBoostClassifier
from .pool import AdaBoostPoolClassifier as AdaBoostPoolClassifier
