"""Members that say what they are told: for tests of combinations."""
# ruff: noqa: ARG002 - the arguments are those of scikit-learn

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class Scripted(ClassifierMixin, BaseEstimator):
    """A fitted classifier that answers row i, the number in X[i, 0], by line i of its probabilities."""

    def __init__(self, probabilities, classes):
        self.probabilities = probabilities
        self.classes = classes

    def fit(self, X, y):
        raise AssertionError("a pre-fitted member is not fitted again")

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return np.asarray(self.classes)

    def predict_proba(self, X):
        return np.asarray(self.probabilities)[np.asarray(X)[:, 0].astype(int)]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Voter(ClassifierMixin, BaseEstimator):
    """A fitted classifier with labels only: row i gets label i of its list."""

    def __init__(self, labels, classes):
        self.labels = labels
        self.classes = classes

    def fit(self, X, y):
        raise AssertionError("a pre-fitted member is not fitted again")

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return np.asarray(self.classes)

    def predict(self, X):
        return np.asarray(self.labels)[np.asarray(X)[:, 0].astype(int)]


class Guess(RegressorMixin, BaseEstimator):
    """A fitted regressor: row i gets number i of its list."""

    def __init__(self, values):
        self.values = values

    def fit(self, X, y):
        raise AssertionError("a pre-fitted member is not fitted again")

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.asarray(self.values)[np.asarray(X)[:, 0].astype(int)]


class Failing(ClassifierMixin, BaseEstimator):
    """A classifier whose fit fails, with a message of two lines."""

    def fit(self, X, y):
        raise RuntimeError("no licence\n  for this machine")

    def predict(self, X):
        raise AssertionError("never fitted")


class Memory(ClassifierMixin, BaseEstimator):
    """A classifier that knows by heart what it was fitted on, and says class 0 of anything else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = dict(zip(np.asarray(X)[:, 0].tolist(), np.asarray(y).tolist(), strict=True))
        return self

    def predict(self, X):
        return np.array([self.seen_.get(value, self.classes_[0]) for value in np.asarray(X)[:, 0].tolist()])


class Recorder(ClassifierMixin, BaseEstimator):
    """A meta learner that keeps what it is fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.X_, self.y_, self.sample_weight_ = np.unique(y), X, y, sample_weight
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def row_numbers(n):
    return np.arange(n, dtype=float)[:, None]
