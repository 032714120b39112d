"""Memory whose contents are promised: schedules that were handed out and have not run yet.

`Tensor.schedule_linear` puts the memory of the results into the graphs at once. Until the calls
have run, reading it would give whatever lies there.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import NamedTuple

from tg_runtime import Buffer
from tg_uop import Ops, UOp

from tg_tensor.engine.errors import NotRealizedError
from tg_tensor.schedule.hazards import written_slots
from tg_tensor.schedule.memory import buffer_under


class Promise(NamedTuple):
    """How many calls are to write some memory, and whether it had contents before."""

    calls: int
    memory: Buffer
    had_contents: bool


_promised: weakref.WeakKeyDictionary[UOp, Promise] = weakref.WeakKeyDictionary()


def promise(linear: UOp, buffer_of: Callable[[UOp], Buffer]) -> None:
    """Note what the calls of a schedule that is handed out will write."""
    for node in _written(linear.src):
        known = _promised.get(node)
        if known is None:
            memory = buffer_of(node)
            known = Promise(0, memory, memory.is_allocated())
        _promised[node] = known._replace(calls=known.calls + 1)


def keep_promise(call: UOp) -> None:
    """Note that a call has run."""
    if not _promised:
        return
    for node in _written([call]):
        known = _promised.get(node)
        if known is None:
            continue
        if known.calls > 1:
            _promised[node] = known._replace(calls=known.calls - 1)
        else:
            del _promised[node]


def refuse_promised(node: UOp) -> None:
    """Refuse to read memory that is only promised. Raises `NotRealizedError`.

    Memory that was allocated since was filled by someone who ran the calls by other means.
    """
    if not _promised:
        return
    found = _promised.get(buffer_under(node))
    if found is not None and (found.had_contents or not found.memory.is_allocated()):
        raise NotRealizedError(
            node=repr(node),
            reason="it is computed by a schedule that was handed out and has not run",
            hint="run it with run_linear(linear) before the value is used",
        )


def refuse_early(linear: UOp) -> None:
    """Refuse to run calls that read memory which is only promised. Raises `NotRealizedError`."""
    if not _promised:
        return
    written: set[UOp] = set()
    for call in linear.src:
        outputs = set(_written([call]))
        for argument in call.call_args:
            buffer = buffer_under(argument)
            if buffer not in outputs and buffer not in written:
                refuse_promised(buffer)
        written |= outputs


def _written(calls: Iterable[UOp]) -> list[UOp]:
    found = []
    for call in calls:
        called = call.called
        slots = {0} if called.op is Ops.COPY else written_slots(called)
        found += [buffer_under(a) for n, a in enumerate(call.call_args) if n in slots]
    return found
