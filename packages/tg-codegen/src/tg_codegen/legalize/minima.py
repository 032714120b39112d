"""Choose the smaller of two values directly: a minimum comes as a mirrored maximum.

Floats are mirrored by their sign, integers by all their bits.
"""

from __future__ import annotations

from math import isnan

from tg_uop import Ops, UOp
from tg_uop.dtype.dtype import ConstFloat

from tg_codegen.legalize.rebuild import rebuild
from tg_codegen.target.caps import Capabilities

MIRRORS = frozenset((Ops.NEG, Ops.XOR))


def choose_minima(root: UOp, caps: Capabilities) -> UOp:
    """The graph with a comparison and a choice for each minimum."""
    return rebuild(root, MIRRORS, _minimum)


def _minimum(node: UOp) -> UOp | None:
    """-max(-a, -b)  becomes  b where b < a or b is NaN, else a

    A NaN in a stays, as no comparison with it holds; where both are equal the left one stays.
    """
    largest = _mirrored(node)
    if largest is None or largest.op is not Ops.MAX:
        return None
    left, right = (_mirrored(operand) for operand in largest.src)
    if left is None or right is None:
        return None
    takes_right = right.alu(Ops.CMPLT, left)
    if node.dtype.is_float and not _is_number(right):
        takes_right = takes_right | right.ne(right)
    return takes_right.where(right, left)


def _mirrored(node: UOp) -> UOp | None:
    """The value whose mirror image `node` is, None for anything else (and for NaN)."""
    if node.dtype.is_float:
        if node.op is Ops.NEG:
            return node.src[0]
        if node.op is Ops.CONST and isinstance(node.arg, ConstFloat):
            return None if isnan(node.arg) else UOp.const(node.dtype, -float(node.arg))
        return None
    if not node.dtype.is_int:
        return None
    if node.op is Ops.CONST and isinstance(node.arg, int):
        return UOp.const(node.dtype, _all_bits(node) ^ node.arg)
    if node.op is Ops.XOR and node.src[1].op is Ops.CONST and node.src[1].arg == _all_bits(node):
        return node.src[0]
    return None


def _is_number(node: UOp) -> bool:
    """Whether it is a constant other than NaN."""
    return node.op is Ops.CONST and isinstance(node.arg, ConstFloat) and not isnan(node.arg)


def _all_bits(node: UOp) -> int:
    return int(node.dtype.max) if node.dtype.is_unsigned else -1
