"""Join movement ops of the tensor form, and drop those that move nothing."""

from __future__ import annotations

from typing import cast

from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat

X = UPat.var("x")


def _numbers(node: UOp) -> tuple[int, ...]:
    """Of PERMUTE and FLIP the axes, of EXPAND without symbolic dimensions the sizes."""
    return cast("tuple[int, ...]", node.movement_arg)


def _pairs(node: UOp) -> tuple[tuple[int, int], ...]:
    """Of PAD and SHRINK without symbolic dimensions: what is said of each axis."""
    return cast("tuple[tuple[int, int], ...]", node.movement_arg)


@rule(
    UPat((Ops.RESHAPE, Ops.EXPAND, Ops.SHRINK), src=(X,), allow_any_len=True, name="node"),
    law="a movement to the same shape is x",
)
def same_shape(node: UOp, x: UOp) -> UOp | None:
    """RESHAPE, EXPAND and SHRINK only: the others may move elements within a shape."""
    return x if x._shape is not None and x._shape == node._shape else None


@rule(UPat(Ops.PAD, src=(X,), allow_any_len=True, name="node"), law="pad by nothing is x")
def pad_by_nothing(node: UOp, x: UOp) -> UOp | None:
    """All amounts are the number 0."""
    return x if all(pair == (0, 0) for pair in node.movement_arg) else None


@rule(UPat(Ops.FLIP, src=(X,), arg=(), name="node"), law="flip of no axes is x")
def flip_nothing(node: UOp, x: UOp) -> UOp:
    """The axes flipped are the empty tuple."""
    return x


@rule(UPat(Ops.FLIP, src=(X,), name="node"), law="flip of axes of size 1 is x")
def flip_single(node: UOp, x: UOp) -> UOp | None:
    """Axes with one element are dropped from the flip."""
    axes = tuple(axis for axis in _numbers(node) if x.shape[axis] != 1)
    return None if axes == node.arg else node.replace(arg=axes)


@rule(UPat(Ops.PERMUTE, src=(X,), name="node"), law="permute by the identity is x")
def permute_identity(node: UOp, x: UOp) -> UOp | None:
    """The order is 0, 1, 2, ..."""
    return x if node.arg == tuple(range(len(_numbers(node)))) else None


@rule(
    UPat(
        Ops.RESHAPE,
        src=(UPat(Ops.RESHAPE, src=(X,), allow_any_len=True),),
        allow_any_len=True,
        name="node",
    ),
    law="reshape(reshape(x, a), b) == reshape(x, b)",
)
def reshape_twice(node: UOp, x: UOp) -> UOp:
    """Symbolic dimensions of the outer one stay its operands."""
    return node.replace(src=(x, *node.src[1:]))


@rule(
    UPat(
        Ops.EXPAND,
        src=(UPat(Ops.EXPAND, src=(X,), allow_any_len=True),),
        allow_any_len=True,
        name="node",
    ),
    law="expand(expand(x, a), b) == expand(x, b)",
)
def expand_twice(node: UOp, x: UOp) -> UOp:
    """Symbolic dimensions of the outer one stay its operands."""
    return node.replace(src=(x, *node.src[1:]))


@rule(
    UPat(Ops.PERMUTE, src=(UPat(Ops.PERMUTE, src=(X,), name="inner"),), name="node"),
    law="permute(permute(x, a), b) == permute(x, a[b])",
)
def permute_twice(node: UOp, inner: UOp, x: UOp) -> UOp:
    """The orders compose."""
    order = _numbers(inner)
    return node.replace(src=(x,), arg=tuple(order[axis] for axis in _numbers(node)))


@rule(
    UPat(Ops.FLIP, src=(UPat(Ops.FLIP, src=(X,), name="inner"),), name="node"),
    law="flip(flip(x, a), b) == flip(x, a xor b)",
)
def flip_twice(node: UOp, inner: UOp, x: UOp) -> UOp:
    """An axis that is flipped twice is as it was."""
    axes = set(_numbers(node)) ^ set(_numbers(inner))
    return node.replace(src=(x,), arg=tuple(sorted(axes)))


@rule(
    UPat(Ops.SHRINK, src=(UPat(Ops.SHRINK, src=(X,), name="inner"),), name="node"),
    law="shrink(shrink(x, a), b) == shrink(x, a + b)",
)
def shrink_twice(node: UOp, inner: UOp, x: UOp) -> UOp:
    """The windows add up. Plain numbers only."""
    window = tuple(
        (first + start, first + end)
        for (first, _), (start, end) in zip(_pairs(inner), _pairs(node), strict=True)
    )
    return node.replace(src=(x,), arg=window)


@rule(
    UPat(Ops.PAD, src=(UPat(Ops.PAD, src=(X,), name="inner"),), name="node"),
    law="pad(pad(x, a), b) == pad(x, a + b)",
)
def pad_twice(node: UOp, inner: UOp, x: UOp) -> UOp:
    """The amounts add up. Plain numbers only."""
    amounts = tuple(
        (before + first, after + last)
        for (before, after), (first, last) in zip(_pairs(node), _pairs(inner), strict=True)
    )
    return node.replace(src=(x,), arg=amounts)


@rule(
    UPat(Ops.SHRINK, src=(UPat(Ops.PAD, src=(X,), name="inner"),), name="node"),
    law="shrink(pad(x)) within x == shrink(x)",
)
def shrink_of_pad(node: UOp, inner: UOp, x: UOp) -> UOp | None:
    """Where no padded element is left on any axis. Plain numbers only."""
    window: list[tuple[int, int]] = []
    for (before, _), (start, end), size in zip(_pairs(inner), _pairs(node), x.shape, strict=True):
        if not isinstance(size, int) or start < before or end > before + size:
            return None
        window.append((start - before, end - before))
    return node.replace(src=(x,), arg=tuple(window))


@rule(
    UPat(Ops.PERMUTE, src=(UPat(Ops.EXPAND, src=(X,), name="inner"),), name="node"),
    law="permute(expand(x)) == expand(permute(x))",
)
def permute_of_expand(node: UOp, inner: UOp, x: UOp) -> UOp:
    """Expansion goes outside. Plain numbers only."""
    moved = node.replace(src=(x,))
    sizes = _numbers(inner)
    return inner.replace(src=(moved,), arg=tuple(sizes[axis] for axis in _numbers(node)))


MOVEMENT = PatternMatcher(
    [
        same_shape,
        pad_by_nothing,
        flip_nothing,
        flip_single,
        permute_identity,
        reshape_twice,
        expand_twice,
        permute_twice,
        flip_twice,
        shrink_twice,
        pad_twice,
        shrink_of_pad,
        permute_of_expand,
    ],
    pure=True,
)
