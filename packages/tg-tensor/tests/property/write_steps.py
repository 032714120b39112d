"""What the steps of random programs that write into their values mean: by NumPy, and by tg."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tg_tensor import Tensor, dtypes

Array = npt.NDArray[np.generic]
DTYPES = {
    "float32": dtypes.float32,
    "float16": dtypes.float16,
    "int32": dtypes.int32,
    "int64": dtypes.int64,
    "int8": dtypes.int8,
    "uint8": dtypes.uint8,
    "bool": dtypes.bool,
}
SUM_DTYPES = {"bool": "int32", "int8": "int32", "uint8": "uint32"}


@dataclass(frozen=True)
class Step:
    """One operation: on which earlier values, with which numbers, or a write into the first."""

    name: str
    on: tuple[int, ...]
    params: tuple[object, ...] = ()

    @property
    def is_write(self) -> bool:
        """Whether the first operand is changed, and no value made."""
        return self.name in WRITES


# what NumPy does -------------------------------------------------------------------------------


def _sum(x: Array, axis: int) -> Array:
    target = SUM_DTYPES.get(str(x.dtype), str(x.dtype))
    wide = "float32" if x.dtype == np.float16 else target
    return np.asarray(np.sum(x, axis=axis, dtype=wide)).astype(target)


def _floordiv(x: Array, y: Array) -> Array:
    safe = np.where(y == 0, 1, y).astype(x.dtype)
    return np.where(y == 0, 0, x // safe).astype(x.dtype)


def _mod(x: Array, y: Array) -> Array:
    safe = np.where(y == 0, 1, y).astype(x.dtype)
    return np.where(y == 0, 0, x % safe).astype(x.dtype)


def _product(x: Array, y: Array) -> Array:
    target = SUM_DTYPES.get(str(x.dtype), str(x.dtype))
    if x.dtype == np.float16:
        return np.asarray(x.astype(np.float32) @ y.astype(np.float32)).astype(target)
    return np.asarray(x.astype(target) @ y.astype(target))


def _filled(x: Array, where: object, value: object) -> Array:
    """What is stored at `where`: `value`, in the dtype of `x`."""
    part = x[where]  # type: ignore[index]
    return np.array(np.broadcast_to(np.asarray(value).astype(x.dtype), part.shape))


REFERENCE: dict[str, Callable[..., Array]] = {
    "neg": lambda x: -x,
    "abs": np.abs,
    "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "invert": lambda x: ~x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "lt": lambda x, y: x < y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "floordiv": _floordiv,
    "mod": _mod,
    "add number": lambda x, c: x + x.dtype.type(c),
    "number minus": lambda x, c: x.dtype.type(c) - x,
    "mul number": lambda x, c: x * x.dtype.type(c),
    "shl": lambda x, c: x << x.dtype.type(c),
    "shr": lambda x, c: x >> x.dtype.type(c),
    "where": np.where,
    "cast": lambda x, d: (
        x.astype(np.int64).astype(d) if x.dtype.kind == "f" and d[0] in "iu" else x.astype(d)
    ),
    "reshape": lambda x, s: x.reshape(s),
    "permute": lambda x, s: x.transpose(s),
    "flip": lambda x, a: np.flip(x, a),
    "pad": lambda x, p: np.pad(x, p),
    "slice": lambda x, where: x[where],
    "expand": lambda x, n: np.broadcast_to(x[None], (n, *x.shape)),
    "roll": lambda x, n, a: np.roll(x, n, a),
    "cat": lambda x, y, a: np.concatenate([x, y], a),
    "stack": lambda x, y: np.stack([x, y]),
    "gather": lambda x, places: x[list(places)],
    "sum": _sum,
    "max": lambda x, a: np.max(x, axis=a),
    "min": lambda x, a: np.min(x, axis=a),
    "any": lambda x, a: np.any(x != 0, axis=a),
    "argmax": lambda x, a: np.argmax(x, axis=a).astype(np.int32),
    "cumsum": lambda x, a: np.cumsum(x, axis=a, dtype=SUM_DTYPES.get(str(x.dtype), x.dtype)),
    "matmul": _product,
    "contiguous": lambda x: x,
    "realize": lambda x: x,
    "set number": lambda x, where, c: _filled(x, where, c),
    "set value": lambda x, y, where: _filled(x, where, y),
    "set from itself": lambda x, where, source: _filled(x, where, x[source]),
    "set masked": lambda x, m, c: _filled(x, m, c),
    "set places": lambda x, places, c: _filled(x, list(places), c),
    "add to part": lambda x, where, c: x[where] + x.dtype.type(c),
    "assign": lambda x, y: np.array(np.broadcast_to(y, x.shape)),
    "assign flipped": lambda x: np.flip(x, tuple(range(x.ndim))) + x,
    "iadd": lambda x, y: x + y,
}

PARTS: dict[str, Callable[..., object]] = {
    "set number": lambda where, c: where,
    "set value": lambda where: where,
    "set from itself": lambda where, source: where,
    "set places": lambda places, c: list(places),
    "add to part": lambda where, c: where,
}
"""Which part a step writes, by its numbers; the others write all."""

VIEWS = frozenset(("reshape", "permute", "flip", "slice"))
"""Steps through whose results their operand is written too."""


@dataclass
class Known:
    """A value as NumPy has it: what it was taken from, and by which view."""

    array: Array
    base: Known | None = None
    view: Callable[[Array], Array] = np.array
    repeats: bool = False
    """Whether elements may appear more than once: a write is refused then (`AssignError`)."""

    def write(self, part: object, stored: Array) -> None:
        """Write a part of this, and with it the same elements of what it was taken from."""
        value: Known | None = self
        views: list[Callable[[Array], Array]] = []
        while value is not None:
            places = np.arange(value.array.size).reshape(value.array.shape)
            for view in reversed(views):
                places = view(places)
            fresh = value.array.copy().reshape(-1)
            fresh[np.asarray(places[part]).reshape(-1)] = stored.reshape(-1)  # type: ignore[index]
            value.array = fresh.reshape(value.array.shape)
            views.append(value.view)
            value = value.base


def apply_reference(values: list[Known], step: Step) -> Array:
    """Do one step; what it makes, or stores."""
    operands = [values[i] for i in step.on]
    arrays = [operand.array for operand in operands]
    made = np.array(REFERENCE[step.name](*arrays, *step.params))
    if not step.is_write:
        base = operands[0] if step.name in VIEWS else None
        repeats = step.name == "expand" or (base is not None and base.repeats)
        values.append(Known(made, base, lambda x: REFERENCE[step.name](x, *step.params), repeats))
    elif step.name == "set masked":
        operands[0].write(arrays[1], made)
    elif step.name != "realize":
        part = PARTS[step.name](*step.params) if step.name in PARTS else ...
        operands[0].write(part, made)
    return made


# what tg does ----------------------------------------------------------------------------------


def _setitem(x: Tensor, where: object, value: object) -> None:
    x[where] = value  # type: ignore[index, assignment]


def _iadd(x: Tensor, y: Tensor) -> None:
    x += y


def _add_to_part(x: Tensor, where: object, c: object) -> None:
    x[where] += c  # type: ignore[index, operator]


WRITES: dict[str, Callable[..., object]] = {
    "realize": lambda x: x.realize(),
    "set number": _setitem,
    "set value": lambda x, y, where: _setitem(x, where, y),
    "set from itself": lambda x, where, source: _setitem(x, where, x[source]),
    "set masked": _setitem,
    "set places": lambda x, places, c: _setitem(x, Tensor(list(places)), c),
    "add to part": _add_to_part,
    "assign": lambda x, y: x.assign(y),
    "assign flipped": lambda x: x.assign(x.flip(tuple(range(x.ndim))) + x),
    "iadd": _iadd,
}
MAKES: dict[str, Callable[..., Tensor]] = {
    "neg": lambda x: -x,
    "abs": lambda x: x.abs(),
    "relu": lambda x: x.relu(),
    "invert": lambda x: ~x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "maximum": lambda x, y: x.maximum(y),
    "minimum": lambda x, y: x.minimum(y),
    "lt": lambda x, y: x < y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "add number": lambda x, c: x + c,
    "number minus": lambda x, c: c - x,
    "mul number": lambda x, c: x * c,
    "shl": lambda x, c: x << c,
    "shr": lambda x, c: x >> c,
    "where": lambda c, x, y: c.where(x, y),
    "cast": lambda x, d: x.cast(DTYPES[d]),
    "reshape": lambda x, s: x.reshape(s),
    "permute": lambda x, s: x.permute(s),
    "flip": lambda x, a: x.flip(a),
    "pad": lambda x, p: x.pad(p),
    "slice": lambda x, where: x[where],
    "expand": lambda x, n: x.unsqueeze(0).expand((n, *x.shape)),
    "roll": lambda x, n, a: x.roll(n, a),
    "cat": lambda x, y, a: x.cat(y, dim=a),
    "stack": lambda x, y: Tensor.stack(x, y),
    "gather": lambda x, places: x[Tensor(list(places))],
    "sum": lambda x, a: x.sum(a),
    "max": lambda x, a: x.max(a),
    "min": lambda x, a: x.min(a),
    "any": lambda x, a: x.any(a),
    "argmax": lambda x, a: x.argmax(a),
    "cumsum": lambda x, a: x.cumsum(a),
    "matmul": lambda x, y: (
        x.dot(y, dtype=None)
        if x.dtype not in (dtypes.int8, dtypes.uint8, dtypes.bool)
        else x.cast(_wide(x)).dot(y.cast(_wide(y)))
    ),
    "contiguous": lambda x: x.contiguous(),
}


def _wide(x: Tensor) -> object:
    return dtypes.uint32 if x.dtype == dtypes.uint8 else dtypes.int32
