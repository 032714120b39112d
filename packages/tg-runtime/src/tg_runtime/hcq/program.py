"""Kernels on a command-queue device: arguments into the ring, one command, one submit."""

from __future__ import annotations

import struct
from typing import Final

from tg_runtime.device import Memory
from tg_runtime.errors import LaunchError
from tg_runtime.hcq.commands import COMMAND_SIZE, Opcode
from tg_runtime.hcq.device import HCQCompiled
from tg_runtime.hcq.stamps import Stamps
from tg_runtime.host.memory_map import view_memory
from tg_runtime.profile import profiling

MAX_CORES: Final = 0xFFFF
# Work shorter than this runs in the submitting thread: waking a sleeping one costs about as much
# (measured on a virtual machine with two cores: 28 us in the waker, 36 us until the work is done).
INLINE_NS: Final = 40_000
# With `wait` the caller would only sleep; it runs longer work itself, but stays open for Ctrl-C.
INLINE_WAIT_NS: Final = 10_000_000
_EXEC: Final = int(Opcode.EXEC)
_SIGNAL: Final = int(Opcode.SIGNAL)


class HCQProgram:
    """A kernel at address `entry` that takes `buffers` pointers, then `variables` integers.

    The time of the last run is kept and decides whether the next one runs in the caller's thread.
    """

    def __init__(
        self, device: HCQCompiled, name: str, entry: int, buffers: int, variables: int
    ) -> None:
        self.device = device
        self.name = name
        self.entry = entry
        self.buffers = buffers
        self.variables = variables
        self.stamp = Stamps()
        # exec, signal, then the arguments
        self._launch = struct.Struct(f"<8Q{buffers}Q{variables}q")
        self._arguments = struct.Struct(f"<{buffers}Q{variables}q")
        if self._launch.size > device.ring.largest:
            raise LaunchError(kernel=name, reason=f"it has {buffers} buffers, which is too many")

    def __call__(
        self,
        *buffers: Memory,
        global_size: tuple[int, ...] = (1, 1, 1),
        local_size: tuple[int, ...] | None = None,
        vals: tuple[int, ...] = (),
        wait: bool = False,
    ) -> float | None:
        """Start the kernel; the seconds that it took when `wait`. Raises `LaunchError`."""
        if len(buffers) != self.buffers or len(vals) != self.variables:
            raise self._mismatch(len(buffers), len(vals))
        cores = global_size[0]
        if not 1 <= cores <= MAX_CORES:
            raise LaunchError(kernel=self.name, reason=f"{cores} core ids; 1 to {MAX_CORES} can be")
        device = self.device
        stamp = self.stamp
        profiled = profiling()
        if profiled:
            stamp = Stamps()
        inline = 0 < self.stamp.elapsed < (INLINE_WAIT_NS if wait else INLINE_NS)
        with device.lock:
            ring = device.ring
            at = ring.reserve(self._launch.size)
            start = ring.address + at
            value = device.timeline_value + 1
            self._launch.pack_into(
                ring.memory,
                at,
                _EXEC | cores << 32,
                self.entry,
                start + 2 * COMMAND_SIZE,
                stamp.address,
                _SIGNAL,
                device.timeline_signal.address,
                value,
                0,
                *[buffer.address for buffer in buffers],
                *vals,
            )
            device.last_submitted = self.name
            device.submit_buffer(start, 2, inline)
            if profiled:
                device.note_stamps(stamp, (self.name,))
        if not wait:
            return None
        device.wait_for(value)
        return stamp.elapsed * 1e-9

    def cores_of(self, global_size: tuple[int, ...]) -> int:
        """How many times the kernel runs. Raises `LaunchError`."""
        cores = global_size[0]
        if not 1 <= cores <= MAX_CORES:
            raise LaunchError(kernel=self.name, reason=f"{cores} core ids; 1 to {MAX_CORES} can be")
        return cores

    def fill_arguments(
        self, target: Memory, buffers: tuple[Memory, ...], vals: tuple[int, ...] = ()
    ) -> Memory:
        """Write the arguments as the kernel reads them. Raises `LaunchError`."""
        if len(buffers) != self.buffers or len(vals) != self.variables:
            raise self._mismatch(len(buffers), len(vals))
        view = view_memory(target.address, self._arguments.size)
        self._arguments.pack_into(view, 0, *[buffer.address for buffer in buffers], *vals)
        return target

    def _mismatch(self, buffers: int, vals: int) -> LaunchError:
        return LaunchError(
            kernel=self.name,
            reason=f"it takes {self.buffers} buffers and {self.variables} variables, "
            f"{buffers} and {vals} were given",
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} on {self.device.device}>"
