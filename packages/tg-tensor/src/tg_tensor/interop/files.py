"""Write values into files: a Tensor on DISK has the bytes of a file as its memory."""

from __future__ import annotations

from tg_runtime import Buffer
from tg_tensor.engine.buffers import memory_of_value
from tg_tensor.engine.errors import NotRealizedError
from tg_tensor.errors import AssignError
from tg_uop import GroupOp, Ops, UOp


def write_file(place: UOp, value: UOp) -> None:
    """Write a computed value, which lies in memory, to the part of a file that `place` sees.

    Raises `AssignError` when that part is not in one piece.
    """
    source = memory_of_value(value)
    assert isinstance(source, Buffer), "what is written to a file was brought to one device"
    _piece_of_file(place).copy_from(source)


def _piece_of_file(place: UOp) -> Buffer:
    base = place
    while base.op in GroupOp.Movement:
        base = base.src[0]
    try:
        if base.op is not Ops.BITCAST:
            piece = memory_of_value(place)
            assert isinstance(piece, Buffer), "a file is no sharded memory"
            return piece
        below = _piece_of_file(base.src[0])
        size = below.nbytes // base.dtype.itemsize
        seen = below.view(size, base.dtype, 0)
        if base is place:
            return seen
        # the elements of the view among those of the piece
        stand_in = UOp.new_buffer(seen.device, size, base.dtype)
        alike = place.substitute({base: stand_in.reshape(base.shape)})
        inner = memory_of_value(alike)
        assert isinstance(inner, Buffer), "a file is no sharded memory"
        return below.view(inner.size, base.dtype, inner.offset)
    except NotRealizedError as error:
        raise AssignError(
            target=f"{place.shape} {place.dtype} on {place._device}",
            value="a value",
            reason="elements of a file that do not lie side by side are not written in one piece",
            hint="write rows of the file, or all of it",
        ) from error
