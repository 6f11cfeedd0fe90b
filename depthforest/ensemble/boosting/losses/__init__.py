"""The losses of boosting: derivatives, minima of leaves, and the names that users give.

`base` is the interface, `regression` and `classes` hold the built-in losses, `custom` checks a user's own against
differences of itself, `choice` finds one by name.
"""
