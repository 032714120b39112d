"""Take conditions off a product that is zero anyway where they do not hold.

    sum(where(c, a[i].valid(c) * b[j].valid(c), 0))    becomes    sum(a[i].valid(c) * b[j])

where b[j] stays inside of its buffer without the condition. It is what the gradient of a padded
window operation looks like; with the conditions left on one operand, that operand can be staged
with its padding, and the other one is read by all outputs alike. An infinity in `b` meets a zero
where it was left out before, as it does in the forward direction.

Conditions that hold at every n-th step stay around the product (`is_step_condition`): where they do
not hold there is nothing to be summed, and a strategy that knows the step leaves it out.
"""

from __future__ import annotations

from tg_uop import Ops, PtrDType, UOp

from tg_codegen.linear_index import is_single_index, is_step_condition, split_gate
from tg_codegen.optimize.loop_rewrite import replace_nodes


def free_of_padding(ast: UOp) -> UOp:
    """The kernel with superfluous conditions of its sums of products gone."""
    replacements: dict[UOp, UOp] = {}
    for node in ast.toposort():
        if node.op is Ops.REDUCE and node.reduce_op is Ops.ADD:
            value = _unconditional(node.reduced_value)
            if value is not node.reduced_value:
                replacements[node] = node.replace(src=(value, *node.reduce_ranges))
    return replace_nodes(ast, replacements) if replacements else ast


def _unconditional(value: UOp) -> UOp:
    parts, product = _split_where(value)
    condition = frozenset(parts)
    factors = product.split_uop(Ops.MUL)
    gated = [f for f in factors if _gate_of(f)]
    if len(factors) < 2 or not gated:
        return value
    keeper = next((f for f in gated if not _stays_inside(f)), gated[0])
    known = _gate_of(keeper)
    if not condition <= known:
        return value
    fresh = [f if f is keeper else _without(f, known) for f in factors]
    steps = [part for part in parts if is_step_condition(part)]
    if fresh == factors and len(condition) == len(steps):
        return value
    result = fresh[0]
    for factor in fresh[1:]:
        result = result * factor
    return _all(steps).where(result, UOp.const(result.dtype, 0)) if steps else result


def _split_where(value: UOp) -> tuple[list[UOp], UOp]:
    """The conditions under which a value is not zero, and the value there."""
    if value.op is Ops.WHERE:
        condition, chosen, other = value.src
        if other.op is Ops.CONST and other.arg == 0:
            return condition.split_uop(Ops.AND), chosen
    return [], value


def _all(conditions: list[UOp]) -> UOp:
    together = conditions[0]
    for condition in conditions[1:]:
        together = together & condition
    return together


def _gate_of(factor: UOp) -> frozenset[UOp]:
    """The conditions of a load, none for anything else."""
    if not is_single_index(factor):
        return frozenset()
    gate, _ = split_gate(factor.index_expr)
    return frozenset() if gate is None else frozenset(gate.split_uop(Ops.AND))


def _stays_inside(load: UOp) -> bool:
    """Whether the address is inside of the buffer whatever its loops are at."""
    pointer = load.index_buffer.dtype
    _, address = split_gate(load.index_expr)
    return isinstance(pointer, PtrDType) and address.vmin >= 0 and address.vmax < pointer.size


def _without(factor: UOp, known: frozenset[UOp]) -> UOp:
    """A load without the conditions `known`, where it does no harm."""
    gate = _gate_of(factor)
    if not gate & known or not _stays_inside(factor):
        return factor
    _, address = split_gate(factor.index_expr)
    original, _ = split_gate(factor.index_expr)
    assert original is not None, "a load with conditions has a gate"
    kept = [part for part in original.split_uop(Ops.AND) if part not in known]
    if kept:
        address = address.valid(_all(kept))
    return factor.replace(src=(factor.index_buffer, address))
