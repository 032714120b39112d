"""Say how much memory a captured step works on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tg_uop import UOp

from tg_tensor.jit.capture import Step
from tg_tensor.schedule.memory import buffer_bytes


@dataclass(frozen=True, slots=True)
class StepMemory:
    """Bytes of one replay: of arguments, results, state from outside, and what only it uses.

    `separate` is what the last would take if intermediates did not share memory.
    """

    inputs: int
    outputs: int
    state: int
    scratch: int
    separate: int

    @property
    def peak(self) -> int:
        """What a replay needs at most beside memory that exists without it."""
        return self.outputs + self.scratch

    @property
    def total(self) -> int:
        """All memory that is in use while it runs."""
        return self.inputs + self.state + self.peak

    def __str__(self) -> str:
        return (
            f"peak {_shown(self.peak)} ({_shown(self.outputs)} results, {_shown(self.scratch)} "
            f"intermediates, {_shown(self.separate)} without sharing) "
            f"beside {_shown(self.inputs)} arguments and {_shown(self.state)} state"
        )


def memory_of_step(step: Step) -> StepMemory:
    """The memory of a step."""
    return StepMemory(
        inputs=_bytes(step.inputs),
        outputs=_bytes(step.outputs),
        state=_bytes(step.state),
        scratch=_bytes(step.scratch),
        separate=step.separate_bytes,
    )


def _bytes(buffers: Iterable[UOp]) -> int:
    return sum(buffer_bytes(buffer) for buffer in buffers)


def _shown(count: int) -> str:
    """A number of bytes for people."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
