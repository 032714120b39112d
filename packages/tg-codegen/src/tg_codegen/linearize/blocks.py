"""Find the loop that each node of a lowered kernel belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tg_uop import Ops, UOp

from tg_codegen.errors import KernelFormError


@dataclass(slots=True)
class Block:
    """The body of a loop, or of the whole kernel (`loop` is None).

    `nodes` are in an order in which operands come first; the END of a loop inside stands for it.
    """

    loop: UOp | None
    parent: Block | None
    depth: int
    nodes: list[UOp] = field(default_factory=list)


@dataclass(slots=True)
class BlockTree:
    """All blocks of a kernel: the root, and the body of each loop by its RANGE."""

    root: Block
    bodies: dict[UOp, Block]

    def home(self, node: UOp) -> Block:
        """The block of the innermost loop that `node` depends on."""
        found = self.root
        for loop in node.ranges:
            body = self.bodies[loop]
            if body.depth > found.depth:
                found = body
        return found


def single_ends(kernel: UOp) -> UOp:
    """The kernel with one END for each loop, nested, outer loops outside."""
    order = kernel.toposort()
    if not any(n.op is Ops.END and len(n.ended_ranges) > 1 for n in order):
        return kernel
    done: dict[UOp, UOp] = {}
    for node in order:
        src = tuple(done[s] for s in node.src)
        if node.op is Ops.END:
            nested = src[0]
            for loop in sorted(src[1:], key=lambda r: r.range_arg.axis_id, reverse=True):
                nested = nested.end(loop)
            done[node] = nested
        else:
            done[node] = node if src == node.src else node.replace(src=src)
    return done[kernel]


def block_tree(order: Iterable[UOp]) -> BlockTree:
    """The nest of loops, outer ones before inner ones.

    Raises `KernelFormError` when a loop is closed twice, or never.
    """
    ends: dict[UOp, UOp] = {}
    loops: list[UOp] = []
    for node in order:
        if node.op is Ops.RANGE:
            loops.append(node)
        if node.op is not Ops.END:
            continue
        for loop in node.ended_ranges:
            if ends.setdefault(loop, node) is not node:
                raise KernelFormError(
                    node=f"RANGE {loop.arg}",
                    reason="two ENDs close it",
                    hint="give each END ranges of its own",
                )
    root = Block(None, None, 0)
    bodies: dict[UOp, Block] = {}
    pending = loops[::-1]
    while pending:
        loop = pending[-1]
        around = _around(loop, ends)
        # a loop need not depend on all that is around the loops it depends on
        missing = [other for other in around if other not in bodies]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        if loop in bodies:
            continue
        parent = max((bodies[other] for other in around), key=_depth, default=root)
        bodies[loop] = Block(loop, parent, parent.depth + 1)
    return BlockTree(root, bodies)


def _depth(block: Block) -> int:
    return block.depth


def _around(loop: UOp, ends: dict[UOp, UOp]) -> dict[UOp, None]:
    end = ends.get(loop)
    if end is None:
        raise KernelFormError(
            node=f"RANGE {loop.arg}",
            reason="no END closes it",
            hint="end each store over all the ranges that it depends on",
        )
    return end.ranges
