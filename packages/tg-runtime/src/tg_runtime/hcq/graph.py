"""Records the calls of a captured step once and replays them with one submit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

from tg_uop.context import PROFILE
from tg_uop.ir.args import Size

from tg_runtime.device import Compiled, Memory
from tg_runtime.errors import LaunchError
from tg_runtime.hcq.commands import COMMAND_SIZE, WORDS, Copy, Exec, Signal, Timestamp, encode
from tg_runtime.hcq.device import HCQCompiled
from tg_runtime.hcq.program import INLINE_NS, INLINE_WAIT_NS, HCQProgram
from tg_runtime.hcq.stamps import Stamps
from tg_runtime.host.memory_map import map_pages, round_up, unmap_pages, view_memory
from tg_runtime.memory.buffer import Buffer

_MASK: Final = 2**64 - 1


class InputSlot(NamedTuple):
    """A buffer that each replay gives anew: its number among them, and bytes into it."""

    slot: int
    offset: int = 0


GraphBuffer = Buffer | InputSlot


class GraphCall(NamedTuple):
    """One launch of a captured step.

    `program` None copies `size` bytes of `buffers[1]` into `buffers[0]`. `vals` are the kernel's
    variables: numbers, or names whose values each replay gives; `global_size` may depend on them.
    """

    program: HCQProgram | None
    buffers: tuple[GraphBuffer, ...]
    vals: tuple[int | str, ...] = ()
    global_size: tuple[Size, ...] = (1, 1, 1)
    name: str = ""
    size: int = 0


class _Recording:
    """The commands and arguments of all calls in memory, and the place of every word to patch."""

    def __init__(self, calls: Sequence[GraphCall], stamps: Stamps, timeline: int) -> None:
        self.number = len(calls) + 3
        self.last_value = 0
        # of each use of an input: its number, the word to patch, bytes into it
        self.places: list[tuple[int, int, int]] = []
        self.variables: dict[str, list[int]] = {}
        self.sizes: list[tuple[int, Size]] = []
        self.stamp_words: list[int] = []
        arguments = [len(call.buffers) + len(call.vals) for call in calls]
        self._size = COMMAND_SIZE * self.number + 8 * sum(arguments)
        self.address = map_pages(self._size)
        self.words = view_memory(self.address, round_up(self._size, 8)).cast("Q")
        self._argument_word = WORDS * self.number
        self._write(0, Timestamp(stamps.address))
        for position, call in enumerate(calls, start=1):
            if call.program is None:
                self._record_copy(position, call)
            else:
                self._record_exec(position, call, call.program)
        self._write(self.number - 2, Timestamp(stamps.address + 8))
        self._write(self.number - 1, Signal(timeline, 0))
        self.signal_word = WORDS * (self.number - 1) + 2

    def close(self) -> None:
        """Unmap the memory."""
        unmap_pages(self.address, self._size)

    def _write(self, position: int, command: Copy | Exec | Signal | Timestamp) -> None:
        for place, word in enumerate(encode(command)):
            self.words[WORDS * position + place] = word

    def _record_exec(self, position: int, call: GraphCall, program: HCQProgram) -> None:
        start = self._argument_word
        for number, buffer in enumerate(call.buffers):
            self._place_buffer(start + number, buffer)
        for number, value in enumerate(call.vals, start=len(call.buffers)):
            if isinstance(value, str):
                self.variables.setdefault(value, []).append(start + number)
            else:
                self.words[start + number] = value & _MASK
        self._argument_word += len(call.buffers) + len(call.vals)
        cores = call.global_size[0]
        known = cores if isinstance(cores, int) else 1
        if known is not cores:
            self.sizes.append((WORDS * position, cores))
        self._write(position, Exec(program.entry, self.address + 8 * start, known))
        self.stamp_words.append(WORDS * position + 3)

    def _record_copy(self, position: int, call: GraphCall) -> None:
        self._write(position, Copy(0, 0, call.size))
        for place, buffer in enumerate(call.buffers, start=1):
            self._place_buffer(WORDS * position + place, buffer)

    def _place_buffer(self, word: int, buffer: GraphBuffer) -> None:
        if isinstance(buffer, InputSlot):
            self.places.append((buffer.slot, word, buffer.offset))
        else:
            self.words[word] = buffer.memory.address


class HCQGraph:
    """The calls of a captured step as one command buffer; a replay patches a few words.

    There are two copies of it, so that one can be patched while the other runs. The buffers and
    programs it uses stay alive with it.
    """

    def __init__(self, device: HCQCompiled, calls: Sequence[GraphCall]) -> None:
        """Raises `LaunchError` for a call that its kernel or the device does not take."""
        for call in calls:
            _check(device, call)
        self.device = device
        self.calls = tuple(calls)
        self.names = tuple(call.name or _name_of(call) for call in calls)
        named = zip(self.calls, self.names, strict=True)
        self._kernel_names = tuple(name for call, name in named if call.program is not None)
        self.stamps = Stamps()
        address = device.timeline_signal.address
        self._recordings = [_Recording(calls, self.stamps, address) for _ in range(2)]
        first = self._recordings[0]
        self.input_slots = tuple(sorted({slot for slot, _, _ in first.places}))
        self._inputs = self.input_slots[-1] + 1 if self.input_slots else 0
        self._last_name = self.names[-1] if self.names else ""
        self.variable_names = tuple(sorted(first.variables))
        self._turn = 0
        self._profiled = [False, False]

    @staticmethod
    def supports(call: GraphCall, device: Compiled) -> bool:
        """Whether a call can be part of a graph on this device."""
        return call.program is None or getattr(call.program, "device", None) is device

    def __call__(
        self,
        input_buffers: Sequence[Buffer | Memory] = (),
        var_vals: Mapping[str, int] | None = None,
        wait: bool = False,
    ) -> float | None:
        """Replay with these inputs and variables; the seconds that it took when `wait`.

        Raises `LaunchError` when an input or a variable is missing.
        """
        device = self.device
        if len(input_buffers) < self._inputs:
            self._refuse(len(input_buffers))
        inline = 0 < self.stamps.elapsed < (INLINE_WAIT_NS if wait else INLINE_NS)
        with device.lock:
            turn = self._turn
            recording = self._recordings[turn]
            self._turn = 1 - turn
            before = device.timeline_value
            if device.timeline_signal.value < recording.last_value:
                # a replay that Ctrl-C stopped before its submission has no value to wait for
                device.wait_for(min(recording.last_value, before))
            words = recording.words
            for slot, word, offset in recording.places:
                buffer = input_buffers[slot]
                memory = buffer.memory if isinstance(buffer, Buffer) else buffer
                words[word] = memory.address + offset
            if recording.variables or recording.sizes:
                self._patch_variables(recording, var_vals or {})
            value = before + 1
            words[recording.signal_word] = value
            recording.last_value = value
            device.last_submitted = self._last_name
            stamps = None
            if PROFILE.value or self._profiled[turn]:
                stamps = self._patch_stamps(turn)
            device.submit_buffer(recording.address, recording.number, inline)
            if stamps is not None:
                device.note_stamps(stamps, self._kernel_names)
        if not wait:
            return None
        device.wait_for(value)
        return self.stamps.elapsed * 1e-9

    def _refuse(self, given: int) -> NoReturn:
        raise LaunchError(
            kernel=f"graph of {len(self.calls)} calls",
            reason=f"input {self.input_slots[-1]} is used, only {given} were given",
        )

    def _patch_variables(self, recording: _Recording, var_vals: Mapping[str, int]) -> None:
        missing = [name for name in recording.variables if name not in var_vals]
        if missing:
            raise LaunchError(
                kernel=f"graph of {len(self.calls)} calls",
                reason=f"no value was given for variable {', '.join(missing)}",
            )
        for name, places in recording.variables.items():
            for word in places:
                recording.words[word] = var_vals[name] & _MASK
        for word, size in recording.sizes:
            cores = size if isinstance(size, int) else size.evaluate(var_vals)
            recording.words[word] = (recording.words[word] & 0xFFFFFFFF) | cores << 32

    def _patch_stamps(self, turn: int) -> Stamps | None:
        """Let each kernel write its times, or none any more; where they will be."""
        recording = self._recordings[turn]
        wanted = bool(PROFILE.value)
        stamps = Stamps(max(1, len(recording.stamp_words)))
        for number, word in enumerate(recording.stamp_words):
            recording.words[word] = stamps.address + 16 * number if wanted else 0
        self._profiled[turn] = wanted
        return stamps if wanted and recording.stamp_words else None

    def __del__(self) -> None:
        recordings = getattr(self, "_recordings", ())
        for recording in recordings:
            if not self.device.closed:
                self.device.defer(recording.close)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.calls)} calls on {self.device.device}>"


def _name_of(call: GraphCall) -> str:
    return f"copy {call.size}" if call.program is None else call.program.name


def _check(device: HCQCompiled, call: GraphCall) -> None:
    if call.program is None:
        if len(call.buffers) != 2:
            raise LaunchError(kernel=_name_of(call), reason="a copy has a target and a source")
        return
    program = call.program
    if program.device is not device:
        raise LaunchError(
            kernel=program.name,
            reason=f"it was made for {program.device.device}, the graph runs on {device.device}",
        )
    if len(call.buffers) != program.buffers or len(call.vals) != program.variables:
        raise LaunchError(
            kernel=program.name,
            reason=f"it takes {program.buffers} buffers and {program.variables} variables, "
            f"{len(call.buffers)} and {len(call.vals)} were given",
        )
    if isinstance(call.global_size[0], int):
        program.cores_of(tuple(s for s in call.global_size if isinstance(s, int)))
