"""Run a schedule: allocate, launch, count, report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import cast

from tg_runtime import Buffer, Device
from tg_uop import Ops, ProgramInfo, UOp
from tg_uop.context import DEBUG, VALIDATE_WITH_CPU
from tg_uop.errors import TgError

from tg_tensor.engine.buffers import buffer_of
from tg_tensor.engine.compile import compile_linear, device_of_call, estimate_uop, get_runtime
from tg_tensor.engine.errors import CallError
from tg_tensor.engine.plan_store import SHOWS_INSTRUCTIONS
from tg_tensor.engine.promises import keep_promise
from tg_tensor.engine.report import report_call, report_compiled
from tg_tensor.engine.stats import GlobalCounters
from tg_tensor.engine.validate import validate_call


def run_linear(
    linear: UOp,
    var_vals: Mapping[str, int] | None = None,
    *,
    do_update_stats: bool = True,
    wait: bool = False,
) -> None:
    """Compile what is not compiled yet and run every call in order.

    Raises `CallError` for a call that the engine does not know, and what compiling, allocating or
    launching raises.
    """
    values = var_vals or {}
    debug = DEBUG.value
    compiled = compile_linear(linear, with_instructions=debug >= SHOWS_INSTRUCTIONS)
    if debug >= 3:
        for call in compiled.src:
            report_compiled(call, debug)
    validate = bool(VALIDATE_WITH_CPU)
    for call in compiled.src:
        if debug < 2 and not wait and not validate:
            _run_located(call, values, False)
            if do_update_stats:
                _count(call, values, 0.0)
            continue
        check = validate_call(call) if validate else None
        seconds = _run_located(call, values, debug >= 2 or wait) or 0.0
        if check is not None:
            check(values)
        if do_update_stats:
            _count(call, values, seconds)
        if debug >= 2:
            report_call(call, seconds, values)


def _run_located(call: UOp, values: Mapping[str, int], wait: bool) -> float | None:
    """Run a call; what goes wrong names the line of the user's code that the call is for."""
    try:
        seconds = run_call(call, values, wait)
        keep_promise(call)
        return seconds
    except TgError as error:
        error.about(call.source_line)
        raise


def run_call(call: UOp, values: Mapping[str, int], wait: bool) -> float | None:
    """Run one compiled call; the seconds that it took when `wait`."""
    called = call.called
    if called.op is Ops.PROGRAM:
        return _launch(call, called, values, wait)
    if called.op is Ops.COPY:
        return _copy(call, wait)
    raise CallError(
        call=repr(call),
        reason=f"{called.op.name} is nothing that the engine runs",
        hint="compile_linear makes programs of kernels",
    )


def _launch(call: UOp, program: UOp, values: Mapping[str, int], wait: bool) -> float | None:
    device = device_of_call(call)
    info = cast(ProgramInfo, program.arg)
    arguments = call.call_args
    buffers = [buffer_of(arguments[slot]) for slot in info.globals]
    memories = [buffer.memory for buffer in buffers]
    global_size, local_size = info.launch_dims(values)
    seconds = get_runtime(device, program)(
        *memories,
        global_size=global_size,
        local_size=local_size,
        vals=info.vals(values),
        wait=wait,
    )
    wait_where_shared(buffers)
    return seconds


def wait_where_shared(buffers: Iterable[Buffer]) -> None:
    """Wait for the devices whose work is on memory that others read or write, too."""
    if not Buffer.any_shared:
        return
    for device in {buffer.device for buffer in buffers if buffer.is_shared}:
        Device[device].synchronize()


def _copy(call: UOp, wait: bool) -> float | None:
    target, source = (buffer_of(argument) for argument in call.call_args)
    start = perf_counter()
    target.copy_from(source)
    wait_where_shared((target, source))
    if not wait:
        return None
    Device[target.device].synchronize()
    return perf_counter() - start


def _count(call: UOp, values: Mapping[str, int], seconds: float) -> None:
    estimates = estimate_uop(call)
    counters = GlobalCounters
    counters.kernel_count += 1
    counters.global_ops += known_size(estimates.ops, values)
    counters.global_mem += known_size(estimates.mem, values)
    counters.time_sum_s += seconds


def known_size(size: object, values: Mapping[str, int]) -> int:
    """An estimate as a number."""
    if isinstance(size, int):
        return size
    return cast(UOp, size).evaluate(values)


def buffers_of_call(call: UOp) -> list[Buffer]:
    """The memory that a call works on."""
    return [buffer_of(a) for a in call.call_args if a.op in (Ops.BUFFER, Ops.BUFFER_VIEW)]
