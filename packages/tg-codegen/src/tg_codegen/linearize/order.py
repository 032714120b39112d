"""Put the nodes of a lowered kernel in the order in which they run: lowered form in, a list out.

One depth-first walk from the effects gives an order in which each operand stands shortly before
its first user, which keeps few values alive; sums that run side by side take turns (`chains`). Each
node then goes to the body of the innermost loop that it depends on, in that order; what a loop does
not change therefore stands before the loop.
"""

from __future__ import annotations

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
    order = toposort((*turns_of_chains(kernel.toposort()), kernel))
    tree = block_tree(order)
    for node in order:
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
