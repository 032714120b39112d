"""Draw steps that fit their operands, for random programs over every dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from wide_steps import DTYPES, PAD_MODES, Array, Step, promoted

Draw = st.DrawFn
Params = tuple[Any, ...]

ANY_TWO = ("add", "sub", "mul", "maximum", "minimum", "lt", "le", "eq", "ne")
INTEGERS_TWO = ("floordiv", "mod", "truncated")
BITS_TWO = ("and", "or", "xor")
NOT_OF_BOOL = ("neg", "sign", "square", "abs", "relu", "clip", "max", "min", "argmax", "argmin")
NOT_OF_BOOL += ("cummax", "cummin", "argsort", "topk", "index_add", "matmul")
NUMBERS = st.integers(0, 1)


def _axis(draw: Draw, x: Array) -> int:
    return draw(st.integers(-x.ndim, x.ndim - 1))


def _slices(draw: Draw, x: Array) -> tuple[slice, ...]:
    steps = st.sampled_from([1, 1, 2, -1, -2, 3])
    return tuple(
        slice(
            draw(st.integers(-n - 1, n)), draw(st.none() | st.integers(-n - 1, n + 1)), draw(steps)
        )
        for n in x.shape
    )


def _axes(draw: Draw, x: Array) -> Params:
    chosen = draw(st.sets(st.integers(0, x.ndim - 1), min_size=1))
    return tuple(sorted(chosen)), draw(st.booleans())


def _places(draw: Draw, count: int, most: int = 4) -> list[int]:
    return draw(st.lists(st.integers(-count, count - 1), min_size=1, max_size=most))


def _index(draw: Draw, shape: Sequence[int], below: int) -> Array:
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    return random.integers(0, below, tuple(shape))


def _gather(draw: Draw, x: Array) -> Params:
    axis = _axis(draw, x)
    shape = [draw(st.integers(1, n)) for n in x.shape]
    shape[axis] = draw(st.integers(1, 6))
    return axis, _index(draw, shape, x.shape[axis])


def _take(draw: Draw, x: Array) -> Params:
    """One index array or several, beside slices, new axes and an ellipsis."""
    first = _places(draw, x.shape[0])
    forms: list[tuple[Any, ...]] = [(first,), ([first, first[::-1]],), (None, first, ..., None)]
    if x.ndim > 1:
        second = [at % x.shape[1] for at in first]
        forms += [(first, second), (slice(None, None, -1), [[at] for at in second])]
    if x.ndim > 2:
        third = [at % x.shape[2] for at in first]
        forms.append((first, slice(None, None, draw(st.sampled_from([1, -1, 2]))), third))
    return (draw(st.sampled_from(forms)),)


def _write_number(draw: Draw, x: Array) -> Params:
    first: Any = _places(draw, x.shape[0])
    where = (
        (first, slice(None, None, draw(st.sampled_from([1, 2, -1])))) if x.ndim > 1 else (first,)
    )
    return where, draw(NUMBERS)


def _factorings(x: Array) -> list[tuple[int, ...]]:
    pairs = [(n, x.size // n) for n in range(1, x.size + 1) if x.size % n == 0]
    return [(-1,), (1, x.size), (x.size, 1), *pairs]


def _amounts(draw: Draw, x: Array, low: int = 0, high: int = 2) -> tuple[tuple[int, int], ...]:
    amount = st.integers(low, high)
    return tuple((draw(amount), draw(amount)) for _ in x.shape)


def _pad_mode(draw: Draw, x: Array) -> Params:
    mode = draw(st.sampled_from(sorted(PAD_MODES)))
    most = [n - 1 if mode == "reflect" else n for n in x.shape]
    sizes = tuple((draw(st.integers(0, n)), draw(st.integers(0, n))) for n in most)
    return sizes, mode


def _diagonal(draw: Draw, x: Array) -> Params:
    first, second = draw(st.permutations(range(x.ndim)))[:2]
    return draw(st.integers(-x.shape[first], x.shape[second])), first, second


def _unfold(draw: Draw, x: Array) -> Params:
    axis = _axis(draw, x)
    return axis, draw(st.integers(1, x.shape[axis])), draw(st.integers(1, 3))


def _topk(draw: Draw, x: Array) -> Params:
    axis = _axis(draw, x)
    return axis, draw(st.booleans()), draw(st.integers(1, x.shape[axis]))


ALONE: dict[str, Callable[[Draw, Array], Params]] = {
    "cast": lambda draw, x: (draw(st.sampled_from(sorted(DTYPES))),),
    "neg": lambda draw, x: (),
    "abs": lambda draw, x: (),
    "sign": lambda draw, x: (),
    "square": lambda draw, x: (),
    "relu": lambda draw, x: (),
    "logical_not": lambda draw, x: (),
    "clip": lambda draw, x: tuple(sorted((draw(st.integers(0, 3)), draw(st.integers(0, 3))))),
    "expand": lambda draw, x: (draw(st.integers(1, 3)),),
    "squeeze": lambda draw, x: (),
    "contiguous": lambda draw, x: (),
}
"""Steps of one operand of any number of axes: how their numbers are drawn."""

WITH_AXES: dict[str, Callable[[Draw, Array], Params]] = {
    **dict.fromkeys(("sum", "prod", "max", "min", "any", "all", "count"), _axes),
    **dict.fromkeys(("argmax", "argmin"), lambda d, x: (_axis(d, x), d(st.booleans()))),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), lambda d, x: (_axis(d, x),)),
    **dict.fromkeys(("sort", "argsort"), lambda d, x: (_axis(d, x), d(st.booleans()))),
    "topk": _topk,
    "gather": _gather,
    "take": _take,
    "masked": lambda d, x: (([d(st.booleans()) for _ in range(x.shape[0])],),),
    "write number": _write_number,
    "write through": lambda d, x: (
        tuple(d(st.permutations(range(x.ndim)))),
        d(st.sampled_from([1, 2, -1, -2])),
        d(NUMBERS),
    ),
    "permute": lambda d, x: (tuple(d(st.permutations(range(x.ndim)))),),
    "flip": lambda d, x: (_axis(d, x),),
    "slice": lambda d, x: (_slices(d, x),),
    "repeat": lambda d, x: (tuple(d(st.integers(1, 2)) for _ in x.shape),),
    "repeat_interleave": lambda d, x: (d(st.integers(1, 3)), _axis(d, x)),
    "roll": lambda d, x: (d(st.integers(-5, 5)), _axis(d, x)),
    "reshape": lambda d, x: (d(st.sampled_from(_factorings(x))),),
    "pad": lambda d, x: (_amounts(d, x), d(NUMBERS)),
    "pad mode": _pad_mode,
    "crop": lambda d, x: (_amounts(d, x, -1, 1),),
    "movedim": lambda d, x: (_axis(d, x), _axis(d, x)),
    "chunk": lambda d, x: (_axis(d, x), d(st.integers(1, 4))),
    "unfold": _unfold,
}
"""Steps of one operand with at least one axis and one element."""

MATRIX: dict[str, Callable[[Draw, Array], Params]] = {
    "tril": lambda d, x: (d(st.integers(-2, 2)),),
    "triu": lambda d, x: (d(st.integers(-2, 2)),),
    "diagonal": _diagonal,
}
"""Steps of one operand with two axes or more."""

OTHER = ("where", "bitcast", "invert", "shl", "shr", "scatter", "index_add", "write value")
OTHER += ("write masked", "cat", "stack", "matmul")
NAMES = sorted({*ALONE, *WITH_AXES, *MATRIX, *OTHER, *ANY_TWO, *INTEGERS_TWO, *BITS_TWO})


def drawn_step(draw: Draw, values: Sequence[Array]) -> Step | None:
    """A step on drawn operands; None where it does not fit them."""
    name = draw(st.sampled_from(NAMES))
    at = draw(st.integers(0, len(values) - 1))
    x = values[at]
    if x.dtype == bool and name in NOT_OF_BOOL:
        return None
    if name in ALONE:
        return Step(name, (at,), ALONE[name](draw, x))
    if name in WITH_AXES:
        return Step(name, (at,), WITH_AXES[name](draw, x)) if x.ndim and x.size else None
    if name in MATRIX:
        return Step(name, (at,), MATRIX[name](draw, x)) if x.ndim > 1 else None
    if name in ANY_TWO:
        other = draw(st.integers(0, len(values) - 1))
        is_bool = promoted(x, values[other]) == "bool"
        return None if name == "sub" and is_bool else Step(name, (at, other))
    return _step_of_alike(draw, name, at, values)


def _step_of_alike(draw: Draw, name: str, at: int, values: Sequence[Array]) -> Step | None:
    """Steps that ask for something of the dtype, or for a second operand of the same."""
    x = values[at]
    alike = st.sampled_from([i for i, v in enumerate(values) if v.dtype == x.dtype])
    masks = [i for i, v in enumerate(values) if v.dtype == bool]
    is_integer = x.dtype.kind in "iu"
    match name:
        case "floordiv" | "mod" | "truncated":
            return Step(name, (at, draw(alike))) if is_integer else None
        case "and" | "or" | "xor":
            return Step(name, (at, draw(alike))) if x.dtype.kind != "f" else None
        case "invert":
            return Step(name, (at,)) if x.dtype.kind != "f" else None
        case "shl" | "shr":
            return Step(name, (at,), (draw(st.integers(0, 6)),)) if is_integer else None
        case "bitcast" if is_integer:
            dtype = f"{draw(st.sampled_from(['int', 'uint']))}{8 * x.dtype.itemsize}"
            return Step(name, (at,), (dtype,))
        case "where" if masks:
            other = draw(st.integers(0, len(values) - 1))
            return Step(name, (draw(st.sampled_from(masks)), at, other))
        case "write masked":
            fitting = [i for i in masks if values[i].shape == x.shape]
            masked = (at, draw(st.sampled_from(fitting))) if fitting else None
            return Step(name, masked, (draw(NUMBERS),)) if masked else None
        case "matmul":
            return Step(name, (at, draw(alike)))
        case "stack":
            return Step(name, (at, draw(alike)), (draw(st.integers(-x.ndim - 1, x.ndim)),))
        case "cat" if x.ndim:
            return Step(name, (at, draw(st.integers(0, len(values) - 1))), (_axis(draw, x),))
        case "write value" if x.ndim:
            return Step(name, (at, draw(alike)), (_slices(draw, x),))
        case "scatter" | "index_add" if x.ndim and x.size:
            return _scatter_step(draw, name, at, values)
    return None


def _scatter_step(draw: Draw, name: str, at: int, values: Sequence[Array]) -> Step | None:
    x, axis = values[at], _axis(draw, values[at])
    fitting = [
        i
        for i, v in enumerate(values)
        if v.dtype == x.dtype and v.ndim == x.ndim and v.size and (name == "scatter" or i != at)
    ]
    if not fitting:
        return None
    other = draw(st.sampled_from(fitting))
    y = values[other]
    if name == "index_add":
        places = [draw(st.integers(0, x.shape[axis] - 1)) for _ in range(y.shape[axis])]
        is_same = all(a == axis % x.ndim or y.shape[a] == x.shape[a] for a in range(x.ndim))
        return Step(name, (at, other), (axis, tuple(places))) if is_same else None
    most = [min(n, m) for n, m in zip(x.shape, y.shape, strict=True)]
    most[axis] = y.shape[axis]
    index = _index(draw, [draw(st.integers(1, n)) for n in most], x.shape[axis])
    hows = ["", "add", "sum", "prod", "amax", "amin"] if x.dtype != bool else [""]
    how = draw(st.sampled_from(hows))
    include_self = how in ("", "add") or draw(st.booleans())
    return Step(name, (at, other), (axis, index, how, include_self))
