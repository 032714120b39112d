"""Give index arithmetic a width: exact integers in, int32 where bounds prove it enough, else int64.

Each node is as wide as its own values and those of its operands need, so that a small sum inside a
big one stays narrow, and a loop-invariant part is one node of one width.
"""

from __future__ import annotations

from tg_uop import DType, GroupOp, Ops, PtrDType, UOp, dtypes

from tg_codegen.errors import KernelFormError

INT32 = (int(dtypes.int32.min), int(dtypes.int32.max))
INT64 = (int(dtypes.int64.min), int(dtypes.int64.max))
# their operands and result have one width
SAME_WIDTH = frozenset(GroupOp.Binary - GroupOp.Comparison) | {Ops.MULACC, Ops.NEG, Ops.STACK}


def lower_indexes(root: UOp) -> UOp:
    """The graph without weakint.

    Raises `KernelFormError` for an index that 64 bits cannot hold.
    """
    done: dict[UOp, UOp] = {}
    for node in root.toposort():
        src = tuple(done[s] for s in node.src)
        done[node] = _lowered(node, src)
    return done[root]


def _lowered(node: UOp, src: tuple[UOp, ...]) -> UOp:
    scalar = node.dtype.scalar()
    if isinstance(node.dtype, PtrDType):
        return _pointer(node, src)
    if scalar is dtypes.weakint:
        return _weak(node, src)
    if node.op in GroupOp.Comparison and node.src[0].dtype.scalar() is dtypes.weakint:
        return node.replace(src=_aligned(src))
    if node.op is Ops.INDEX:
        return _address(node, src)
    return node if src == node.src else node.replace(src=src)


def _pointer(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """Memory of exact integers has 64 bits an element."""
    dtype = node.dtype
    assert isinstance(dtype, PtrDType), "only called on memory"
    if dtype.base.scalar() is dtypes.weakint:
        base = dtypes.int64.vec(dtype.base.count)
        return node.replace(dtype=base.ptr(dtype.size, dtype.addrspace), src=src)
    if node.op is Ops.INDEX:
        return _address(node, src)
    return node if src == node.src else node.replace(src=src)


def _address(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """An INDEX by int32 or int64, whatever the integer of a custom kernel was."""
    index = src[1]
    if index.dtype.scalar() not in (dtypes.int32, dtypes.int64):
        src = (src[0], index.cast(dtypes.int64), *src[2:])
    return node if src == node.src else node.replace(src=src)


def _weak(node: UOp, src: tuple[UOp, ...]) -> UOp:
    op = node.op
    if op in (Ops.LOAD, Ops.INDEX):
        return node.replace(dtype=dtypes.int64.vec(node.dtype.count), src=src)
    if op is Ops.CAST:
        return src[0].cast(_width(node).vec(node.dtype.count))
    if op is Ops.WHERE:
        yes, no = _aligned(src[1:])
        return UOp(Ops.WHERE, yes.dtype, (src[0], yes, no))
    if op in (Ops.RANGE, Ops.SPECIAL):
        return node.replace(dtype=src[0].dtype, src=src)
    if op in (Ops.GEP, Ops.AFTER):
        count = node.dtype.count
        return node.replace(dtype=src[0].dtype.scalar().vec(count), src=src)
    width = _width(node)
    if op in SAME_WIDTH:
        operands = _aligned(src, width)
        return node.replace(dtype=operands[0].dtype.scalar().vec(node.dtype.count), src=operands)
    return node.replace(dtype=width.vec(node.dtype.count), src=src)


def _aligned(operands: tuple[UOp, ...], width: DType = dtypes.int32) -> tuple[UOp, ...]:
    """The operands in the largest of their widths and `width`."""
    for operand in operands:
        if operand.dtype.scalar().bitsize > width.bitsize:
            width = operand.dtype.scalar()
    return tuple(_widened(operand, width) for operand in operands)


def _widened(operand: UOp, width: DType) -> UOp:
    dtype = width.vec(operand.dtype.count)
    if operand.dtype is dtype:
        return operand
    if operand.op in GroupOp.Constant:
        return operand.replace(dtype=dtype)
    return operand.cast(dtype)


def _width(node: UOp) -> DType:
    """int32 or int64, by the node's bounds."""
    low, high = node.bounds
    if INT32[0] <= low and high <= INT32[1]:
        return dtypes.int32
    if node.op in GroupOp.Constant and not (INT64[0] <= low and high <= INT64[1]):
        raise KernelFormError(
            node=f"index {node.arg!r}",
            reason="64 bits do not hold it",
            hint="no buffer has so many elements",
        )
    return dtypes.int64
