"""Prove that every access of a kernel in kernel form stays inside its memory.

Bounds of the index come first, then the index as simplified under its gate, then all values of its
loops where they are few, then z3 where it is installed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import Enum, auto
from math import prod

from tg_uop import Invalid, Ops, PtrDType, UOp, dtypes
from tg_uop.eval.graph import evaluate
from tg_uop.rules.simplify import given

from tg_codegen.analyze.solver import solve
from tg_codegen.errors import OutOfBoundsError

# indices that are looked at one by one
MOST_POINTS = 4096

_DATA = frozenset((Ops.INDEX, Ops.LOAD, Ops.REDUCE))


class Verdict(Enum):
    """What is known of an access."""

    INSIDE = auto()
    OUTSIDE = auto()
    UNKNOWN = auto()


def check_accesses(kernel: UOp) -> list[UOp]:
    """The accesses of which it is not known whether they stay inside.

    Raises `OutOfBoundsError` for one that leaves its memory.
    """
    undecided = []
    for node in kernel.toposort():
        if node.op is not Ops.INDEX or len(node.src) != 2:
            continue
        size = _size_of(node.index_buffer)
        if size is None:
            continue
        verdict, example = judge(node.index_expr, size)
        if verdict is Verdict.UNKNOWN:
            undecided.append(node)
        if verdict is Verdict.OUTSIDE:
            raise OutOfBoundsError(
                kernel=getattr(kernel.arg, "name", "") or "without a name",
                index=node.index_expr.render(),
                size=size,
                example=example,
            )
    return undecided


def _size_of(memory: UOp) -> int | None:
    """Elements of the memory that an INDEX names, None where it is not said."""
    pointer = memory.dtype
    if not isinstance(pointer, PtrDType) or pointer.size < 0:
        return None
    return pointer.size


def judge(index: UOp, size: int) -> tuple[Verdict, str]:
    """Whether an index stays in 0 ... `size` - 1; for one that does not, where it leaves."""
    address, gate = _split(index)
    if _is_inside(address, size):
        return Verdict.INSIDE, ""
    if gate is not None:
        under_gate = given(address, gate)
        if under_gate is None or _is_inside(under_gate, size):
            return Verdict.INSIDE, ""
    leaves = _leaves(index)
    if leaves is not None and prod(len(span) for _, span in leaves) <= MOST_POINTS:
        return _look_at_all(index, size, leaves)
    return _asked(address, gate, size)


def _split(index: UOp) -> tuple[UOp, UOp | None]:
    if index.op is Ops.WHERE and index.src[2].op is Ops.CONST and index.src[2].arg is Invalid:
        address, inner = _split(index.src[1])
        return address, index.src[0] if inner is None else index.src[0] & inner
    return index, None


def _is_inside(index: UOp, size: int) -> bool:
    return bool(index.vmin >= 0 and index.vmax < size)


def _leaves(index: UOp) -> list[tuple[UOp, range]] | None:
    """What the index depends on, with its values; None where that is data."""
    found = []
    for node in index.toposort():
        if node.op in (Ops.RANGE, Ops.SPECIAL, Ops.DEFINE_VAR):
            found.append((node, range(int(node.vmin), int(node.vmax) + 1)))
        elif node.op in _DATA or (not node.src and node.op not in (Ops.CONST, Ops.VCONST)):
            return None
    return found


def _look_at_all(index: UOp, size: int, leaves: list[tuple[UOp, range]]) -> tuple[Verdict, str]:
    for values in _points(leaves):
        found = evaluate(index, node_vals=values)
        for lane in found if isinstance(found, tuple) else (found,):
            if isinstance(lane, int) and not 0 <= lane < size:
                return Verdict.OUTSIDE, _shown({n.render(): v for n, v in values.items()}, lane)
    return Verdict.INSIDE, ""


def _points(leaves: list[tuple[UOp, range]]) -> Iterator[dict[UOp, int]]:
    """All values together, except loops beyond their end where that depends on a variable."""
    nodes = [node for node, _ in leaves]
    loops = [node for node in nodes if node.src and node.src[0].op is not Ops.CONST]
    for values in itertools.product(*(span for _, span in leaves)):
        point = dict(zip(nodes, values, strict=True))
        if all(point[loop] < _number(loop.src[0], point) for loop in loops):
            yield point


def _number(size: UOp, point: dict[UOp, int]) -> int:
    found = evaluate(size, node_vals=point)
    assert isinstance(found, int), "a loop ends at a number"
    return found


def _asked(address: UOp, gate: UOp | None, size: int) -> tuple[Verdict, str]:
    if address.dtype.count > 1:
        return Verdict.UNKNOWN, ""
    end = UOp.const(address.dtype, size)
    low = address < 0
    outside = low.alu(Ops.OR, (address < end).alu(Ops.CMPNE, UOp.const(dtypes.bool, True)))
    if gate is not None:
        outside = gate.alu(Ops.AND, outside)
    answer = solve(outside, address)
    if answer is None:
        return Verdict.UNKNOWN, ""
    if not answer.exists:
        return Verdict.INSIDE, ""
    return Verdict.OUTSIDE, _shown(answer.values, answer.result)


def _shown(values: dict[str, int], index: int) -> str:
    where = ", ".join(f"{name} = {value}" for name, value in values.items())
    return f"{index} at {where}" if where else str(index)
