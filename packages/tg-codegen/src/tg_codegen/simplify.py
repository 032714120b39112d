"""Simplify index arithmetic: the passes between others that tidy up after them."""

from __future__ import annotations

from collections.abc import Mapping

from tg_uop import GroupOp, Ops, UOp, dtypes
from tg_uop.ir.substitute import rebuilt
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rules.sets import INDEX_MATH
from tg_uop.rules.simplify import simplify

_INDEX_DTYPES = frozenset((dtypes.weakint, dtypes.bool))


class Simplifier:
    """All rules on numbers and gates; a graph that comes out of it is not gone through again."""

    def __init__(self) -> None:
        self.result: UOp | None = None

    def __call__(self, kernel: UOp) -> UOp:
        if kernel is self.result:
            return kernel
        self.result = simplify(kernel)
        return self.result


def simplify_indices(kernel: UOp) -> UOp:
    """The kernel with the index expressions and conditions simplified that are more than sums.

    Copying has folded sums already. The order in which a reduction adds up stays.
    """
    roots: dict[UOp, None] = {}
    intricate: set[UOp] = set()
    # in order, for the names that hide them
    behind_loops: dict[UOp, None] = {}
    for node in kernel.toposort():
        is_index = _is_index(node)
        if node.op is Ops.END or any(operand in behind_loops for operand in node.src):
            behind_loops[node] = None
        if is_index and (node.op in _INTRICATE or not intricate.isdisjoint(node.src)):
            intricate.add(node)
        elif not is_index or node.op is Ops.INDEX:
            roots.update(dict.fromkeys(s for s in node.src if s in intricate))
    if not roots:
        return kernel
    # a rule that asks what holds under a condition changes all below, loops among it: hide them
    hidden = {
        node: UOp(Ops.NOOP, node.dtype, arg=("hidden", number))
        for number, node in enumerate(behind_loops)
        if not _is_index(node) or node.op is Ops.INDEX
    }
    before = UOp(Ops.NOOP, src=tuple(roots)).substitute(hidden)
    after = graph_rewrite(
        before, INDEX_MATH, name="simplify-indices", gate=lambda n: n is before or _is_index(n)
    ).substitute({name: node for node, name in hidden.items()})
    changed = {old: new for old, new in zip(roots, after.src, strict=True) if old is not new}
    if not changed:
        return kernel
    kernel = _replaced(kernel, changed)
    decided = any(_constant_of(new) is not None for new in changed.values())
    return choose_branches(kernel) if decided else kernel


def _replaced(kernel: UOp, changed: Mapping[UOp, UOp]) -> UOp:
    """The kernel with other expressions in the place of some.

    A condition on the result of a loop has that loop below it, and so has what replaces it: where
    something in the loop is replaced, it is replaced in both, or the loop would be there twice.
    """
    done: dict[UOp, UOp] = {}
    for node in kernel.toposort():
        for part in changed.get(node, node).toposort(lambda n: n not in done):
            src = tuple([done.get(s, s) for s in part.src])
            done[part] = part if src == part.src else rebuilt(part, src)
        done[node] = done[changed.get(node, node)]
    return done[kernel]


def choose_branches(kernel: UOp) -> UOp:
    """The kernel with what is chosen by a constant in place of the choice.

    Where that is the zero of a sum that was not to be added, the sum goes on without it: a copy of
    a loop's body for a step that a condition leaves out costs nothing.
    """
    done: dict[UOp, UOp] = {}
    zeros: set[UOp] = set()
    for node in kernel.toposort():
        src = tuple([done.get(s, s) for s in node.src])
        if node.op is Ops.WHERE and (choice := _constant_of(src[0])) is not None:
            done[node] = src[1] if choice else src[2]
            if not choice and _constant_of(src[2]) == 0:
                zeros.add(src[2])
        elif node.op is Ops.ADD and not zeros.isdisjoint(src):
            done[node] = src[0] if src[1] in zeros else src[1]
        elif src != node.src:
            done[node] = rebuilt(node, src)
    return done.get(kernel, kernel)


def _constant_of(node: UOp) -> object:
    """The number that a node is, in each of its lanes; None where it is none."""
    if node.op is Ops.STACK and len(set(node.src)) == 1:
        node = node.src[0]
    return node.arg if node.op is Ops.CONST else None


_INTRICATE = frozenset(
    (Ops.IDIV, Ops.MOD, Ops.SHR, Ops.MAX, Ops.AND, Ops.OR, Ops.WHERE, *GroupOp.Comparison)
)


def _is_index(node: UOp) -> bool:
    return node.dtype.scalar() in _INDEX_DTYPES
