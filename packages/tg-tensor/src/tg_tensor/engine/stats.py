"""Count what ran: kernels, operations, bytes, seconds."""

from __future__ import annotations

from typing import final

from tg_runtime import memory_counter


@final
class _Counters:
    """Totals since the last `reset`. `mem_used` is what buffers hold right now, in bytes."""

    __slots__ = ("global_mem", "global_ops", "kernel_count", "time_sum_s")

    def __init__(self) -> None:
        self.kernel_count = 0
        self.global_ops = 0
        self.global_mem = 0
        self.time_sum_s = 0.0

    @property
    def mem_used(self) -> int:
        """Bytes that allocated buffers hold, over all devices."""
        return memory_counter.used

    def reset(self) -> None:
        """Set the totals to zero; memory is what it is."""
        self.kernel_count = 0
        self.global_ops = 0
        self.global_mem = 0
        self.time_sum_s = 0.0


GlobalCounters = _Counters()
