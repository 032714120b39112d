"""Builds a command buffer command by command."""

from __future__ import annotations

from tg_runtime.device import Memory
from tg_runtime.hcq.commands import Barrier, Command, Copy, Exec, Signal, Timestamp, Wait
from tg_runtime.hcq.device import HCQCompiled
from tg_runtime.hcq.program import HCQProgram
from tg_runtime.hcq.signal import HCQSignal


class HWQueue:
    """Commands that run in order once submitted; every method but `submit` gives the queue back."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def exec(
        self, program: HCQProgram, arguments: Memory, global_size: tuple[int, ...] = (1, 1, 1)
    ) -> HWQueue:
        """Run a kernel on arguments that lie ready in memory (`HCQProgram.fill_arguments`)."""
        cores = program.cores_of(global_size)
        self.commands.append(Exec(program.entry, arguments.address, cores))
        return self

    def copy(self, target: Memory, source: Memory, size: int) -> HWQueue:
        """Move bytes; the ranges may overlap."""
        self.commands.append(Copy(target.address, source.address, size))
        return self

    def wait(self, signal: HCQSignal, value: int) -> HWQueue:
        """Stand until the signal has reached `value`."""
        self.commands.append(Wait(signal.address, value))
        return self

    def signal(self, signal: HCQSignal, value: int) -> HWQueue:
        """Raise the signal to `value`."""
        self.commands.append(Signal(signal.address, value))
        return self

    def timestamp(self, signal: HCQSignal) -> HWQueue:
        """Note the time in the signal's `timestamp`."""
        self.commands.append(Timestamp(signal.timestamp_address))
        return self

    def memory_barrier(self) -> HWQueue:
        """Make memory written before visible to what runs after."""
        self.commands.append(Barrier())
        return self

    def submit(self, device: HCQCompiled) -> int:
        """Start the commands on the device's queue; the timeline value that ends them."""
        return device.submit(self.commands)
