"""Take Invalid out of index expressions: what is left is an index and the condition of its use."""

from __future__ import annotations

from typing import NamedTuple

from tg_uop import GroupOp, Invalid, Ops, UOp, dtypes


class Gated(NamedTuple):
    """A value, and where it holds; None for always."""

    value: UOp
    gate: UOp | None


def split_gates(index: UOp, known: dict[UOp, Gated]) -> Gated:
    """`index` without Invalid, and the condition under which it is none.

    An operation on Invalid is Invalid, except for a WHERE that does not choose it. Conditions that
    bounds prove are left out. `known` keeps what was found for nodes met before.
    """
    for node in index.toposort(gate=lambda n: n not in known):
        known[node] = _split(node, known)
    return known[index]


def _split(node: UOp, known: dict[UOp, Gated]) -> Gated:
    if node.op is Ops.CONST:
        return _nowhere(node) if node.arg is Invalid else Gated(node, None)
    if node.op is Ops.VCONST:
        return _split_lanes(node)
    parts = [known[s] for s in node.src]
    if all(part.value is s and part.gate is None for part, s in zip(parts, node.src, strict=True)):
        return Gated(node, None)
    values = tuple(part.value for part in parts)
    if node.op is Ops.WHERE:
        return _split_where(node, values, parts[1].gate, parts[2].gate)
    # an element read at an index has its own gate; what orders effects has none
    if node.op not in GroupOp.Elementwise and node.op not in (Ops.STACK, Ops.GEP):
        return Gated(node, None)
    value = node.replace(src=values)
    gates = [part.gate for part in parts]
    if node.op is Ops.STACK:
        lanes = [UOp.const(dtypes.bool, True) if gate is None else gate for gate in gates]
        return Gated(value, UOp.stack(*lanes))
    gate: UOp | None = None
    for other in gates:
        gate = both(gate, other)
    if node.op is Ops.GEP and gate is not None and gate.dtype.count > 1:
        assert isinstance(node.arg, tuple), "a GEP carries its lanes"
        gate = gate.gep(node.arg)
    return Gated(value, gate)


def _nowhere(node: UOp) -> Gated:
    never = UOp.const(dtypes.bool.vec(node.dtype.count), False)
    return Gated(UOp.const(node.dtype, 0), never)


def _split_lanes(node: UOp) -> Gated:
    """A VCONST with some lanes Invalid."""
    assert isinstance(node.arg, tuple), "a VCONST carries its lanes"
    valid = tuple(lane is not Invalid for lane in node.arg)
    if all(valid):
        return Gated(node, None)
    lanes = tuple(lane if lane is not Invalid else 0 for lane in node.arg)
    return Gated(UOp.const(node.dtype, lanes), UOp.const(dtypes.bool.vec(len(lanes)), valid))


def _split_where(node: UOp, values: tuple[UOp, ...], yes: UOp | None, no: UOp | None) -> Gated:
    condition = values[0]
    if no is not None and _is_false(no):
        return Gated(values[1], both(condition, yes))
    if yes is not None and _is_false(yes):
        return Gated(values[2], both(condition.logical_not(), no))
    value = node.replace(src=values)
    if yes is None and no is None:
        return Gated(value, None)
    always = UOp.const(condition.dtype, True)
    chosen = condition.where(always if yes is None else yes, always if no is None else no)
    return Gated(value, chosen)


def both(left: UOp | None, right: UOp | None) -> UOp | None:
    """The condition that both hold, without what bounds prove."""
    if left is None or _is_true(left):
        return None if right is None or _is_true(right) else right
    if right is None or _is_true(right) or right is left:
        return left
    if left.dtype.count != right.dtype.count:
        count = max(left.dtype.count, right.dtype.count)
        left = left if left.dtype.count == count else left.broadcast(count)
        right = right if right.dtype.count == count else right.broadcast(count)
    return left & right


def _is_true(condition: UOp) -> bool:
    return bool(condition.vmin)


def _is_false(condition: UOp) -> bool:
    return not condition.vmax
