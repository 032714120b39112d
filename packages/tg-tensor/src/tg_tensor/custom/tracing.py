"""Know which functions are being traced: what depends on their stand-ins cannot be computed."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from tg_uop import Ops, UOp

from tg_tensor.custom.errors import CustomError


class _Tracers(threading.local):
    """The names of the functions that this thread traces, the innermost last."""

    def __init__(self) -> None:
        self.active: list[str] = []


tracers = _Tracers()


def refuse_stand_ins(order: Iterable[UOp]) -> None:
    """Raise `CustomError` when a function that is traced asks for the value of an argument."""
    if tracers.active and any(node.op is Ops.PARAM for node in order):
        raise CustomError(
            function=tracers.active[-1],
            reason="it asks for a value (realize, item, numpy, ...) that depends on its arguments, "
            "which have none while it is traced",
            hint="return the Tensor and compute it outside",
        )
