"""The table of tensor form: what Tensor builds, every value with a shape and one lane."""

from __future__ import annotations

from tg_uop.dtype.dtype import InvalidType, dtypes
from tg_uop.ir.args import BufferArg, CallArg, ParamArg, ReduceArg
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.spec.arithmetic import arithmetic_rows
from tg_uop.spec.node import (
    EFFECTS,
    WEAK_KINDS,
    Check,
    Row,
    Table,
    all_of,
    anything,
    constant_problem,
    define_var,
    is_void,
    like_first,
    no_operands,
    operands,
)

CALLABLE = frozenset(
    (Ops.SINK, Ops.PROGRAM, Ops.COPY, Ops.BUFFER_VIEW, Ops.CUSTOM_FUNCTION, Ops.LINEAR, Ops.TUPLE)
)
WRITABLE = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW, Ops.AFTER, Ops.PARAM, Ops.MSELECT, Ops.MULTI))


def shaped(node: UOp) -> str | None:
    """A value of one lane with a shape."""
    if node._shape is None:
        return "a value of tensor form has a shape, one of its operands has none"
    return (
        None if node.dtype.count == 1 else f"a value of tensor form has one lane, not {node.dtype}"
    )


def _device(node: UOp) -> str | None:
    names = node.arg if isinstance(node.arg, tuple) else (node.arg,)
    if names and all(isinstance(name, str) for name in names):
        return no_operands(node)
    return f"its arg is a device's name or a tuple of them, not {node.arg!r}"


def _buffer(node: UOp) -> str | None:
    if not isinstance(node.arg, BufferArg):
        return f"its arg is a BufferArg, not {node.arg!r}"
    if len(node.src) != 1 or node.src[0].op is not Ops.DEVICE:
        return "its operand is a DEVICE"
    dtype = node.dtype
    if dtype.count != 1 or dtype.base is not dtype or not 0 < dtype.bitsize <= 64:
        return f"memory holds scalars of known width, not {dtype}"
    return None


def _after(node: UOp) -> str | None:
    problem = like_first(node)
    if problem is not None:
        return problem
    for waited in node.effects:
        if waited.op not in EFFECTS and waited._shape is None:
            return f"what it waits for are effects and values, {waited.op} is none"
    return None


def _buffer_view(node: UOp) -> str | None:
    match node.arg:
        case (int() as size, int() as offset) if size >= 0 and offset >= 0:
            pass
        case _:
            return f"its arg is (size, offset) in elements, not {node.arg!r}"
    if len(node.src) != 1:
        return "its operand is the memory that it looks into"
    below = node.src[0]
    whole = below._shape
    if whole is None or len(whole) != 1 or not isinstance(whole[0], int):
        return None
    if (size + offset) * node.dtype.itemsize > whole[0] * below.dtype.itemsize:
        return f"{size} elements at {offset} leave the {whole[0]} elements below"
    return None


def _constant(node: UOp) -> str | None:
    if node.src and (len(node.src) > 1 or node.src[0].op is not Ops.DEVICE):
        return "its only operand can be a DEVICE"
    if node.dtype.count != 1:
        return f"it has one lane, not {node.dtype}"
    return None if isinstance(node.arg, InvalidType) else constant_problem(node.arg, node.dtype)


def _bind(node: UOp) -> str | None:
    if (
        len(node.src) != 2
        or node.src[0].op is not Ops.DEFINE_VAR
        or node.src[1].op is not Ops.CONST
    ):
        return "its operands are a DEFINE_VAR and a CONST"
    value = node.src[1].const_value
    match node.src[0].arg:
        case (name, int() as low, int() as high) if not low <= value <= high:
            return f"{name} is {low} to {high}, not {value}"
    return None


def _movement(node: UOp) -> str | None:
    if not isinstance(node.arg, tuple):
        return f"its arg is a tuple, not {node.arg!r}"
    for dim in node.src[1:]:
        if not dim.dtype.is_int:
            return f"a symbolic dimension is an integer, not {dim.dtype}"
    return like_first(node) or shaped(node)


def _reduce(node: UOp) -> str | None:
    arg = node.arg
    if not isinstance(arg, ReduceArg):
        return f"its arg is a ReduceArg, not {arg!r}"
    if arg.op not in GroupOp.Reduce:
        return f"it combines by ADD, MUL or MAX, not {arg.op!r}"
    if len(node.src) != 1:
        return "it has one operand"
    if len(set(arg.axes)) != len(arg.axes):
        return f"it names an axis twice: {arg.axes}"
    if arg.op is Ops.ADD and node.dtype.is_bool:
        return "a sum of bool is taken in int"
    return like_first(node) or shaped(node)


def _copy(node: UOp) -> str | None:
    if len(node.src) != 2 or node.src[1].op is not Ops.DEVICE:
        return "its operands are a value and a DEVICE"
    return like_first(node)


def _store(node: UOp) -> str | None:
    if len(node.src) != 2:
        return "its operands are a target and a value"
    target, value = node.src
    base = target.base
    # a CONTIGUOUS with an arg names memory that it does not share with an equal value
    is_memory = base.op in WRITABLE or (base.op is Ops.CONTIGUOUS and base.arg is not None)
    if not is_memory:
        return f"its target is a view of memory, {base.op} is none"
    if target.dtype is not value.dtype:
        return f"it writes {value.dtype} into {target.dtype}"
    if value._shape and value._shape != target._shape:
        return f"it writes shape {value._shape} into shape {target._shape}"
    return is_void(node)


def _call(node: UOp) -> str | None:
    if not isinstance(node.arg, CallArg):
        return f"its arg is a CallArg, not {node.arg!r}"
    return None if node.src else "its first operand is what it calls"


def _int_arg(node: UOp) -> str | None:
    return None if type(node.arg) is int else f"its arg is a position, not {node.arg!r}"


def _multi(node: UOp) -> str | None:
    if node.arg is not None and type(node.arg) is not int:
        return f"its arg is an axis or None, not {node.arg!r}"
    if not node.src:
        return "it has a shard for each device"
    return like_first(node)


def _allreduce(node: UOp) -> str | None:
    if not node.src:
        return "it has an operand"
    op = node.arg[0] if isinstance(node.arg, tuple) else node.arg
    if op not in GroupOp.Reduce:
        return f"it combines by ADD, MUL or MAX, not {node.arg!r}"
    return None if node.dtype is node.src[0].dtype else like_first(node)


def _linear(node: UOp) -> str | None:
    for each in node.src:
        if each.op is not Ops.CALL:
            return f"a schedule is a list of CALLs, {each.op} is none"
    return is_void(node)


def _param(node: UOp) -> str | None:
    if not isinstance(node.arg, ParamArg):
        return f"its arg is a ParamArg, not {node.arg!r}"
    return None


def _same(node: UOp) -> str | None:
    if len(node.src) != 1:
        return "it has one operand"
    return like_first(node) or shaped(node)


def _bitcast(node: UOp) -> str | None:
    if len(node.src) != 1:
        return "it has one operand"
    for dtype in (node.dtype, node.src[0].dtype):
        if dtype is dtypes.weakint or dtype.bitsize == 0:
            return f"{dtype} has no bytes"
    return shaped(node)


def _with_shape(rows: Table) -> Table:
    def also_shaped(check: Check) -> Check:
        return all_of(check, shaped)

    return {op: Row(row.reason, also_shaped(row.check)) for op, row in rows.items()}


TENSOR: Table = {
    **_with_shape(arithmetic_rows(WEAK_KINDS, bool_sums=True)),
    Ops.BITCAST: Row("the same bytes as another dtype; the last axis scales", _bitcast),
    Ops.DEVICE: Row("where a buffer or constant is", _device),
    Ops.BUFFER: Row("memory that the engine knows by its slot", _buffer),
    Ops.BUFFER_VIEW: Row("a part of a buffer, without a copy", _buffer_view),
    Ops.CONST: Row("a number of shape ()", _constant),
    Ops.DEFINE_VAR: Row("an integer that is known when it runs", define_var),
    Ops.BIND: Row("a variable with its value", _bind),
    Ops.PARAM: Row("an argument of a function", _param),
    **{op: Row("a view", _movement) for op in GroupOp.Movement},
    Ops.REDUCE: Row("whole axes combined to size 1", _reduce),
    Ops.CONTIGUOUS: Row("a value in memory of its own", _same),
    Ops.CONTIGUOUS_BACKWARD: Row("a value whose gradient is made contiguous", _same),
    Ops.DETACH: Row("a value that passes no gradient", _same),
    Ops.COPY: Row("a value on another device", _copy),
    Ops.STORE: Row("a write into memory", _store),
    Ops.AFTER: Row("a value that waits for effects or other values", _after),
    Ops.MULTI: Row("a value in shards", _multi),
    Ops.MSELECT: Row("one shard", _int_arg),
    Ops.MSTACK: Row("shards as one value", like_first),
    Ops.ALLREDUCE: Row("shards combined, on every device", _allreduce),
    Ops.CALL: Row("one launch", _call),
    Ops.FUNCTION: Row("a differentiable function applied to operands", anything),
    Ops.TUPLE: Row("several results", is_void),
    Ops.GETTUPLE: Row("one of several results", all_of(operands(1), _int_arg)),
    Ops.CUSTOM_FUNCTION: Row("something the engine does itself", anything),
    Ops.LINEAR: Row("a schedule", _linear),
    Ops.SINK: Row("the root over several values", is_void),
    Ops.GROUP: Row("several effects as one", is_void),
    Ops.NOOP: Row("a place holder", anything),
}
