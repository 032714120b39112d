"""Find accesses that memory is better told of ahead of time: linear form in, LOADs and STOREs out.

A processor works on some hundreds of instructions at once. Where a step of a loop takes many, few
steps, and so few loads, are under way, and each waits for memory by itself. Simple loops need no
help: many of their steps are under way.
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import DType, Ops, UOp

from tg_codegen.linear_index import linear_form

AHEAD = 2048
"""Bytes: ten or so steps, in which memory answers (measured on Sapphire Rapids)."""

LINE = 64
"""Bytes of a cache line."""

_MANY_INSTRUCTIONS = 20
_MOST_STREAMS = 4
# shorter loops are over before what was asked for ahead is needed
_LEAST_BYTES = 2 * AHEAD
_ACCESSES = frozenset((Ops.LOAD, Ops.STORE))
_FREE = frozenset((Ops.CONST, Ops.VCONST, Ops.AFTER, Ops.NOOP, Ops.STACK, Ops.INDEX))


def streamed_accesses(linear: Sequence[UOp]) -> frozenset[UOp]:
    """The accesses of long inner loops with much arithmetic that go through memory in order."""
    found: set[UOp] = set()
    loop: UOp | None = None
    body: list[UOp] = []
    for node in linear:
        if node.op is Ops.RANGE:
            loop, body = node, []
        elif node.op is Ops.END:
            if loop is not None and loop in node.src:
                found.update(_streams(loop, body))
            loop = None
        elif loop is not None:
            body.append(node)
    return frozenset(found)


def place_and_dtype(access: UOp) -> tuple[UOp, DType]:
    """Where a LOAD or STORE goes, and the dtype of what it moves."""
    if access.op is Ops.STORE:
        return access.stored_target, access.stored_value.dtype
    return access.load_index, access.dtype


def _streams(loop: UOp, body: list[UOp]) -> list[UOp]:
    if sum(node.op not in _FREE for node in body) < _MANY_INSTRUCTIONS:
        return []
    accesses = [node for node in body if node.op in _ACCESSES and _is_streamed(node, loop)]
    return accesses if len(accesses) <= _MOST_STREAMS else []


def _is_streamed(access: UOp, loop: UOp) -> bool:
    """Whether each step of a loop goes to what lies behind what the step before went to."""
    index, dtype = place_and_dtype(access)
    if index.op is not Ops.INDEX or index.index_buffer.op is not Ops.PARAM:
        return False
    place = index.index_expr
    if place.dtype.count > 1:
        return False
    size = dtype.itemsize
    if size < LINE // 2 or (int(loop.vmax) + 1) * size < _LEAST_BYTES:
        return False
    return linear_form(place).stride(loop) == dtype.count
