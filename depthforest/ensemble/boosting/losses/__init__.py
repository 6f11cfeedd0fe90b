"""The losses of boosting: derivatives, minima of leaves, and the names that users give.

A name or a user's object comes in; a `Loss` goes out (`choice.loss_of`). Other rooms may use the interface, `Loss`,
through `boosting`.

Modules, from the ground up:

- `base`: `Loss`: the interface that growers and estimators know.
- `derivatives`: kernels for losses with exponentials. numba has no vectorized `exp`, so one is written here, five times
  as fast.
- `linesearch`: the minima of all leaves at once, by sorted jumps or guarded Newton steps.
- `regression`: squared, absolute, Huber's and quantile loss.
- `tweedie`: Poisson's, gamma's and Tweedie's loss, whose raw values are logarithms.
- `classes`: logistic, exponential, hinge, perceptron and multinomial loss.
- `custom`: a user's own loss, whose gradient is checked against finite differences.
- `choice`: losses by name, which is scikit-learn's where it has the same loss.
"""
