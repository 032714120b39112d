"""Take sharded values apart: every operation on a MULTI becomes one operation a shard.

A value is either on one device, or `Sharded`: a part on each device along an axis, or a copy of all
on each (axis None). A rule says what an operation makes of its operands; where shards cannot be
kept, they are gathered on every device first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import cast, final

from tg_uop import GroupOp, Ops, UOp
from tg_uop.ir.args import ReduceArg
from tg_uop.ir.walk import toposort

from tg_tensor.multi.allreduce import allreduce, concatenated, on_device
from tg_tensor.multi.errors import ShardError

Join = Callable[[Mapping[UOp, UOp]], dict[UOp, UOp]]
MAKES_MANY = frozenset((Ops.MULTI, Ops.MSTACK, Ops.ALLREDUCE))


@dataclass(frozen=True, slots=True)
class Sharded:
    """Parts of a value, one a device, along `axis`; copies where it is None."""

    parts: tuple[UOp, ...]
    axis: int | None

    @property
    def devices(self) -> tuple[str, ...]:
        """Where the parts are."""
        return tuple(cast(str, part._device) for part in self.parts)

    def sizes(self, axis: int) -> tuple[int, ...]:
        """The lengths of the parts."""
        return tuple(cast(int, part.shape[axis]) for part in self.parts)


Value = UOp | Sharded


def per_device(sinks: Sequence[UOp]) -> tuple[list[UOp], Join]:
    """Sinks without MULTI, and a function that puts the results together again."""
    order = toposort(sinks)
    if not any(n.op in MAKES_MANY or isinstance(n._device, tuple) for n in order):
        return list(sinks), dict
    values = _Splitter().run(order)
    parts: dict[UOp, None] = {}
    for sink in sinks:
        value = values[sink]
        parts.update(dict.fromkeys(value.parts if isinstance(value, Sharded) else (value,)))

    def join(results: Mapping[UOp, UOp]) -> dict[UOp, UOp]:
        joined: dict[UOp, UOp] = {}
        for node in order:
            if node.op is Ops.AFTER or node in wanted:
                found = _joined(values[node], results)
                if found is not None:
                    joined[node] = found
        return joined

    wanted = set(sinks)
    return list(parts), join


def _joined(value: Value, results: Mapping[UOp, UOp]) -> UOp | None:
    if isinstance(value, UOp):
        return results.get(value)
    if not any(part in results for part in value.parts):
        return None
    parts = [results.get(part, part) for part in value.parts]
    return parts[0].multi(*parts[1:], axis=value.axis)


@final
class _Splitter:
    """One walk over the graph, operands first."""

    def __init__(self) -> None:
        self.values: dict[UOp, Value] = {}

    def run(self, order: Mapping[UOp, None]) -> dict[UOp, Value]:
        for node in order:
            operands = [self.values[s] for s in node.src]
            many = node.op in MAKES_MANY or any(isinstance(o, Sharded) for o in operands)
            if many or (node.op is Ops.COPY and isinstance(node.src[1].arg, tuple)):
                rule = RULES.get(node.op, _each_shard)
                self.values[node] = rule(node, operands)
            else:
                sources = tuple(cast(UOp, o) for o in operands)
                same = sources == node.src
                self.values[node] = node if same else _with_sources(node, sources)
        return self.values


def _with_sources(node: UOp, sources: tuple[UOp, ...]) -> UOp:
    return UOp(node.op, node.dtype, sources, node.arg, node.tag)


# *** moving between ways of sharding ***


def gathered(value: Sharded) -> Sharded:
    """All of the value on every device."""
    if value.axis is None:
        return value
    return Sharded(tuple(_whole_on(value, device) for device in value.devices), None)


def _whole_on(value: Sharded, device: str) -> UOp:
    if value.axis is None:
        here = next((p for p in value.parts if p._device == device), None)
        return on_device(value.parts[0], device) if here is None else here
    return concatenated([on_device(part, device) for part in value.parts], value.axis)


def _without_place(value: UOp) -> UOp | None:
    """A constant that stands beside values of any device; None for other values."""
    base = value.base
    if base.op is Ops.CONST:
        free = UOp(Ops.CONST, base.dtype, (), base.arg)
        return value if base is free else value.substitute({base: free})
    return value if base.op in (Ops.DEFINE_VAR, Ops.BIND) else None


def _on_all(value: Value, devices: Sequence[str]) -> Sharded:
    """A value of one device as copies on all."""
    if isinstance(value, Sharded):
        return value
    constant = _without_place(value)
    if constant is not None:
        return Sharded((constant,) * len(devices), None)
    return Sharded(tuple(on_device(value, device) for device in devices), None)


def _cut(value: Sharded, axis: int, sizes: Sequence[int]) -> Sharded:
    """The value in parts of these sizes."""
    if value.axis == axis and value.sizes(axis) == tuple(sizes):
        return value
    whole = gathered(value)
    ends = list(accumulate(sizes))
    parts = []
    for part, end, size in zip(whole.parts, ends, sizes, strict=True):
        bounds = [(end - size, end) if a == axis else None for a in range(len(part.shape))]
        parts.append(part.shrink(bounds))
    return Sharded(tuple(parts), axis)


# *** rules ***


def _multi(node: UOp, operands: list[Value]) -> Value:
    parts = tuple(cast(UOp, o) for o in operands)
    if node.op is Ops.MSTACK:
        return Sharded(parts, None)
    return Sharded(parts, cast("int | None", node.arg))


def _each_shard(node: UOp, operands: list[Value]) -> Value:
    """The same operation on every device."""
    devices = next(o for o in operands if isinstance(o, Sharded)).devices
    alike = [o if isinstance(o, Sharded) else _on_all(o, devices) for o in operands]
    for value in alike:
        if len(value.parts) != len(devices):
            raise ShardError(
                op=node.op.name,
                reason=f"one operand is on {len(devices)} devices, another on {len(value.parts)}",
                hint="shard both over the same devices",
            )
    model = next((o for o in alike if o.axis is not None), None)
    if model is None:
        axis = None
    else:
        axis = model.axis
        assert axis is not None, "the model was chosen for its axis"
        sizes = model.sizes(axis)
        alike = [o if _is_scalar(o) else _cut(o, axis, sizes) for o in alike]
    rows = zip(*(o.parts for o in alike), strict=True)
    return Sharded(tuple(_with_sources(node, row) for row in rows), axis)


def _is_scalar(value: Sharded) -> bool:
    return value.parts[0]._shape in ((), None)


def _movement(node: UOp, operands: list[Value]) -> Value:
    value = cast(Sharded, operands[0])
    dims = tuple(cast(UOp, o) for o in operands[1:])
    if value.axis is not None:
        kept = MOVED[node.op](node, value, value.axis)
        if kept is not None:
            return kept
        value = gathered(value)
    return Sharded(tuple(_with_sources(node, (part, *dims)) for part in value.parts), None)


def _reshape(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    old = cast(tuple[int, ...], node.src[0].shape)
    new = cast(tuple[int, ...], node.shape)
    if not all(isinstance(dim, int) for dim in old + new):
        return None
    before = prod(old[:axis])
    for place in range(len(new)):
        if prod(new[:place]) != before or (new[place] == 1 and old[axis] != 1):
            continue
        rest = before * prod(new[place + 1 :])
        counts = [prod(cast(tuple[int, ...], part.shape)) for part in value.parts]
        if rest == 0 or any(count % rest for count in counts):
            return None
        shapes = [(*new[:place], count // rest, *new[place + 1 :]) for count in counts]
        parts = [part.reshape(shape) for part, shape in zip(value.parts, shapes, strict=True)]
        return Sharded(tuple(parts), place)
    return None


def _permute(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    order = cast(tuple[int, ...], node.arg)
    return Sharded(tuple(_with_sources(node, (p,)) for p in value.parts), order.index(axis))


def _expand(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    shape = node.shape
    parts = [
        part.expand((*shape[:axis], part.shape[axis], *shape[axis + 1 :])) for part in value.parts
    ]
    return Sharded(tuple(parts), axis)


def _flip(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    if axis in cast(tuple[int, ...], node.arg):
        return None
    return Sharded(tuple(_with_sources(node, (part,)) for part in value.parts), axis)


def _pad(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    if node.movement_arg[axis] != (0, 0):
        return None
    dims = node.src[1:]
    return Sharded(tuple(_with_sources(node, (part, *dims)) for part in value.parts), axis)


def _shrink(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    bounds = cast(tuple[tuple[int, int], ...], node.movement_arg)
    if bounds[axis] != (0, node.src[0].shape[axis]):
        return None
    parts = [
        part.shrink([None if a == axis else pair for a, pair in enumerate(bounds)])
        for part in value.parts
    ]
    return Sharded(tuple(parts), axis)


MOVED: dict[Ops, Callable[[UOp, Sharded, int], Sharded | None]] = {
    Ops.RESHAPE: _reshape,
    Ops.PERMUTE: _permute,
    Ops.EXPAND: _expand,
    Ops.FLIP: _flip,
    Ops.PAD: _pad,
    Ops.SHRINK: _shrink,
}


def _reduce(node: UOp, operands: list[Value]) -> Value:
    value = cast(Sharded, operands[0])
    parts = tuple(_with_sources(node, (part,)) for part in value.parts)
    arg = cast(ReduceArg, node.arg)
    if value.axis is None or value.axis not in arg.axes:
        return Sharded(parts, value.axis)
    return Sharded(allreduce(parts, arg.op), None)


def _allreduce(node: UOp, operands: list[Value]) -> Value:
    value = operands[0]
    if isinstance(value, UOp):
        return value
    op = node.arg[0] if isinstance(node.arg, tuple) else node.arg
    return Sharded(allreduce(value.parts, cast(Ops, op)), None)


def _copy(node: UOp, operands: list[Value]) -> Value:
    value, place = operands[0], node.src[1].arg
    if isinstance(place, tuple):
        if isinstance(value, Sharded):
            return Sharded(tuple(_whole_on(value, device) for device in place), None)
        return _on_all(value, place)
    assert isinstance(value, Sharded), "copies between single devices are none of ours"
    return _whole_on(value, cast(str, place))


def _store(node: UOp, operands: list[Value]) -> Value:
    target = operands[0]
    if isinstance(target, UOp):
        value = operands[1]
        assert isinstance(value, Sharded), "a store without shards is none of ours"
        return _with_sources(node, (target, _whole_on(value, cast(str, target.device))))
    value = _on_all(operands[1], target.devices)
    if target.axis is None:
        value = gathered(value)
    elif not _is_scalar(value):
        value = _cut(value, target.axis, target.sizes(target.axis))
    pairs = zip(target.parts, value.parts, strict=True)
    return Sharded(tuple(_with_sources(node, pair) for pair in pairs), None)


def _after(node: UOp, operands: list[Value]) -> Value:
    value = operands[0]
    if isinstance(value, UOp):
        effects: list[UOp] = []
        for effect in operands[1:]:
            effects.extend(effect.parts if isinstance(effect, Sharded) else (effect,))
        return value.after(*effects)
    parts = []
    for number, part in enumerate(value.parts):
        effects = [e.parts[number] if isinstance(e, Sharded) else e for e in operands[1:]]
        parts.append(part.after(*effects))
    return Sharded(tuple(parts), value.axis)


def _select(node: UOp, operands: list[Value]) -> Value:
    return cast(Sharded, operands[0]).parts[cast(int, node.arg)]


def _call(node: UOp, operands: list[Value]) -> Value:
    """A kernel that the user wrote runs on the shards of every device."""
    devices = next(o for o in operands[1:] if isinstance(o, Sharded)).devices
    arguments = [_on_all(o, devices) for o in operands[1:]]
    called = cast(UOp, operands[0])
    rows = zip(*(a.parts for a in arguments), strict=True)
    return Sharded(tuple(_with_sources(node, (called, *row)) for row in rows), None)


RULES: dict[Ops, Callable[[UOp, list[Value]], Value]] = {
    Ops.MULTI: _multi,
    Ops.MSTACK: _multi,
    Ops.MSELECT: _select,
    Ops.REDUCE: _reduce,
    Ops.ALLREDUCE: _allreduce,
    Ops.COPY: _copy,
    Ops.STORE: _store,
    Ops.AFTER: _after,
    Ops.CALL: _call,
    **dict.fromkeys(GroupOp.Movement, _movement),
}
