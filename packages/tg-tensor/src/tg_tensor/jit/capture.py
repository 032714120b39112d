"""Turn recorded schedules into one captured step: what is input, output, state, or scratch."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast, final

from tg_runtime import Buffer
from tg_uop import Ops, UOp
from tg_uop.context import NO_MEMORY_PLANNER
from tg_uop.ir.args import BufferArg, CallArg

from tg_tensor.engine.buffers import attach, buffer_of
from tg_tensor.engine.compile import compile_linear
from tg_tensor.engine.run import run_linear
from tg_tensor.schedule.hazards import written_slots
from tg_tensor.schedule.memory import ARENA_DTYPE, buffer_bytes, buffer_under, in_arena, plan_memory


@final
class CallRecorder:
    """Keeps every schedule that runs while a function is captured.

    Buffers that are made meanwhile are noted by stand-ins, so that recording keeps none alive:
    what is gone afterwards was scratch. A buffer that holds data when it is first seen was filled
    by the host (a list, an array): no call makes these data again, so they are kept.
    """

    def __init__(self) -> None:
        self.first_slot = _slot(UOp.new_buffer("CPU", 0, ARENA_DTYPE))
        self.calls: list[UOp] = []
        self.var_vals: dict[str, int] = {}
        self.made: dict[UOp, weakref.ref[UOp]] = {}
        self.host_data: dict[UOp, UOp] = {}
        self._shared_data: set[UOp] = set()
        self._stand_ins: dict[int, UOp] = {}

    def record(self, linear: UOp, var_vals: Mapping[str, int]) -> None:
        """Note a schedule."""
        self.var_vals.update(var_vals)
        for call in linear.src:
            arguments = tuple(self._noted(argument) for argument in call.call_args)
            for number in written_arguments(call):
                self._save(buffer_under(arguments[number]))
            self.calls.append(UOp(Ops.CALL, call.dtype, (call.called, *arguments), call.arg))

    def written(self) -> set[UOp]:
        """The buffers that the recorded calls write."""
        return {buffer_under(c.call_args[n]) for c in self.calls for n in written_arguments(c)}

    def has_made(self, node: UOp) -> bool:
        """Whether a node is a buffer that was made while this recorded."""
        return node.op is Ops.BUFFER and _slot(node) in self._stand_ins

    def _noted(self, argument: UOp) -> UOp:
        buffer = buffer_under(argument)
        if _slot(buffer) <= self.first_slot:
            return argument
        stand_in = self.stand_in(buffer)
        if argument is buffer:
            return stand_in
        return UOp(Ops.BUFFER_VIEW, argument.dtype, (stand_in,), argument.arg)

    def stand_in(self, buffer: UOp) -> UOp:
        """The node that stands for a buffer made during capture."""
        slot = _slot(buffer)
        found = self._stand_ins.get(slot)
        if found is None:
            size = cast(BufferArg, buffer.arg).size
            arg = BufferArg(STAND_INS - len(self._stand_ins), size)
            found = UOp(Ops.BUFFER, buffer.dtype, buffer.src, arg)
            self._stand_ins[slot] = found
            self.made[found] = weakref.ref(buffer)
            memory = buffer_of(buffer)
            if memory.is_allocated():
                self.host_data[found] = attach(_like(buffer), memory)
                self._shared_data.add(found)
        return found

    def _save(self, stand_in: UOp) -> None:
        """Before a call writes to data of the host: keep them as they are, elsewhere."""
        if stand_in in self._shared_data:
            self._shared_data.remove(stand_in)
            shared = buffer_of(self.host_data[stand_in])
            copy = Buffer(shared.device, shared.size, shared.dtype).copy_from(shared)
            attach(self.host_data[stand_in], copy)

    def noted_view(self, view: UOp) -> UOp:
        """A value that the function returns, in terms of stand-ins."""
        found = {
            node: self.stand_in(node)
            for node in view.toposort()
            if node.op is Ops.BUFFER and _slot(node) > self.first_slot
        }
        for stand_in in found.values():
            # whoever gets the value may write to it
            self._save(stand_in)
        return view.substitute(found) if found else view


STAND_INS = -(1 << 40)


def _like(buffer: UOp) -> UOp:
    """Another BUFFER of the same form."""
    return UOp.new_buffer(cast(str, buffer.device), buffer_size(buffer), buffer.dtype)


def _slot(buffer: UOp) -> int:
    return cast(BufferArg, buffer.arg).slot


@dataclass(slots=True)
class Step:
    """A captured step: compiled calls over four kinds of buffers.

    `inputs` and `outputs` are given anew for each replay, `scratch` is used by the step alone, all
    other buffers are state that lives outside.
    """

    calls: tuple[UOp, ...]
    inputs: tuple[UOp, ...]
    outputs: tuple[UOp, ...]
    scratch: tuple[UOp, ...]
    state: tuple[UOp, ...]
    var_vals: dict[str, int] = field(default_factory=dict)
    separate_bytes: int = 0

    def written(self) -> set[UOp]:
        """The buffers that some call writes."""
        return {
            buffer_under(call.call_args[number])
            for call in self.calls
            for number in written_arguments(call)
        }


def finish_step(
    recorder: CallRecorder, inputs: Sequence[UOp], results: Iterable[UOp], *, prune: bool
) -> Step:
    """The captured step. `inputs` are the buffers that stood for the arguments, `results` the
    stand-ins under the returned values.
    """
    calls = recorder.calls
    recorder.calls = []
    written = _written_first(calls)
    host_data = recorder.host_data
    outputs = [
        r for r in dict.fromkeys(results) if r in host_data or (r in recorder.made and r in written)
    ]
    changed = {buffer_under(c.call_args[n]) for c in calls for n in written_arguments(c)}
    refilled = [b for b in host_data if b in outputs]
    alive: dict[UOp, UOp] = {}
    scratch: list[UOp] = []
    for stand_in, reference in recorder.made.items():
        buffer = reference()
        if stand_in in outputs:
            continue
        if buffer is not None:
            alive[stand_in] = buffer
        elif stand_in in host_data and stand_in not in changed:
            alive[stand_in] = host_data[stand_in]
        else:
            scratch.append(stand_in)
            if stand_in in host_data:
                refilled.append(stand_in)
    calls = [_renamed(call, alive) for call in calls]
    if prune:
        changing = [*outputs, *alive.values(), *refilled]
        calls, scratch = _prune(calls, inputs, changing, scratch)
    calls = [*(_copy_call(b, host_data[b]) for b in refilled), *calls]
    separate = sum(buffer_bytes(buffer) for buffer in scratch)
    calls, scratch = _share_scratch(calls, scratch)
    linear = compile_linear(UOp(Ops.LINEAR, src=tuple(calls)), with_instructions=False)
    known = {*inputs, *outputs, *scratch}
    state = dict.fromkeys(
        b for call in linear.src for a in call.call_args if (b := buffer_under(a)) not in known
    )
    return Step(
        linear.src,
        tuple(inputs),
        tuple(outputs),
        tuple(scratch),
        tuple(state),
        dict(recorder.var_vals),
        separate,
    )


def _copy_call(target: UOp, source: UOp) -> UOp:
    value = UOp.param(1, source.dtype, (buffer_size(source),), source.device)
    marker = UOp(Ops.COPY, target.dtype, (value, *target.src))
    return UOp(Ops.CALL, marker.dtype, (marker, target, source), CallArg())


def _renamed(call: UOp, names: Mapping[UOp, UOp]) -> UOp:
    arguments = []
    for argument in call.call_args:
        buffer = buffer_under(argument)
        name = names.get(buffer)
        if name is None:
            arguments.append(argument)
        elif argument is buffer:
            arguments.append(name)
        else:
            arguments.append(UOp(Ops.BUFFER_VIEW, argument.dtype, (name,), argument.arg))
    return UOp(Ops.CALL, call.dtype, (call.called, *arguments), call.arg)


def _written_first(calls: Iterable[UOp]) -> set[UOp]:
    """Buffers whose first use is a write."""
    seen: dict[UOp, bool] = {}
    for call in calls:
        written = written_arguments(call)
        for number, argument in enumerate(call.call_args):
            seen.setdefault(buffer_under(argument), number in written)
    return {buffer for buffer, first in seen.items() if first}


def written_arguments(call: UOp) -> frozenset[int]:
    """Which arguments a call writes."""
    return frozenset((0,)) if call.called.op is Ops.COPY else written_slots(call.called)


def _prune(
    calls: Sequence[UOp], inputs: Iterable[UOp], changing: Iterable[UOp], scratch: Iterable[UOp]
) -> tuple[list[UOp], list[UOp]]:
    """Run now, once, the calls whose results are the same in every replay; the calls that are left
    and their scratch.
    """
    kept = _varying_calls(calls, inputs, changing)
    constant = [call for call in calls if call not in kept]
    fixed = {
        buffer: UOp.new_buffer(cast(str, buffer.device), buffer_size(buffer), buffer.dtype)
        for buffer in scratch
        if any(buffer_under(a) is buffer for call in constant for a in call.call_args)
    }
    run_linear(UOp(Ops.LINEAR, src=tuple(_renamed(c, fixed) for c in constant)))
    left = [_renamed(call, fixed) for call in calls if call in kept]
    used = {buffer_under(a) for call in left for a in call.call_args}
    return left, [buffer for buffer in scratch if buffer in used]


def buffer_size(buffer: UOp) -> int:
    """The number of elements of a BUFFER."""
    return cast(BufferArg, buffer.arg).size


def _varying_calls(
    calls: Sequence[UOp], inputs: Iterable[UOp], changing: Iterable[UOp]
) -> dict[UOp, None]:
    """The calls whose results can differ between replays: they depend on arguments or state."""
    varying = {*inputs, *changing}
    state: set[UOp] = set()
    for call in calls:
        written = written_arguments(call)
        buffers = [buffer_under(a) for a in call.call_args]
        state.update(b for n, b in enumerate(buffers) if n in written and _slot(b) >= 0)
    varying |= state
    kept: dict[UOp, None] = {}
    for call in calls:
        buffers = [buffer_under(a) for a in call.call_args]
        has_variables = any(node.op is Ops.DEFINE_VAR for node in call.called.toposort())
        if has_variables or any(buffer in varying for buffer in buffers):
            kept[call] = None
            written = written_arguments(call)
            varying.update(b for n, b in enumerate(buffers) if n in written)
    return kept


def _share_scratch(calls: list[UOp], scratch: list[UOp]) -> tuple[list[UOp], list[UOp]]:
    """Put scratch into one arena a device."""
    if NO_MEMORY_PLANNER or not scratch:
        return calls, scratch
    plan = plan_memory([call.call_args for call in calls], scratch)
    arenas = {
        device: UOp.new_buffer(device, nbytes, ARENA_DTYPE)
        for device, nbytes in plan.arena_bytes.items()
    }
    places = {
        buffer: in_arena(buffer, arenas[cast(str, buffer.device)], offset)
        for buffer, offset in plan.offsets.items()
    }
    return [_placed(call, places) for call in calls], list(arenas.values())


def _placed(call: UOp, places: Mapping[UOp, UOp]) -> UOp:
    arguments = []
    for argument in call.call_args:
        buffer = buffer_under(argument)
        place = places.get(buffer)
        if place is None:
            arguments.append(argument)
        elif argument is buffer:
            arguments.append(place)
        else:
            size, start = cast(tuple[int, int], argument.arg)
            begin = cast(tuple[int, int], place.arg)[1] * buffer.dtype.itemsize
            offset = start + begin // argument.dtype.itemsize
            view = UOp(Ops.BUFFER_VIEW, argument.dtype, place.src, (size, offset))
            arguments.append(view)
    return UOp(Ops.CALL, call.dtype, (call.called, *arguments), call.arg)
