"""Tree metadata: the JSON part of an ensemble's file, besides the columns of its trees (`store`).

Parameters, classes, names and categories become plain JSON values with their types, and are restored exactly. Files are
untrusted: every function that reads raises one ModelError that says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from depthforest.base import MAX_INTEGER, ModelError, UsageError, is_number, is_whole, shown

RUN_OPTIONS = ("n_jobs", "verbose")
"""Parameters that do not affect the result and are not stored."""

_UNBOUND = {"monotonic_cst": None}
_PRUNING = {"min_samples_split": 2, "min_weight_fraction_leaf": 0.0, "min_impurity_decrease": 0.0}
_SAMPLING = {
    "data_sample_strategy": "bagging", "top_rate": 0.2, "other_rate": 0.1, "drop_rate": 0.0, "skip_drop": 0.0,
    "interaction_cst": None, "max_delta_step": None, "scoring": None,
}  # fmt: skip

ADDED: Mapping[str, Mapping[str, Any]] = {
    "GradientBoostingClassifier": {"class_weight": None} | _PRUNING | {"scoring": None},
    "GradientBoostingRegressor": {"power": 1.5} | _PRUNING | {"scoring": None},
    "NewtonBoostingClassifier": {"min_samples_leaf": 1, "class_weight": None} | _SAMPLING,
    "NewtonBoostingRegressor": {"min_samples_leaf": 1, "alpha": 0.9, "power": 1.5} | _SAMPLING,
    "DecisionTreeClassifier": _UNBOUND,
    "DecisionTreeRegressor": _UNBOUND,
    "ExtraTreeClassifier": _UNBOUND,
    "ExtraTreeRegressor": _UNBOUND,
    "RandomForestClassifier": _UNBOUND,
    "RandomForestRegressor": _UNBOUND,
    "ExtraTreesClassifier": _UNBOUND,
    "ExtraTreesRegressor": _UNBOUND,
}
"""Parameters that files of earlier versions lack, with the value that they had implicitly."""

LISTS = ("categorical_features", "monotonic_cst", "scoring")
"""Parameters that may be lists."""

GROUPS = "interaction_cst"
"""The parameter that may be a list of lists."""

NUMBER_DTYPES = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)  # fmt: skip
"""Numeric types of classes and categories."""

MAX_TEXT_CHARS = 2**24
"""Largest size of an array of text, whose items all take the memory of the longest: 64 MiB."""

MAX_FEATURES = 2**20
MAX_TARGETS = 2**16
MAX_CATEGORIES = 2**20

Array = npt.NDArray[Any]


class Codec(NamedTuple):
    """Functions that write and read a parameter that is not a plain value; they take its name and its value."""

    pack: Callable[[str, Any], Any]
    unpack: Callable[[str, Any], Any]


NO_CODECS: Mapping[str, Codec] = {}


# -- parameters --------------------------------------------------------------------------------------------------------


def stored_names(kind: type) -> tuple[str, ...]:
    """Return the names of an estimator's parameters that a file stores."""
    return tuple(name for name in kind().get_params(deep=False) if name not in RUN_OPTIONS)


def pack_parameters(estimator: Any, codecs: Mapping[str, Codec] = NO_CODECS) -> dict[str, Any]:
    """Return the parameters as JSON values; UsageError unless they are numbers, text, or lists or dicts of these.

    A parameter with a codec is packed by it, unless it is None.
    """
    values = {name: getattr(estimator, name) for name in stored_names(type(estimator))}
    return {
        name: codecs[name].pack(name, value) if name in codecs and value is not None else _pack_parameter(name, value)
        for name, value in values.items()
    }


def _pack_parameter(name: str, value: Any) -> Any:
    if name == "class_weight" and isinstance(value, Mapping):
        # a list of pairs: the keys of JSON objects are text
        return [[_pack_scalar(name, key), _pack_scalar(name, weight)] for key, weight in value.items()]
    if name == "monotonic_cst" and isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {str(key): _pack_scalar(name, direction) for key, direction in value.items()}
    if name == GROUPS and isinstance(value, (list, tuple)):
        return [[_pack_scalar(name, column) for column in group] for group in value]
    if name in LISTS and not isinstance(value, str):
        items = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(items, list | tuple):
            return [_pack_scalar(name, item) for item in items]
    return _pack_scalar(name, value)


def _pack_scalar(name: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if not _is_scalar(value):
        raise UsageError(
            f"a file can hold only numbers, text, true, false and None as {name}, got {type(value).__name__} "
            f"{shown(value)}; set_params({name}=...) before saving"
        )
    return value


def _is_list_of_scalars(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_scalar, value))


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) <= MAX_INTEGER
    return value is None or isinstance(value, str)


def unpack_parameters(content: Any, kind: type, codecs: Mapping[str, Codec] = NO_CODECS) -> dict[str, Any]:
    """Return the parameters of an estimator from the content of a file."""
    names = stored_names(kind)
    if isinstance(content, dict):
        content = {**ADDED.get(kind.__name__, {}), **content}
    if not isinstance(content, dict) or set(content) != set(names):
        raise ModelError(f"parameters must be an object with {', '.join(names)}; got {shown(content)}")
    values = {name: content[name] for name in names}
    return {
        name: codecs[name].unpack(name, value)
        if name in codecs and value is not None
        else _unpack_parameter(name, value)
        for name, value in values.items()
    }


def _unpack_parameter(name: str, value: Any) -> Any:
    if _is_scalar(value):
        return value
    if name in LISTS and _is_list_of_scalars(value):
        return value
    if name == "monotonic_cst" and isinstance(value, dict) and all(map(_is_scalar, value.values())):
        return value
    if name == GROUPS and isinstance(value, list) and all(_is_list_of_scalars(group) for group in value):
        return value
    if name == "class_weight" and isinstance(value, list) and all(map(_is_weight, value)):
        return dict(value)
    raise ModelError(f"parameter {name} cannot be {shown(value)}")


def _is_weight(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and _is_scalar(pair[0]) and isinstance(pair[1], int | float)


# -- classes, categories, names ----------------------------------------------------------------------------------------


def pack_values(name: str, values: Array) -> dict[str, Any]:
    """Return an array (n,) of numbers, bool or text as a JSON object with its type and its items."""
    kind = values.dtype.kind
    if kind == "U":
        dtype = "str"
    elif kind == "O" and all(isinstance(value, str) for value in values):
        dtype = "object"
    elif values.dtype.name in (*NUMBER_DTYPES, "bool"):
        dtype = values.dtype.name
    else:
        raise UsageError(f"a file can hold only text, bool and numbers up to 64 bits as {name}, got {values.dtype}")
    items = values.tolist()
    if kind == "f" and not all(map(math.isfinite, items)):
        raise UsageError(f"a file can hold only finite numbers as {name}")
    return {"dtype": dtype, "values": items}


def unpack_values(name: str, content: Any) -> Array:
    """Return the array (n,) that `pack_values` stored."""
    if not isinstance(content, dict) or set(content) != {"dtype", "values"} or not isinstance(content["values"], list):
        raise ModelError(f"{name} must be an object with dtype and a list of values, got {shown(content)}")
    dtype, items = content["dtype"], content["values"]
    if dtype in ("str", "object"):
        return _unpack_text(name, items, dtype)
    if dtype == "bool":
        is_good = all(isinstance(item, bool) for item in items)
    elif dtype in NUMBER_DTYPES:
        is_good = all(_fits(item, np.dtype(dtype)) for item in items)
    else:
        raise ModelError(f"dtype of {name} must be str, object, bool or one of numpy's numbers, got {shown(dtype)}")
    if not is_good:
        raise ModelError(f"{name} must all be {dtype}, got {shown(items)}")
    return np.array(items, dtype=dtype)


def _fits(item: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether a type can represent a number from a file exactly."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return isinstance(item, float) and float(dtype.type(item)) == item
    limits = np.iinfo(dtype)
    return is_whole(item) and limits.min <= item <= limits.max


def _unpack_text(name: str, items: list[Any], dtype: str) -> Array:
    if not all(isinstance(item, str) for item in items):
        raise ModelError(f"{name} must all be text, got {shown(items)}")
    if dtype == "object":
        return np.array(items, dtype=object)
    if len(items) * max(map(len, items), default=0) > MAX_TEXT_CHARS:
        raise ModelError(f"{name} need more memory than {MAX_TEXT_CHARS} characters")
    array = np.array(items, dtype=np.str_)
    if array.tolist() != items:
        raise ModelError(f"{name} must not end in a zero character, got {shown(items)}")
    return array


def pack_classes(classes: Any) -> Any:
    """Return the classes of a classifier as JSON; with several targets, a list with those of each."""
    if isinstance(classes, list):
        return [pack_values("classes", own) for own in classes]
    return pack_values("classes", classes)


def unpack_classes(content: Any) -> Any:
    """Return the classes of a classifier, (n_classes,); with several targets, a list of such arrays."""
    if not isinstance(content, list):
        return _unpack_one_target(content)
    if not 2 <= len(content) <= MAX_TARGETS:
        raise ModelError(f"classes of several targets must be a list of 2 to {MAX_TARGETS}, got {len(content)}")
    return [_unpack_one_target(own) for own in content]


def _unpack_one_target(content: Any) -> Array:
    """Return the classes of a target, (n_classes,), after checking that there is one, and that they ascend."""
    classes = unpack_values("classes", content)
    items = classes.tolist()
    if not items or any(not a < b for a, b in pairwise(items)):
        raise ModelError(f"classes must be one or more, ascending, without duplicates; got {shown(items)}")
    return classes


def pack_categories(categories: Mapping[int, Array]) -> list[dict[str, Any]]:
    """Return the categories of categorical columns as a JSON list, in the order of the columns."""
    for column, values in categories.items():
        if len(values) > MAX_CATEGORIES:
            raise UsageError(
                f"a file can hold at most {MAX_CATEGORIES} categories of a column, column {column} has {len(values)}: "
                "merge some before fitting"
            )
    return [
        {"column": column, **pack_values(f"categories of column {column}", categories[column])}
        for column in sorted(categories)
    ]


def unpack_categories(content: Any, n_features: int) -> dict[int, Array]:
    """Return the categories of categorical columns, by column, after checking their number and duplicates."""
    if not isinstance(content, list):
        raise ModelError(f"categories must be a list, got {shown(content)}")
    categories: dict[int, Array] = {}
    last = -1
    for entry in content:
        if not isinstance(entry, dict) or "column" not in entry:
            raise ModelError(f"an entry of categories must have column, dtype and values, got {shown(entry)}")
        last = whole("column of categories", entry["column"], last + 1, n_features - 1)
        name = f"categories of column {last}"
        values = unpack_values(name, {key: value for key, value in entry.items() if key != "column"})
        if len(set(values.tolist())) != len(values) or len(values) > MAX_CATEGORIES:
            raise ModelError(
                f"{name} must be at most {MAX_CATEGORIES}, without duplicates; got {shown(values.tolist())}"
            )
        categories[last] = values
    return categories


def pack_names(names: Sequence[str] | None) -> list[str] | None:
    """Return the names of columns as a JSON list; None if there are none."""
    return None if names is None else [str(name) for name in names]


def unpack_names(content: Any, n_features: int) -> Array | None:
    """Return the names of columns, (n_features,) object; None if there are none."""
    if content is None:
        return None
    if not isinstance(content, list) or len(content) != n_features or not all(isinstance(n, str) for n in content):
        raise ModelError(f"feature_names must be null or {n_features} texts, got {shown(content)}")
    return np.array(content, dtype=object)


# -- numbers -----------------------------------------------------------------------------------------------------------


def whole(name: str, value: Any, least: int, most: int) -> int:
    """Return a whole number from a file after checking its bounds."""
    if not is_whole(value) or not least <= value <= most:
        raise ModelError(f"{name} must be a whole number from {least} to {most}, got {shown(value)}")
    return value


def pack_number(value: float) -> float | None:
    """Return a number for JSON, which has no NaN: None if it is unknown."""
    return float(value) if math.isfinite(value) else None


def unpack_number(name: str, value: Any) -> float:
    """Return the number that `pack_number` stored; NaN for None."""
    if value is None:
        return math.nan
    if not is_number(value):
        raise ModelError(f"{name} must be a number or null, got {shown(value)}")
    return float(value)
