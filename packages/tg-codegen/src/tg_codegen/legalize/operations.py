"""Replace simple operations that the target lacks by others that it has."""

from __future__ import annotations

from collections.abc import Callable

from tg_uop import Ops, UOp

from tg_codegen.legalize.arithmetic import KINDS, FloatKind, absolute
from tg_codegen.legalize.rebuild import rebuild
from tg_codegen.target.caps import Capabilities


def replace_operations(root: UOp, caps: Capabilities) -> UOp:
    """The graph with only those of TRUNC, MULACC, RECIPROCAL and the comparisons that there are."""

    def visit(node: UOp) -> UOp | None:
        return REPLACEMENTS[node.op](node)

    return rebuild(root, REPLACEMENTS.keys() - caps.ops, visit)


def _truncated(node: UOp) -> UOp | None:
    """TRUNC: a number with a fraction is below 2**mantissa, and adding that drops the fraction.

    The sum is rounded to nearest, so it may be 1 too large.
    """
    x = node.src[0]
    kind = KINDS.get(node.dtype.scalar())
    if kind is None:
        return x if not node.dtype.is_float else None
    size = absolute(x, kind)
    magic = 2.0**kind.mantissa
    whole = (size + magic) - magic
    whole = size.alu(Ops.CMPLT, whole).where(whole - 1.0, whole)
    return (size < magic).where(_with_sign(whole, x, kind), x)


def _with_sign(magnitude: UOp, x: UOp, kind: FloatKind) -> UOp:
    float_type, int_type = kind.lanes(x.dtype.count)
    sign = x.bitcast(int_type) & int(kind.int_type.min)
    return (magnitude.bitcast(int_type) | sign).bitcast(float_type)


def _product_and_sum(node: UOp) -> UOp:
    """MULACC as two operations, each rounded."""
    a, b, c = node.src
    return a * b + c


def _one_over(node: UOp) -> UOp:
    """RECIPROCAL as a division."""
    return node.ufix(1.0).alu(Ops.FDIV, node.src[0])


def _equal(node: UOp) -> UOp:
    """CMPEQ as the opposite of CMPNE."""
    left, right = node.src
    return left.ne(right).ne(True)


REPLACEMENTS: dict[Ops, Callable[[UOp], UOp | None]] = {
    Ops.TRUNC: _truncated,
    Ops.MULACC: _product_and_sum,
    Ops.RECIPROCAL: _one_over,
    Ops.CMPEQ: _equal,
}
