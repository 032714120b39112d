"""The gradient of a product over axes, without dividing by the factors.

The gradient of factor i is the product of all others. Written as a mask it takes n^2 steps, so a
long axis is split into blocks, and the blocks' products into blocks again.
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import Ops, UOp, dtypes

_BLOCK = 16


def product_gradient(source: UOp, grad: UOp, axes: tuple[int, ...]) -> UOp:
    """The gradient of the factors `source` for that of their product over `axes`."""
    symbolic = [axis for axis in axes if not isinstance(source.shape[axis], int)]
    if symbolic:
        return _gradient_of_longest(source, grad, axes, symbolic)
    rest = [axis for axis in range(source.ndim) if axis not in axes]
    moved = source.permute([*rest, *axes])
    batch = moved.shape[: len(rest)]
    count = 1
    for axis in axes:
        size = source.shape[axis]
        assert isinstance(size, int), "a product is over axes of known sizes"
        count *= size
    factors = moved.reshape((*batch, count))
    result = _factor_gradients(factors, grad.reshape((*batch, 1)), count)
    order = [*rest, *axes]
    back = [order.index(axis) for axis in range(source.ndim)]
    return result.reshape(moved.shape).permute(back)


def _gradient_of_longest(source: UOp, grad: UOp, axes: tuple[int, ...], symbolic: list[int]) -> UOp:
    """Axes whose sizes depend on variables: as long as they can be, filled up with ones."""
    sizes = source.shape
    pads: list[tuple[object, object]] = [(0, 0)] * source.ndim
    for axis in symbolic:
        size = sizes[axis]
        assert isinstance(size, UOp), "a size that depends on a variable is a node"
        pads[axis] = (0, int(size.vmax) - size)
    longest = product_gradient(_pad_with_ones(source, pads), grad, axes)
    return longest.shrink([(0, size) for size in sizes])


def _factor_gradients(factors: UOp, grad: UOp, count: int) -> UOp:
    """The gradient along the last axis of `count` factors; `grad` has size 1 there."""
    levels: list[tuple[UOp, int]] = []
    while count > _BLOCK:
        blocks = -(-count // _BLOCK)
        missing = blocks * _BLOCK - count
        pads = [(0, 0)] * (factors.ndim - 1) + [(0, missing)]
        padded = _pad_with_ones(factors, pads) if missing else factors
        level = padded.reshape((*factors.shape[:-1], blocks, _BLOCK))
        levels.append((level, count))
        factors = _product(level).reshape((*factors.shape[:-1], blocks))
        count = blocks
    flowing = _others(factors) * grad.expand(factors.shape)
    for level, length in reversed(levels):
        spread = flowing.reshape((*level.shape[:-1], 1)).expand(level.shape)
        inside = (_others(level) * spread).reshape((*level.shape[:-2], -1))
        flowing = inside.shrink([*([None] * (inside.ndim - 1)), (0, length)])
    return flowing


def _product(values: UOp) -> UOp:
    return values._reduce(Ops.MUL, (values.ndim - 1,))


def _pad_with_ones(values: UOp, pads: Sequence[tuple[object, object]]) -> UOp:
    inside = UOp.const(dtypes.bool, True, shape=values.shape)  # type: ignore[arg-type]
    return inside._pad_zeros(pads).where(values._pad_zeros(pads), 1)


def _others(values: UOp) -> UOp:
    """For each element of the last axis the product of all others in it."""
    count = values.shape[-1]
    assert isinstance(count, int), "an axis of known size"
    square = (*values.shape[:-1], count, count)
    rows = values.reshape((*values.shape[:-1], 1, count)).expand(square)
    itself = _diagonal(count).expand(square)
    kept = itself.where(1, rows)
    return _product(kept).reshape(values.shape)


def _diagonal(count: int) -> UOp:
    """True on the diagonal: rows of length count + 1 start with True."""
    one = UOp.const(dtypes.bool, True, shape=(count, 1))
    flat = one._pad_zeros([(0, 0), (0, count)]).reshape((count * (count + 1),))
    return flat.shrink([(0, count * count)]).reshape((count, count))
