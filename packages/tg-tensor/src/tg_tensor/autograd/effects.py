"""The gradient of in-place writes: a value after stores into parts of it."""

from __future__ import annotations

from collections.abc import Iterator

from tg_uop import Ops, UOp, dtypes

from tg_tensor.autograd.rules import Gradients, cast_pairs, known_sizes


def _stores(node: UOp) -> Iterator[UOp]:
    """The stores of an AFTER."""
    return (effect for effect in node.effects if effect.op is Ops.STORE)


def written_values(node: UOp) -> tuple[UOp, ...]:
    """What the stores of an AFTER write."""
    return tuple(store.stored_value for store in _stores(node))


def written_gradients(node: UOp, grad: UOp) -> Gradients:
    """Each stored value gets the gradient of the part that it fills, what was there the rest.

    The stores of one AFTER write to different parts.
    """
    before = grad
    parts: list[UOp] = []
    for store in _stores(node):
        views = _views_between(store.stored_target, node.src[0])
        parts.append(_through(grad, views))
        inside = _through_back(views, node)
        before = before.const_like(0) if inside is None else inside.where(0, before)
    return (before, *parts)


def _views_between(target: UOp, base: UOp) -> list[UOp]:
    """The views from `base` up to `target`, in that order."""
    views: list[UOp] = []
    while target is not base:
        views.append(target)
        target = target.src[0]
    return views[::-1]


def _through(value: UOp, views: list[UOp]) -> UOp:
    for view in views:
        value = value._movement(view.op, view.movement_arg)
    return value


def _through_back(views: list[UOp], node: UOp) -> UOp | None:
    """Where a store writes, as a mask of the whole; None for everywhere."""
    if not any(view.op is Ops.SHRINK for view in views):
        return None
    mask = UOp.const(dtypes.bool, True, shape=views[-1].shape)  # type: ignore[arg-type]
    for view in reversed(views):
        source = view.src[0]
        if view.op is Ops.SHRINK:
            pairs = zip(cast_pairs(view.movement_arg), known_sizes(source), strict=True)
            mask = mask._pad_zeros([(start, size - stop) for (start, stop), size in pairs])
        elif view.op is Ops.PERMUTE:
            order = view.permute_order
            mask = mask.permute([order.index(axis) for axis in range(len(order))])
        elif view.op is Ops.FLIP:
            mask = mask.flip(view.movement_arg)  # type: ignore[arg-type]
        else:
            mask = mask.reshape(source.shape)
    return mask
