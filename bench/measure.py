"""Time competitors in turn, so that a change of the machine's speed hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Run = Callable[[], object]

WARMUP_RUNS = 3
MIN_ROUNDS = 5

# threads of one library spin for a while after its work is done, on the core that the next one
# needs; runs long enough for that to matter begin after a pause
PAUSE_ABOVE_SECONDS = 20e-6
PAUSE_SECONDS = 5e-3
# by then a library's own threads sleep, too, and take up to milliseconds to wake: short runs are
# timed after others like them, as in a loop
WARM_SECONDS = 5e-3


@dataclass(frozen=True, slots=True)
class Timing:
    """The median, in seconds, and how many runs it is of."""

    seconds: float
    runs: int


def interleaved(
    runs: Mapping[str, Run], budget_seconds: float = 2.0, pause_seconds: float = PAUSE_SECONDS
) -> dict[str, Timing]:
    """Median time of each competitor; one run of each in turn until the budget is used up."""
    pauses, warming = {}, {}
    for name, run in runs.items():
        for _ in range(WARMUP_RUNS):
            run()
        taken = timed(run)
        pauses[name] = pause_seconds if taken > PAUSE_ABOVE_SECONDS else 0.0
        warming[name] = WARM_SECONDS if PAUSE_ABOVE_SECONDS < taken < WARM_SECONDS else 0.0
    times: dict[str, list[float]] = {name: [] for name in runs}
    end = time.perf_counter() + budget_seconds
    rounds = 0
    while rounds < MIN_ROUNDS or time.perf_counter() < end:
        for name, run in runs.items():
            if pauses[name]:
                # sleeping for no time at all still gives the core away
                time.sleep(pauses[name])
            warm = time.perf_counter() + warming[name]
            while time.perf_counter() < warm:
                run()
            times[name].append(timed(run))
        rounds += 1
    return {name: Timing(statistics.median(found), rounds) for name, found in times.items()}


def timed(run: Run) -> float:
    """The seconds of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
