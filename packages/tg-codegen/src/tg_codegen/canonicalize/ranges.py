"""Choose the loops of a kernel: kernel form in, kernel form out.

A loop of one step vanishes. Two neighbouring loops that every address sees as one become one. A
loop whose index is taken apart by division and remainder becomes the two loops that are meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tg_uop import AxisType, Ops, UOp, dtypes
from tg_uop.rules.linear import Linear, linear, write

from tg_codegen.canonicalize.sums import number_of, sum_roots

CLOSERS = frozenset((Ops.END, Ops.REDUCE))
# their operands from the second on are loops or effects, not values
ORDERING = CLOSERS | {Ops.AFTER}
PLAIN = frozenset((AxisType.LOOP, AxisType.REDUCE))


def drop_single_steps(kernel: UOp) -> UOp:
    """The kernel without loops of one step."""
    single = [n for n in kernel.toposort() if n.op is Ops.RANGE and number_of(n.range_size) == 1]
    if not single:
        return kernel
    return replace_ranges(kernel, {r: (r.const_like(0), ()) for r in single})


Replacement = tuple[UOp, tuple[UOp, ...]]


def replace_ranges(kernel: UOp, replacements: dict[UOp, Replacement]) -> UOp:
    """The kernel with each range replaced by a value.

    What closes a range, or waits for its step, does so for the ranges that go with the value.
    """
    done: dict[UOp, UOp] = {r: value for r, (value, _) in replacements.items()}
    for node in kernel.toposort():
        if node in done:
            continue
        if node.op not in ORDERING:
            src = tuple(done[s] for s in node.src)
            done[node] = node if src == node.src else node.replace(src=src)
            continue
        others: dict[UOp, None] = {}
        for other in node.src[1:]:
            instead = replacements.get(other)
            others.update(dict.fromkeys((done[other],) if instead is None else instead[1]))
        first = done[node.src[0]]
        done[node] = node.replace(src=(first, *others)) if others else first
    return done[kernel]


# *** merging ***


def merge_ranges(kernel: UOp) -> UOp:
    """The kernel with neighbouring loops merged wherever all addresses allow it."""
    while True:
        order = kernel.toposort()
        pair = _mergeable_pair(order)
        if pair is None:
            return kernel
        kernel = _merged(kernel, *pair)


def _mergeable_pair(order: Iterable[UOp]) -> tuple[UOp, UOp] | None:
    """Two loops, the outer one first, that can be one."""
    order = list(order)
    closers: dict[UOp, list[UOp]] = {}
    for node in order:
        if node.op in CLOSERS:
            for r in node.src[1:]:
                closers.setdefault(r, []).append(node)
    candidates = _neighbours(closers)
    if not candidates:
        return None
    sums = [linear(root) for root in sum_roots(order)]
    for outer, inner in candidates:
        steps = number_of(inner.range_size)
        if steps is not None and all(_sees_one(s, outer, inner, steps) for s in sums):
            return outer, inner
    return None


def _neighbours(closers: dict[UOp, list[UOp]]) -> list[tuple[UOp, UOp]]:
    """Pairs of plain loops that are always closed together, with none between them."""
    ranges = [r for r in closers if r.op is Ops.RANGE and r.axis_type in PLAIN]
    ranges.sort(key=lambda r: r.range_arg.axis_id)
    pairs = []
    for position, outer in enumerate(ranges):
        for inner in ranges[position + 1 :]:
            if closers[inner] == closers[outer]:
                if inner.axis_type is outer.axis_type:
                    pairs.append((outer, inner))
                break
    return pairs


def _sees_one(total: Linear, outer: UOp, inner: UOp, steps: int) -> bool:
    return total.terms.get(outer, 0) == total.terms.get(inner, 0) * steps


def _merged(kernel: UOp, outer: UOp, inner: UOp) -> UOp:
    steps = number_of(inner.range_size)
    assert steps is not None, "only a loop of known size can be the inner one"
    size = number_of(outer.range_size)
    end = outer.range_size * steps if size is None else outer.const_like(size * steps)
    merged = outer.replace(src=(end,))

    def one(total: Linear) -> Linear:
        terms = dict(total.terms)
        terms.pop(outer)
        terms[merged] = terms.pop(inner)
        return Linear(terms, total.constant)

    replaced = _rewrite_sums(kernel, {outer, inner}, one)
    return _close_instead(replaced, {outer: (merged,), inner: (merged,)})


def _rewrite_sums(kernel: UOp, moved: set[UOp], rewrite: Callable[[Linear], Linear]) -> UOp:
    """The kernel with each sum that has one of `moved` as an atom rewritten.

    Closers keep closing what they closed.
    """
    order = kernel.toposort()
    roots = sum_roots(order)
    done: dict[UOp, UOp] = {}
    inside: dict[UOp, UOp] = {}
    for node in order:
        kept = node.src[1:] if node.op in CLOSERS else ()
        operands = node.src[:1] if node.op in CLOSERS else node.src
        src = tuple(inside.get(s, done[s]) for s in operands) + kept
        done[node] = node if src == node.src else node.replace(src=src)
        if node not in roots:
            continue
        total = linear(node)
        if moved.isdisjoint(total.terms):
            continue
        terms = {inside.get(t, done[t]): factor for t, factor in total.terms.items()}
        inside[node] = write(rewrite(Linear(terms, total.constant)), node)
    return done[kernel]


def _close_instead(kernel: UOp, instead: dict[UOp, tuple[UOp, ...]]) -> UOp:
    """The kernel with closers that close other ranges."""
    return replace_ranges(kernel, {r: (r, ranges) for r, ranges in instead.items()})


# *** splitting ***


def split_ranges(kernel: UOp) -> UOp:
    """The kernel with loops split where division and remainder take their index apart."""
    next_axis = 0
    while True:
        order = kernel.toposort()
        found = _splittable(order)
        if found is None:
            return kernel
        loop, steps = found
        if next_axis == 0:
            parts = [max(n.range_arg.axis_id) for n in order if n.op is Ops.RANGE]
            next_axis = max(parts) + 1
        kernel = _split(kernel, loop, steps)


def _splittable(order: Iterable[UOp]) -> tuple[UOp, int] | None:
    """A loop, and the smallest number by which an address divides its index."""
    wanted: dict[UOp, int] = {}
    for node in order:
        if node.op not in (Ops.IDIV, Ops.MOD) or node.dtype != dtypes.weakint:
            continue
        loop, divisor = node.src[0], number_of(node.src[1])
        if loop.op is not Ops.RANGE or loop.axis_type not in PLAIN or divisor is None:
            continue
        size = number_of(loop.range_size)
        if size is None or divisor < 2 or divisor >= size or size % divisor:
            continue
        wanted[loop] = min(wanted.get(loop, divisor), divisor)
    return next(iter(wanted.items()), None)


def _split(kernel: UOp, loop: UOp, steps: int) -> UOp:
    """r becomes outer * steps + inner; what took r apart by `steps` is now plain."""
    arg = loop.range_arg
    size = number_of(loop.range_size)
    assert size is not None, "only a loop of known size is split"
    outer = UOp.range(size // steps, (*arg.axis_id, 0), arg.axis_type)
    inner = UOp.range(steps, (*arg.axis_id, 1), arg.axis_type)
    whole = outer * steps + inner
    done = replace_ranges(kernel, {loop: (whole, (outer, inner))})
    replacements = {}
    for node in done.toposort():
        if node.op in (Ops.IDIV, Ops.MOD) and node.src[0] is whole:
            divisor = number_of(node.src[1])
            if divisor is not None and divisor % steps == 0:
                replacements[node] = _taken_apart(node.op, outer, inner, divisor // steps, steps)
    return done.substitute(replacements)


def _taken_apart(op: Ops, outer: UOp, inner: UOp, factor: int, steps: int) -> UOp:
    """(outer * steps + inner) / (factor * steps), or its remainder; inner is below steps."""
    if op is Ops.IDIV:
        return outer if factor == 1 else outer.alu(Ops.IDIV, outer.const_like(factor))
    if factor == 1:
        return inner
    return outer.alu(Ops.MOD, outer.const_like(factor)) * steps + inner
