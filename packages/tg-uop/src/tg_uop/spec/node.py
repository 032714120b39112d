"""The forms, and the checks of single nodes that their tables are made of.

A check takes a node and gives None, or what is wrong with it in a few words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import NamedTuple

from tg_uop.dtype.dtype import AddrSpace, ConstFloat, DType, InvalidType, PtrDType, dtypes
from tg_uop.ir.args import RangeArg, SpecialArg
from tg_uop.ir.axis import AxisType
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp


class Form(Enum):
    """A legal state of the graph; each pass goes from one form to another."""

    TENSOR = auto()
    KERNEL = auto()
    EXPANDED = auto()
    LOWERED = auto()
    LINEAR = auto()

    def __repr__(self) -> str:
        return f"Form.{self.name}"


Check = Callable[[UOp], str | None]


class Row(NamedTuple):
    """One line of a form's table: why the op is there, and how its nodes are checked."""

    reason: str
    check: Check


Table = dict[Ops, Row]

# *** dtypes by kind ***

BOOL = frozenset({dtypes.bool})
FLOATS = frozenset(dtypes.floats)
INTS = frozenset(dtypes.ints)
WEAK = frozenset({dtypes.weakint})


class Kinds(NamedTuple):
    """The scalar dtypes that a form's values can have."""

    ints: frozenset[DType]
    floats: frozenset[DType]
    addresses: frozenset[DType]

    @property
    def numbers(self) -> frozenset[DType]:
        """Everything but bool."""
        return self.ints | self.floats

    @property
    def values(self) -> frozenset[DType]:
        """Every dtype of a value."""
        return self.ints | self.floats | BOOL


WEAK_KINDS = Kinds(ints=INTS | WEAK, floats=FLOATS, addresses=INTS | WEAK)
STRICT_KINDS = Kinds(ints=INTS, floats=FLOATS, addresses=frozenset({dtypes.int32, dtypes.int64}))

# *** building blocks ***

EFFECTS = frozenset(
    (
        Ops.STORE,
        Ops.END,
        Ops.GROUP,
        Ops.BARRIER,
        Ops.AFTER,
        Ops.RANGE,
        Ops.IF,
        Ops.ENDIF,
        Ops.NOOP,
        Ops.CALL,
        Ops.CUSTOM,
        Ops.WMMA,
        Ops.COPY,
        Ops.LINEAR,
    )
)


def anything(node: UOp) -> str | None:
    """No condition."""
    return None


def all_of(*checks: Check) -> Check:
    """Every check, in order."""

    def run(node: UOp) -> str | None:
        for check in checks:
            problem = check(node)
            if problem is not None:
                return problem
        return None

    return run


def no_operands(node: UOp) -> str | None:
    """A leaf."""
    return "it has no operands" if node.src else None


def is_void(node: UOp) -> str | None:
    """An effect: it has no value."""
    return None if node.dtype is dtypes.void else f"its dtype is void, not {node.dtype}"


def like_first(node: UOp) -> str | None:
    """The dtype is that of the first operand."""
    if not node.src:
        return "it has an operand"
    if node.dtype is not node.src[0].dtype:
        return f"its dtype is that of its first operand, {node.src[0].dtype}, not {node.dtype}"
    return None


def operands(count: int) -> Check:
    """Exactly so many operands."""
    return lambda node: None if len(node.src) == count else wrong_count(node, count)


def wrong_count(node: UOp, count: int) -> str:
    """What to say when a node has not `count` operands."""
    return f"it has {count} operands, not {len(node.src)}"


def only_effects(node: UOp) -> str | None:
    """Every operand is an effect."""
    for operand in node.src:
        if operand.op not in EFFECTS:
            return f"its operands are effects, {operand.op} is none"
    return None


def not_allowed(dtype: DType, allowed: frozenset[DType]) -> str:
    """What to say when a dtype is not among those allowed."""
    names = ", ".join(d.name for d in sorted(allowed))
    return f"{dtype} is none of its dtypes ({names})"


# *** constants ***


def constant_problem(value: object, dtype: DType) -> str | None:
    """What is wrong with `value` as the content of a constant of a scalar dtype."""
    if dtype.is_float:
        right = type(value) is ConstFloat
    elif dtype.is_bool:
        right = type(value) is bool
    elif dtype.is_int:
        right = type(value) is int and dtype.min <= value <= dtype.max
    else:
        return f"{dtype} has no constants"
    return None if right else f"{value!r} is no constant of {dtype}"


def constant(allowed: frozenset[DType], *, invalid: bool) -> Check:
    """A scalar `arg` of the dtype's kind and range; in a vector it stands in every lane."""

    def check(node: UOp) -> str | None:
        if node.src:
            return "it has no operands"
        dtype = node.dtype.scalar()
        if dtype not in allowed:
            return not_allowed(dtype, allowed)
        if isinstance(node.arg, InvalidType):
            return None if invalid else "Invalid has become a gate by now"
        return constant_problem(node.arg, dtype)

    return check


def vector_constant(allowed: frozenset[DType], *, invalid: bool) -> Check:
    """A tuple `arg` with one constant a lane."""

    def check(node: UOp) -> str | None:
        dtype, lanes = node.dtype.scalar(), node.arg
        if node.src:
            return "it has no operands"
        if not isinstance(lanes, tuple) or len(lanes) != node.dtype.count or len(lanes) < 2:
            return f"it has one constant for each of two or more lanes, {lanes!r} has not"
        if dtype not in allowed:
            return not_allowed(dtype, allowed)
        for value in lanes:
            if isinstance(value, InvalidType) and invalid:
                continue
            problem = constant_problem(value, dtype)
            if problem is not None:
                return problem
        return None

    return check


def define_var(node: UOp) -> str | None:
    """An integer with a name and bounds."""
    if node.src:
        return "it has no operands"
    match node.arg:
        case (str() as name, int() as low, int() as high):
            if low > high:
                return f"{name} has no value between {low} and {high}"
        case _:
            return f"its arg is (name, lowest, highest), not {node.arg!r}"
    return None if node.dtype.is_int and node.dtype.count == 1 else "it is a scalar integer"


# *** vectors ***


def stack(node: UOp) -> str | None:
    """As many scalars of one dtype as the vector has lanes."""
    dtype = node.dtype
    if dtype.count != len(node.src) or len(node.src) < 2:
        return f"{dtype} is not made of {len(node.src)} lanes"
    scalar = dtype.scalar()
    for lane in node.src:
        if lane.dtype is not scalar:
            return f"a lane of {dtype} is {scalar}, not {lane.dtype}"
    return None


def gep(node: UOp) -> str | None:
    """A tuple of lanes that the operand has; the result has one for each."""
    if len(node.src) != 1:
        return wrong_count(node, 1)
    source, lanes = node.src[0].dtype, node.arg
    if not isinstance(lanes, tuple) or not lanes:
        return f"its arg is a tuple of lanes, not {lanes!r}"
    if any(not isinstance(lane, int) or not 0 <= lane < source.count for lane in lanes):
        return f"{source} has no lanes {lanes}"
    if node.dtype is not source.scalar().vec(len(lanes)):
        return f"{len(lanes)} lanes of {source} are no {node.dtype}"
    return None


# *** loops ***


def loop(axis_types: Iterable[AxisType], index: frozenset[DType]) -> Check:
    """A RANGE over a size of its dtype, in one of these roles; a replicated size is known."""
    allowed = frozenset(axis_types)

    def check(node: UOp) -> str | None:
        arg = node.arg
        if type(arg) is not RangeArg:
            return f"its arg is a RangeArg, not {arg!r}"
        if not node.src or node.src[0].dtype is not node.dtype:
            return f"its first operand is its size, of its dtype {node.dtype}"
        if node.dtype not in index:
            return not_allowed(node.dtype, index)
        if arg.axis_type not in allowed:
            return f"no {arg.axis_type!r} axes are left here"
        if arg.axis_type in REPLICATED and node.src[0].op is not Ops.CONST:
            return f"the size of an {arg.axis_type.name} axis is a constant"
        if arg.lanes and arg.axis_type not in REPLICATED:
            return f"lanes come from an UPCAST or UNROLL axis, not {arg.axis_type!r}"
        return None

    return check


REPLICATED = frozenset((AxisType.UPCAST, AxisType.UNROLL))


def end(node: UOp) -> str | None:
    """An effect, and the loops that close around it."""
    if node.dtype is not dtypes.void:
        return f"its dtype is void, not {node.dtype}"
    if len(node.src) < 2:
        return "it has an effect and at least one RANGE"
    if node.src[0].op not in EFFECTS:
        return f"its first operand is an effect, {node.src[0].op} is none"
    return _all_ranges(node.src[1:])


def _all_ranges(found: tuple[UOp, ...]) -> str | None:
    for each in found:
        if each.op is not Ops.RANGE:
            return f"what it closes are RANGEs, {each.op} is none"
    return None


def reduce_ranges(allowed: frozenset[DType]) -> Check:
    """Kernel form: a value, the loops it is combined over, and the op in `arg`."""

    def check(node: UOp) -> str | None:
        if node.arg not in GroupOp.Reduce:
            return f"its arg is ADD, MUL or MAX, not {node.arg!r}"
        if len(node.src) < 2:
            return "it has a value and at least one RANGE"
        problem = like_first(node) or _all_ranges(node.src[1:])
        if problem is not None:
            return problem
        for closed in node.src[1:]:
            if not closed.axis_type.is_reduce:
                return f"it runs over reduce axes, {closed.axis_type!r} is none"
        if node.arg is Ops.ADD and node.dtype.is_bool:
            return "a sum of bool is taken in int"
        return None if node.dtype.scalar() in allowed else not_allowed(node.dtype, allowed)

    return check


def special(index: frozenset[DType]) -> Check:
    """A launch index over a size of its dtype."""

    def check(node: UOp) -> str | None:
        if type(node.arg) is not SpecialArg:
            return f"its arg is a SpecialArg, not {node.arg!r}"
        if len(node.src) != 1 or node.src[0].dtype is not node.dtype:
            return f"its operand is its size, of its dtype {node.dtype}"
        return None if node.dtype in index else not_allowed(node.dtype, index)

    return check


# *** memory ***


def memory(addrspace: AddrSpace) -> Check:
    """A slot number and a pointer of known size in this address space."""

    def check(node: UOp) -> str | None:
        dtype = node.dtype
        if node.src:
            return "it has no operands"
        if type(node.arg) is not int or node.arg < 0:
            return f"its arg is a slot number, not {node.arg!r}"
        if not isinstance(dtype, PtrDType) or dtype.addrspace is not addrspace:
            return f"its dtype is a pointer to {addrspace!r}, not {dtype}"
        return None if dtype.size > 0 else f"its size is known and positive, not {dtype.size}"

    return check


def after(node: UOp) -> str | None:
    """A value or memory, and effects that happen before it is taken."""
    problem = like_first(node)
    if problem is not None:
        return problem
    for effect in node.src[1:]:
        if effect.op not in EFFECTS:
            return f"what it waits for are effects, {effect.op} is none"
    return None


def text_arg(node: UOp) -> str | None:
    """A text in `arg`."""
    return None if isinstance(node.arg, str) else f"its arg is a text, not {node.arg!r}"
