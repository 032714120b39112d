"""The kinds of optimization, their limits, and the list of all that a search may try."""

from __future__ import annotations

from tg_uop import Opt, OptOps

__all__ = ["ACTIONS", "MAX_LANES", "MAX_UNROLL", "MAX_UPCAST", "Opt", "OptOps"]

# beyond these a kernel's expanded graph grows out of hand, and no register file holds its values
MAX_UPCAST = 64
MAX_UNROLL = 64
MAX_LANES = 128

_AXES = range(8)
_REDUCES = range(4)


def _actions() -> tuple[Opt, ...]:
    found: list[Opt] = []
    for axis in _AXES:
        found += [Opt(OptOps.UPCAST, axis, n) for n in (0, 2, 3, 4, 5, 6, 7, 8)]
        found += [Opt(OptOps.LANES, axis, n) for n in (4, 8, 16, 32, 64)]
        found += [Opt(OptOps.LOCAL, axis, n) for n in (2, 3, 4, 8, 13, 16, 29, 32)]
        found += [Opt(OptOps.THREAD, axis, n) for n in (2, 3, 4, 5, 8, 12, 16, 24, 32, 64)]
        found += [Opt(OptOps.PADTO, axis, n) for n in (16, 32)]
    for axis in _REDUCES:
        found += [Opt(OptOps.UNROLL, axis, n) for n in (0, 2, 3, 4, 5, 7, 8)]
        found += [Opt(OptOps.GROUPTOP, axis, n) for n in (13, 16, 28, 29, 32, 49, 64, 256)]
        found += [Opt(OptOps.GROUP, axis, n) for n in (0, 4, 8, 16)]
    found += [Opt(OptOps.SWAP, a, b) for a in range(5) for b in range(a + 1, 5)]
    found += [Opt(OptOps.STAGE, axis, (operand,)) for axis in range(4) for operand in (0, 1, 2)]
    found += [
        Opt(OptOps.BLOCK, axis, (n, outside))
        for axis in range(2)
        for n in (0, 4, 16)
        for outside in (0, 1)
    ]
    found += [Opt(OptOps.TC, axis, (-1, effort, 1)) for axis in range(9) for effort in (0, 1, 2)]
    found += [Opt(OptOps.SCAN, axis) for axis in _AXES]
    found += [Opt(OptOps.LAP, axis, (n, 1)) for axis in _AXES for n in (16, 32, 64)]
    found += [Opt(OptOps.LAP, axis, (n, 0)) for axis in _AXES for n in (4, 8, 12)]
    found += [Opt(OptOps.KEEP, None, number) for number in range(3)]
    found.append(Opt(OptOps.NOLOCALS))
    return tuple(found)


ACTIONS = _actions()
