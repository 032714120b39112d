"""Keep Tensors outside of a captured step what they are while the step runs.

A replay launches kernels without a look at the graphs of other Tensors. So before it does, writes
that are pending in memory which the step uses are done, and lazy values (and views) of memory that
the step writes go over to a copy of it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, cast

from tg_runtime import Buffer
from tg_uop import Ops, UOp
from tg_uop.ir.args import BufferArg

from tg_tensor.engine.buffers import attach, buffer_of
from tg_tensor.jit.containers import TensorLike
from tg_tensor.ops.core import live_tensors
from tg_tensor.schedule.waits import only_waits

_NEVER_WRITTEN = ("DISK", "NPY")
"""Devices without kernels: no step writes to their memory."""


class Reads(NamedTuple):
    """What a graph depends on."""

    buffers: frozenset[UOp]
    has_pending: bool


_NOTHING = Reads(frozenset(), has_pending=False)
_reads: weakref.WeakKeyDictionary[UOp, Reads] = weakref.WeakKeyDictionary()


def readers() -> list[tuple[TensorLike, Reads]]:
    """Every live Tensor that is lazy or a view, with what it reads."""
    found = []
    for tensor in live_tensors():
        node = tensor.uop
        if _is_memory(node) or (node.op is Ops.MULTI and all(map(_is_memory, node.src))):
            continue
        reads = _reads_of(node)
        if reads.buffers:
            found.append((cast(TensorLike, tensor), reads))
    return found


def _is_memory(node: UOp) -> bool:
    """Whether a value is all of a buffer, so that it shows what is written there."""
    return node.op is Ops.BUFFER or (node.op is Ops.RESHAPE and node.src[0].op is Ops.BUFFER)


def _reads_of(node: UOp) -> Reads:
    found = _reads.get(node)
    if found is None:
        nodes = node.toposort()
        buffers = frozenset(n for n in nodes if n.op is Ops.BUFFER)
        pending = any(n.op is Ops.AFTER and not only_waits(n) for n in nodes)
        found = _reads[node] = Reads(buffers, pending) if buffers else _NOTHING
    return found


def finish_writes(used: Collection[UOp] | None = None, *, own: bool = False) -> None:
    """Do the writes that are pending, in the buffers `used` by a step or in all.

    `own`: only those of this thread, where what others do meanwhile is not to be part of it.
    """
    thread = threading.get_ident()
    pending = [
        tensor
        for tensor, reads in readers()
        if reads.has_pending
        and _is_written_place(tensor.uop)
        and (used is None or not reads.buffers.isdisjoint(used))
        and (not own or getattr(tensor, "_writer", thread) == thread)
    ]
    if pending:
        pending[0].realize(*pending[1:])


def _is_written_place(node: UOp) -> bool:
    while node.op is not Ops.AFTER:
        if not node.src or node.op in (Ops.BUFFER, Ops.STORE):
            return False
        node = node.src[0]
    return True


def spare_readers(written: Collection[UOp]) -> None:
    """Let whatever reads buffers that are about to be written read a copy instead."""
    move_readers(written, copies_of_read(written))


def copies_of_read(buffers: Iterable[UOp]) -> dict[UOp, UOp]:
    """A copy of each of the buffers that some Tensor reads."""
    everything: set[UOp] = set()
    for _, reads in readers():
        everything |= reads.buffers
    return {
        buffer: copy_of(buffer)
        for buffer in buffers
        if buffer in everything and not cast(str, buffer.device).startswith(_NEVER_WRITTEN)
    }


def copy_of(node: UOp) -> UOp:
    """Another BUFFER with the contents of this one."""
    size = cast(BufferArg, node.arg).size
    device = cast(str, node.device)
    copy = UOp.new_buffer(device, size, node.dtype)
    memory = buffer_of(node)
    if not memory.is_allocated():
        return copy
    return attach(copy, Buffer(device, size, node.dtype).copy_from(memory))


def move_readers(written: Collection[UOp], copies: Mapping[UOp, UOp]) -> None:
    """Let the Tensors that read written buffers read the copies of them."""
    moves = {buffer: copies[buffer] for buffer in written if buffer in copies}
    if not moves:
        return
    for tensor, reads in readers():
        if not reads.buffers.isdisjoint(moves):
            tensor.uop = tensor.uop.substitute(moves)
