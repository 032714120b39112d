"""Fuse products into the sums of reductions: one rounding and one instruction instead of two.

Only what is added up into an accumulator is fused. Elsewhere a * b + c keeps its two roundings, so
that a * a - b * b is 0 for equal numbers, as it is in NumPy and PyTorch.
"""

from __future__ import annotations

from tg_uop import AddrSpace, Ops, PtrDType, UOp
from tg_uop.ir.substitute import rebuilt

from tg_codegen.legalize.arithmetic import scaled_by_power
from tg_codegen.legalize.rebuild import ordered
from tg_codegen.target.caps import Capabilities


def fuse_reductions(root: UOp, caps: Capabilities) -> UOp:
    """The graph with MULACC in the sums of reductions, if the target has it."""
    if not caps.has_fma:
        return root
    sums = _reduction_sums(root)
    if not sums:
        return root
    done: dict[UOp, UOp] = {}
    for node in ordered(root):
        src = tuple([done.get(s, s) for s in node.src])
        current = _fused(node, src) if node in sums else _rebuilt(node, src)
        if current is not node:
            done[node] = current
    return done.get(root, root)


def _reduction_sums(root: UOp) -> set[UOp]:
    """The float ADDs between an accumulator's load and its store, and the sums they add."""
    found: set[UOp] = set()
    for node in ordered(root):
        if node.op is not Ops.STORE or not node.stored_value.dtype.is_float:
            continue
        if not _is_accumulator(node.stored_target.dtype):
            continue
        stack = [node.stored_value]
        while stack:
            term = stack.pop()
            if term.op is Ops.ADD and term not in found:
                found.add(term)
                stack.extend(term.src)
    return found


def _is_accumulator(dtype: object) -> bool:
    return isinstance(dtype, PtrDType) and dtype.addrspace is AddrSpace.REG


def _rebuilt(node: UOp, src: tuple[UOp, ...]) -> UOp:
    return node if src == node.src else rebuilt(node, src)


def _fused(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """a * b + c; of two products the second stays one, as the first to be summed.

    A product with a power of two is exact, and some targets have an instruction of its own for it.
    """
    left, right = src
    if right.op is Ops.MUL and scaled_by_power(right) is None:
        return right.src[0].alu(Ops.MULACC, right.src[1], left)
    if left.op is Ops.MUL and scaled_by_power(left) is None:
        return left.src[0].alu(Ops.MULACC, left.src[1], right)
    return _rebuilt(node, src)
