"""Functions of NumPy on Tensors: by methods of Tensor where there is one, else on arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tg_uop.arguments import shown
from tg_uop.errors import OperandError

# NumPy's name: the method of Tensor with that meaning
_METHODS = {
    "absolute": "abs",
    "add": "add",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "ceil": "ceil",
    "copysign": "copysign",
    "cos": "cos",
    "cosh": "cosh",
    "equal": "eq",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "floor": "floor",
    "fmax": "fmax",
    "fmin": "fmin",
    "greater": "gt",
    "greater_equal": "ge",
    "hypot": "hypot",
    "invert": "bitwise_not",
    "isfinite": "isfinite",
    "isinf": "isinf",
    "isnan": "isnan",
    "less": "lt",
    "less_equal": "le",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "logaddexp": "logaddexp",
    "logical_not": "logical_not",
    "maximum": "maximum",
    "minimum": "minimum",
    "multiply": "mul",
    "negative": "neg",
    "nextafter": "nextafter",
    "not_equal": "ne",
    "power": "pow",
    "rint": "round",
    "sign": "sign",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "square": "square",
    "subtract": "sub",
    "tan": "tan",
    "tanh": "tanh",
    "trunc": "trunc",
}
_OPERATORS: dict[str, Callable[..., object]] = {
    "divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "left_shift": lambda x, y: x << y,
    "matmul": lambda x, y: x @ y,
    "remainder": lambda x, y: x % y,
    "right_shift": lambda x, y: x >> y,
}


def call_ufunc(
    cls: type, ufunc: np.ufunc, method: str, inputs: tuple[object, ...], kwargs: dict[str, object]
) -> object:
    """A ufunc whose operands have a Tensor among them.

    `ufunc(x, y)` gives a Tensor; with `out=` an array is filled. `reduce` and the like, and
    functions that Tensor lacks, are computed by NumPy.
    """
    out = kwargs.pop("out", None)
    if method == "__call__" and not kwargs:
        result = _by_tensor(cls, ufunc.__name__, inputs)
    else:
        result = None
    if result is None:
        arrays = [np.asarray(x) if isinstance(x, cls) else x for x in inputs]
        found = getattr(ufunc, method)(*arrays, **kwargs)
        result = found if method != "__call__" else _lifted(cls, found)
    if out is None:
        return result
    return _filled(cls, out, result)


def _by_tensor(cls: type, name: str, inputs: tuple[object, ...]) -> object | None:
    operation = _OPERATORS.get(name)
    wanted = getattr(cls, _METHODS.get(name, ""), None)
    if operation is None and wanted is None:
        return None
    first = inputs[0]
    if not isinstance(first, cls):
        # a scalar takes its number type from the Tensor beside it
        first = inputs[1].ufix(first)  # type: ignore[attr-defined]
    if operation is not None:
        return operation(first, *inputs[1:])
    assert wanted is not None, "one of the two is there"
    found: object = wanted(first, *inputs[1:])
    return found


def _lifted(cls: type, found: object) -> object:
    if isinstance(found, tuple):
        return tuple(cls(part) for part in found)
    return cls(found)


def _filled(cls: type, out: object, result: object) -> object:
    """The target that `out=` names, with the result in it."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if isinstance(target, cls):
        return target.assign(result)  # type: ignore[attr-defined]
    if not isinstance(target, np.ndarray):
        raise OperandError(
            call="a function of NumPy",
            argument="out",
            given=shown(out),
            expected="an array or a Tensor",
        )
    np.copyto(target, np.asarray(result), casting="same_kind")
    return target


def call_function(
    cls: type, func: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> object:
    """A function of NumPy on arrays of the values of the Tensors among its arguments."""
    arrays = _with_arrays(cls, args)
    named = {name: _with_arrays(cls, value) for name, value in kwargs.items()}
    return func(*arrays, **named)  # type: ignore[misc]


def _with_arrays(cls: type, value: object) -> object:
    """Arguments with an array for each Tensor; lists nest at most as deep as Python allows."""
    if isinstance(value, cls):
        return np.asarray(value)
    if isinstance(value, list | tuple):
        return type(value)(_with_arrays(cls, part) for part in value)
    return value
