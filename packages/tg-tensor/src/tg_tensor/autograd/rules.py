"""The gradient of each op: one rule an op, from the gradient of the result to those of operands.

A rule gets the node and the gradient of its value, in its shape, and gives one gradient (or None)
for each operand. Rules whose local derivative can be infinite are guarded: where nothing flows in,
nothing flows out, so a branch not taken never makes NaN. Products are guarded below a condition.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.dtype.promote import sum_acc_dtype

from tg_tensor.autograd.product import product_gradient

Gradients = tuple[UOp | None, ...]
Rule = Callable[[UOp, UOp], Gradients]

LN2 = math.log(2)


def guarded(grad: UOp, value: UOp) -> UOp:
    """`value`, but 0 where `grad` is 0."""
    return grad.eq(0).where(0, value)


# what passes on the zeros of its operand, in the same places or in others of the same number
_PASSING = frozenset({Ops.MUL, Ops.NEG, Ops.CAST, Ops.FDIV, Ops.ADD, Ops.SUB})
_MOVING = frozenset({Ops.RESHAPE, Ops.PERMUTE})
_NEAR = 16


def scaled(grad: UOp, factor: UOp) -> UOp:
    """`grad * factor`; where a condition made `grad` 0 it stays 0, also beside NaN and infinity.

    Only elementwise below the condition: a matrix product, whose operands are expanded, stays one.
    """
    product = grad * factor
    if _is_finite(factor) or not is_gated(grad):
        return product
    return guarded(grad, product)


def is_gated(grad: UOp) -> bool:
    """Whether a condition with 0 on its other side stands just above."""
    pending = [grad]
    for _ in range(_NEAR):
        if not pending:
            return False
        node = pending.pop()
        if node.op is Ops.WHERE and any(_is_zero(branch) for branch in node.src[1:]):
            return True
        if node.op in _PASSING:
            pending += node.src
        elif node.op in _MOVING:
            pending.append(node.src[0])
    return False


def _is_zero(node: UOp) -> bool:
    node = node.base
    return node.op is Ops.CONST and node.arg == 0


def _is_finite(node: UOp) -> bool:
    """Whether it is known to be a number: a constant, or made of a truth."""
    node = node.base
    while node.op is Ops.CAST:
        node = node.src[0].base
    if node.op is Ops.CONST:
        return isinstance(node.arg, int | float) and math.isfinite(node.arg)
    return node.dtype.is_bool


# *** elementwise ***


def add(node: UOp, grad: UOp) -> Gradients:
    """d(x + y) = dx + dy"""
    return grad, grad


def sub(node: UOp, grad: UOp) -> Gradients:
    """d(x - y) = dx - dy"""
    return grad, -grad


def neg(node: UOp, grad: UOp) -> Gradients:
    """d(-x) = -dx"""
    return (-grad,)


def mul(node: UOp, grad: UOp) -> Gradients:
    """d(x y) = y dx + x dy"""
    x, y = node.src
    return scaled(grad, y), scaled(grad, x)


def multiply_add(node: UOp, grad: UOp) -> Gradients:
    """d(x y + z) = y dx + x dy + dz"""
    x, y, _ = node.src
    return scaled(grad, y), scaled(grad, x), grad


def reciprocal(node: UOp, grad: UOp) -> Gradients:
    """d(1 / x) = -dx / x^2"""
    return (guarded(grad, -(grad * node * node)),)


def fdiv(node: UOp, grad: UOp) -> Gradients:
    """d(x / y) = dx / y - x dy / y^2"""
    _, y = node.src
    flowing = grad / y
    if y.op is Ops.CONST and y.arg != 0:
        return flowing, None
    return guarded(grad, flowing), guarded(grad, -(flowing * node))


def exp2(node: UOp, grad: UOp) -> Gradients:
    """d(2^x) = ln(2) 2^x dx"""
    return (guarded(grad, grad * node * LN2),)


def log2(node: UOp, grad: UOp) -> Gradients:
    """d(log2 x) = dx / (x ln 2)"""
    return (guarded(grad, grad / (node.src[0] * LN2)),)


def sin(node: UOp, grad: UOp) -> Gradients:
    """d(sin x) = cos x dx"""
    return (guarded(grad, grad * node.src[0].cos()),)


def sqrt(node: UOp, grad: UOp) -> Gradients:
    """d(sqrt x) = dx / (2 sqrt x)"""
    return (guarded(grad, grad / (node * 2)),)


def power(node: UOp, grad: UOp) -> Gradients:
    """d(x^y) = y x^(y - 1) dx + x^y ln(x) dy

    0^y stays 0 for nearby y >= 0, so nothing flows to y there.
    """
    base, exponent = node.src
    to_base = guarded(grad * exponent, grad * exponent * base.alu(Ops.POW, exponent - 1))
    if exponent.op is Ops.CONST:
        return to_base, None
    flat = base.eq(0) & (exponent >= 0)
    to_exponent = flat.where(0, grad * node * base.log())
    return to_base, guarded(grad, to_exponent)


def maximum(node: UOp, grad: UOp) -> Gradients:
    """The larger operand gets the gradient, equal ones half of it each; beside NaN both get all.

    A number that stands first is a threshold (relu): only what lies above it gets any, which the
    result tells, so that the operand need not be kept. NaN, which is the result then, gets it too.
    """
    x, y = node.src
    if x.op is Ops.CONST and not x.src:
        return None, node.eq(x).where(0, grad)
    share = x.eq(y).where(grad * 0.5, grad)
    return (x < y).where(0, share), (y < x).where(0, share)


def where(node: UOp, grad: UOp) -> Gradients:
    """The branch that is taken gets the gradient."""
    condition = node.src[0]
    return None, condition.where(grad, 0), condition.where(0, grad)


def cast(node: UOp, grad: UOp) -> Gradients:
    """Between floats the gradient is cast back."""
    return (grad.cast(node.src[0].dtype),)


def nothing(node: UOp, grad: UOp) -> Gradients:
    """Piecewise constant, or cut off on purpose."""
    return (None,) * len(node.src)


# *** reductions ***


def reduce(node: UOp, grad: UOp) -> Gradients:
    """The rule of the combining op."""
    source = node.reduced_value
    if node.reduce_op is Ops.ADD:
        return (grad.expand(source.shape),)
    if node.reduce_op is Ops.MAX:
        return (_largest(node, grad),)
    return (product_gradient(source, grad, node.reduce_axes),)


def _largest(node: UOp, grad: UOp) -> UOp:
    """The largest values of an axis share the gradient evenly."""
    source, axes = node.reduced_value, node.reduce_axes
    is_largest = source.eq(node.expand(source.shape))
    wide = sum_acc_dtype(node.dtype)
    count = is_largest.cast(wide).sum(axes, keepdim=True)
    share = (grad.cast(wide) / count).cast(node.dtype)
    return is_largest.where(share.expand(source.shape), 0)


# *** movement ***


def reshape(node: UOp, grad: UOp) -> Gradients:
    """The gradient in the shape of the operand."""
    return _only_first(node, grad.reshape(node.src[0].shape))


def expand(node: UOp, grad: UOp) -> Gradients:
    """A repeated element gets the sum."""
    old, new = node.src[0].shape, node.shape
    axes = tuple(i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a is not b and a != b)
    return _only_first(node, grad.sum(axes, keepdim=True) if axes else grad)


def permute(node: UOp, grad: UOp) -> Gradients:
    """The axes in the order of the operand."""
    order = node.permute_order
    return (grad.permute([order.index(axis) for axis in range(len(order))]),)


def pad(node: UOp, grad: UOp) -> Gradients:
    """What lies in the padding is dropped."""
    pads = cast_pairs(node.movement_arg)
    pairs = zip(pads, known_sizes(node.src[0]), strict=True)
    return _only_first(node, grad.shrink([(b, b + size) for (b, _), size in pairs]))


def shrink(node: UOp, grad: UOp) -> Gradients:
    """What was dropped gets nothing."""
    bounds = cast_pairs(node.movement_arg)
    pairs = zip(bounds, known_sizes(node.src[0]), strict=True)
    arg = tuple((start, size - stop) for (start, stop), size in pairs)
    return _only_first(node, grad._movement(Ops.PAD, arg))


def cast_pairs(arg: tuple[object, ...]) -> tuple[tuple[int, int], ...]:
    """The pairs of a PAD or SHRINK; nodes among them behave like integers here."""
    return arg  # type: ignore[return-value]


def known_sizes(node: UOp) -> tuple[int, ...]:
    """The shape; nodes among the dimensions behave like integers here."""
    return node.shape  # type: ignore[return-value]


def flip(node: UOp, grad: UOp) -> Gradients:
    """The same axes flipped back."""
    return (grad.flip(node.movement_arg),)  # type: ignore[arg-type]


def _only_first(node: UOp, grad: UOp) -> Gradients:
    """Symbolic dimensions, which are operands too, get no gradient."""
    return (grad, *(None for _ in node.src[1:]))


# *** places ***


def same(node: UOp, grad: UOp) -> Gradients:
    """The value is that of the operand."""
    return (grad,)


def contiguous_backward(node: UOp, grad: UOp) -> Gradients:
    """The gradient is made contiguous."""
    return (grad.contiguous(),)


def copy(node: UOp, grad: UOp) -> Gradients:
    """The gradient goes back to where the value came from."""
    return grad.copy_to_device(node.src[0].device), None


def multi(node: UOp, grad: UOp) -> Gradients:
    """Each shard gets its part; of replicas, which are one value, the first gets all."""
    shards = node.src
    axis = node.arg if node.op is Ops.MULTI else None
    if not isinstance(axis, int):
        return (grad.copy_to_device(shards[0].device), *(None for _ in shards[1:]))
    parts: list[UOp | None] = []
    start: int = 0
    for shard in shards:
        stop = start + shard.shape[axis]  # type: ignore[operator]
        bounds = [(start, stop) if i == axis else None for i in range(node.ndim)]
        # the part first: a whole gradient would go to every device
        parts.append(grad.shrink(bounds).copy_to_device(shard.device))
        start = stop
    return tuple(parts)


RULES: dict[Ops, Rule] = {
    Ops.ADD: add,
    Ops.SUB: sub,
    Ops.NEG: neg,
    Ops.MUL: mul,
    Ops.MULACC: multiply_add,
    Ops.RECIPROCAL: reciprocal,
    Ops.FDIV: fdiv,
    Ops.EXP2: exp2,
    Ops.LOG2: log2,
    Ops.SIN: sin,
    Ops.SQRT: sqrt,
    Ops.POW: power,
    Ops.MAX: maximum,
    Ops.WHERE: where,
    Ops.CAST: cast,
    Ops.TRUNC: nothing,
    Ops.BITCAST: nothing,
    Ops.DETACH: nothing,
    Ops.CMPLT: nothing,
    Ops.CMPNE: nothing,
    Ops.CMPEQ: nothing,
    Ops.REDUCE: reduce,
    Ops.RESHAPE: reshape,
    Ops.EXPAND: expand,
    Ops.PERMUTE: permute,
    Ops.PAD: pad,
    Ops.SHRINK: shrink,
    Ops.FLIP: flip,
    Ops.CONTIGUOUS: same,
    Ops.CONTIGUOUS_BACKWARD: contiguous_backward,
    Ops.COPY: copy,
    Ops.MULTI: multi,
    Ops.MSTACK: multi,
}


def is_differentiable(dtype: DType) -> bool:
    """Whether gradients flow through values of the dtype."""
    return dtypes.is_float(dtype)
