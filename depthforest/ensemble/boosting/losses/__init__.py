"""The losses of boosting: derivatives, minima of leaves, and their names.

A name or a user's object comes in; a `Loss` goes out (`choice.loss_of`). Other rooms may use the interface `Loss`
through `boosting`.

Modules, from the ground up:

- `base`: `Loss`: the interface for growers and estimators.
- `derivatives`: kernels for losses with exponentials. numba has no vectorized `exp`, so this module has its own, which
  is five times as fast.
- `linesearch`: the minima of all leaves at once, by sorting jumps or with safeguarded Newton steps.
- `regression`: squared error, absolute error, Huber and quantile loss.
- `tweedie`: Poisson, gamma and Tweedie loss, whose raw values are logarithms.
- `classes`: logistic, exponential, hinge, perceptron and multinomial loss.
- `custom`: a user's own loss, whose gradient is checked against finite differences.
- `choice`: losses by name, with scikit-learn's names for the same losses.
"""
