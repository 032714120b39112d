"""Take the wanted values out of their surroundings: one clean graph with numbered inputs.

Buffers become numbered stand-ins and bound variables lose their values, so that the next training
step gives the very same graph, which is the key of the schedule cache. What means nothing to a
schedule (DETACH, CONTIGUOUS_BACKWARD) vanishes, values without elements never run, and what must
lie in memory in one piece (the operand of a COPY, of a BITCAST to another width, of a CALL) is
marked CONTIGUOUS.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import cast, final
from weakref import WeakKeyDictionary

from tg_uop import GroupOp, Ops, UOp
from tg_uop.ir.args import BufferArg, ParamArg
from tg_uop.ir.walk import toposort

from tg_tensor.schedule.affine import count
from tg_tensor.schedule.errors import BindingError
from tg_tensor.schedule.hazards import memory_of, version_of
from tg_tensor.schedule.indexing import Indexer
from tg_tensor.schedule.waits import only_waits

OWN_MEMORY = "own memory"
"""The arg of a CONTIGUOUS that copies whatever its operand is."""

ROOM = "room"
"""The arg of a CONTIGUOUS that is only memory for a called kernel to fill."""


@dataclass(slots=True)
class Roots:
    """What is to be scheduled, and what its stand-ins stand for."""

    wanted: tuple[UOp, ...]
    clean: dict[UOp, UOp]
    buffers: list[UOp] = field(default_factory=list)
    bindings: dict[UOp, UOp] = field(default_factory=dict)

    @property
    def var_vals(self) -> dict[str, int]:
        """The values of the variables."""
        return {bound.var_name: bound.bound_value for bound in self.bindings.values()}

    def actual(self) -> dict[UOp, UOp]:
        """The buffer behind each stand-in, the binding of each variable."""
        found = {stand_in(buffer, slot): buffer for slot, buffer in enumerate(self.buffers)}
        found.update(self.bindings)
        return found


def stand_in(buffer: UOp, slot: int) -> UOp:
    """Input number `slot` of a schedule, like `buffer` in everything but identity."""
    arg = cast(BufferArg, buffer.arg)
    return UOp(Ops.BUFFER, buffer.dtype, buffer.src, BufferArg(-1 - slot, arg.size))


def collect(sinks: Sequence[UOp]) -> Roots:
    """The clean graph of `sinks`."""
    return _Cleaner().run(sinks)


_BOUND_IN: WeakKeyDictionary[UOp, tuple[UOp, ...]] = WeakKeyDictionary()
"""For a kernel by hand: the variables with values in it."""


@final
class _Cleaner:
    def __init__(self) -> None:
        self.clean: dict[UOp, UOp] = {}
        self.buffers: dict[UOp, UOp] = {}
        self.bindings: dict[UOp, UOp] = {}
        # tags keep equal values apart (two Tensors of zeros have memory of their own); they are
        # numbered anew so that the next step gives the same graph
        self.tags: dict[object, int] = {}
        # what has been done to each version of memory
        self.overwritten: dict[UOp, tuple[UOp, ...]] = {}
        self.copies = 0
        self.indexer = Indexer()

    def run(self, sinks: Sequence[UOp]) -> Roots:
        for node in toposort(sinks, lambda n: n.op is not Ops.SINK):
            clean = self.cleaned(node)
            if node.source_line is not None:
                # equal graphs from several places are one clean graph: the last place is named
                clean.source_line = node.source_line
            self.clean[node] = clean
        wanted = tuple(self.clean[sink] for sink in sinks)
        return Roots(wanted, self.clean, list(self.buffers), self.bindings)

    def cleaned(self, node: UOp) -> UOp:
        if node.tag is not None:
            number = self.tags.setdefault(node.tag, len(self.tags))
            node = UOp(node.op, node.dtype, node.src, node.arg, number)
        rule = RULES.get(node.op)
        operands = node.src
        if operands:
            operands = tuple(self.clean.get(s, s) for s in operands)
        if rule is not None:
            return rule(self, node, operands)
        return _rebuilt(node, operands)

    # *** rules ***

    def buffer(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        found = self.buffers.get(node)
        if found is None:
            found = stand_in(node, len(self.buffers))
            self.buffers[node] = found
        return found

    def bind(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        variable = node.src[0]
        other = self.bindings.setdefault(variable, node)
        if other is not node:
            raise BindingError(name=node.var_name, values=(other.bound_value, node.bound_value))
        return variable

    def vanish(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        return operands[0]

    def contiguous(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        value = operands[0]
        if node.arg is OWN_MEMORY:
            return _rebuilt(node, operands)
        if value.op is Ops.CONTIGUOUS or self.fills_memory(value):
            return value
        return _rebuilt(node, operands)

    def copy(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        value, place = operands
        if value._device == place.arg:
            return value
        base = value.base
        if base.op is Ops.CONST:
            moved = UOp(Ops.CONST, base.dtype, (place,), base.arg)
            return value.substitute({base: moved})
        return _rebuilt(node, (self.in_one_piece(value), place))

    def bitcast(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        value = operands[0]
        if value.dtype.itemsize == node.dtype.itemsize or not value._shape:
            return _rebuilt(node, operands)
        value = self.in_one_piece(value)
        offset = (self.place_in_memory(value) or 0) * value.dtype.itemsize
        below = value
        while below.op in GroupOp.Movement:
            below = below.src[0]
        if below.op is Ops.BUFFER_VIEW:
            offset += cast(tuple[int, int], below.arg)[1] * below.dtype.itemsize
            below = below.src[0]
        if offset % node.dtype.itemsize:
            return self.bitcast(node, (UOp(Ops.CONTIGUOUS, value.dtype, (value,)),))
        arg = (count(self.indexer.shape(node)), offset // node.dtype.itemsize)
        view = UOp(Ops.BUFFER_VIEW, node.dtype, (below,), arg)
        return UOp(Ops.RESHAPE, node.dtype, (view,), node.shape)

    def reduce(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        if not _is_empty(operands[0]) or _is_empty(node):
            return _rebuilt(node, operands)
        identity = IDENTITY[node.reduce_op]
        return UOp.const(node.dtype, identity, shape=cast(tuple[int, ...], node.shape))

    def pad(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        if _is_empty(operands[0]) and not _is_empty(node):
            return UOp.const(node.dtype, 0, shape=cast(tuple[int, ...], node.shape))
        return _rebuilt(node, operands)

    def after(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        if only_waits(node):
            return _rebuilt(node, operands)
        effects = tuple(e for e in operands[1:] if not _does_nothing(e))
        if not effects:
            return operands[0]
        version = version_of(operands[0])
        known = self.overwritten.setdefault(version, effects)
        if known == effects or not all(e.op in (Ops.STORE, Ops.CALL) for e in effects):
            return _rebuilt(node, (operands[0], *effects))
        # two values that share memory are both written: the second gets memory of its own
        self.copies += 1
        copy = UOp(Ops.CONTIGUOUS, version.dtype, (version,), OWN_MEMORY, ("apart", self.copies))
        moved = {version: copy}
        apart = [_moved_effect(effect, moved) for effect in effects]
        return _rebuilt(node, (operands[0].substitute(moved), *apart))

    def store(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        """A view of what is overwritten, elsewhere than where it is, is copied first."""
        target, value, *others = operands
        if value is not target and version_of(value) is version_of(target):
            value = UOp(Ops.CONTIGUOUS, value.dtype, (value,), OWN_MEMORY)
        return _rebuilt(node, (target, value, *others))

    def call(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        pieces = tuple(self.in_one_piece(operand) for operand in operands[1:])
        return _rebuilt(node, (self.unbound(operands[0]), *pieces))

    def unbound(self, kernel: UOp) -> UOp:
        """A kernel by hand without the values of the variables that its function used."""
        bound = _BOUND_IN.get(kernel)
        if bound is None:
            bound = tuple(n for n in kernel.toposort() if n.op is Ops.BIND)
            _BOUND_IN[kernel] = bound
        return kernel.substitute({n: self.bind(n, n.src) for n in bound}) if bound else kernel

    def gettuple(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        """One result of a function: its body with the arguments in place of the parameters."""
        function = operands[0]
        if function.op is not Ops.FUNCTION:
            return _rebuilt(node, operands)
        results, *arguments = function.src
        return _with_arguments(results.src[cast(int, node.arg)], arguments)

    def function(self, node: UOp, operands: tuple[UOp, ...]) -> UOp:
        """A function of one result is its body; of several, each GETTUPLE takes its own."""
        body, *arguments = operands
        if body.op is Ops.TUPLE:
            return _rebuilt(node, operands)
        return _with_arguments(body, arguments)

    # *** memory ***

    def in_one_piece(self, value: UOp) -> UOp:
        """The value, CONTIGUOUS unless it lies in memory in one piece already."""
        if value.op in IN_ONE_PIECE or self.place_in_memory(value) is not None:
            return value
        return UOp(Ops.CONTIGUOUS, value.dtype, (value,))

    def fills_memory(self, value: UOp) -> bool:
        """Whether the value is all that its memory holds, in order."""
        if self.place_in_memory(value) != 0:
            return False
        base, _ = self.indexer.in_memory(value, self.indexer.whole(self.indexer.shape(value)))
        return count(self.indexer.shape(base)) == count(self.indexer.shape(value))

    def place_in_memory(self, value: UOp) -> int | None:
        """At which element of its memory a value lies in one piece, None where it does not."""
        return place_in_memory(self.indexer, value)


IN_ONE_PIECE = frozenset((Ops.CONTIGUOUS, Ops.COPY, Ops.BUFFER, Ops.BUFFER_VIEW))
IDENTITY: dict[Ops, object] = {Ops.ADD: 0, Ops.MUL: 1, Ops.MAX: 0}


def place_in_memory(indexer: Indexer, value: UOp, materialized: Container[UOp] = ()) -> int | None:
    """At which element of its memory (or view of it) a value lies in one piece, if it does.

    The memory of a value in `materialized` is its own, whatever it is a view of.
    """
    reshaped = value
    while reshaped not in materialized and reshaped.op is Ops.RESHAPE:
        reshaped = reshaped.src[0]
    if reshaped in materialized or reshaped.op in IN_ONE_PIECE:
        # most results: other axes over all of their memory
        return 0
    shape = indexer.shape(value)
    whole = indexer.whole(shape)
    below, access = value, whole
    while below not in materialized and (below.op in GroupOp.Movement or below.op is Ops.AFTER):
        if below.op in (Ops.PAD, Ops.EXPAND, Ops.FLIP):
            return None
        if below.op is not Ops.AFTER:
            access = indexer.operand(below, access)
        below = below.src[0]
    if below.op not in IN_ONE_PIECE and below not in materialized:
        return None
    terms, offset = indexer.affine.parts(indexer.flat(below, access))
    straight, _ = indexer.affine.parts(indexer.flat(value, whole))
    return offset if terms == straight else None


def _is_empty(node: UOp) -> bool:
    return node._shape is not None and 0 in node._shape


def _does_nothing(effect: UOp) -> bool:
    return effect.op is Ops.STORE and _is_empty(effect.stored_target)


def _with_arguments(body: UOp, arguments: Sequence[UOp]) -> UOp:
    """A function's body with its parameters replaced."""
    order = toposort((body,), lambda n: n.op not in (Ops.SINK, Ops.PROGRAM))
    params = [node for node in order if node.op is Ops.PARAM]
    return body.substitute({p: arguments[cast(ParamArg, p.arg).slot] for p in params})


def _moved_effect(store: UOp, moved: dict[UOp, UOp]) -> UOp:
    """The same value stored into other memory, or the same kernel run on it."""
    if store.op is Ops.CALL:
        arguments = (argument.substitute(moved) for argument in store.call_args)
        return UOp(Ops.CALL, store.dtype, (store.called, *arguments), store.arg, store.tag)
    target = store.stored_target.substitute(moved)
    return UOp(Ops.STORE, store.dtype, (target, store.stored_value), store.arg, store.tag)


def _rebuilt(node: UOp, operands: tuple[UOp, ...]) -> UOp:
    if operands == node.src:
        return node
    return UOp(node.op, node.dtype, operands, node.arg, node.tag)


RULES: dict[Ops, Callable[[_Cleaner, UOp, tuple[UOp, ...]], UOp]] = {
    Ops.BUFFER: _Cleaner.buffer,
    Ops.BIND: _Cleaner.bind,
    Ops.DETACH: _Cleaner.vanish,
    Ops.CONTIGUOUS_BACKWARD: _Cleaner.vanish,
    Ops.CONTIGUOUS: _Cleaner.contiguous,
    Ops.COPY: _Cleaner.copy,
    Ops.BITCAST: _Cleaner.bitcast,
    Ops.REDUCE: _Cleaner.reduce,
    Ops.PAD: _Cleaner.pad,
    Ops.AFTER: _Cleaner.after,
    Ops.STORE: _Cleaner.store,
    Ops.CALL: _Cleaner.call,
    Ops.GETTUPLE: _Cleaner.gettuple,
    Ops.FUNCTION: _Cleaner.function,
}


def is_in_memory(node: UOp) -> bool:
    """Whether a clean node is a view of memory that exists: nothing needs to run for it."""
    below = node
    while below.op in GroupOp.Movement:
        if below.op is Ops.PAD:
            return False
        below = below.src[0]
    return below.op in (Ops.BUFFER, Ops.BUFFER_VIEW, Ops.AFTER)


def is_constant(node: UOp) -> bool:
    """Whether a clean node is one number in every element: it stays an expression."""
    below = node
    while below.op in GroupOp.Movement:
        if below.op is Ops.PAD:
            return False
        below = below.src[0]
    return below.op in (Ops.CONST, Ops.DEFINE_VAR)


def after_effects(node: UOp, known: dict[UOp, UOp]) -> UOp:
    """A view of memory once all its effects have happened: the AFTERs taken out.

    `known` holds what was found for nodes below, and is added to.
    """
    without_effects = toposort(
        (node,), lambda n: n.op not in (Ops.STORE, Ops.CALL) and n not in known
    )
    for below in without_effects:
        if below.op is Ops.AFTER:
            known[below] = known.get(below.src[0], below.src[0])
        elif any(s in known for s in below.src):
            known[below] = _rebuilt(below, tuple(known.get(s, s) for s in below.src))
    return known.get(node, node)


__all__ = [
    "Roots",
    "after_effects",
    "collect",
    "is_constant",
    "is_in_memory",
    "memory_of",
    "place_in_memory",
    "stand_in",
]
