"""The table of kernel form: one kernel as loops, implicit loads and whole reductions.

The scheduler's output, what users write in a custom kernel, and the optimized AST.
"""

from __future__ import annotations

from tg_uop.dtype.dtype import AddrSpace, PtrDType
from tg_uop.ir.args import KernelInfo, ParamArg, TileProduct
from tg_uop.ir.axis import AxisType
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.spec.arithmetic import arithmetic_rows, bitcast
from tg_uop.spec.node import (
    WEAK_KINDS,
    Row,
    Table,
    after,
    all_of,
    anything,
    constant,
    define_var,
    end,
    gep,
    is_void,
    loop,
    memory,
    only_effects,
    reduce_ranges,
    special,
    stack,
    text_arg,
    vector_constant,
)


def sink(node: UOp) -> str | None:
    """Effects as operands, a KernelInfo, and every loop closed."""
    if node.arg is not None and not isinstance(node.arg, KernelInfo):
        return f"its arg is a KernelInfo, not {node.arg!r}"
    if node.ranges:
        names = ", ".join(str(r.range_arg.axis_id) for r in node.ranges)
        return f"the loops {names} are still open: close them with END"
    return is_void(node) or only_effects(node)


def param(node: UOp) -> str | None:
    """A numbered pointer to device memory, or a scalar."""
    if not isinstance(node.arg, ParamArg) or node.arg.slot < 0:
        return f"its arg is a ParamArg with a slot number, not {node.arg!r}"
    if node.src:
        return "it has no operands"
    dtype = node.dtype
    if isinstance(dtype, PtrDType):
        return None if dtype.addrspace is AddrSpace.GLOBAL else "it points to device memory"
    return None if dtype.count == 1 and dtype.bitsize > 0 else f"a kernel takes no {dtype}"


def same_value(node: UOp) -> str | None:
    """One operand of the same dtype."""
    if len(node.src) != 1:
        return "it has one operand"
    return None if node.src[0].dtype is node.dtype else "the value keeps its dtype"


def element(node: UOp) -> str | None:
    """Memory and indices; its dtype is that of the element (of as many as the index has lanes)."""
    if len(node.src) < 2:
        return "its operands are memory and an index"
    pointer = node.src[0].dtype
    if not isinstance(pointer, PtrDType):
        return f"it looks into memory, {node.src[0].op} of {pointer} is none"
    lanes = 1
    for index in node.src[1:]:
        if not index.dtype.is_int:
            return f"an index is an integer, not {index.dtype}"
        lanes = max(lanes, index.dtype.count)
    base = pointer.base
    if node.dtype is not (base if lanes == 1 else base.scalar().vec(lanes)):
        return f"an element of {pointer} by {lanes} lanes is no {node.dtype}"
    return None


def store(node: UOp) -> str | None:
    """An INDEX and a value of its dtype."""
    if len(node.src) != 2:
        return "its operands are an INDEX and a value"
    target, value = node.src
    if target.op is not Ops.INDEX:
        return f"its target is an INDEX, {target.op} is none"
    if target.dtype is not value.dtype:
        return f"it writes {value.dtype} into {target.dtype}"
    return is_void(node)


def _view(node: UOp) -> str | None:
    if isinstance(node.dtype, PtrDType) and node.dtype is node.src[0].dtype:
        return None
    return "only memory has a shape here, values are single elements"


def wmma(node: UOp) -> str | None:
    """Three tiles, the result like the third; or a statement on the addresses of C, A and B."""
    if len(node.src) != 3:
        return "its operands are the tiles A, B and the accumulator"
    if isinstance(node.arg, TileProduct):
        if any(s.op is not Ops.INDEX for s in node.src):
            return "the operands of a statement are addresses"
        return is_void(node)
    return None if node.dtype is node.src[2].dtype else "the result is like the accumulator"


KERNEL: Table = {
    **arithmetic_rows(WEAK_KINDS, bool_sums=True),
    Ops.BITCAST: Row("the same bytes as another dtype", bitcast(WEAK_KINDS.values)),
    Ops.SINK: Row("the root of the kernel", sink),
    Ops.PARAM: Row("an argument of the kernel", param),
    Ops.CONST: Row("a number; Invalid as an index", constant(WEAK_KINDS.values, invalid=True)),
    Ops.VCONST: Row("a number a lane", vector_constant(WEAK_KINDS.values, invalid=True)),
    Ops.DEFINE_VAR: Row("an integer that is known when it runs", define_var),
    Ops.SPECIAL: Row("a launch index of a custom kernel", special(WEAK_KINDS.addresses)),
    Ops.DEFINE_LOCAL: Row("memory of a work-group", memory(AddrSpace.LOCAL)),
    Ops.DEFINE_REG: Row("registers", memory(AddrSpace.REG)),
    **dict.fromkeys(sorted(GroupOp.Movement), Row("memory seen with other axes", _view)),
    Ops.DETACH: Row("the value, which gradients do not see", same_value),
    Ops.CONTIGUOUS_BACKWARD: Row("the value, whose gradient would be contiguous", same_value),
    Ops.RANGE: Row("a loop", loop(AxisType, WEAK_KINDS.addresses)),
    Ops.END: Row("loops closed around an effect", end),
    Ops.REDUCE: Row("values combined over loops", reduce_ranges(WEAK_KINDS.values)),
    Ops.INDEX: Row("an element of memory, read or written", element),
    Ops.STORE: Row("a write", store),
    Ops.AFTER: Row("memory that waits for effects", after),
    Ops.GROUP: Row("several effects as one", all_of(is_void, only_effects)),
    Ops.BARRIER: Row("work-items wait for each other", is_void),
    Ops.NOOP: Row("a place holder", anything),
    Ops.STACK: Row("a vector of scalars", stack),
    Ops.GEP: Row("lanes of a vector", gep),
    Ops.WMMA: Row("a product of tiles", wmma),
    Ops.CUSTOM: Row("a statement in the text of the target", text_arg),
    Ops.CUSTOMI: Row("an expression in the text of the target", text_arg),
}
