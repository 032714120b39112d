"""Make vectors of nodes that depend on the lane range: one copy of a node in, its vector out."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import GroupOp, Ops, PtrDType, UOp

from tg_codegen.expand.fold import folded

# what has no value of its own, or takes that of its first operand as it is
_TRANSPARENT = frozenset((Ops.AFTER, Ops.END, Ops.GROUP, Ops.BARRIER, Ops.NOOP, Ops.SINK))


def widened(node: UOp, src: tuple[UOp, ...], count: int) -> UOp:
    """`node` for all of `count` lanes at once, given its operands, of which some are vectors."""
    if node.op in _TRANSPARENT:
        return node.replace(src=src)
    if node.op is Ops.INDEX:
        return _index(node, src)
    if node.op is Ops.STORE:
        return _store(src, count)
    if all(s.dtype.count == 1 for s in src):
        return node.replace(src=src)
    if node.op in GroupOp.Elementwise:
        wide = tuple(spread(s, count) for s in src)
        return folded(node.op, node.dtype.vec(count), wide, node.arg)
    return _lane_by_lane(node, src, count)


def spread(node: UOp, count: int) -> UOp:
    """The vector itself, or a scalar in every lane."""
    return node if node.dtype.count == count else node.broadcast(count)


def _index(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """An element for each lane; of a register array with vectors as elements, one element."""
    memory, position = src[0], src[1]
    pointer = memory.dtype
    assert isinstance(pointer, PtrDType), f"an INDEX into {memory.op}, which is no memory"
    if pointer.base.count > 1:
        return UOp(Ops.INDEX, pointer.base, (memory, position))
    return UOp(Ops.INDEX, node.dtype.vec(position.dtype.count), src)


def _store(src: tuple[UOp, ...], count: int) -> UOp:
    """Where all lanes write to one element, the last one stays."""
    target, value = src[0], src[1]
    if target.dtype.count == 1:
        kept = value if value.dtype.count == 1 else value.gep(count - 1)
        return UOp(Ops.STORE, src=(target, kept))
    return UOp(Ops.STORE, src=(target, spread(value, count)))


def _lane_by_lane(node: UOp, src: tuple[UOp, ...], count: int) -> UOp:
    """What has no vector form is computed for each lane on its own."""
    parts = []
    for lane in range(count):
        scalars = tuple(s.gep(lane) if s.dtype.count == count else s for s in src)
        parts.append(node.replace(src=scalars))
    return UOp.stack(*parts)


def combined(op: Ops, terms: Sequence[UOp]) -> UOp:
    """The terms under an associative op, as a tree: the result is there after few steps."""
    level = list(terms)
    while len(level) > 1:
        pairs = [level[i].alu(op, level[i + 1]) for i in range(0, len(level) - 1, 2)]
        if len(level) % 2:
            pairs.append(level[-1])
        level = pairs
    return level[0]


def across(op: Ops, vector: UOp) -> UOp:
    """All lanes of a vector under an associative op: halves are combined while they can be."""
    while vector.dtype.count > 1 and vector.dtype.count % 2 == 0:
        half = vector.dtype.count // 2
        low = vector.gep(tuple(range(half)))
        vector = low.alu(op, vector.gep(tuple(range(half, 2 * half))))
    if vector.dtype.count == 1:
        return vector
    return combined(op, [vector.gep(i) for i in range(vector.dtype.count)])
