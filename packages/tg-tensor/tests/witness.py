"""An independent witness: tensor form evaluated node by node with NumPy, without kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from tg_tensor.engine.buffers import buffer_of
from tg_tensor.interop.numpy import numpy_dtype
from tg_uop import GroupOp, Invalid, Ops, UOp
from tg_uop.eval.scalar import threefry

Array = npt.NDArray[np.generic]

BINARY: dict[Ops, Callable[..., Array]] = {
    Ops.ADD: np.add,
    Ops.MUL: np.multiply,
    Ops.SUB: np.subtract,
    Ops.FDIV: np.divide,
    Ops.MAX: np.maximum,
    Ops.CMPLT: np.less,
    Ops.CMPNE: np.not_equal,
    Ops.CMPEQ: np.equal,
    Ops.XOR: np.bitwise_xor,
    Ops.OR: np.bitwise_or,
    Ops.AND: np.bitwise_and,
    Ops.SHL: np.left_shift,
    Ops.SHR: np.right_shift,
    Ops.POW: np.power,
    Ops.WHERE: np.where,
    Ops.THREEFRY: lambda c, k: np.vectorize(lambda a, b: threefry(int(a), int(b)), otypes="Q")(
        c, k
    ),
}
UNARY: dict[Ops, Callable[..., Array]] = {
    Ops.EXP2: np.exp2,
    Ops.LOG2: np.log2,
    Ops.SIN: np.sin,
    Ops.SQRT: np.sqrt,
    Ops.RECIPROCAL: np.reciprocal,
    Ops.NEG: np.negative,
    Ops.TRUNC: np.trunc,
}
REDUCTIONS: dict[Ops, Callable[..., Array]] = {
    Ops.ADD: np.sum,
    Ops.MUL: np.prod,
    Ops.MAX: np.max,
}


def evaluate(root: UOp) -> Array:
    """The value of a tensor-form graph."""
    known: dict[UOp, Array] = {}
    memory: dict[UOp, Array] = {}
    with np.errstate(all="ignore"):
        for node in root.toposort():
            known[node] = _value(node, [known[s] for s in node.src], memory)
    found = known[root]
    return np.broadcast_to(found, root.shape)


def _value(node: UOp, src: list[Array], memory: dict[UOp, Array]) -> Array:
    op = node.op
    target = numpy_dtype(node.dtype)
    if op in (Ops.DEVICE, Ops.STORE):
        return np.zeros(())
    if op is Ops.CONST:
        return np.array(0 if node.arg is Invalid else node.arg, target or np.int64)
    if op is Ops.BUFFER:
        return _contents(node)
    if op is Ops.AFTER:
        return _after(node, src)
    if op is Ops.CAST:
        return _cast(src[0], target)
    if op in (Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.COPY):
        return src[0]
    if op is Ops.BITCAST:
        return np.array(np.broadcast_to(src[0], node.src[0].shape), order="C").view(target)
    if op is Ops.REDUCE:
        full = np.broadcast_to(src[0], node.src[0].shape)
        return _reduce(node, full)
    if op in GroupOp.Movement:
        return _moved(node, np.broadcast_to(src[0], node.src[0].shape))
    return _alu(node, src)


def _contents(node: UOp) -> Array:
    buffer = buffer_of(node).ensure_allocated()
    return np.frombuffer(bytes(buffer.as_memoryview()), numpy_dtype(node.dtype)).copy()


def _cast(value: Array, target: np.dtype[np.generic] | None) -> Array:
    assert target is not None, "the witness knows the types of NumPy only"
    if target.kind == "u" and value.dtype.kind == "f":
        return value.astype(np.int64).astype(target)
    return value.astype(target)


def _reduce(node: UOp, full: Array) -> Array:
    axes = node.reduce_axes
    if full.dtype.kind == "b" and node.reduce_op is Ops.ADD:
        return np.any(full, axis=axes, keepdims=True)
    return REDUCTIONS[node.reduce_op](full, axis=axes, keepdims=True).astype(full.dtype)


def _moved(node: UOp, value: Array) -> Array:
    arg = node.movement_arg
    if node.op is Ops.RESHAPE:
        return value.reshape(arg)
    if node.op is Ops.EXPAND:
        return np.broadcast_to(value, arg)
    if node.op is Ops.PERMUTE:
        return value.transpose(arg)
    if node.op is Ops.FLIP:
        return np.flip(value, arg)
    if node.op is Ops.PAD:
        return np.pad(value, arg)
    return value[tuple(slice(a, b) for a, b in arg)]


def _alu(node: UOp, src: list[Array]) -> Array:
    op = node.op
    if op is Ops.IDIV or op is Ops.MOD:
        return _divided(op, *np.broadcast_arrays(*src))
    if op is Ops.NEG and src[0].dtype.kind == "b":
        return ~src[0]
    result = UNARY[op](src[0]) if op in UNARY else BINARY[op](*src)
    target = numpy_dtype(node.dtype)
    return result if result.dtype == target else result.astype(target)


def _divided(op: Ops, left: Array, right: Array) -> Array:
    safe = np.where(right == 0, 1, right)
    quotient = left // safe
    remainder = left - quotient * safe
    fix = (remainder != 0) & ((left < 0) != (safe < 0))
    quotient = np.where(fix, quotient + 1, quotient)
    result = quotient if op is Ops.IDIV else left - quotient * safe
    return np.where(right == 0, 0, result).astype(left.dtype)


def _after(node: UOp, src: list[Array]) -> Array:
    """The value with its stores done: the views are followed on positions."""
    whole = np.array(np.broadcast_to(src[0], node.src[0].shape))
    for effect in node.effects:
        assert effect.op is Ops.STORE, "the witness knows stores only"
        where = np.arange(whole.size).reshape(whole.shape)
        views = []
        target = effect.stored_target
        while target is not node.src[0]:
            views.append(target)
            target = target.src[0]
        for view in reversed(views):
            where = _moved(view, where)
        value = np.broadcast_to(evaluate(effect.stored_value), where.shape)
        whole.reshape(-1)[where.reshape(-1)] = value.reshape(-1)
    return whole
