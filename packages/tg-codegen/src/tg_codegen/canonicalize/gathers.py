"""Replace a sum that selects by what it selects: kernel form in, kernel form out.

    sum_r where(r == i, x[r], 0)     becomes    x[i] where i is in the loop, else 0
    sum_r where(low <= r < high, c, 0)    becomes    (number of such r) * c
    any_r (r == i and x[r])               becomes    x[i] where i is in the loop, else False

Embeddings, one-hot products and counting sums, written as reductions, become index arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable

from tg_uop import Ops, UOp, dtypes

from tg_codegen.canonicalize.conditions import Solution, all_of, negated, solve
from tg_codegen.canonicalize.sums import number_of
from tg_codegen.linear_index import split_gate

# integers up to this are exact in the dtype, and so are all sums on the way to them
EXACT_UP_TO = {dtypes.float16: 1 << 11, dtypes.float32: 1 << 24, dtypes.float64: 1 << 53}


def collapse_selection(node: UOp) -> UOp | None:
    """A REDUCE by addition of `where(condition, x, 0)`, with one loop less; None if it cannot.

    Of bools it is one by `or`, which is MAX.
    """
    if node.reduce_op is not (Ops.MAX if node.dtype.is_bool else Ops.ADD):
        return None
    for condition, value in _selections(node.reduced_value):
        for loop in node.reduce_ranges:
            if loop not in condition.ranges:
                continue
            solution = solve(condition, loop)
            if solution is None:
                continue
            found = _collapsed(solution, value, loop)
            if found is None:
                continue
            rest = tuple(r for r in node.reduce_ranges if r is not loop)
            return node.replace(src=(found, *rest)) if rest else found
    return None


def _selections(value: UOp) -> list[tuple[UOp, UOp]]:
    """What a term may be seen as: a condition, and a value where it holds."""
    if value.dtype.is_bool and value.op is Ops.AND:
        first, second = value.src
        return [(first, second), (second, first)]
    selected = _selected(value)
    return [] if selected is None else [selected]


def _selected(value: UOp) -> tuple[UOp, UOp] | None:
    """`where(condition, x, 0)` in its spellings: the condition and x."""
    if value.op is Ops.WHERE:
        condition, chosen, other = value.src
        if _is_zero(other):
            return condition, chosen
        if _is_zero(chosen):
            return _opposite(condition), other
        return None
    if value.op is Ops.CAST and value.src[0].dtype == dtypes.bool:
        return value.src[0], value.const_like(1)
    if value.op is Ops.MUL:
        for factor, other in (value.src, value.src[::-1]):
            inner = _selected(factor)
            if inner is not None and dtypes.is_int(value.dtype):
                return inner[0], inner[1] * other
    return None


def _opposite(condition: UOp) -> UOp:
    inner = negated(condition)
    return condition.logical_not() if inner is None else inner


def _is_zero(node: UOp) -> bool:
    return node.op is Ops.CONST and node.arg == 0 and str(node.arg)[0] != "-"


def _collapsed(solution: Solution, value: UOp, loop: UOp) -> UOp | None:
    if solution.equal is not None:
        return _gathered(solution, value, loop)
    if loop in value.ranges:
        return None
    return _counted(solution, value, loop)


def _gathered(solution: Solution, value: UOp, loop: UOp) -> UOp | None:
    """The one term of the sum, its loads gated by whether the loop reaches it.

    A term that the loop does not reach could be infinite or NaN only if it were computed, so the
    value itself is selected too.
    """
    place = solution.equal
    assert place is not None, "an equality pins the loop"
    conditions = [*_inside(place, loop), *solution.others]
    conditions.extend((place < low).logical_not() for low in solution.low)
    conditions.extend(place < high for high in solution.high)
    gate = all_of(conditions)
    moved = _moved(value, loop, place, gate)
    if gate is None:
        return moved
    return gate.where(moved, moved.const_like(0))


def _inside(place: UOp, loop: UOp) -> list[UOp]:
    """The conditions under which `place` is a step of the loop; none that bounds decide."""
    conditions = []
    if place.vmin < 0:
        conditions.append((place < 0).logical_not())
    end = loop.range_size
    steps = number_of(end)
    if steps is None or place.vmax >= steps:
        conditions.append(place < end)
    return conditions


def _moved(value: UOp, loop: UOp, place: UOp, gate: UOp | None) -> UOp:
    """The value at one step of the loop, without reading where the gate is closed."""
    done: dict[UOp, UOp] = {loop: place}
    for node in value.toposort():
        if node in done:
            continue
        if loop not in node.ranges:
            done[node] = node
            continue
        src = tuple(done[s] for s in node.src)
        if node.op is Ops.INDEX and gate is not None:
            condition, address = split_gate(src[1])
            both = gate if condition is None else gate & condition
            src = (src[0], address.valid(both), *src[2:])
        done[node] = node.replace(src=src)
    return done[value]


def _counted(solution: Solution, value: UOp, loop: UOp) -> UOp | None:
    """The number of steps between the bounds, times what each adds."""
    steps = number_of(loop.range_size)
    if steps is None or value.dtype.is_bool:
        return None
    zero = UOp.const(dtypes.weakint, 0)
    low = _largest([zero, *solution.low])
    high = _smallest([UOp.const(dtypes.weakint, steps), *solution.high])
    count = _largest([(high - low).simplify(), zero])
    total = _times(value, count, steps)
    gate = all_of(solution.others)
    if total is None:
        return None
    # in its short form, because a sum around this one may select by it
    total = total.simplify()
    return total if gate is None else gate.where(total, total.const_like(0))


def _largest(nodes: Iterable[UOp]) -> UOp:
    total: UOp | None = None
    for node in nodes:
        if total is None or node.vmin >= total.vmax:
            total = node
        elif total.vmin < node.vmax:
            total = total.maximum(node)
    assert total is not None, "there is at least one bound"
    return total


def _smallest(nodes: Iterable[UOp]) -> UOp:
    total: UOp | None = None
    for node in nodes:
        if total is None or node.vmax <= total.vmin:
            total = node
        elif total.vmax > node.vmin:
            total = (total < node).where(total, node)
    assert total is not None, "there is at least one bound"
    return total


def _times(value: UOp, count: UOp, most: int) -> UOp | None:
    """count * value, where that has the bits of the sum: integers, and small ones in floats."""
    if dtypes.is_int(value.dtype):
        return value * count.cast(value.dtype)
    if not adds_up_exactly(value, most):
        return None
    return value * count.cast(value.dtype)


def adds_up_exactly(value: UOp, times: int) -> bool:
    """Whether adding a float constant so many times is exact at every step: a small integer."""
    limit = EXACT_UP_TO.get(value.dtype)
    if limit is None or value.op is not Ops.CONST or not isinstance(value.arg, float):
        return False
    return value.arg.is_integer() and abs(value.arg) * times <= limit
