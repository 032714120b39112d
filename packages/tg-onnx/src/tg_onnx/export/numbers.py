"""Find numbers that a traced function read from its arguments: they differ between two traces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from tg_uop import UOp
from tg_uop.ir.ops import Ops
from tg_uop.ir.walk import toposort

from tg_onnx.errors import ExportError

_TOLD = frozenset(
    (Ops.RESHAPE, Ops.EXPAND, Ops.PERMUTE, Ops.PAD, Ops.SHRINK, Ops.FLIP, Ops.REDUCE, Ops.CAST)
)


Ends = tuple[Sequence[UOp], Sequence[UOp]]


def refuse_read_numbers(trace: Ends, other_trace: Ends) -> None:
    """Raise `ExportError` for the first node that another trace of a function has not, or with
    another number. Traces are given by their inputs and results.
    """
    for node, other in zip_longest(_walk(*trace), _walk(*other_trace)):
        if node is None or other is None or node.op is not other.op:
            found = node if node is not None else other
            reason = "the function reads values or sizes of its arguments to decide what it does"
            raise ExportError(operation=found.op.name, reason=reason).about(found.source_line)
        is_other = node.arg != other.arg and node.arg == node.arg
        if is_other and (node.op is Ops.CONST or node.op in _TOLD):
            reason = "the function computes a number by reading values or sizes of its arguments"
            raise ExportError(operation=node.op.name, reason=reason).about(node.source_line)


def _walk(inputs: Sequence[UOp], results: Sequence[UOp]) -> list[UOp]:
    """All nodes but inputs and variables, whose values are those of the sizes."""
    given = set(inputs)
    return list(toposort(results, lambda n: n.op is not Ops.BIND and n not in given))
