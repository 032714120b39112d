"""Take the last step out of loops that are padded: kernel form in, kernel form out.

    sum over r < 32 of (x[r*32 + lane] where r*32 + lane < 1023, else 0)

becomes

    (sum over r < 31 of x[r*32 + lane]) + (x[31*32 + lane] where lane < 31, else 0)

In the loop no condition is left, and in the last step it is known which lanes count. Compilers know
it as loop peeling.
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import AxisType, GroupOp, Ops, UOp, dtypes
from tg_uop.rules.simplify import simplify

from tg_codegen.expand.loops import Closer, closed_ranges, closers_of, is_replicated
from tg_codegen.running import is_scan
from tg_codegen.target.caps import Capabilities

_PEELED_ROLES = frozenset((AxisType.LOOP, AxisType.REDUCE))


def peel_last_steps(kernel: UOp, caps: Capabilities) -> UOp:
    """The kernel with the last step of padded loops apart, on targets with vectors.

    Loops that store keep it where the target has masks: there it would be twice the code for
    nothing. So do loops that memory waits for: their steps read what steps before have written.
    Each loop closes in one place (`close_once`), here and in the result.
    """
    if caps.has_local or not caps.vector_bits:
        return kernel
    loops = _padded_loops(kernel)
    if not loops or is_scan(kernel):
        return kernel
    closers = closers_of(kernel)
    if caps.masked_memory:
        storing = {r for c in closers if c.node.op is Ops.END for r in c.loops}
        loops = [loop for loop in loops if loop not in storing]
    loops = [loop for loop in loops if _is_innermost(loop, closers)]
    if not loops:
        return kernel
    return simplify(_peeled(kernel, closers, frozenset(loops)))


def _padded_loops(kernel: UOp) -> list[UOp]:
    """Loops of which a condition holds in all steps but the last."""
    found: dict[UOp, None] = {}
    nodes = kernel.toposort()
    waited_for = {s for node in nodes if node.op is Ops.AFTER for s in node.src[1:]}
    for node in nodes:
        if node.op not in GroupOp.Comparison or node.dtype != dtypes.bool:
            continue
        for loop in node.ranges:
            if loop in found or loop in waited_for or not _can_peel(loop):
                continue
            if _holds_before_last(node, loop):
                found[loop] = None
    return list(found)


def _can_peel(loop: UOp) -> bool:
    is_loop = loop.op is Ops.RANGE and not is_replicated(loop) and loop.axis_type in _PEELED_ROLES
    return is_loop and isinstance(loop.size, int) and loop.size > 1


def _holds_before_last(condition: UOp, loop: UOp) -> bool:
    return bool(simplify(condition.substitute({loop: _all_but_last(loop)})).vmin)


def _all_but_last(loop: UOp) -> UOp:
    """The loop without its last step; the one step that is left needs no loop."""
    steps = int(loop.vmax)
    return (
        UOp.const(loop.dtype, 0)
        if steps == 1
        else loop.replace(src=(UOp.const(loop.range_size.dtype, steps), *loop.src[1:]))
    )


def _is_innermost(loop: UOp, closers: Sequence[Closer]) -> bool:
    """Whether no other loop of the kernel runs inside of a loop."""
    return not any(loop in closer.around or loop in closer.loops[:-1] for closer in closers)


def _peeled(kernel: UOp, closers: Sequence[Closer], loops: frozenset[UOp]) -> UOp:
    closing = {c.node: c.loops[-1] for c in closers if c.loops[-1] in loops}
    done: dict[UOp, UOp] = {}
    for node in kernel.toposort():
        src = tuple(done[s] for s in node.src)
        fresh = node if src == node.src else node.replace(src=src)
        loop = closing.get(node)
        if loop is None:
            done[node] = fresh
        elif node.op is Ops.END:
            done[node] = _end_apart(fresh, loop)
        else:
            done[node] = _reduce_apart(fresh, loop)
    return done[kernel]


def _parts(body: UOp, loop: UOp) -> tuple[UOp, UOp | None, UOp]:
    """A body in all steps but the last, the loop over these, and the body in the last step."""
    first = _all_but_last(loop)
    last = UOp.const(loop.dtype, int(loop.vmax))
    rest = first if first.op is Ops.RANGE else None
    return body.substitute({loop: first}), rest, body.substitute({loop: last})


def _reduce_apart(node: UOp, loop: UOp) -> UOp:
    """Lanes and the loops around are combined after the last step has been."""
    steps, rest, last = _parts(node.reduced_value, loop)
    others = [r for r in node.reduce_ranges if r is not loop]
    inside = [r for r in others if is_replicated(r) and not r.range_arg.lanes]
    outside = [r for r in others if r not in inside]
    op = node.reduce_op
    before = _reduced(steps, [*(() if rest is None else (rest,)), *inside], op)
    return _reduced(before.alu(op, _reduced(last, inside, op)), outside, op)


def _reduced(value: UOp, ranges: Sequence[UOp], op: Ops) -> UOp:
    return UOp(Ops.REDUCE, value.dtype, (value, *ranges), op) if ranges else value


def _end_apart(node: UOp, loop: UOp) -> UOp:
    steps, rest, last = _parts(node.ended_effect, loop)
    others = [r for r in closed_ranges(node) if r is not loop]
    inside = [r for r in others if is_replicated(r)]
    outside = [r for r in others if r not in inside]
    before = _ended(steps, [*(() if rest is None else (rest,)), *inside])
    return _ended(UOp.group(before, _ended(last, inside)), outside)


def _ended(effect: UOp, ranges: Sequence[UOp]) -> UOp:
    return effect.end(*ranges) if ranges else effect
