"""Movement rules keep every element where it was, on random chains."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_uop.dtype.dtype import dtypes
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rewrite.trace import tracing
from tg_uop.rules.movement import MOVEMENT

MOVES = (Ops.RESHAPE, Ops.PERMUTE, Ops.EXPAND, Ops.PAD, Ops.SHRINK, Ops.FLIP)
Element = int | None
Index = tuple[int, ...]


def base(shape: tuple[int, ...]) -> UOp:
    buffer = UOp.new_buffer("CPU", prod(shape), dtypes.float)
    return UOp(Ops.RESHAPE, buffer.dtype, (buffer,), shape)


@st.composite
def steps(draw: st.DrawFn, x: UOp) -> UOp:
    """One more movement op, often the same as before."""
    shape = tuple(int(s) for s in x.shape)  # type: ignore[call-overload]
    again = (x.op,) * 3 if x.op in MOVES else ()
    op = draw(st.sampled_from((*MOVES, *again)))
    arg: tuple[object, ...]
    if op is Ops.RESHAPE:
        arg = draw(st.sampled_from(_shapes_of(prod(shape))))
    elif op is Ops.PERMUTE:
        arg = tuple(draw(st.permutations(range(len(shape)))))
    elif op is Ops.EXPAND:
        arg = tuple(draw(st.sampled_from((1, 3))) if s == 1 else s for s in shape)
    elif op is Ops.FLIP:
        arg = tuple(axis for axis in range(len(shape)) if draw(st.booleans()))
    elif op is Ops.PAD:
        amounts = st.tuples(st.integers(0, 2), st.integers(0, 2))
        arg = tuple(draw(st.one_of(st.just((0, 0)), amounts)) for _ in shape)
    else:
        starts = [draw(st.integers(0, s - 1)) for s in shape]
        ends = [draw(st.integers(start + 1, s)) for start, s in zip(starts, shape, strict=True)]
        arg = tuple(zip(starts, ends, strict=True))
    return UOp(op, x.dtype, (x,), arg)


def _shapes_of(size: int) -> list[tuple[int, ...]]:
    dims = [d for d in range(1, size + 1) if size % d == 0]
    pairs = [(a, size // a) for a in dims]
    triples = [(a, b, size // a // b) for a in dims for b in dims if size % (a * b) == 0]
    return [(size,), *pairs, *triples]


@st.composite
def chains(draw: st.DrawFn) -> UOp:
    x = base(draw(st.sampled_from(((6,), (2, 3), (1, 4), (1, 2, 1), (1,)))))
    for _ in range(draw(st.integers(1, 6))):
        x = draw(steps(x))
        if prod(x.shape) > 300:  # type: ignore[type-var]
            break
    return x


def elements(x: UOp) -> list[Element]:
    """The base element at each place, in order of the shape; None for padding."""
    if x.op is Ops.BUFFER:
        return list(range(prod(x.shape)))  # type: ignore[arg-type]
    inner = x.src[0]
    below = dict(zip(_places(inner.shape), elements(inner), strict=True))
    if x.op is Ops.RESHAPE:
        return list(below.values())
    return [_element(x, inner, below, place) for place in _places(x.shape)]


def _places(shape: tuple[object, ...]) -> list[Index]:
    return list(product(*(range(int(s)) for s in shape)))  # type: ignore[call-overload]


def _element(x: UOp, inner: UOp, below: dict[Index, Element], place: Index) -> Element:
    arg = x.movement_arg
    if x.op is Ops.PERMUTE:
        source = [0] * len(place)
        for position, axis in zip(place, arg, strict=True):
            source[axis] = position  # type: ignore[call-overload]
        return below[tuple(source)]
    if x.op is Ops.EXPAND:
        return below[tuple(0 if s == 1 else i for i, s in zip(place, inner.shape, strict=True))]
    if x.op is Ops.FLIP:
        flipped = (
            int(s) - 1 - i if axis in arg else i  # type: ignore[call-overload]
            for axis, (i, s) in enumerate(zip(place, inner.shape, strict=True))
        )
        return below[tuple(flipped)]
    sign = -1 if x.op is Ops.PAD else 1
    moved = tuple(i + sign * pair[0] for i, pair in zip(place, arg, strict=True))  # type: ignore[index]
    return below.get(moved)


FIRED: dict[str, int] = {}


@settings(max_examples=400, derandomize=True)
@given(chains())
def test_movement_rules_keep_the_elements(x: UOp) -> None:
    with tracing() as trace:
        after = graph_rewrite(x, MOVEMENT)
    for match in trace.matches:
        FIRED[match.rule] = FIRED.get(match.rule, 0) + 1
    assert after.shape == x.shape
    assert elements(after) == elements(x)


@pytest.mark.parametrize("name", [r.name for r in MOVEMENT.rules])
def test_movement_rule_fired(name: str) -> None:
    if not FIRED:
        # this test may run in another process than the chains did
        test_movement_rules_keep_the_elements()
    assert FIRED.get(name), f"no chain made {name} fire"


def test_symbolic_dimensions_stay_operands() -> None:
    n = UOp.variable("n", 1, 8)
    x = UOp.param(0, dtypes.float, shape=(n, 4))
    once = UOp(Ops.RESHAPE, x.dtype, (x, n), (2, None, 2))
    twice = UOp(Ops.RESHAPE, x.dtype, (once, n), (4, None))
    assert graph_rewrite(twice, MOVEMENT) is UOp(Ops.RESHAPE, x.dtype, (x, n), (4, None))
