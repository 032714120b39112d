"""Optimize statements that share no loops each as a kernel of its own.

A step of an optimizer updates many parameters in one kernel, one loop nest after the other. What is
good for one nest says nothing about the next: each gets the lanes, threads and tiles that it would
have alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tg_uop import AxisType, KernelInfo, Ops, Opt, OptOps, UOp

from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.threads import is_large
from tg_codegen.options import Options

_STATEMENTS = frozenset((Ops.END, Ops.STORE, Ops.GROUP))

_NAMED_SIZES = 3
"""Sizes of statements in a kernel's name; the others are counted."""


def separate_statements(ast: UOp) -> tuple[UOp, ...]:
    """The statements of a kernel if each has loops and memory of its own, else nothing.

    Memory that is only read may be read by all. A statement without loops is a store or several.
    """
    ends = ast.src
    if len(ends) < 2 or any(end.op not in _STATEMENTS for end in ends):
        return ()
    loops: set[UOp] = set()
    written: dict[UOp, UOp] = {}
    for end in ends:
        closed = end.ended_ranges if end.op is Ops.END else ()
        if not loops.isdisjoint(closed):
            return ()
        loops.update(closed)
        for buffer in _stored_to(end):
            if written.setdefault(buffer, end) is not end:
                return ()
    for end in ends:
        for node in end.toposort():
            if node.op is Ops.INDEX and written.get(node.index_buffer, end) is not end:
                return ()
    return ends


def _stored_to(end: UOp) -> list[UOp]:
    stores = [node for node in end.toposort() if node.op is Ops.STORE]
    return [store.stored_target.index_buffer for store in stores]


def optimize_separately(
    view: Scheduler, options: Options, optimize: Callable[[Scheduler, Options], Scheduler]
) -> Scheduler:
    """The kernel with each statement as `optimize` leaves it alone."""
    parts = []
    for end in separate_statements(view.ast):
        part = Scheduler(view.ast.replace(src=(end,), arg=KernelInfo()), view.renderer)
        parts.append(optimize(part, options))
    if not any(is_large(part) for part in parts) and _are_large_together(parts):
        parts = [_threaded(part, options) for part in parts]
    merged = view.copy()
    ends = tuple(end for part in parts for end in part.ast.src)
    merged.set_ast(view.ast.replace(src=ends, arg=replace(view.info, name=_name(view, parts))))
    return merged


def _are_large_together(parts: list[Scheduler]) -> bool:
    return len(parts) > 1 and sum(_elements(part) for part in parts) >= _LARGE_TOGETHER


_LARGE_TOGETHER = 25_000
"""Elements of all statements from which on a second thread pays (four accesses of four bytes)."""


def _elements(part: Scheduler) -> int:
    """Steps of all output loops, those that became lanes included."""
    steps = 1
    for axis in part.output_axes:
        steps *= int(part.rngs[axis].vmax) + 1
    return steps


def _threaded(part: Scheduler, options: Options) -> Scheduler:
    """The statement split over threads, where one of its loops divides."""
    amount = min(options.cores, part.caps.max_threads)
    if not part.caps.has_threads or amount < 2 or part.axes_of(AxisType.THREAD):
        return part
    for number in part.axes_of(AxisType.LOOP):
        size = part.rngs[number].size
        if number in part.output_axes and isinstance(size, int) and size % amount == 0:
            try:
                part.apply_opt(Opt(OptOps.THREAD, number, amount))
            except KernelOptError:
                continue
            return part
    return part


def _name(view: Scheduler, parts: list[Scheduler]) -> str:
    """The name given, or one that lists the first statements and counts the others."""
    if view.info.name != KernelInfo().name:
        return view.info.name
    kind = "r" if view.reduces else "E"
    shown = [f"{_elements(part)}" for part in parts[:_NAMED_SIZES]]
    rest = [f"and{len(parts) - _NAMED_SIZES}"] if len(parts) > _NAMED_SIZES else []
    return "_".join([kind, *shown, *rest])
