"""UOp, the node of every form, with a name for each of its parts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self

from tg_uop.dtype.dtype import AddrSpace, DType, PtrDType, dtypes
from tg_uop.errors import NodeKindError, ShapeError
from tg_uop.ir.args import ProgramInfo, RangeArg, ReduceArg
from tg_uop.ir.axis import AxisType
from tg_uop.ir.build import Builders
from tg_uop.ir.infer.shape import merge_symbolic
from tg_uop.ir.memory import indices_of, view_of
from tg_uop.ir.mixed import same_type, type_of_quotient
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.substitute import substitute
from tg_uop.ir.walk import reaches, toposort
from tg_uop.methods.reduce import ReduceMixin

_KEPT = object()
"""Of a field: as it is."""


class UOp(Builders, ReduceMixin):
    """One operation of the IR. See `tg_uop.ir.node` for interning and derived facts."""

    __slots__ = ()

    # *** parts by name ***

    @property
    def stored_target(self) -> Self:
        """Of a STORE: what is written to."""
        return self.src[0]

    @property
    def stored_value(self) -> Self:
        """Of a STORE: what is written."""
        return self.src[1]

    @property
    def index_buffer(self) -> Self:
        """Of an INDEX: the memory."""
        return self.src[0]

    @property
    def index_expr(self) -> Self:
        """Of an INDEX: the (first) address expression."""
        return self.src[1]

    @property
    def index_gate(self) -> Self | None:
        """Of a lowered INDEX: the condition of the access, None where it always happens."""
        return self.src[2] if len(self.src) > 2 else None

    @property
    def load_index(self) -> Self:
        """Of a LOAD: the address."""
        return self.src[0]

    @property
    def load_alt(self) -> Self | None:
        """Of a LOAD: the value that a closed gate gives."""
        return self.src[1] if len(self.src) > 1 else None

    @property
    def range_arg(self) -> RangeArg:
        """Of a RANGE: its identity and role."""
        assert isinstance(self.arg, RangeArg), f"{self.op} is no RANGE"
        return self.arg

    @property
    def axis_type(self) -> AxisType:
        """Of a RANGE: its role."""
        return self.range_arg.axis_type

    @property
    def range_size(self) -> Self:
        """Of a RANGE or SPECIAL: the node of its number of steps."""
        return self.src[0]

    @property
    def size(self) -> int | Self:
        """Of a RANGE or SPECIAL: its number of steps; of memory: its number of elements."""
        if self.op in (Ops.RANGE, Ops.SPECIAL):
            end = self.src[0]
            return end.const_value if end.op is Ops.CONST else end
        if isinstance(self.dtype, PtrDType):
            return self.dtype.size
        count: int | Self = 1
        for dim in self.shape:
            count = count * dim  # type: ignore[operator]
        return count

    @property
    def reduced_value(self) -> Self:
        """Of a REDUCE: what is combined."""
        return self.src[0]

    @property
    def reduce_ranges(self) -> tuple[Self, ...]:
        """Of a REDUCE in kernel form: the loops it closes."""
        return self.src[1:]

    @property
    def reduce_op(self) -> Ops:
        """Of a REDUCE: how values combine."""
        if isinstance(self.arg, Ops):
            return self.arg
        found = getattr(self.arg, "op", None)
        assert isinstance(found, Ops), f"{self.op} is no REDUCE"
        return found

    @property
    def reduce_axes(self) -> tuple[int, ...]:
        """Of a REDUCE in tensor form: the axes that become 1."""
        axes = getattr(self.arg, "axes", ())
        assert isinstance(axes, tuple)
        return axes

    @property
    def ended_effect(self) -> Self:
        """Of an END: what happens in the loops."""
        return self.src[0]

    @property
    def ended_ranges(self) -> tuple[Self, ...]:
        """Of an END: the loops it closes."""
        return self.src[1:]

    @property
    def effects(self) -> tuple[Self, ...]:
        """Of an AFTER: what happens before the value is taken."""
        return self.src[1:]

    @property
    def movement_arg(self) -> tuple[object, ...]:
        """Of a movement op: its arg with symbolic dimensions put in."""
        assert isinstance(self.arg, tuple), f"{self.op} is no movement op"
        return merge_symbolic(self.arg, self.src[1:]) if len(self.src) > 1 else self.arg

    @property
    def permute_order(self) -> tuple[int, ...]:
        """Of a PERMUTE: which axis of the operand each axis is."""
        assert isinstance(self.arg, tuple), f"{self.op} is no PERMUTE"
        return self.arg

    @property
    def const_value(self) -> int:
        """Of an integer CONST: the number."""
        assert isinstance(self.arg, int), f"{self.arg!r} is no integer"
        return self.arg

    @property
    def var_name(self) -> str:
        """Of a DEFINE_VAR, or of the variable of a BIND: its name."""
        variable = self.src[0] if self.op is Ops.BIND else self
        name = variable.arg[0]  # type: ignore[index]
        assert isinstance(name, str)
        return name

    @property
    def bound_value(self) -> int:
        """Of a BIND: the value."""
        return self.src[1].const_value

    @property
    def program_info(self) -> ProgramInfo:
        """Of a PROGRAM: its launch data."""
        assert isinstance(self.arg, ProgramInfo), f"{self.op} is no PROGRAM"
        return self.arg

    @property
    def called(self) -> Self:
        """Of a CALL: what runs."""
        return self.src[0]

    @property
    def call_args(self) -> tuple[Self, ...]:
        """Of a CALL: what it runs on."""
        return self.src[1:]

    @property
    def addrspace(self) -> AddrSpace | None:
        """The address space of memory, None for values."""
        return self.dtype.addrspace if isinstance(self.dtype, PtrDType) else None

    @property
    def device(self) -> str | tuple[str, ...]:
        """Where the value lives.

        Raises `NodeKindError` for a node that has no device.
        """
        if self._device is None:
            raise NodeKindError(
                node=self.op.name, attempted="device", reason="nothing places it on one"
            )
        return self._device

    @property
    def axis(self) -> int | None:
        """Along which axis a value is sharded, None for replicas and values on one device."""
        return SERVICES.axis(self)

    @property
    def base(self) -> Self:
        """What is below the movement ops."""
        node = self
        while node.op in GroupOp.Movement:
            node = node.src[0]
        return node

    @property
    def buffer(self) -> object:
        """The memory that the engine keeps for a BUFFER (needs tg-tensor)."""
        return SERVICES.buffer(self)

    @property
    def realized(self) -> object:
        """The memory of the value where it is computed, else None (given by the engine)."""
        return SERVICES.realized(self)

    @property
    def is_realized(self) -> bool:
        """Whether the value lies in memory, whole or as a view, on one device or on several."""
        below = self.base
        parts = below.src if below.op in (Ops.MULTI, Ops.MSTACK) else (below,)
        return all(part.base.op in (Ops.BUFFER, Ops.BUFFER_VIEW) for part in parts)

    # *** walks and rebuilding ***

    def toposort(self, gate: Callable[[Self], bool] | None = None) -> dict[Self, None]:
        """All nodes under this one, operands first; `gate` cuts off what it refuses."""
        return toposort((self,), gate)

    @property
    def backward_slice(self) -> dict[Self, None]:
        """All nodes under this one, without itself."""
        order = toposort((self,))
        del order[self]
        return order

    def depends_on(self, wanted: Callable[[Self], bool]) -> bool:
        """Whether this node or one below is wanted."""
        return reaches(self, wanted)

    def op_in_backward_slice_with_self(self, *ops: Ops) -> bool:
        """Whether this node or one below has one of `ops`."""
        return reaches(self, lambda node: node.op in ops)

    def substitute(self, replacements: Mapping[Self, Self]) -> Self:
        """This graph with nodes replaced; see `tg_uop.ir.substitute`."""
        return substitute(self, replacements)

    def replace(
        self,
        *,
        op: Ops | None = None,
        dtype: DType | None = None,
        src: tuple[Self, ...] | None = None,
        arg: object = _KEPT,
        tag: object = _KEPT,
    ) -> Self:
        """The node with some fields changed."""
        fresh = type(self)(
            self.op if op is None else op,
            self.dtype if dtype is None else dtype,
            self.src if src is None else src,
            self.arg if arg is _KEPT else arg,
            self.tag if tag is _KEPT else tag,
        )
        if fresh.source_line is None:
            fresh.source_line = self.source_line
        return fresh

    def rtag(self, tag: object = True) -> Self:
        """The node with another tag."""
        return self.replace(tag=tag)

    def split_uop(self, op: Ops) -> list[Self]:
        """The operands of a tree of one associative op, from left to right."""
        found: list[Self] = []
        stack = [self]
        while stack:
            node = stack.pop()
            if node.op is op:
                stack.extend(reversed(node.src))
            else:
                found.append(node)
        return found

    def variables(self) -> tuple[Self, ...]:
        """The DEFINE_VARs under this node, by name."""
        found = [node for node in toposort((self,)) if node.op is Ops.DEFINE_VAR]
        return tuple(sorted(found, key=lambda node: node.var_name))

    def unbind(self) -> tuple[Self, int]:
        """Of a BIND: the variable and its value."""
        if self.op is not Ops.BIND:
            raise NodeKindError(
                node=self.op.name,
                attempted="unbind",
                reason="it is no variable with a value",
                hint="bind one: variable.bind(value)",
            )
        return self.src[0], self.bound_value

    def __iter__(self) -> Iterator[Self]:
        """A node is no sequence: what takes it apart meant something else."""
        reason = "it is one value, it cannot be iterated over"
        raise NodeKindError(node=self.op.name, attempted="iteration", reason=reason)

    def __getitem__(self, index: object) -> Self:
        """Of memory: an element by one index an axis, a view by fewer or by slices; of a
        tensor-form value: a view.
        """
        if not isinstance(self.dtype, PtrDType) or self._shape is None:
            return ReduceMixin.__getitem__(self, index)
        indices = indices_of(index, self._shape)
        if indices is None:
            return view_of(self, index)
        # memory without axes holds one element
        return self.index(*(indices or (0,)))  # type: ignore[arg-type]

    # *** arithmetic of different number types ***

    def ufix(self, value: object) -> Self:
        """`value` as a node that can stand beside this one; beside an integer a Python float
        stays a float.
        """
        if type(value) is float and not self.dtype.is_float and self.dtype.count == 1:
            return self.const(dtypes.default_float, value)
        return Builders.ufix(self, value)

    def fdiv(self, x: object, reverse: bool = False) -> Self:
        """Division; of integers in the default float dtype."""
        left, right = self._in_order(x, reverse)
        dtype = type_of_quotient(left.dtype)
        return left.cast(dtype).alu(Ops.FDIV, right.cast(dtype))

    def _in_order(self, x: object, reverse: bool) -> tuple[Self, Self]:
        left, right = ReduceMixin._in_order(self, x, reverse)
        if left.dtype is right.dtype and not isinstance(left.dtype, PtrDType):
            return left, right
        return same_type(left, right)

    def _pick(self, x: object, y: object) -> Self:
        if isinstance(x, UOp) or isinstance(y, UOp):
            left = x if isinstance(x, type(self)) else y.ufix(x)  # type: ignore[attr-defined]
            right = y if isinstance(y, type(self)) else x.ufix(y)  # type: ignore[attr-defined]
            x, y = same_type(left, right)
        return ReduceMixin._pick(self, x, y)

    def pad(self, padding: Sequence[tuple[int | Self, int | Self] | None]) -> Self:
        """Zeros before and after each axis, given as a pair an axis; None for an axis without.

        Raises `ShapeError` when the pairs are not one an axis.
        """
        pairs = [(0, 0) if pair is None else pair for pair in padding]
        if len(pairs) != self.ndim:
            raise ShapeError(
                op=Ops.PAD.name,
                shapes=(self._shape,),
                reason=f"{len(pairs)} pairs of padding for {self.ndim} axes",
                hint="give one (before, after) pair an axis",
            )
        return self._pad_zeros(pairs)

    # *** hooks of the shared methods ***

    def _movement(self, op: Ops, arg: tuple[object, ...]) -> Self:
        for entry in arg:
            if type(entry) is not int:
                return self._sized(op, arg)
        return type(self)(op, self.dtype, (self,), arg)

    @property
    def _fits_any_shape(self) -> bool:
        node = self.src[0] if self.op is Ops.CAST else self
        return node.op in (Ops.CONST, Ops.DEFINE_VAR, Ops.BIND)

    def _reduce(self, op: Ops, axes: tuple[int, ...]) -> Self:
        return type(self)(Ops.REDUCE, self.dtype, (self,), ReduceArg(op, axes))

    # *** services of higher modules ***

    def simplify(self) -> Self:
        """An equal expression that is no worse."""
        return SERVICES.simplify(self)  # type: ignore[return-value]

    def evaluate(self, var_vals: Mapping[str, int] | None = None) -> int:
        """The integer that the expression gives with variables put in."""
        return SERVICES.evaluate(self, var_vals or {})

    def render(self, simplify: bool = True) -> str:
        """The expression in short form."""
        return SERVICES.render(self.simplify() if simplify else self)

    def __repr__(self) -> str:
        operands = ", ".join(s.op.name for s in self.src)
        arg = "" if self.arg is None else f", arg={self.arg!r}"
        tag = "" if self.tag is None else f", tag={self.tag!r}"
        return f"UOp({self.op}, {self.dtype!r}, ({operands}){arg}{tag})"

    def __str__(self) -> str:
        """A size in short form, any other node as in `repr`."""
        return self.render(simplify=False) if self.dtype is dtypes.weakint else repr(self)

    def __bool__(self) -> bool:
        """The truth of a condition that bounds decide.

        Raises `NodeKindError`, a `TypeError`, for one that they do not decide, and for nodes that
        are no condition.
        """
        if self.dtype == dtypes.bool and self.vmin == self.vmax:
            return bool(self.vmin)
        if dtypes.is_int(self.dtype) and (self.vmin > 0 or self.vmax < 0):
            return True
        raise NodeKindError(
            node=self.op.name,
            attempted="truth",
            reason="it is not known while a graph is built",
            hint="use tg_uop.resolve for conditions, `is None` to test for absence",
        )

    def __int__(self) -> int:
        return self.evaluate()


def _leave_to_tensors(name: str) -> None:
    """Let an operator give way to the one of an operand that wraps a node (a Tensor)."""
    method = getattr(UOp, name)

    @functools.wraps(method)
    def operator(self: UOp, x: object) -> object:
        return NotImplemented if hasattr(x, "from_uop") else method(self, x)

    setattr(UOp, name, operator)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor"):
    _leave_to_tensors(f"__{_name}__")
for _name in ("lt", "gt", "le", "ge"):
    _leave_to_tensors(f"__{_name}__")


class Services:
    """What higher modules provide to nodes; each registers itself when it is imported."""

    simplify: Callable[[UOp], UOp]
    evaluate: Callable[[UOp, Mapping[str, int]], int]
    render: Callable[[UOp], str]
    buffer: Callable[[UOp], object]
    realized: Callable[[UOp], object]
    axis: Callable[[UOp], int | None]


def _needs_engine(node: UOp) -> object:
    reason = "it has memory only where tg-tensor's engine is loaded"
    raise NodeKindError(node=node.op.name, attempted="memory", reason=reason)


def _axis_of_multi(node: UOp) -> int | None:
    """Without tg-tensor, which knows how shards spread, only a MULTI itself has an axis."""
    return node.arg if node.op is Ops.MULTI and isinstance(node.arg, int) else None


SERVICES = Services()
SERVICES.buffer = _needs_engine
SERVICES.realized = _needs_engine
SERVICES.axis = _axis_of_multi

sint = int | UOp
Variable = UOp.variable
