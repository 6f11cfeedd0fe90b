"""A linear member whose parameters are a posterior draw: an ensemble of it shows the uncertainty of the fit."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from depthforest.base import Floats, UsageError
from depthforest.ensemble.fitting import is_flag, number


class BayesianLinearRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Bayesian linear regression whose coefficients are one draw from their posterior.

    y = b + X w + noise of variance s^2, with the priors w ~ N(0, s^2 / prior_precision), b flat, and s^2 proportional
    to 1 / s^2. A fit draws s^2, then w, then b. In a `DiverseEnsembleRegressor` every member is an independent draw:
    their mean approximates the posterior mean, and their spread is the posterior uncertainty.

    Parameters
    ----------
    prior_precision : float, default=1.0
        Prior precision of the coefficients relative to that of the noise; as `alpha` of scikit-learn's `Ridge`. Columns
        should have similar scales.
    sample : bool, default=True
        Draw from the posterior. False: use the posterior mean, which is ridge regression.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
    intercept_, noise_variance_ : float
        Drawn as well; without `sample`, their means (that of the variance exists with more than three rows).
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(self, *, prior_precision: float = 1.0, sample: bool = True, random_state: Any = None) -> None:
        self.prior_precision = prior_precision
        self.sample = sample
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw the parameters.

        Parameters
        ----------
        X : (n, n_features) array or DataFrame
            Finite numbers.
        y : (n,) array
        sample_weight : (n,) array, optional
            A row of weight k counts as k rows.

        Returns
        -------
        self
        """
        precision = number("prior_precision", self.prior_precision, 0)
        if not precision:
            raise UsageError("prior_precision must be above 0: without a prior the posterior may not exist")
        if not is_flag(self.sample):
            raise UsageError(f"sample must be True or False, got {self.sample!r}")
        x, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        weights = np.asarray(_check_sample_weight(sample_weight, x, dtype=np.float64))
        if (weights < 0).any() or not weights.any():
            raise UsageError("sample_weight must be 0 or more, and not all 0")
        total = float(weights.sum())
        center, level = weights @ x / total, float(weights @ targets / total)
        apart, rest = x - center, targets - level
        moments = apart.T @ (weights[:, None] * apart) + precision * np.eye(x.shape[1])
        factor = cho_factor(moments, lower=True)
        mean = cho_solve(factor, apart.T @ (weights * rest))
        # shape of the inverse gamma distribution of the variance; the intercept uses up one row
        shape = max((total - 1.0) / 2.0, 0.5)
        scale = 0.5 * float(weights @ (rest - apart @ mean) ** 2 + precision * mean @ mean)
        if self.sample:
            rng = check_random_state(self.random_state)
            variance = scale / rng.gamma(shape)
            drawn = rng.standard_normal(len(mean) + 1) * np.sqrt(variance)
            self.coef_ = mean + solve_triangular(factor[0], drawn[:-1], lower=True, trans="T")
            level += drawn[-1] / np.sqrt(total)
        else:
            variance = scale / (shape - 1.0) if shape > 1.0 else scale / shape
            self.coef_ = mean
        self.noise_variance_ = float(variance)
        self.intercept_ = float(level - center @ self.coef_)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the mean of y for these coefficients, (n,) float64."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(x @ self.coef_ + self.intercept_)
