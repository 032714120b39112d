"""Launch a fixed list of calls again and again: as graphs of the devices where they have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, cast, final

from tg_runtime import Buffer, Device, GraphCall, HCQProgram, InputSlot
from tg_uop import Ops, ProgramInfo, UOp
from tg_uop.context import DEBUG, JIT, JIT_BATCH_SIZE

from tg_tensor.engine.buffers import buffer_of
from tg_tensor.engine.compile import device_of_call, estimate_uop, get_runtime
from tg_tensor.engine.report import call_name, report_call
from tg_tensor.engine.run import known_size, run_call, wait_where_shared
from tg_tensor.engine.stats import GlobalCounters
from tg_tensor.schedule.memory import buffer_under

Launch = Callable[[Sequence[Buffer], Mapping[str, int]], object]


class Runner(Protocol):
    """Some calls as one launch."""

    def __call__(
        self, input_buffers: Sequence[Buffer] = (), var_vals: Mapping[str, int] | None = None
    ) -> float | None:
        """Run with these inputs and variables."""


@final
class CallList:
    """Compiled calls, some of whose buffers are slots that each launch fills.

    `slots` are BUFFER nodes; the buffers given to a launch stand in their places.
    """

    def __init__(self, calls: Sequence[UOp], slots: Sequence[UOp]) -> None:
        self.calls = tuple(calls)
        self.slots = tuple(slots)
        self.position = {slot: number for number, slot in enumerate(slots)}
        self.runners: list[Launch] = []
        self.kept: list[Buffer] = []
        self._add_estimates()
        for batch in self._batches():
            self.runners.append(self._graph(batch) or self._one_by_one(batch))

    def _add_estimates(self) -> None:
        estimates = [estimate_uop(call) for call in self.calls]
        self.fixed_ops = sum(e.ops for e in estimates if isinstance(e.ops, int))
        self.fixed_mem = sum(e.mem for e in estimates if isinstance(e.mem, int))
        self.open_ops = [e.ops for e in estimates if not isinstance(e.ops, int)]
        self.open_mem = [e.mem for e in estimates if not isinstance(e.mem, int)]

    def _batches(self) -> list[list[UOp]]:
        batches: list[list[UOp]] = []
        for call in self.calls:
            device = _graph_device(call)
            if batches and device is not None and _graph_device(batches[-1][-1]) == device:
                batches[-1].append(call)
            else:
                batches.append([call])
        return list(_grown(batches))

    # *** graphs ***

    def _graph(self, batch: list[UOp]) -> Launch | None:
        device = _graph_device(batch[0])
        if device is None or JIT.value == 2:
            return None
        make = Device[device].graph
        if make is None:
            return None
        calls = [self._graph_call(call) for call in batch]
        return cast(Runner, make(calls))

    def _graph_call(self, call: UOp) -> GraphCall:
        called = call.called
        arguments = call.call_args
        if called.op is Ops.COPY:
            buffers = tuple(self._graph_buffer(argument) for argument in arguments)
            target = arguments[0]
            size = cast(tuple[int], target.shape)[0] * target.dtype.itemsize
            return GraphCall(None, buffers, name=call_name(call), size=size)
        info = cast(ProgramInfo, called.arg)
        program = get_runtime(device_of_call(call), called)
        return GraphCall(
            cast(HCQProgram, program),
            tuple(self._graph_buffer(arguments[slot]) for slot in info.globals),
            tuple(variable.var_name for variable in info.vars),
            info.global_size,
            info.name,
        )

    def _graph_buffer(self, argument: UOp) -> Buffer | InputSlot:
        buffer = buffer_under(argument)
        slot = self.position.get(buffer)
        if slot is None:
            found = buffer_of(argument).ensure_allocated()
            self.kept.append(found)
            return found
        if argument is buffer:
            return InputSlot(slot)
        _, offset = cast(tuple[int, int], argument.arg)
        return InputSlot(slot, offset * argument.dtype.itemsize)

    # *** one by one ***

    def _one_by_one(self, batch: Sequence[UOp]) -> Launch:
        launches = [self._launch(call) for call in batch]

        def run(buffers: Sequence[Buffer], values: Mapping[str, int]) -> None:
            for launch in launches:
                launch(buffers, values)

        return run

    def _launch(self, call: UOp) -> Launch:
        called = call.called
        takers = [self._taker(argument) for argument in call.call_args]
        if called.op is Ops.COPY:
            target, source = takers
            return lambda buffers, values: target(buffers).copy_from(source(buffers))
        info = cast(ProgramInfo, called.arg)
        program = get_runtime(device_of_call(call), called)
        used = [takers[slot] for slot in info.globals]

        def launch(buffers: Sequence[Buffer], values: Mapping[str, int]) -> None:
            global_size, local_size = info.launch_dims(values)
            program(
                *[take(buffers).memory for take in used],
                global_size=global_size,
                local_size=local_size,
                vals=info.vals(values),
            )

        return launch

    def _taker(self, argument: UOp) -> Callable[[Sequence[Buffer]], Buffer]:
        """How to get at an argument, given the buffers that fill the slots."""
        found = self._graph_buffer(argument)
        if isinstance(found, Buffer):
            return lambda buffers: found
        slot, offset = found.slot, found.offset
        if argument.op is Ops.BUFFER:
            return lambda buffers: buffers[slot]
        size = cast(tuple[int, int], argument.arg)[0]
        dtype = argument.dtype
        return lambda buffers: buffers[slot].view(size, dtype, offset)

    # *** launching ***

    def run(self, buffers: Sequence[Buffer], values: Mapping[str, int]) -> None:
        """Launch everything; `buffers` fill the slots."""
        for runner in self.runners:
            runner(buffers, values)
        if Buffer.any_shared:
            wait_where_shared((*self.kept, *buffers))
        counters = GlobalCounters
        counters.kernel_count += len(self.calls)
        counters.global_ops += self.fixed_ops
        counters.global_mem += self.fixed_mem
        if self.open_ops or self.open_mem:
            counters.global_ops += sum(known_size(size, values) for size in self.open_ops)
            counters.global_mem += sum(known_size(size, values) for size in self.open_mem)

    def run_reported(self, buffers: Mapping[UOp, UOp], values: Mapping[str, int]) -> None:
        """Launch call by call, each waited for and printed; `buffers` fill the slots."""
        for call in self.calls:
            arguments = tuple(_filled(argument, buffers) for argument in call.call_args)
            filled = UOp(Ops.CALL, call.dtype, (call.called, *arguments), call.arg)
            seconds = run_call(filled, values, True) or 0.0
            estimates = estimate_uop(filled)
            GlobalCounters.kernel_count += 1
            GlobalCounters.global_ops += known_size(estimates.ops, values)
            GlobalCounters.global_mem += known_size(estimates.mem, values)
            GlobalCounters.time_sum_s += seconds
            if DEBUG >= 2:
                report_call(filled, seconds, values)


def _grown(batches: Sequence[list[UOp]]) -> Iterator[list[UOp]]:
    """Batches of JIT_BATCH_SIZE calls, then of twice as many, and so on; 0 leaves them whole.

    The first of them can run while the arguments of the next are filled in.
    """
    most = JIT_BATCH_SIZE.value
    for batch in batches:
        while most > 0 and len(batch) > most:
            yield batch[:most]
            batch = batch[most:]
            most *= 2
        yield batch


def _filled(argument: UOp, buffers: Mapping[UOp, UOp]) -> UOp:
    buffer = buffer_under(argument)
    found = buffers.get(buffer)
    if found is None:
        return argument
    if argument is buffer:
        return found
    return UOp(Ops.BUFFER_VIEW, argument.dtype, (found,), argument.arg)


def _graph_device(call: UOp) -> str | None:
    """The device whose graph can hold a call, None for calls that no graph holds."""
    devices = {argument._device for argument in call.call_args}
    if len(devices) != 1:
        return None
    (device,) = devices
    if not isinstance(device, str) or Device[device].graph is None:
        return None
    return device
