"""The whole road in one function: schedule, compile, run, and say what replaces what."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Protocol

from tg_runtime import Device
from tg_uop import DType, Ops, UOp
from tg_uop.context import NO_MEMORY_PLANNER, TC
from tg_uop.ir.walk import toposort

from tg_tensor.custom.tracing import refuse_stand_ins
from tg_tensor.engine.promises import refuse_early
from tg_tensor.engine.run import run_linear
from tg_tensor.multi.rules import per_device, shards_of
from tg_tensor.schedule.hazards import VIEWS
from tg_tensor.schedule.instance import Schedule
from tg_tensor.schedule.pipeline import ScheduleOptions, create_schedule
from tg_tensor.schedule.protect import Protection, is_empty, protect
from tg_tensor.schedule.readers import KERNELS
from tg_tensor.schedule.roots import is_constant, is_in_memory


class Recorder(Protocol):
    """Someone who keeps what is run, to run it again."""

    def record(self, linear: UOp, var_vals: Mapping[str, int]) -> None:
        """Note a schedule, as it was before its intermediates shared memory."""


class _Recorders(threading.local):
    """The recorders of this thread, the innermost last."""

    def __init__(self) -> None:
        self.active: list[Recorder] = []


recorders = _Recorders()


def schedule(sinks: Sequence[UOp], live: Iterable[UOp] = ()) -> Schedule:
    """What to run for `sinks`, and what replaces each sink and each value that depends on a write.

    `live` are the uops of all other Tensors that exist: where one reads memory that is overwritten
    here, it is kept what it is.
    Raises `BindingError`, `ScheduleError`.
    """
    empty = {sink: _of_nothing(sink) for sink in sinks if is_empty(sink)}
    wanted = list(dict.fromkeys(sink for sink in sinks if sink not in empty))
    order = toposort(wanted, lambda node: node.op not in KERNELS)
    refuse_stand_ins(order)
    protection = protect(order, wanted, live)
    wanted = list(dict.fromkeys([*wanted, *protection.extra]))
    options = ScheduleOptions(
        default_device=Device.DEFAULT,
        products=_narrow_products(Device.DEFAULT) if TC.value == 1 else frozenset(),
        plan_memory=not NO_MEMORY_PLANNER and not recorders.active,
    )
    parts, join = per_device(wanted)
    found = create_schedule(parts, options)
    results = join(found.results)
    results.update(_reading_copies(protection, results))
    results.update(empty)
    return Schedule(found.linear, found.var_vals, results, found.memory)


@cache
def _narrow_products(device: str) -> frozenset[tuple[DType, DType]]:
    """The dtypes that a tensor core of the device multiplies, each with that of its sums."""
    units = Device[device].renderer.caps.tensor_cores
    return frozenset((unit.dtype_in, unit.dtype_out) for unit in units)


def _reading_copies(protection: Protection, results: Mapping[UOp, UOp]) -> dict[UOp, UOp]:
    """The protected values as they read from copies, those that read the same ones together."""
    alike: dict[tuple[tuple[UOp, UOp], ...], list[UOp]] = {}
    for value, copies in protection.copied.items():
        alike.setdefault(tuple(copies.items()), []).append(value)
    # the result of a view that must be copied is the view itself, as long as nothing is copied
    done = {node: result for node, result in results.items() if node not in protection.copied}
    protected: dict[UOp, UOp] = {}
    for pairs, values in alike.items():
        # what has run is replaced by its outcome, so that only reads of the old contents are left
        replaced = {version: results[copy] for version, copy in pairs}
        moved = UOp.sink(*values).substitute({**done, **replaced})
        protected.update(zip(values, moved.src, strict=True))
    return protected


def _of_nothing(node: UOp) -> UOp:
    """Memory for a value without elements: no kernel fills it, and nothing below it must run."""
    device = node._device or Device.DEFAULT
    assert isinstance(device, str), "is_empty leaves out what is sharded"
    return UOp.new_buffer(device, 0, node.dtype).reshape(node.shape)


def realize(
    sinks: Sequence[UOp], live: Iterable[UOp] = (), *, do_update_stats: bool = True
) -> dict[UOp, UOp]:
    """Compute `sinks`. The result maps nodes to what replaces them in every graph that has them.

    See `schedule` for `live`.
    """
    if all(is_settled(sink) for sink in sinks):
        return {}
    found = schedule(sinks, live)
    refuse_early(found.linear)
    for recorder in recorders.active[-1:]:
        recorder.record(found.linear, found.var_vals)
    run_linear(found.linear, found.var_vals, do_update_stats=do_update_stats)
    return found.results


def is_settled(node: UOp) -> bool:
    """Whether nothing needs to run: the value is memory without pending writes, or a number."""
    below = node
    while below.op in VIEWS:
        below = below.src[0]
    if below.op is Ops.AFTER:
        return False
    if below.op is not Ops.MULTI:
        return is_in_memory(node) or is_constant(node)
    if not all(is_settled(shard) for shard in below.src):
        return False
    # a view of shards may need parts of other devices
    return node is below or all(is_settled(part) for part in shards_of(node))
