"""What the steps of random programs over every dtype mean: by NumPy, and by tg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tg_tensor import Tensor, dtypes
from tg_uop import DType

Array = npt.NDArray[Any]
Where = Sequence[Any]

DTYPES: dict[str, DType] = {
    "bool": dtypes.bool,
    "int8": dtypes.int8,
    "int16": dtypes.int16,
    "int32": dtypes.int32,
    "int64": dtypes.int64,
    "uint8": dtypes.uint8,
    "uint16": dtypes.uint16,
    "uint32": dtypes.uint32,
    "uint64": dtypes.uint64,
    "float16": dtypes.float16,
    "float32": dtypes.float32,
    "float64": dtypes.float64,
}
SUM_DTYPES = {
    "bool": "int32",
    "int8": "int32",
    "int16": "int32",
    "uint8": "uint32",
    "uint16": "uint32",
}


@dataclass(frozen=True)
class Step:
    """One operation on earlier values, with its numbers."""

    name: str
    on: tuple[int, ...]
    params: tuple[Any, ...] = ()


def sum_dtype(x: Array) -> str:
    """What a sum of `x` has: 32 bits for narrower integers."""
    return SUM_DTYPES.get(str(x.dtype), str(x.dtype))


def promoted(first: Array, second: Array) -> str:
    """The dtype of a result of both: a float wins over integers, whatever its width."""
    a, b = str(first.dtype), str(second.dtype)
    if ("float" in a) != ("float" in b):
        return a if "float" in a else b
    if "uint64" in (a, b) and (a.startswith("int") or b.startswith("int")):
        return "float32"
    return str(np.promote_types(a, b))


# what NumPy does -------------------------------------------------------------------------------


def _promoting(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def apply(x: Array, y: Array) -> Array:
        dtype = promoted(x, y)
        return function(x.astype(dtype), y.astype(dtype))

    return apply


def _cast(x: Array, dtype: str) -> Array:
    """Floats become integers through int64."""
    is_whole = x.dtype.kind == "f" and dtype[0] in "iu"
    return x.astype(np.int64).astype(dtype) if is_whole else x.astype(dtype)


def _reduced(function: Callable[..., Array]) -> Callable[..., Array]:
    def apply(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        wide = "float32" if x.dtype == np.float16 else sum_dtype(x)
        return np.asarray(function(x, axis=axes, dtype=wide, keepdims=keep)).astype(sum_dtype(x))

    return apply


def _position(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x, axis, keep: np.asarray(function(x, axis=axis, keepdims=keep)).astype(np.int32)


def _order(x: Array, axis: int, descending: bool) -> Array:
    """Places in stable order: equal elements stay as they were, whichever way it goes."""
    wide = x.astype(np.float64) if x.dtype.kind == "b" else x
    if not descending:
        return np.argsort(wide, axis=axis, kind="stable")
    places = np.argsort(np.flip(wide, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(places, axis)


def _sorted(x: Array, axis: int, descending: bool) -> Array:
    return np.take_along_axis(x, _order(x, axis, descending), axis)


def _gathered(x: Array, axis: int, index: Array) -> Array:
    """`index` may be smaller than `x` on the other axes."""
    axis %= x.ndim
    part = tuple(slice(None) if a == axis else slice(n) for a, n in enumerate(index.shape))
    return np.take_along_axis(x[part], index, axis)


COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sum": lambda x, y: x + y,
    "prod": lambda x, y: x * y,
    "amax": max,
    "amin": min,
}


def _scattered(x: Array, y: Array, axis: int, index: Array, how: str, include_self: bool) -> Array:
    """One source after the other: of equal places the last is kept, or all are combined."""
    out, touched = x.copy(), np.zeros(x.shape, bool)
    for place in np.ndindex(*index.shape):
        at = list(place)
        at[axis % x.ndim] = index[place]
        to = tuple(at)
        fresh = how == "" or (not include_self and not touched[to])
        out[to] = y[place] if fresh else COMBINE[how](out[to], y[place])
        touched[to] = True
    return out


def _index_added(x: Array, y: Array, axis: int, places: tuple[int, ...]) -> Array:
    out = np.moveaxis(x.copy(), axis, 0)
    np.add.at(out, np.array(places), np.moveaxis(y, axis, 0))
    return np.moveaxis(out, 0, axis)


def arrays_in(where: Where) -> tuple[Any, ...]:
    """An index as NumPy takes it: lists of numbers are arrays."""
    return tuple(np.array(item) if isinstance(item, list) else item for item in where)


def _written(x: Array, where: Where, value: Any) -> Array:
    out = x.copy()
    out[arrays_in(where)] = value
    return out


def _written_through(x: Array, order: tuple[int, ...], stride: int, number: int) -> Array:
    out = x.copy()
    out.transpose(order)[::stride][...] = number
    return out


def _divided(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Division by zero gives 0."""

    def apply(x: Array, y: Array) -> Array:
        safe = np.where(y == 0, 1, y).astype(x.dtype)
        return np.where(y == 0, 0, function(x, safe)).astype(x.dtype)

    return apply


def _truncated(x: Array, y: Array) -> Array:
    quotient = x // y
    return quotient + ((x - quotient * y != 0) & ((x < 0) != (y < 0)))


def _matmul(x: Array, y: Array) -> Array:
    wide = "float32" if x.dtype == np.float16 else sum_dtype(x)
    return np.asarray(x.astype(wide) @ y.astype(wide)).astype(sum_dtype(x))


def _windows(x: Array, axis: int, size: int, step: int) -> Array:
    found = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    steps = [slice(None)] * x.ndim
    steps[axis] = slice(None, None, step)
    return found[tuple(steps)]


def _cropped(x: Array, amounts: tuple[tuple[int, int], ...]) -> Array:
    """Negative amounts cut off what is there; more is an error."""
    if any(n < max(0, -b) + max(0, -a) for n, (b, a) in zip(x.shape, amounts, strict=True)):
        raise ValueError("more is cut off than there is")
    grown = np.pad(x, [(max(0, before), max(0, after)) for before, after in amounts])
    return grown[tuple(slice(max(0, -b), a if a < 0 else None) for b, a in amounts)]


def _chunk(x: Array, axis: int, count: int) -> Array:
    size = -(-x.shape[axis] // count)
    return np.take(x, range(min(size, x.shape[axis])), axis)


PAD_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""Names of PyTorch and of NumPy."""


# what tg does ----------------------------------------------------------------------------------


def tensors_in(where: Where) -> tuple[Any, ...]:
    """An index as tg takes it: lists of numbers are Tensors."""
    return tuple(Tensor(item) if isinstance(item, list) else item for item in where)


def _write(x: Tensor, where: Where, value: Any) -> Tensor:
    out = x.clone()
    out[tensors_in(where)] = value
    return out


def _write_through(x: Tensor, order: tuple[int, ...], stride: int, number: int) -> Tensor:
    out = x.clone()
    part = out.permute(order)[::stride]
    part.assign(Tensor.full(part.shape, number, dtype=x.dtype, device=x.device))
    return out


def _scatter(x: Tensor, y: Tensor, axis: int, index: Array, how: str, include_self: bool) -> Tensor:
    places = Tensor(index.astype(np.int32), device=x.device)
    if how in ("", "add"):
        return x.scatter(axis, places, y, reduce=how or None)
    return x.scatter_reduce(axis, places, y, how, include_self=include_self)


def _dot(x: Tensor, y: Tensor) -> Tensor:
    """Of narrow integers in the dtype of their sums, as NumPy is asked to do it."""
    narrow = {DTYPES[name]: DTYPES[wide] for name, wide in SUM_DTYPES.items()}
    dtype = narrow.get(x.dtype, x.dtype)
    return x.cast(dtype) @ y.cast(dtype)


STEPS: dict[str, tuple[Callable[..., Array], Callable[..., Tensor]]] = {
    "add": (_promoting(np.add), lambda x, y: x + y),
    "sub": (_promoting(np.subtract), lambda x, y: x - y),
    "mul": (_promoting(np.multiply), lambda x, y: x * y),
    "maximum": (_promoting(np.maximum), lambda x, y: x.maximum(y)),
    "minimum": (_promoting(np.minimum), lambda x, y: x.minimum(y)),
    "lt": (_promoting(np.less), lambda x, y: x < y),
    "le": (_promoting(np.less_equal), lambda x, y: x <= y),
    "eq": (_promoting(np.equal), lambda x, y: x == y),
    "ne": (_promoting(np.not_equal), lambda x, y: x != y),
    "where": (
        lambda c, x, y: np.where(c, x.astype(promoted(x, y)), y.astype(promoted(x, y))),
        lambda c, x, y: c.where(x, y),
    ),
    "cast": (_cast, lambda x, d: x.cast(DTYPES[d])),
    "bitcast": (lambda x, d: x.view(d), lambda x, d: x.bitcast(DTYPES[d])),
    "neg": (np.negative, lambda x: -x),
    "abs": (np.abs, lambda x: x.abs()),
    "sign": (np.sign, lambda x: x.sign()),
    "square": (np.square, lambda x: x.square()),
    "relu": (lambda x: np.maximum(x, x.dtype.type(0)), lambda x: x.relu()),
    "invert": (np.invert, lambda x: ~x),
    "logical_not": (np.logical_not, lambda x: x.logical_not()),
    "clip": (lambda x, lo, hi: np.clip(x, x.dtype.type(lo), x.dtype.type(hi)), Tensor.clip),
    "floordiv": (_divided(np.floor_divide), lambda x, y: x // y),
    "mod": (_divided(np.mod), lambda x, y: x % y),
    "truncated": (_divided(_truncated), lambda x, y: x.idiv(y)),
    "and": (np.bitwise_and, lambda x, y: x & y),
    "or": (np.bitwise_or, lambda x, y: x | y),
    "xor": (np.bitwise_xor, lambda x, y: x ^ y),
    "shl": (lambda x, n: x << x.dtype.type(n), lambda x, n: x << n),
    "shr": (lambda x, n: x >> x.dtype.type(n), lambda x, n: x >> n),
    "sum": (_reduced(np.sum), lambda x, a, keep: x.sum(a, keepdim=keep)),
    "prod": (_reduced(np.prod), lambda x, a, keep: x.prod(a, keepdim=keep)),
    "max": (
        lambda x, a, keep: np.max(x, axis=a, keepdims=keep),
        lambda x, a, keep: x.max(a, keepdim=keep),
    ),
    "min": (
        lambda x, a, keep: np.min(x, axis=a, keepdims=keep),
        lambda x, a, keep: x.min(a, keepdim=keep),
    ),
    "any": (
        lambda x, a, keep: np.any(x != 0, axis=a, keepdims=keep),
        lambda x, a, keep: x.any(a, keepdim=keep),
    ),
    "all": (
        lambda x, a, keep: np.all(x != 0, axis=a, keepdims=keep),
        lambda x, a, keep: x.all(a, keepdim=keep),
    ),
    "count": (
        lambda x, a, keep: np.count_nonzero(x, axis=a, keepdims=keep).astype(np.int32),
        lambda x, a, keep: (x != 0).sum(a, keepdim=keep),
    ),
    "argmax": (_position(np.argmax), lambda x, a, keep: x.argmax(a, keepdim=keep)),
    "argmin": (_position(np.argmin), lambda x, a, keep: x.argmin(a, keepdim=keep)),
    "cumsum": (lambda x, a: np.cumsum(x, axis=a, dtype=sum_dtype(x)), lambda x, a: x.cumsum(a)),
    "cumprod": (lambda x, a: np.cumprod(x, axis=a, dtype=sum_dtype(x)), lambda x, a: x.cumprod(a)),
    "cummax": (lambda x, a: np.maximum.accumulate(x, axis=a), lambda x, a: x.cummax(a)[0]),
    "cummin": (lambda x, a: np.minimum.accumulate(x, axis=a), lambda x, a: x.cummin(a)[0]),
    "sort": (_sorted, lambda x, a, down: x.sort(a, down)[0]),
    "argsort": (lambda x, a, d: _order(x, a, d).astype(np.int32), lambda x, a, d: x.argsort(a, d)),
    "topk": (
        lambda x, a, down, n: np.take(_sorted(x, a, down), range(n), a),
        lambda x, a, down, n: x.topk(n, a, largest=down)[0],
    ),
    "gather": (
        _gathered,
        lambda x, a, index: x.gather(a, Tensor(index.astype(np.int32), device=x.device)),
    ),
    "scatter": (_scattered, _scatter),
    "index_add": (
        _index_added,
        lambda x, y, a, places: x.index_add(a, Tensor(list(places), device=x.device), y),
    ),
    "take": (lambda x, where: x[arrays_in(where)], lambda x, where: x[tensors_in(where)]),
    "masked": (lambda x, where: x[arrays_in(where)], lambda x, where: x[tensors_in(where)]),
    "write number": (_written, _write),
    "write value": (lambda x, y, where: _written(x, where, y), lambda x, y, w: _write(x, w, y)),
    "write masked": (lambda x, m, n: _written(x, (m,), n), lambda x, m, n: _write(x, (m,), n)),
    "write through": (_written_through, _write_through),
    "permute": (lambda x, order: x.transpose(order), lambda x, order: x.permute(order)),
    "flip": (np.flip, lambda x, a: x.flip(a)),
    "slice": (lambda x, where: x[where], lambda x, where: x[where]),
    "expand": (
        lambda x, n: np.broadcast_to(x[None], (n, *x.shape)),
        lambda x, n: x.unsqueeze(0).expand(n, *x.shape),
    ),
    "repeat": (np.tile, lambda x, counts: x.repeat(counts)),
    "repeat_interleave": (np.repeat, lambda x, n, a: x.repeat_interleave(n, a)),
    "tril": (np.tril, lambda x, n: x.tril(n)),
    "triu": (np.triu, lambda x, n: x.triu(n)),
    "diagonal": (np.diagonal, lambda x, n, a, b: x.diagonal(n, a, b)),
    "unfold": (_windows, lambda x, a, size, step: x.unfold(a, size, step)),
    "squeeze": (np.squeeze, lambda x: x.squeeze()),
    "roll": (np.roll, lambda x, n, a: x.roll(n, a)),
    "reshape": (lambda x, s: x.reshape(s), lambda x, s: x.reshape(s)),
    "pad": (lambda x, p, n: np.pad(x, p, constant_values=n), lambda x, p, n: x.pad(p, value=n)),
    "pad mode": (
        lambda x, p, mode: np.pad(x, p, mode=PAD_MODES[mode]),
        lambda x, p, mode: x.pad(p, mode=mode),
    ),
    "crop": (_cropped, lambda x, p: x.pad(p)),
    "movedim": (np.moveaxis, lambda x, a, b: x.movedim(a, b)),
    "chunk": (_chunk, lambda x, a, n: x.chunk(n, a)[0]),
    "cat": (
        lambda x, y, a: np.concatenate([x.astype(promoted(x, y)), y.astype(promoted(x, y))], a),
        lambda x, y, a: x.cat(y, dim=a),
    ),
    "stack": (lambda x, y, a: np.stack([x, y], a), lambda x, y, a: x.stack(y, dim=a)),
    "matmul": (_matmul, _dot),
    "contiguous": (lambda x: x, lambda x: x.contiguous()),
}
"""Each step by NumPy and by tg."""
