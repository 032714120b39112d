"""Put the nodes of a lowered kernel in the order in which they run: lowered form in, a list out.

One depth-first walk from the effects gives an order in which each operand stands shortly before
its first user, which keeps few values alive; sums that run side by side take turns (`chains`). Each
node then goes to the body of the innermost loop that it depends on, in that order; what a loop does
not change therefore stands before the loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from tg_uop import Ops, UOp
from tg_uop.ir.walk import toposort

from tg_codegen.linearize.blocks import Block, block_tree, single_ends
from tg_codegen.linearize.chains import turns_of_chains

# what orders other nodes and does nothing itself
_STRUCTURE = frozenset((Ops.SINK, Ops.GROUP, Ops.NOOP))


def ordered(kernel: UOp) -> list[UOp]:
    """All instructions of a lowered kernel; an END has just the RANGE that it closes as operand.

    Raises `KernelFormError` when loops do not nest.
    """
    kernel = single_ends(kernel)
    turns = turns_of_chains(kernel.toposort())
    found = _in_blocks(toposort((*turns, kernel)))
    late = late_reads(found)
    return _in_blocks(toposort((*late, *turns, kernel))) if late else found


def late_reads(instructions: Iterable[UOp]) -> list[UOp]:
    """The loads of what memory holds when the kernel starts that stand behind a store to it.

    What is read and written in one kernel is the same element in both, so that reading it before
    anything is written in the round of the loop is enough.
    """
    written: set[UOp] = set()
    late: list[UOp] = []
    for node in instructions:
        if node.op is Ops.STORE:
            written.add(_memory(node.stored_target))
        elif node.op is Ops.LOAD and node.load_index.src[0] in written:
            late.append(node)
    return late


def _memory(place: UOp) -> UOp:
    while place.op in (Ops.INDEX, Ops.AFTER):
        place = place.src[0]
    return place


def _in_blocks(order: Iterable[UOp]) -> list[UOp]:
    nodes = list(order)
    tree = block_tree(nodes)
    for node in nodes:
        tree.home(node).nodes.append(node)
    return _flattened(tree.root, tree.bodies)


def _flattened(root: Block, bodies: dict[UOp, Block]) -> list[UOp]:
    """The nodes of a block with each END replaced by the body of its loop, at every depth."""
    found: list[UOp] = []
    stack = [iter(root.nodes)]
    closing: list[UOp] = []
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            if closing:
                found.append(UOp(Ops.END, src=(closing.pop(),)))
        elif node.op is Ops.END:
            loop = node.ended_ranges[0]
            closing.append(loop)
            stack.append(iter(bodies[loop].nodes))
        elif node.op not in _STRUCTURE:
            found.append(node)
    return found
