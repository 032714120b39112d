"""Beam search over lists of Opts, with times measured by a callback."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, replace
from math import inf

from tg_uop import KernelInfo, Opt, OptOps, UOp

from tg_codegen.errors import CodegenError, KernelOptError, SearchError
from tg_codegen.optimize.choose import heuristic
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.loop_nest import HasCapabilities
from tg_codegen.optimize.opts import ACTIONS
from tg_codegen.optimize.padding import free_of_padding
from tg_codegen.options import Options

# time in seconds of a kernel whose KernelInfo holds the Opts to apply; inf where it does not run
Measure = Callable[[UOp], float]
Found = MutableMapping[str, tuple[Opt, ...]]
Report = Callable[[int, int, float], None]

# a round must gain this much for another one to follow
_WORTHWHILE = 0.99
# copies of the innermost statement beyond which a candidate is not even compiled
_MOST_COPIES = 1024


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best that was found.

    `kernel` carries the Opts in its KernelInfo, ready for `to_program`. `complete` is False when
    the search was stopped before it ended by itself; `measured` counts the candidates timed, 0
    where the result was known before. `heuristic` is the kernel with the Opts that it began with.
    """

    kernel: UOp
    opts: tuple[Opt, ...]
    seconds: float
    measured: int
    complete: bool
    heuristic: UOp | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    view: Scheduler
    seconds: float


def beam_search(
    kernel: UOp,
    renderer: HasCapabilities,
    measure: Measure,
    *,
    width: int,
    options: Options,
    target: str = "",
    known: Found | None = None,
    keep_going: Callable[[], bool] = lambda: True,
    report: Report | None = None,
) -> SearchResult:
    """The fastest list of Opts that a beam of `width` finds for a canonical kernel.

    It starts from the heuristic's choice, and once more from nothing.

    The heuristic's choice is always measured, so the result is never slower than it. `known` holds
    results of earlier searches and gets this one if it is complete; `target` is part of its keys.
    `keep_going` is asked before each measurement: a time budget ends the search there, with the
    best so far. `report` hears rounds done, candidates measured, and the best time.
    Raises `SearchError` when nothing could be measured.
    """
    key = search_key(kernel, target, width)
    if known is not None and key in known:
        opts = known[key]
        return SearchResult(_with_opts(kernel, opts), opts, inf, 0, True)
    search = _Search(kernel, measure, keep_going, report)
    search.cores = options.cores
    prepared = free_of_padding(kernel)
    plain = Scheduler(prepared, renderer)
    if plain.caps.has_local:
        plain.convert_loop_to_global()
    chosen = heuristic(Scheduler(prepared, renderer), options)
    begun = _with_opts(kernel, tuple(chosen.applied_opts))
    starts = search.measured([chosen, plain])
    if not starts:
        raise SearchError(kernel=plain.kernel_name(), tried=search.tried, failures=search.failures)
    best = min((search.climb(start, width) for start in starts), key=_seconds)
    opts = tuple(best.view.applied_opts)
    done = not search.stopped
    if known is not None and done:
        known[key] = opts
    return SearchResult(_with_opts(kernel, opts), opts, best.seconds, search.tried, done, begun)


def search_key(kernel: UOp, target: str, width: int) -> str:
    """Under which a result is kept: the kernel, the target, the effort."""
    return f"{kernel.key.hex()}:{target}:{width}"


class _Search:
    """What has been measured so far."""

    def __init__(
        self, kernel: UOp, measure: Measure, keep_going: Callable[[], bool], report: Report | None
    ) -> None:
        self.kernel = kernel
        self.measure = measure
        self.keep_going = keep_going
        self.report = report
        self.cores = 1
        self.seen: set[bytes] = set()
        self.tried = 0
        self.rounds = 0
        self.fastest = inf
        self.failures: list[str] = []
        self.stopped = False

    def climb(self, start: _Candidate, width: int) -> _Candidate:
        """The best that adding one Opt after the other to the beam leads to."""
        beam, best = [start], start
        while not self.stopped:
            self.rounds += 1
            if self.report is not None:
                self.report(self.rounds, self.tried, self.fastest)
            grown = self.measured(_neighbours(beam, self.cores))
            if not grown:
                break
            beam = sorted([*grown, *beam], key=_seconds)[:width]
            gained = beam[0].seconds < best.seconds * _WORTHWHILE
            best = min(best, beam[0], key=_seconds)
            if not gained:
                break
        return best

    def measured(self, views: Iterable[Scheduler]) -> list[_Candidate]:
        """The views that are new and run, with their times."""
        found: list[_Candidate] = []
        for view in views:
            if view.ast.key in self.seen:
                continue
            if not self.keep_going():
                self.stopped = True
                break
            self.seen.add(view.ast.key)
            seconds = self._time(view)
            if seconds < inf:
                found.append(_Candidate(view, seconds))
                self.fastest = min(self.fastest, seconds)
        return found

    def _time(self, view: Scheduler) -> float:
        self.tried += 1
        try:
            return self.measure(_with_opts(self.kernel, tuple(view.applied_opts)))
        except CodegenError as error:
            self.failures.append(str(error))
            return inf


def _neighbours(beam: list[_Candidate], cores: int) -> Iterable[Scheduler]:
    """Every kernel of the beam with one more Opt."""
    for candidate in beam:
        for action in ACTIONS:
            if action.op is OptOps.THREAD and isinstance(action.arg, int) and action.arg > cores:
                continue
            view = candidate.view.copy()
            try:
                view.apply_opt(action)
            except KernelOptError:
                continue
            if view.upcast_size() <= _MOST_COPIES:
                yield view


def _with_opts(kernel: UOp, opts: tuple[Opt, ...]) -> UOp:
    info = kernel.arg if isinstance(kernel.arg, KernelInfo) else KernelInfo()
    return kernel.replace(arg=replace(info, opts_to_apply=opts))


def _seconds(candidate: _Candidate) -> float:
    return candidate.seconds
