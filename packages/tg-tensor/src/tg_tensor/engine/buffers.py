"""Which memory belongs to which BUFFER: a weak map, so that memory goes with its last user."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import cast

from tg_runtime import Buffer, MultiBuffer
from tg_uop import GroupOp, Ops, UOp
from tg_uop.ir.args import BufferArg
from tg_uop.ir.uop import SERVICES

from tg_tensor.engine.errors import NotRealizedError
from tg_tensor.engine.promises import refuse_promised
from tg_tensor.schedule.affine import count
from tg_tensor.schedule.indexing import Indexer
from tg_tensor.schedule.roots import place_in_memory

_buffers: weakref.WeakKeyDictionary[UOp, Buffer] = weakref.WeakKeyDictionary()


def attach(node: UOp, buffer: Buffer) -> UOp:
    """Let `buffer` be the memory of a BUFFER (or BUFFER_VIEW) node."""
    _buffers[node] = buffer
    return node


def buffer_of(node: UOp) -> Buffer:
    """The memory of a BUFFER or BUFFER_VIEW, made (not yet allocated) at the first question."""
    found = _buffers.get(node)
    if found is not None:
        return found
    if node.op is Ops.BUFFER:
        made = Buffer(cast(str, node.device), cast(BufferArg, node.arg).size, node.dtype)
    elif node.op is Ops.BUFFER_VIEW:
        size, offset = cast(tuple[int, int], node.arg)
        made = buffer_of(node.src[0]).view(size, node.dtype, offset * node.dtype.itemsize)
    else:
        raise NotRealizedError(node=repr(node), reason=f"{node.op.name} has no memory of its own")
    _buffers[node] = made
    return made


class _Watchers(threading.local):
    """Who wants to know when this thread takes a value out of the engine."""

    def __init__(self) -> None:
        self.active: list[Callable[[UOp], None]] = []


watchers = _Watchers()


def memory_of_value(node: UOp) -> Buffer | MultiBuffer:
    """The memory of a realized value: of a view that lies in one piece, a view of the buffer.

    Raises `NotRealizedError` when the value is not in memory in one piece.
    """
    for watcher in watchers.active:
        watcher(node)
    if node.op is Ops.MULTI:
        parts = [memory_of_value(shard) for shard in node.src]
        return MultiBuffer.of([part for part in parts if isinstance(part, Buffer)])
    base = node
    while base.op in GroupOp.Movement:
        base = base.src[0]
    if base.op not in (Ops.BUFFER, Ops.BUFFER_VIEW):
        raise NotRealizedError(
            node=repr(node), reason="it is not computed yet", hint="call realize() first"
        )
    refuse_promised(base)
    indexer = Indexer()
    offset = place_in_memory(indexer, node)
    if offset is None:
        raise NotRealizedError(
            node=repr(node),
            reason="its elements do not lie side by side",
            hint="call contiguous() first",
        )
    buffer = buffer_of(base)
    size = count(indexer.shape(node))
    if size == buffer.size:
        return buffer
    return buffer.view(size, node.dtype, offset * node.dtype.itemsize)


def is_realized(node: UOp) -> bool:
    """Whether a value is a view of memory that has been written."""
    base = node
    while base.op in GroupOp.Movement:
        base = base.src[0]
    if base.op is Ops.MULTI:
        return all(is_realized(shard) for shard in base.src)
    if base.op not in (Ops.BUFFER, Ops.BUFFER_VIEW):
        return False
    return buffer_of(base).is_allocated()


def memory_if_realized(node: UOp) -> Buffer | MultiBuffer | None:
    """The memory of a value, None where it is not computed.

    Of a view whose elements lie apart it is the memory that they lie in.
    """
    if not is_realized(node):
        return None
    try:
        return memory_of_value(node)
    except NotRealizedError:
        base = node
        while base.op in GroupOp.Movement:
            base = base.src[0]
        return None if base is node else memory_if_realized(base)


SERVICES.buffer = memory_of_value
SERVICES.realized = memory_if_realized
