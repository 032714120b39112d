"""Constructors of nodes: one method an operation, with the operands in their places."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Protocol, Self, SupportsIndex

from tg_uop.arguments import names_bad_arguments, shown
from tg_uop.dtype.dtype import AddrSpace, DType, Invalid, PtrDType, dtypes
from tg_uop.errors import (
    ArgumentError,
    ArgumentTypeError,
    NodeKindError,
    ShapeError,
    VariableRangeError,
)
from tg_uop.ir.args import (
    BufferArg,
    CallArg,
    KernelInfo,
    ParamArg,
    RangeArg,
    ReduceArg,
    SpecialArg,
)
from tg_uop.ir.axis import AxisType
from tg_uop.ir.dimensions import (
    is_int_pair,
    is_known,
    kept_entry,
    largest_size,
    settled_entry,
    steps_of,
    variable_bound,
)
from tg_uop.ir.infer.symbolic import check_symbolic
from tg_uop.ir.memory import effects_on, is_memory, whole_memory
from tg_uop.ir.node import Node
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.substitute import substitute

Scalar = int | float | bool


class Shaped(Protocol):
    """What memory can be made like."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""

    @property
    def dtype(self) -> DType:
        """The dtype of the elements, or the pointer to them."""


_buffer_slots = itertools.count()

_FIRST_COPY_AXIS = 1 << 20
"""Loops that write all of memory are inside of those of the kernel."""


class Builders(Node):
    """The constructors, as class methods where no operand is a natural subject."""

    __slots__ = ()

    # *** values without operands ***

    @classmethod
    def const(
        cls,
        dtype: DType,
        value: object,
        device: str | tuple[str, ...] | None = None,
        shape: tuple[int | Self, ...] | None = None,
    ) -> Self:
        """A constant of `dtype`; with a device it belongs there, with a shape it is expanded.

        With a vector dtype a scalar stands in every lane, and a tuple gives each lane its value.
        `UOp.const(dtypes.int.vec(4), (0, 1, 2, 3))` counts lanes.
        """
        if isinstance(value, cls):
            return value
        place = () if device is None else (cls(Ops.DEVICE, arg=device),)
        if isinstance(value, tuple):
            if len(set(map(repr, value))) == 1:
                value = value[0]
            else:
                return cls(Ops.VCONST, dtype, place, value)
        node = cls(Ops.CONST, dtype, place, value)
        if shape:
            ones = cls(Ops.RESHAPE, dtype, (node,), (1,) * len(shape))
            return ones._sized(Ops.EXPAND, shape)
        return node

    @classmethod
    def invalid(cls) -> Self:
        """The index of no element."""
        return cls(Ops.CONST, dtypes.weakint, (), Invalid)

    @classmethod
    @names_bad_arguments
    def variable(
        cls, name: str, min_val: float, max_val: float, dtype: DType = dtypes.weakint
    ) -> Self:
        """A named number between two bounds, both included.

        Raises `ArgumentError` when the bounds leave no value or the name is empty,
        `ArgumentTypeError` when the name is no text or a bound no number of the dtype's kind.
        """
        if not isinstance(name, str):
            raise ArgumentTypeError(
                call="Variable", argument="name", given=shown(name), expected="a text"
            )
        low, high = (variable_bound(name, bound, dtype) for bound in (min_val, max_val))
        if not name or low > high:
            raise ArgumentError(
                op="Variable",
                argument="name, low, high",
                given=(name, low, high),
                expected="a name, and bounds of which the first is not above the second",
            )
        return cls(Ops.DEFINE_VAR, dtype, (), (name, low, high))

    @classmethod
    def range(
        cls,
        size: int | Self,
        axis_id: int | tuple[int, ...],
        axis_type: AxisType = AxisType.LOOP,
        *,
        dtype: DType = dtypes.weakint,
        lanes: bool = False,
    ) -> Self:
        """A loop from 0 to `size` - 1; its value is the loop index."""
        path = axis_id if isinstance(axis_id, tuple) else (axis_id,)
        end = cls.const(dtype, size) if isinstance(size, int) else size
        return cls(Ops.RANGE, dtype, (end,), RangeArg(path, axis_type, lanes))

    @classmethod
    def special(cls, size: int | Self, name: str, dtype: DType = dtypes.weakint) -> Self:
        """A launch index (gidx0, lidx0, core_id, ...) below `size`."""
        end = cls.const(dtype, size) if isinstance(size, int) else size
        return cls(Ops.SPECIAL, dtype, (end,), SpecialArg(name))

    @classmethod
    def param(
        cls,
        slot: int,
        dtype: DType,
        shape: tuple[int | Self, ...] | None = None,
        device: str | tuple[str, ...] | None = None,
        name: str | None = None,
    ) -> Self:
        """An argument slot: of a kernel with a pointer dtype, else of a function."""
        return cls(Ops.PARAM, dtype, (), ParamArg(slot, shape, device, name))  # type: ignore[arg-type]

    @classmethod
    def placeholder(
        cls,
        shape: tuple[int | Self, ...],
        dtype: DType,
        slot: int,
        addrspace: AddrSpace = AddrSpace.GLOBAL,
    ) -> Self:
        """Memory of a kernel under construction, to be indexed with one index an axis."""
        pointer = dtype.ptr(prod(largest_size(dim) for dim in shape), addrspace)
        if addrspace is AddrSpace.GLOBAL:
            return cls(Ops.PARAM, pointer, (), ParamArg(slot, shape))  # type: ignore[arg-type]
        op = Ops.DEFINE_LOCAL if addrspace is AddrSpace.LOCAL else Ops.DEFINE_REG
        memory = cls(op, pointer, (), slot)
        return memory if len(shape) == 1 else cls(Ops.RESHAPE, pointer, (memory,), shape)

    @classmethod
    def placeholder_like(
        cls, other: Shaped, slot: int, addrspace: AddrSpace = AddrSpace.GLOBAL
    ) -> Self:
        """Memory of the shape and element dtype of a tensor, a node or other memory."""
        dtype = other.dtype
        element = dtype.base if isinstance(dtype, PtrDType) else dtype
        return cls.placeholder(other.shape, element, slot, addrspace)

    @classmethod
    def define_local(cls, slot: int, dtype: DType, size: int) -> Self:
        """Scratch memory shared by the work-items of a group (of a thread on a CPU)."""
        return cls(Ops.DEFINE_LOCAL, dtype.ptr(size, AddrSpace.LOCAL), (), slot)

    @classmethod
    def define_reg(cls, slot: int, dtype: DType, size: int = 1) -> Self:
        """Registers of one work-item."""
        return cls(Ops.DEFINE_REG, dtype.ptr(size, AddrSpace.REG), (), slot)

    @classmethod
    def new_buffer(cls, device: str, size: int, dtype: DType) -> Self:
        """A buffer that no other node names yet."""
        place = cls(Ops.DEVICE, arg=device)
        return cls(Ops.BUFFER, dtype, (place,), BufferArg(next(_buffer_slots), size))

    # *** arithmetic ***

    def alu(self, op: Ops, *others: Self, **_: object) -> Self:
        """`op` on this node and others. All operands have one dtype, which the result has too,
        except that comparisons give bool and WHERE takes a bool first.
        """
        operands = (self, *others)
        dtype = operands[-1].dtype
        if op in GroupOp.Comparison:
            dtype = dtypes.bool.vec(dtype.count) if dtype.count > 1 else dtypes.bool
        return type(self)(op, dtype, operands)

    def const_like(self, value: object) -> Self:
        """A constant of this node's dtype, expanded to its shape if it has one."""
        shape = self._shape or None
        return self.const(self.dtype, value, shape=shape)  # type: ignore[arg-type]

    def ufix(self, value: object) -> Self:
        """`value` as a node that can stand beside this one in an operation."""
        if isinstance(value, type(self)):
            return value
        return self.const(self.dtype, value)

    def cast(self, dtype: DType) -> Self:
        """The value converted to `dtype`; a vector keeps its lanes."""
        if dtype.count == 1 and self.dtype.count > 1:
            dtype = dtype.vec(self.dtype.count)
        return self if self.dtype == dtype else type(self)(Ops.CAST, dtype, (self,))

    def bitcast(self, dtype: DType) -> Self:
        """The same bytes seen as `dtype`."""
        return self if self.dtype == dtype else type(self)(Ops.BITCAST, dtype, (self,))

    # *** vectors ***

    @classmethod
    def stack(cls, *lanes: Self) -> Self:
        """A vector of scalars."""
        dtype = lanes[0].dtype.scalar()
        return cls(Ops.STACK, dtype.vec(len(lanes)), lanes) if len(lanes) > 1 else lanes[0]

    def broadcast(self, count: int) -> Self:
        """A vector with this scalar in every lane."""
        if count == 1:
            return self
        if self.op is Ops.CONST and self.dtype.count == 1:
            return self.const(self.dtype.vec(count), self.arg)
        return type(self)(Ops.STACK, self.dtype.vec(count), (self,) * count)

    def gep(self, lanes: int | tuple[int, ...]) -> Self:
        """One lane of a vector as a scalar, or several as a smaller vector."""
        picked = lanes if isinstance(lanes, tuple) else (lanes,)
        scalar = self.dtype.scalar()
        dtype = scalar.vec(len(picked)) if len(picked) > 1 else scalar
        return type(self)(Ops.GEP, dtype, (self,), picked)

    def contract(self, *ranges: Self) -> Self:
        """The values at all steps of ranges of known size as a vector, the last range fastest."""
        lanes = [self]
        for loop in ranges:
            steps = steps_of(loop)
            lanes = [
                substitute(lane, {loop: self.const(loop.dtype, step)})
                for lane in lanes
                for step in steps
            ]
        return self.stack(*lanes)

    # *** memory ***

    def index(self, *indices: int | Self, ptr: bool = False) -> Self:
        """An element of memory: its value, or with `ptr` its address."""
        nodes = tuple(self.const(dtypes.weakint, i) if isinstance(i, int) else i for i in indices)
        dtype = self.dtype
        if not ptr and isinstance(dtype, PtrDType):
            dtype = dtype.base
            lanes = max((n.dtype.count for n in nodes), default=1)
            if lanes > 1 and dtype.count == 1:
                dtype = dtype.vec(lanes)
        return type(self)(Ops.INDEX, dtype, (self, *nodes))

    def valid(self, condition: Self) -> Self:
        """This index where `condition` holds, no element elsewhere."""
        nothing = self.const(self.dtype, Invalid)
        return type(self)(Ops.WHERE, self.dtype, (condition, self, nothing))

    def load(self, *operands: Self, dtype: DType | None = None) -> Self:
        """The value at this address; the first operand is what a closed gate gives instead."""
        found = dtype or (self.dtype.base if isinstance(self.dtype, PtrDType) else self.dtype)
        return type(self)(Ops.LOAD, found, (self, *operands))

    def store(self, value: Self | Scalar, *operands: Self) -> Self:
        """Write `value` to the element or view that this node names.

        A number is converted to the dtype of an element of memory, as `assign` does it.
        """
        dtype = self.dtype
        if isinstance(dtype, PtrDType) and self.op is not Ops.INDEX:
            return self._store_all(value)
        target = dtype.base if isinstance(dtype, PtrDType) else dtype
        if not isinstance(value, type(self)):
            node = self.const(target, value)
        elif self.op is Ops.INDEX:
            if isinstance(value.dtype, PtrDType):
                expected = f"a value; this is memory of shape {value._shape}: index it"
                raise ArgumentTypeError(argument="value", given=repr(value), expected=expected)
            node = value.cast(target) if value.dtype.count == target.count else value
        else:
            node = value
        return type(self)(Ops.STORE, dtypes.void, (self, node, *operands))

    def set(self, value: Self | Scalar, end: Self | Sequence[Self] = ()) -> Self:
        """The memory of this element or view after a write to it, in the loops of `end`.

        `total = total[0].set(total.after(k)[0] + x[k], end=k)` sums along the loop k.
        """
        loops = tuple(end) if isinstance(end, tuple | list) else (end,)
        return whole_memory(self).after(self.store(value).end(*loops))

    def _store_all(self, value: Self | Scalar) -> Self:
        """A write to each element of memory, of a number or of memory of the same shape."""
        shape = self._shape or ()
        loops = tuple(self.range(size, _FIRST_COPY_AXIS + axis) for axis, size in enumerate(shape))
        place = self.index(*loops)
        if isinstance(value, type(self)) and isinstance(value.dtype, PtrDType):
            if value._shape != shape:
                raise ShapeError(
                    op=Ops.STORE.name,
                    shapes=(shape, value._shape),
                    reason="memory is copied to memory of the same shape",
                    hint="index both, or expand the value",
                )
            value = value.index(*loops)
        return place.store(value).end(*loops)

    def after(self, *effects: Self) -> Self:
        """This value, once `effects` have happened."""
        return type(self)(Ops.AFTER, self.dtype, (self, *effects)) if effects else self

    def barrier(self, *effects: Self) -> Self:
        """All work-items of a group have got here, and past `effects`."""
        return type(self)(Ops.BARRIER, dtypes.void, (self, *effects))

    # *** structure ***

    def end(self, *ranges: Self) -> Self:
        """Close loops around an effect, or around what has happened to memory."""
        if not ranges:
            return self
        effects = effects_on(self)
        if not effects:
            raise ArgumentTypeError(
                argument="effect",
                given=repr(self),
                expected="a store, or memory after one: nothing has been written to this memory",
            )
        first, *others = effects
        return type(self)(Ops.END, dtypes.void, (first.group(*others), *ranges))

    def sink(self, *others: Self, arg: KernelInfo | None = None, tag: object = None) -> Self:
        """The root of a kernel, or of several tensors; memory stands for what happened to it."""
        roots = (self, *others)
        if any(is_memory(root) for root in roots):
            roots = tuple(e for root in roots for e in effects_on(root) or (root,))
        return type(self)(Ops.SINK, dtypes.void, roots, arg, tag)

    def group(self, *others: Self) -> Self:
        """Several effects as one; memory stands for what happened to it."""
        parts = (self, *others)
        if any(is_memory(part) for part in parts):
            parts = tuple(effect for part in parts for effect in effects_on(part))
        return type(self)(Ops.GROUP, dtypes.void, parts) if len(parts) > 1 else parts[0]

    def call(
        self,
        *operands: Self,
        grad_fxn: Callable[..., object] | None = None,
        name: str | None = None,
        precompile: bool = False,
    ) -> Self:
        """One launch of this kernel or function on `operands`."""
        arg = CallArg(name, grad_fxn, precompile)
        return type(self)(Ops.CALL, self.dtype, (self, *operands), arg)

    def maketuple(self, *others: Self) -> Self:
        """Several results as one node."""
        return type(self)(Ops.TUPLE, dtypes.void, (self, *others))

    def gettuple(self, position: int) -> Self:
        """One of several results."""
        source = self
        while source.op in (Ops.AFTER, Ops.FUNCTION, Ops.CALL):
            source = source.src[0]
        dtype = source.src[position].dtype if source.op is Ops.TUPLE else self.dtype
        return type(self)(Ops.GETTUPLE, dtype, (self,), position)

    def reduce(self, *ranges: Self, arg: Ops = Ops.ADD, axis: tuple[int, ...] = ()) -> Self:
        """Combine the values over `ranges` (kernel form) or over axes (tensor form)."""
        if ranges:
            return type(self)(Ops.REDUCE, self.dtype, (self, *ranges), arg)
        return type(self)(Ops.REDUCE, self.dtype, (self,), ReduceArg(arg, axis)) if axis else self

    # *** movement, with dimensions that may be nodes ***

    def _sized(self, op: Ops, arg: tuple[object, ...]) -> Self:
        """A movement op; dimensions that are nodes become operands, None stands in their place."""
        if is_known(self._shape) and all(isinstance(a, int) or is_int_pair(a) for a in arg):
            return type(self)(op, self.dtype, (self,), arg)
        arg = tuple(settled_entry(entry) for entry in arg)
        dims: list[Self] = []
        kept = tuple(kept_entry(self, op, entry, dims) for entry in arg)
        if not is_memory(self):
            check_symbolic(op, self._shape, arg)
        return type(self)(op, self.dtype, (self, *dims), kept)

    # *** devices ***

    def contiguous(self) -> Self:
        """This value in memory of its own, in order of its shape."""
        return type(self)(Ops.CONTIGUOUS, self.dtype, (self,))

    def detach(self) -> Self:
        """This value, through which no gradient flows."""
        return type(self)(Ops.DETACH, self.dtype, (self,))

    def contiguous_backward(self) -> Self:
        """This value, whose gradient is made contiguous."""
        return type(self)(Ops.CONTIGUOUS_BACKWARD, self.dtype, (self,))

    def copy_to_device(self, device: str | tuple[str, ...]) -> Self:
        """This value on another device."""
        return type(self)(Ops.COPY, self.dtype, (self, type(self)(Ops.DEVICE, arg=device)))

    def multi(self, *others: Self, axis: int | None = None) -> Self:
        """A sharded value: this node and `others` are its shards along `axis`, or its replicas."""
        return type(self)(Ops.MULTI, self.dtype, (self, *others), axis)

    def mselect(self, number: int) -> Self:
        """Of a MULTI the shard of one device; of another value on several, all of it there."""
        return type(self)(Ops.MSELECT, self.dtype, (self,), number)

    def mstack(self, *others: Self) -> Self:
        """Values of one shape, each on a device of its own, as one value on all of these."""
        return type(self)(Ops.MSTACK, self.dtype, (self, *others))

    def bind(self, value: SupportsIndex) -> Self:
        """A variable with its value.

        Raises `VariableRangeError` when the value is outside of the variable's bounds, and
        `ArgumentTypeError` when it is no whole number; `NodeKindError` when this is no variable.
        """
        if self.op is not Ops.DEFINE_VAR or not isinstance(self.arg, tuple):
            raise NodeKindError(
                node=self.op.name,
                attempted="bind",
                reason="it is no variable",
                hint="make one with Variable(name, low, high)",
            )
        name, low, high = self.arg[0], self.arg[1], self.arg[2]
        if not hasattr(value, "__index__"):
            raise ArgumentTypeError(
                call=f"variable {name!r} takes whole numbers, not {value!r}",
                argument="its value",
                given=shown(value),
                expected=f"one from {low} to {high}",
            )
        value = operator.index(value)
        if not low <= value <= high:
            raise VariableRangeError(name=name, value=value, low=low, high=high)
        return type(self)(Ops.BIND, self.dtype, (self, self.const(self.dtype, value)))
