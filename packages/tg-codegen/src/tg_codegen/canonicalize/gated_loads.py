"""Drop a choice that a gated load makes by itself: kernel form in, kernel form out.

where(c, x[i where c and d], 0)    becomes    x[i where c and d]
"""

from __future__ import annotations

from tg_uop import Ops, UOp

from tg_codegen.canonicalize.accesses import split_gate
from tg_codegen.canonicalize.conditions import conjuncts


def drop_repeated_gates(kernel: UOp) -> UOp:
    """The kernel without choices between a load and the 0 that its gate would give."""
    done: dict[UOp, UOp] = {}
    for node in kernel.toposort():
        src = tuple(done[s] for s in node.src)
        fresh = node if src == node.src else node.replace(src=src)
        done[node] = fresh.src[1] if _is_repeated(fresh) else fresh
    return done[kernel]


def _is_repeated(node: UOp) -> bool:
    """Whether a WHERE gives 0 just where its load does."""
    if node.op is not Ops.WHERE:
        return False
    condition, chosen, otherwise = node.src
    if chosen.op is not Ops.INDEX or otherwise.op is not Ops.CONST or otherwise.arg != 0:
        return False
    gate = split_gate(chosen.index_expr)[1]
    return gate is not None and set(conjuncts(condition)) <= set(conjuncts(gate))
