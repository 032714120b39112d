"""Take sharded values apart: every operation on a MULTI becomes one operation a shard.

A value is on one device, or `Sharded`: a part on each device along an axis, or a copy of all on
each (axis None). A rule says what an operation makes of its operands:

- elementwise: parts along the axis of the first operand that has one; others are cut alike
- movement: the parts stay where they are if they can (`movement`), else each device gathers all
- a reduction of the axis is done on each part, then over all devices (`allreduce`)
- a write goes to the parts that its target names (`places`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast, final

from tg_uop import GroupOp, Ops, UOp
from tg_uop.ir.args import ReduceArg
from tg_uop.ir.walk import toposort

from tg_tensor.multi.allreduce import allreduce
from tg_tensor.multi.errors import ShardError
from tg_tensor.multi.functions import without_functions
from tg_tensor.multi.movement import moved
from tg_tensor.multi.places import is_scalar, stores
from tg_tensor.multi.value import (
    Effects,
    Located,
    Sharded,
    Value,
    cut,
    gathered,
    located,
    on_all,
    whole_on,
)
from tg_tensor.schedule.hazards import written_slots
from tg_tensor.schedule.roots import OWN_MEMORY
from tg_tensor.schedule.waits import only_waits

Join = Callable[[Mapping[UOp, UOp]], dict[UOp, UOp]]
MAKES_MANY = frozenset((Ops.MULTI, Ops.MSTACK, Ops.ALLREDUCE))
KERNELS = frozenset((Ops.SINK, Ops.PROGRAM, Ops.LINEAR))


def per_device(sinks: Sequence[UOp]) -> tuple[list[UOp], Join]:
    """Sinks without MULTI, and a function that puts the results together again."""
    if not is_over_devices(sinks):
        return list(sinks), dict
    plain, renamed = without_functions(sinks)
    values = Splitter().run(toposort(plain, lambda n: n.op not in KERNELS))
    wanted = dict(zip(sinks, plain, strict=True))
    own: dict[UOp, Located] = {node: _in_own_memory(node, values[node]) for node in plain}
    parts: dict[UOp, None] = {}
    for node in plain:
        value = own[node]
        parts.update(dict.fromkeys(value.parts if isinstance(value, Sharded) else (value,)))

    def join(results: Mapping[UOp, UOp]) -> dict[UOp, UOp]:
        joined: dict[UOp, UOp] = {}
        for node, other in {**renamed, **wanted}.items():
            is_written = other.op is Ops.AFTER and not only_waits(other)
            if not is_written and node not in wanted:
                continue
            value = own.get(other, values.get(other))
            found = None if value is None or isinstance(value, Effects) else _joined(value, results)
            if found is not None:
                joined[node] = found
        return joined

    return list(parts), join


def is_over_devices(sinks: Sequence[UOp]) -> bool:
    """Whether some value under the sinks is on several devices."""
    order = toposort(sinks, lambda n: n.op not in KERNELS)
    return any(n.op in MAKES_MANY or isinstance(n._device, tuple) for n in order)


def split_value(node: UOp) -> Located:
    """A value as one node, or its parts on its devices."""
    if not is_over_devices([node]):
        return node
    plain, _ = without_functions([node])
    return located(Splitter().run(toposort(plain, lambda n: n.op not in KERNELS))[plain[0]])


def shards_of(node: UOp) -> tuple[UOp, ...]:
    """What each device has of a value; the value itself where it is on one device."""
    found = split_value(node)
    return found.parts if isinstance(found, Sharded) else (found,)


def _in_own_memory(node: UOp, value: Value) -> Located:
    """A realized copy or shard is never memory of the value that it came from: writes to one do
    not show in the other, whatever device that was on.
    """
    base = node.base
    if isinstance(value, UOp):
        return (
            _own_part(value)
            if base.op is Ops.COPY and isinstance(base.src[0]._device, tuple)
            else value
        )
    found = located(value)
    if base.op is not Ops.MULTI or isinstance(found, UOp):
        return found
    rows = zip(base.src, found.parts, strict=True)
    parts = tuple(_own_part(part) if made.op is Ops.COPY else part for made, part in rows)
    return Sharded(parts, found.axis, found.devices)


def _own_part(part: UOp) -> UOp:
    below = part.base
    stays = below.op is Ops.COPY and below.src[0]._device == part._device
    if stays or below.op in _MEMORY:
        return UOp(Ops.CONTIGUOUS, part.dtype, (part,), OWN_MEMORY)
    return part


_MEMORY = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW, Ops.AFTER))


def _joined(value: Located, results: Mapping[UOp, UOp]) -> UOp | None:
    if isinstance(value, UOp):
        return results.get(value)
    parts = [_result_of(part, results) for part in value.parts]
    if all(new is old for new, old in zip(parts, value.parts, strict=True)):
        return None
    return parts[0].multi(*parts[1:], axis=value.axis)


def _result_of(part: UOp, results: Mapping[UOp, UOp]) -> UOp:
    """What stands for a part: its result, or its view of the result of an AFTER."""
    found = results.get(part)
    if found is not None:
        return found
    base = part.base
    found = results.get(base)
    return part if found is None else part.substitute({base: found})


@final
class Splitter:
    """One walk over the graph, operands first."""

    def __init__(self) -> None:
        self.values: dict[UOp, Value] = {}
        # of an AFTER over a view: the memory with its effects, and the view as a chain of nodes
        self.written: dict[UOp, tuple[Sharded, list[UOp]]] = {}

    def run(self, order: Mapping[UOp, None]) -> dict[UOp, Value]:
        """The value of every node."""
        for node in order:
            operands = [self.values.get(s, s) for s in node.src]
            value = self._value(node, operands)
            if isinstance(value, Sharded) and node.source_line is not None:
                for part in value.parts:
                    if part.source_line is None:
                        part.source_line = node.source_line
            self.values[node] = value
        return self.values

    def _value(self, node: UOp, operands: list[Value]) -> Value:
        if node.op in _WRITES:
            return _WRITES[node.op](self, node, operands)
        if node.op is Ops.CONST and isinstance(node._device, tuple):
            return _constant(node, node._device)
        to_many = node.op is Ops.COPY and isinstance(node.src[1].arg, tuple)
        if to_many or node.op in MAKES_MANY or any(isinstance(o, Sharded) for o in operands):
            rule = RULES.get(node.op, _each_shard)
            return rule(node, [located(o) for o in operands])
        return _with_sources(node, tuple(cast(UOp, o) for o in operands))

    # *** writes ***

    def store(self, node: UOp, operands: list[Value]) -> Value:
        """To the parts of the memory that the target views."""
        base, chain = self._memory(node.stored_target)
        value = located(operands[1])
        if isinstance(base, Sharded):
            return stores(node, base, chain, value)
        target = cast(UOp, operands[0])
        if isinstance(value, Sharded):
            value = whole_on(value, cast(str, target.device))
        return _with_sources(node, (target, value, *(cast(UOp, o) for o in operands[2:])))

    def after(self, node: UOp, operands: list[Value]) -> Value:
        """Each part waits for what happens on its device; the memory does, and so its views."""
        effects = operands[1:]
        base, chain = self._memory(node.src[0])
        if isinstance(base, UOp):
            flat: list[UOp] = []
            for effect in effects:
                flat.extend(_all_effects(effect))
            return _with_sources(node, (cast(UOp, operands[0]), *flat))
        parts = []
        for number, part in enumerate(base.parts):
            own: list[UOp] = []
            for effect in effects:
                own.extend(_effects_on(effect, number))
            parts.append(part.after(*own))
        value = Sharded(tuple(parts), base.axis, base.devices)
        self.written[node] = (value, chain)
        for view in chain:
            value = moved(view, value)
        return value

    def group(self, node: UOp, operands: list[Value]) -> Value:
        """Effects by device."""
        count = max((len(o.of_device) for o in operands if isinstance(o, Effects)), default=0)
        if count == 0:
            return _with_sources(node, tuple(cast(UOp, o) for o in operands))
        rows: list[tuple[UOp, ...]] = []
        for number in range(count):
            own: list[UOp] = []
            for effect in operands:
                own.extend(_effects_on(effect, number))
            rows.append(tuple(own))
        return Effects(tuple(rows))

    def _memory(self, view: UOp) -> tuple[Located, list[UOp]]:
        """What is below the movement ops of a view, and these from below."""
        chain: list[UOp] = []
        node = view
        while node.op in GroupOp.Movement:
            chain.append(node)
            node = node.src[0]
        chain.reverse()
        known = self.written.get(node)
        if known is not None:
            base, inner = known
            return base, inner + chain
        return located(self.values.get(node, node)), chain


def _all_effects(effect: Value) -> list[UOp]:
    if isinstance(effect, Effects):
        return [each for row in effect.of_device for each in row]
    return [effect] if isinstance(effect, UOp) else list(effect.parts)


def _effects_on(effect: Value, number: int) -> tuple[UOp, ...]:
    if isinstance(effect, Effects):
        return effect.of_device[number] if number < len(effect.of_device) else ()
    return (effect,) if isinstance(effect, UOp) else (effect.parts[number],)


_WRITES: dict[Ops, Callable[[Splitter, UOp, list[Value]], Value]] = {
    Ops.STORE: Splitter.store,
    Ops.AFTER: Splitter.after,
    Ops.GROUP: Splitter.group,
}


def _with_sources(node: UOp, sources: tuple[UOp, ...]) -> UOp:
    if sources == node.src:
        return node
    return UOp(node.op, node.dtype, sources, node.arg, node.tag)


# *** rules ***


def _constant(node: UOp, devices: tuple[str, ...]) -> Sharded:
    """A number on each device."""
    parts = tuple(
        UOp(Ops.CONST, node.dtype, (UOp(Ops.DEVICE, arg=device),), node.arg, node.tag)
        for device in devices
    )
    return Sharded(parts, None, devices)


def _multi(node: UOp, operands: list[Located]) -> Located:
    devices = cast(tuple[str, ...], node._device)
    if len(devices) != len(operands):
        raise ShardError(
            op=node.op.name,
            reason=f"{len(operands)} shards are on the devices {devices}",
            hint="give each shard one device",
        )
    rows = zip(operands, devices, strict=True)
    parts = tuple(whole_on(part, device) for part, device in rows)
    return Sharded(parts, cast("int | None", node.arg) if node.op is Ops.MULTI else None, devices)


def _each_shard(node: UOp, operands: list[Located]) -> Located:
    """The same operation on every device."""
    devices = next(o for o in operands if isinstance(o, Sharded)).devices
    alike = [on_all(o, devices) for o in operands]
    model = next((o for o in alike if o.axis is not None), None)
    axis = None if model is None else model.axis
    if model is not None and axis is not None:
        sizes = model.sizes(axis)
        alike = [o if is_scalar(o) else cut(o, axis, sizes) for o in alike]
    rows = zip(*(o.parts for o in alike), strict=True)
    return Sharded(tuple(_with_sources(node, row) for row in rows), axis, devices)


def _movement(node: UOp, operands: list[Located]) -> Located:
    value = operands[0]
    assert isinstance(value, Sharded), "the dimensions of a shape are on no device"
    return moved(node, value)


def _bitcast(node: UOp, operands: list[Located]) -> Located:
    """Another item size changes the last axis; its parts may be no whole items."""
    value = cast(Sharded, operands[0])
    last = len(node.shape) - 1
    if value.axis == last and value.parts[0].dtype.itemsize != node.dtype.itemsize:
        itemsize = value.parts[0].dtype.itemsize
        if any(size * itemsize % node.dtype.itemsize for size in value.sizes(last)):
            return _each_shard(node, [gathered(value)])
    return _each_shard(node, operands)


def _reduce(node: UOp, operands: list[Located]) -> Located:
    value = cast(Sharded, operands[0])
    parts = tuple(_with_sources(node, (part,)) for part in value.parts)
    arg = cast(ReduceArg, node.arg)
    if value.axis is None or value.axis not in arg.axes:
        return Sharded(parts, value.axis, value.devices)
    return Sharded(allreduce(parts, arg.op, value.devices), None, value.devices)


def _allreduce(node: UOp, operands: list[Located]) -> Located:
    value = operands[0]
    if isinstance(value, UOp):
        return value
    op = cast(Ops, node.arg[0] if isinstance(node.arg, tuple) else node.arg)
    return Sharded(allreduce(value.parts, op, value.devices), None, value.devices)


def _copy(node: UOp, operands: list[Located]) -> Located:
    value, place = operands[0], node.src[1].arg
    if isinstance(place, tuple):
        return Sharded(tuple(whole_on(value, device) for device in place), None, place)
    assert isinstance(value, Sharded), "copies between single devices are none of ours"
    return whole_on(value, cast(str, place))


def _select(node: UOp, operands: list[Located]) -> Located:
    """The part of one device, or all of the value there if that is what the node stands for."""
    value, number = cast(Sharded, operands[0]), cast(int, node.arg)
    part = value.parts[number]
    return part if part.shape == node.shape else whole_on(value, value.devices[number])


def _call(node: UOp, operands: list[Located]) -> Located:
    """A kernel is made for whole values: each device runs it on copies of them.

    Raises `ShardError` where it would write to a copy of what is cut.
    """
    devices = next(o for o in operands[1:] if isinstance(o, Sharded)).devices
    arguments = [on_all(o, devices) for o in operands[1:]]
    called = cast(UOp, operands[0])
    for slot in written_slots(called):
        if arguments[slot].axis is not None:
            raise ShardError(
                op="a kernel",
                reason=f"its argument {slot} of shape {node.src[1 + slot].shape} is cut along axis "
                f"{arguments[slot].axis} over {devices}, and is written as a whole",
                hint="give it memory that is whole on each device, or call Tensor.custom_kernel",
            )
    arguments = [gathered(argument) for argument in arguments]
    rows = zip(*(a.parts for a in arguments), strict=True)
    return Sharded(tuple(_with_sources(node, (called, *row)) for row in rows), None, devices)


RULES: dict[Ops, Callable[[UOp, list[Located]], Located]] = {
    Ops.MULTI: _multi,
    Ops.MSTACK: _multi,
    Ops.MSELECT: _select,
    Ops.REDUCE: _reduce,
    Ops.ALLREDUCE: _allreduce,
    Ops.COPY: _copy,
    Ops.CALL: _call,
    Ops.BITCAST: _bitcast,
    **dict.fromkeys(GroupOp.Movement, _movement),
}
