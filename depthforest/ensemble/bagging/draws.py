"""The draws of a member of a diverse ensemble: rows, columns, noise on inputs and outputs, learning parameters.

Each is a pure function of a `DrawPlan` or of arrays and of the member's own seed. Every kind of draw has its own stream
of random numbers, so adding noise does not change which rows are drawn. Rows can be drawn again later, for the
out-of-bag score, without being stored. `members` makes a member from these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import ParameterSampler
from sklearn.utils import check_random_state

from depthforest.base import Floats, UsageError
from depthforest.ensemble.fitting import MAX_SEED, Indices, is_frame, member_seeds

ParameterDistributions = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Stream(IntEnum):
    """The kinds of draws. The number of a kind selects its random numbers, so new kinds are added at the end."""

    ROWS = 0
    COLUMNS = 1
    INPUTS = 2
    OUTPUTS = 3
    PARAMETERS = 4
    START = 5


def random_numbers(seed: int, stream: Stream) -> Any:
    """Return the random generator (RandomState) for one kind of draw of the member with this seed."""
    return check_random_state(int(member_seeds(int(seed), len(Stream))[stream]))


@dataclass(frozen=True, eq=False)
class DrawPlan:
    """How rows and columns are drawn: the parameters of a fit, resolved for its data.

    Attributes
    ----------
    n_samples, n_features : int
        Size of X.
    Rows that a member gets; None for all, once each.
        Rows that a member gets; None for all, each once.
    replace : bool
        Whether a row can be drawn more than once.
    weights : ndarray of shape (n_samples,), float64, or None
        Sample weights. Rows of weight zero are never drawn. With `replace`, a row is drawn in proportion to its weight.
    n_columns : int or None
        Columns that a member gets; None for all.
    replace_columns : bool
        Whether a column can be drawn more than once.
    is_bayesian : bool
        Whether a member gets every row with a random weight.
    """

    n_samples: int
    n_features: int
    n_rows: int | None
    replace: bool
    weights: Floats | None
    n_columns: int | None
    replace_columns: bool
    is_bayesian: bool = False

    def row_weights(self, seed: int) -> Floats:
        """Return the weights that a member gets for the rows of X, (n_samples,) float64, with a mean of 1.

        They have a Dirichlet distribution (Rubin's Bayesian bootstrap, 1981) with the sample weights as parameters: a
        row of weight 2 gets the weight of two rows together.
        """
        rng = random_numbers(seed, Stream.ROWS)
        drawn = rng.gamma(1.0 if self.weights is None else self.weights, size=self.n_samples)
        return np.asarray(drawn * (len(drawn) / drawn.sum()))

    def rows(self, seed: int) -> Indices | None:
        """Return the rows of a member in the order of X, (n_rows,) intp; None if it gets X as it is."""
        usable = None if self.weights is None or self.weights.all() else np.flatnonzero(self.weights)
        if self.n_rows is None:
            return usable
        rng = random_numbers(seed, Stream.ROWS)
        if not self.replace:
            drawn = rng.permutation(self.n_samples if usable is None else usable)[: self.n_rows]
        elif self.weights is None:
            drawn = rng.randint(self.n_samples, size=self.n_rows)
        else:
            drawn = rng.choice(self.n_samples, size=self.n_rows, p=self.weights / self.weights.sum())
        return np.sort(drawn).astype(np.intp)

    def columns(self, seed: int) -> Indices | None:
        """Return the columns of a member in the order of X, (n_columns,) intp; None if it gets all of them."""
        if self.n_columns is None:
            return None
        rng = random_numbers(seed, Stream.COLUMNS)
        drawn = rng.choice(self.n_features, size=self.n_columns, replace=self.replace_columns)
        return np.sort(drawn).astype(np.intp)


def column_spread(X: Any, weights: Floats | None) -> Floats:
    """Return the standard deviation of each column, (n_features,) float64, over its finite values.

    A non-numeric column of a frame (text, categories, booleans) gets 0.
    """
    if is_frame(X):
        return np.array([_spread(_numbers(X.iloc[:, j]), weights) for j in range(X.shape[1])])
    if issparse(X):
        raise UsageError("noise would fill every cell of a sparse X: pass X as an array, or set noise=0")
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"noise needs columns of numbers, got {error}: pass a DataFrame with typed columns") from error
    return np.array([_spread(column, weights) for column in values.T])


def _numbers(column: Any) -> Floats:
    if getattr(column.dtype, "kind", "O") not in "iuf":
        return np.zeros(len(column))
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)


def _spread(values: Floats, weights: Floats | None) -> float:
    is_finite = np.isfinite(values)
    if not is_finite.any():
        return 0.0
    kept = values[is_finite]
    shares = None if weights is None else weights[is_finite]
    if shares is not None and not shares.any():
        return 0.0
    middle = np.average(kept, weights=shares)
    return float(np.sqrt(np.average((kept - middle) ** 2, weights=shares)))


def noisy_inputs(X: Any, sigma: Floats, seed: int) -> Any:
    """Return a copy of X with normal noise of standard deviation `sigma` (n_features,) added to each column."""
    rng = random_numbers(seed, Stream.INPUTS)
    if not is_frame(X):
        values = np.array(X, dtype=X.dtype if X.dtype.kind == "f" else np.float64)
        values += sigma * rng.standard_normal(values.shape)
        return values
    frame = X.copy()
    for j in np.flatnonzero(sigma):
        frame.isetitem(j, frame.iloc[:, j] + sigma[j] * rng.standard_normal(len(frame)))
    return frame


def flipped_labels(labels: npt.NDArray[Any], flip: float, seed: int) -> npt.NDArray[Any]:
    """Return labels of which a share `flip` was shuffled: some change class, and each class keeps its exact count.

    m = round(flip * n) of the n rows are drawn without replacement, and their labels are shuffled among them. A row of
    class i then becomes class j in proportion to p_j, as in Breiman's output flipping: P(j | i) = w p_j, here with
    w = (m - 1) / (n - 1), close to `flip`. On average n w (1 - sum p_c^2) labels change. Breiman draws labels one by
    one, which keeps the proportions only on average; the shuffle keeps every count.
    """
    rng = random_numbers(seed, Stream.OUTPUTS)
    chosen = rng.permutation(len(labels))[: round(flip * len(labels))]
    flipped = labels.copy()
    flipped[chosen] = labels[rng.permutation(chosen)]
    return flipped


def smeared_targets(y: Floats, sigma: Floats, seed: int) -> Floats:
    """Return y, (n,) or (n, n_outputs), plus normal noise of standard deviation `sigma`, () or (n_outputs,)."""
    return np.asarray(y + sigma * random_numbers(seed, Stream.OUTPUTS).standard_normal(y.shape))


def target_spread(y: Floats, weights: Floats | None) -> Floats:
    """Return the standard deviation of y, () for one target, (n_outputs,) for several, float64."""
    if y.ndim == 1:
        return np.asarray(_spread(y, weights))
    return np.array([_spread(column, weights) for column in y.T])


def drawn_member(template: Any, distributions: ParameterDistributions | None, seed: int) -> Any:
    """Return an unfitted clone of the template with drawn parameters and its own seeds, also in nested estimators."""
    member = clone(template)
    if distributions is not None:
        rng = random_numbers(seed, Stream.PARAMETERS)
        drawn = next(iter(ParameterSampler(distributions, n_iter=1, random_state=rng)))
        # cloned, because a drawn value may be an estimator, which members must not share
        member.set_params(**{name: clone(value, safe=False) for name, value in drawn.items()})
    rng = random_numbers(seed, Stream.START)
    names = [name for name in member.get_params() if name == "random_state" or name.endswith("__random_state")]
    return member.set_params(**{name: int(rng.randint(MAX_SEED)) for name in sorted(names)}) if names else member
