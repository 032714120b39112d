"""Whether an integer operation cannot wrap, as its bounds prove: renderers may then say so."""

from __future__ import annotations

from tg_uop import Ops, UOp

NO_WRAP_OPS = frozenset((Ops.ADD, Ops.SUB, Ops.MUL))


def never_wraps(node: UOp) -> bool:
    """Whether the exact result of a scalar sum, difference or product fits its dtype."""
    if node.dtype.count > 1 or node.op not in NO_WRAP_OPS:
        return False
    left, right = node.src
    corners = [_exact(node.op, int(a), int(b)) for a in left.bounds for b in right.bounds]
    return node.dtype.min <= min(corners) and max(corners) <= node.dtype.max


def _exact(op: Ops, left: int, right: int) -> int:
    if op is Ops.ADD:
        return left + right
    return left * right if op is Ops.MUL else left - right
