"""Make work-items wait around their use of shared memory: kernel form in, kernel form out.

Reading waits until all have written. In a loop, writing waits until all have read what the step
before has written.
"""

from __future__ import annotations

from tg_uop import Ops, UOp

from tg_codegen.expand.loops import axis_order, is_replicated
from tg_codegen.target.caps import Capabilities


def add_barriers(kernel: UOp, caps: Capabilities) -> UOp:
    """The kernel with a BARRIER wherever shared memory passes from one work-item to another."""
    if not caps.has_local:
        return kernel
    order = kernel.toposort()
    around = _loops_around_stores(order)
    done: dict[UOp, UOp] = {}
    for node in order:
        src = tuple(done[s] for s in node.src)
        if node.op is Ops.AFTER and _is_shared(node):
            src = (src[0], UOp(Ops.BARRIER, src=src[1:]))
        elif around.get(node):
            src = (_waiting(src[0], around[node]), *src[1:])
        done[node] = node if src == node.src else node.replace(src=src)
    return done[kernel]


def _is_shared(node: UOp) -> bool:
    while node.op in (Ops.INDEX, Ops.AFTER):
        node = node.src[0]
    return node.op is Ops.DEFINE_LOCAL


def _loops_around_stores(order: dict[UOp, None]) -> dict[UOp, tuple[UOp, ...]]:
    """For each STORE to shared memory that reads wait for, the loops around all of its writing."""
    found: dict[UOp, tuple[UOp, ...]] = {}
    for node in order:
        if node.op is not Ops.AFTER or not _is_shared(node):
            continue
        stack = list(node.effects)
        while stack:
            effect = stack.pop()
            if effect.op is Ops.STORE:
                loops = (r for r in node.ranges if not is_replicated(r))
                found[effect] = tuple(sorted(loops, key=axis_order))
            elif effect.op in (Ops.END, Ops.GROUP):
                stack.extend(effect.src[:1] if effect.op is Ops.END else effect.src)
    return found


def _waiting(target: UOp, loops: tuple[UOp, ...]) -> UOp:
    """The target, free to be written again."""
    barrier = UOp(Ops.BARRIER, src=loops)
    return target.replace(src=(target.index_buffer.after(barrier), *target.src[1:]))
