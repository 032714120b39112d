"""Move what is constant in the addresses of a kernel into its arguments.

`x[3]` and `x[4]` differ by where they begin. A kernel that adds that to each address is another
one for each index; a kernel whose argument begins there is the same, and is compiled once: for the
steps of an unrolled loop, for rows that are taken one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tg_uop import Ops, UOp
from tg_uop.ir.args import ParamArg


def begin_at_origins(kernel: UOp, arguments: Sequence[UOp]) -> tuple[UOp, tuple[UOp, ...]]:
    """The kernel with arguments that begin where it first touches them."""
    accesses: dict[int, list[UOp]] = {}
    for node in kernel.toposort():
        if node.op is Ops.INDEX and node.index_buffer.op is Ops.PARAM:
            accesses.setdefault(_slot(node), []).append(node)
    moved: dict[UOp, UOp] = {}
    found = list(arguments)
    for slot, touched in accesses.items():
        extent = _extent(touched)
        if extent is None:
            continue
        origin, size = extent
        view = found[slot]
        found[slot] = _beginning_at(view, origin, size)
        pointer = UOp.param(slot, view.dtype.ptr(size))
        for access in touched:
            moved[access] = access.replace(src=(pointer, _without(access.index_expr, origin)))
    return (kernel.substitute(moved) if moved else kernel), tuple(found)


def _slot(access: UOp) -> int:
    arg = access.index_buffer.arg
    assert isinstance(arg, ParamArg), "a kernel's memory is a numbered parameter"
    return arg.slot


def _extent(accesses: Iterable[UOp]) -> tuple[int, int] | None:
    """The first element touched and the number up to the last one, where that is a plain sum.

    None where it begins at the start, or an address is none under some condition.
    """
    lowest, highest = [], []
    for access in accesses:
        index = access.index_expr
        if _constant_term(index) <= 0:
            return None
        lowest.append(int(index.vmin))
        highest.append(int(index.vmax))
    origin = min(lowest)
    return (origin, max(highest) + 1 - origin) if origin > 0 else None


def _constant_term(index: UOp) -> int:
    """What is added to all loops, 0 where there is nothing such."""
    term = index.src[1] if index.op is Ops.ADD else index
    return term.arg if term.op is Ops.CONST and isinstance(term.arg, int) else 0


def _without(index: UOp, origin: int) -> UOp:
    rest = _constant_term(index) - origin
    if index.op is not Ops.ADD:
        return index.const_like(rest)
    return index.src[0] + rest if rest else index.src[0]


def _beginning_at(view: UOp, origin: int, size: int) -> UOp:
    """The part of memory that begins at an element of a buffer or of a part of one."""
    if view.op is Ops.BUFFER_VIEW:
        start = view.arg[1]  # type: ignore[index]
        return UOp(Ops.BUFFER_VIEW, view.dtype, view.src, (size, start + origin))
    return UOp(Ops.BUFFER_VIEW, view.dtype, (view,), (size, origin))
