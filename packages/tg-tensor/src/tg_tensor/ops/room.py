"""Memory that is named before anything is written to it."""

from __future__ import annotations

from tg_uop import DType, Ops, UOp
from tg_uop.dtype.value import const_value

from tg_tensor.ops.core import fresh_identity
from tg_tensor.schedule.roots import ROOM


def room(device: str | tuple[str, ...], shape: tuple[int, ...], dtype: DType) -> UOp:
    """Memory that no one else names: what is computed twice is written to two places."""
    place = UOp(Ops.DEVICE, arg=device)
    nothing = UOp(Ops.CONST, dtype, (place,), const_value(0, dtype), fresh_identity())
    return UOp(Ops.CONTIGUOUS, dtype, (nothing._expand_to(shape),), ROOM)
