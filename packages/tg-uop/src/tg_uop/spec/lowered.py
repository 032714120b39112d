"""The table of lowered form: explicit loads and stores, gates, indices of a fixed width."""

from __future__ import annotations

from tg_uop.dtype.dtype import PtrDType, dtypes
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.spec.arithmetic import arithmetic_rows, bitcast
from tg_uop.spec.expanded import EXPANDED, LOOPS
from tg_uop.spec.node import (
    STRICT_KINDS,
    Row,
    Table,
    constant,
    is_void,
    loop,
    special,
    vector_constant,
)


def index(node: UOp) -> str | None:
    """Memory, an index and perhaps a gate; its dtype is a pointer to the element.

    The index of a target that gathers and scatters may have a lane for each element.
    """
    src, dtype = node.src, node.dtype
    if not 2 <= len(src) <= 3:
        return "its operands are memory, an index and perhaps a gate"
    pointer = src[0].dtype
    if not isinstance(pointer, PtrDType):
        return f"it looks into memory, {src[0].op} of {pointer} is none"
    if not isinstance(dtype, PtrDType):
        return f"it is an address: its dtype is a pointer, not {dtype}"
    if dtype.base.scalar() is not pointer.base.scalar() or dtype.addrspace is not pointer.addrspace:
        return f"an address in {pointer} is no {dtype}"
    if src[1].dtype.scalar() not in STRICT_KINDS.addresses:
        return f"an index is int32 or int64, not {src[1].dtype}"
    if len(src) == 3 and not src[2].dtype.is_bool:
        return f"a gate is bool, not {src[2].dtype}"
    return None


def load(node: UOp) -> str | None:
    """An address and, if it has a gate, what is read when the gate is closed."""
    src = node.src
    if not 1 <= len(src) <= 2:
        return "its operands are an address and perhaps an alternative"
    address = _address(src[0])
    if address is None:
        return f"it reads from an INDEX, {src[0].op} is none"
    if node.dtype.scalar() is not address.dtype.base.scalar():
        return f"it reads {node.dtype} from {address.dtype}"
    if address.src[1].dtype.count not in (1, node.dtype.count):
        return f"{address.src[1].dtype.count} places give no {node.dtype}"
    gated = len(address.src) == 3
    if gated and len(src) == 1:
        return "a load behind a gate has an alternative"
    if len(src) == 2 and src[1].dtype is not node.dtype:
        return f"its alternative is {node.dtype}, not {src[1].dtype}"
    return _gate_problem(address, node.dtype.count)


def store(node: UOp) -> str | None:
    """An address and a value of its element's dtype."""
    if len(node.src) != 2:
        return "its operands are an address and a value"
    address, value = _address(node.src[0]), node.src[1]
    if address is None:
        return f"it writes to an INDEX, {node.src[0].op} is none"
    if value.dtype.scalar() is not address.dtype.base.scalar():
        return f"it writes {value.dtype} to {address.dtype}"
    if address.src[1].dtype.count not in (1, value.dtype.count):
        return f"{value.dtype} does not fill {address.src[1].dtype.count} places"
    return is_void(node) or _gate_problem(address, value.dtype.count)


def _address(node: UOp) -> UOp | None:
    while node.op is Ops.AFTER:
        node = node.src[0]
    return node if node.op is Ops.INDEX else None


def _gate_problem(address: UOp, lanes: int) -> str | None:
    if len(address.src) == 3 and address.src[2].dtype.count not in (1, lanes):
        return f"a gate has one lane or {lanes}, not {address.src[2].dtype.count}"
    return None


def opening(node: UOp) -> str | None:
    """A scalar condition, and perhaps effects that come first."""
    if not node.src or node.src[0].dtype is not dtypes.bool:
        return "its first operand is a scalar bool"
    return is_void(node)


def closing(node: UOp) -> str | None:
    """The IF that it closes."""
    if not node.src or node.src[0].op is not Ops.IF:
        return "its first operand is an IF"
    return is_void(node)


LOWERED: Table = {
    **EXPANDED,
    **arithmetic_rows(STRICT_KINDS, bool_sums=False),
    Ops.BITCAST: Row("the same bytes as another dtype", bitcast(STRICT_KINDS.values)),
    Ops.CONST: Row("a number", constant(STRICT_KINDS.values, invalid=False)),
    Ops.VCONST: Row("a number a lane", vector_constant(STRICT_KINDS.values, invalid=False)),
    Ops.RANGE: Row("a loop", loop(LOOPS, STRICT_KINDS.addresses)),
    Ops.SPECIAL: Row("a launch index", special(STRICT_KINDS.addresses)),
    Ops.INDEX: Row("an address", index),
    Ops.LOAD: Row("a read of one or more neighbouring elements", load),
    Ops.STORE: Row("a write of one or more neighbouring elements", store),
    Ops.IF: Row("what follows happens on a condition", opening),
    Ops.ENDIF: Row("the end of an IF", closing),
}
