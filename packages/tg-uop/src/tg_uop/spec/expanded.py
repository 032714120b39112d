"""The table of expanded form: replicated axes are lanes and copies, reductions are loops."""

from __future__ import annotations

from tg_uop.ir.axis import AxisType
from tg_uop.ir.ops import Ops
from tg_uop.spec.kernel import KERNEL, element
from tg_uop.spec.node import WEAK_KINDS, Row, Table, all_of, loop, operands, special

LOOPS = (AxisType.LOOP, AxisType.REDUCE)


def _without(table: Table, *gone: Ops) -> Table:
    return {op: row for op, row in table.items() if op not in gone}


EXPANDED: Table = {
    **_without(KERNEL, Ops.REDUCE, Ops.RESHAPE),
    Ops.RANGE: Row("a loop that stays one", loop(LOOPS, WEAK_KINDS.addresses)),
    Ops.SPECIAL: Row("a launch index", special(WEAK_KINDS.addresses)),
    Ops.INDEX: Row("an element (or one a lane), read or written", all_of(operands(2), element)),
}
