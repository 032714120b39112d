"""Time kernels on their device, and search for the fastest form of one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import monotonic
from typing import cast, final

import tg_codegen
from tg_codegen.errors import SearchError
from tg_codegen.options import Options
from tg_codegen.render.renderer import Renderer
from tg_runtime import Buffer, Device
from tg_uop import KernelInfo, Ops, Opt, PtrDType, UOp
from tg_uop.context import BEAM_SECONDS, IGNORE_BEAM_CACHE
from tg_uop.errors import TgError
from tg_uop.ir.args import ParamArg

from tg_tensor.engine.search_store import SearchState, load_state, save_state

RUNS = 3
"""Runs of a candidate; the fastest counts, because noise only ever adds."""

HOPELESS = 3.0
"""A first run this much slower than the best so far is not repeated."""

ROUNDS = 3
"""Turns of the last comparison of what was found with the heuristic's choice."""

SAVE_EVERY_S = 2.0
"""How often a search writes what it has measured to disk."""


@final
class Timer:
    """Times kernels on scratch memory of one device."""

    def __init__(self, device: str, kernel: UOp, renderer: Renderer, options: Options) -> None:
        self.device = device
        self.renderer = renderer
        self.options = replace(options, beam=0)
        self.buffers = {slot: _scratch(device, node) for slot, node in _params(kernel).items()}
        self.best = inf

    def __call__(self, kernel: UOp) -> float:
        """Seconds that the kernel takes with the Opts that it carries."""
        program = tg_codegen.to_program(kernel, self.renderer, self.options)
        info = program.program_info
        values = {v.var_name: _middle(cast(UOp, v)) for v in info.vars}
        global_size, local_size = info.launch_dims(values)
        run = Device[self.device].runtime(info, cast(bytes, program.src[4].arg))
        memories = [self.buffers[slot].memory for slot in info.globals]
        found = inf
        for _ in range(RUNS):
            seconds = run(
                *memories,
                global_size=global_size,
                local_size=local_size,
                vals=info.vals(values),
                wait=True,
            )
            found = min(found, inf if seconds is None else seconds)
            if found > HOPELESS * self.best:
                break
        self.best = min(self.best, found)
        return found


class _Resumed:
    """A clock that knows what was measured before, and writes what it measures to disk."""

    def __init__(self, key: str, state: SearchState, timer: Timer) -> None:
        self.key = key
        self.state = state
        self.timer = timer
        self.measured = 0
        self._before = state.spent
        self._start = self._saved = monotonic()

    def __call__(self, kernel: UOp) -> float:
        """Seconds that the kernel takes with the Opts that it carries, inf if it does not run."""
        opts = opts_of(kernel)
        known = self.state.times.get(opts)
        if known is None:
            self.measured += 1
            known = self._first_time(kernel)
            self.state.times[opts] = known
            self.save_now_and_then()
        self.timer.best = min(self.timer.best, known)
        return known

    def _first_time(self, kernel: UOp) -> float:
        try:
            return self.timer(kernel)
        except TgError:
            return inf

    @property
    def spent(self) -> float:
        """Seconds of this search and of those that it goes on from."""
        return self._before + monotonic() - self._start

    def save_now_and_then(self) -> None:
        """Let little be lost when the process is killed."""
        if monotonic() - self._saved > SAVE_EVERY_S:
            self.save()

    def save(self) -> None:
        """Write what is known to disk."""
        self.state.spent = self.spent
        save_state(self.key, self.state)
        self._saved = monotonic()


def opts_of(kernel: UOp) -> tuple[Opt, ...]:
    """The Opts that a kernel asks for."""
    info = kernel.arg
    return (info.opts_to_apply or ()) if isinstance(info, KernelInfo) else ()


def fastest_kernel(device: str, kernel: UOp, renderer: Renderer, options: Options) -> UOp:
    """The kernel with the Opts that a search of `options.beam` finds, or found before.

    It takes BEAM_SECONDS at most. What is measured is on disk, also when it is interrupted, and the
    next search goes on from there. A kernel that says itself which Opts it wants stays as it is,
    and so does one that the search made no faster.
    """
    info = kernel.arg
    if isinstance(info, KernelInfo) and info.opts_to_apply is not None:
        return kernel
    plain = tg_codegen.canonical(kernel)
    key = f"{plain.key.hex()}:{renderer.target}:{options.beam}:{options.cores}"
    state = SearchState() if IGNORE_BEAM_CACHE else load_state(key)
    limit = BEAM_SECONDS.value
    if not state.is_enough(limit):
        timer = Timer(device, plain, renderer, options)
        clock = _Resumed(key, state, timer)
        try:
            _search(plain, renderer, options, clock, limit)
        finally:
            # an interrupt too: the next search goes on from here
            clock.save()
    if not state.best:
        return kernel
    found = _with_opts(plain, state.best)
    return found if _still_applies(found, renderer, options) else kernel


def _search(
    plain: UOp, renderer: Renderer, options: Options, clock: _Resumed, limit: float
) -> None:
    """Search until the time is over, and put the best into the state of the clock."""
    shows = sys.stderr.isatty()
    try:
        found = tg_codegen.beam_search(
            plain,
            renderer,
            clock,
            width=options.beam,
            options=replace(options, beam=0),
            keep_going=lambda: clock.spent < limit,
            report=_show_progress if shows else None,
        )
    except SearchError:
        # out of time, or nothing ran: the heuristic's choice will say why when it is compiled
        clock.state.best, clock.state.complete = (), clock.spent < limit
        return
    finally:
        if shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # noqa: T201
    before = found.heuristic
    assert before is not None, "a search that measured something began with the heuristic"
    old, new = duel(clock.timer, before, found.kernel)
    wins = new < old
    clock.state.best = found.opts if wins else ()
    clock.state.complete = found.complete
    _show_result(plain, options.beam, clock, old, new if wins else old)


def duel(measure: Callable[[UOp], float], old: UOp, new: UOp) -> tuple[float, float]:
    """The times of two kernels, measured in turns: noise during a search favours the lucky."""
    if opts_of(old) == opts_of(new):
        return 0.0, 0.0
    times = [inf, inf]
    for _ in range(ROUNDS):
        for place, kernel in enumerate((old, new)):
            try:
                times[place] = min(times[place], measure(kernel))
            except TgError:
                break
    return times[0], times[1]


def _still_applies(kernel: UOp, renderer: Renderer, options: Options) -> bool:
    """Whether Opts from disk are Opts of this version of the code generator."""
    try:
        tg_codegen.to_source(kernel, renderer, options)
    except tg_codegen.CodegenError:
        return False
    return True


def _with_opts(kernel: UOp, opts: tuple[Opt, ...]) -> UOp:
    info = kernel.arg if isinstance(kernel.arg, KernelInfo) else KernelInfo()
    return kernel.replace(arg=replace(info, opts_to_apply=opts))


def _show_progress(rounds: int, tried: int, fastest: float) -> None:
    print(  # noqa: T201
        f"\rsearching: round {rounds}, {tried} tried, best {fastest * 1e6:.1f} us ",
        end="",
        file=sys.stderr,
        flush=True,
    )


def _show_result(kernel: UOp, width: int, clock: _Resumed, old: float, new: float) -> None:
    """What was won, on standard error."""
    loops = "x".join(str(node.size) for node in kernel.toposort() if node.op is Ops.RANGE)
    tried = f"{clock.measured} tried in {clock.spent:.1f} s"
    won = "nothing won over the heuristic"
    if new < old:
        won = f"{old * 1e6:.1f} us -> {new * 1e6:.1f} us, {old / new:.2f} times as fast"
    print(  # noqa: T201
        f"BEAM={width} kernel {loops or '1'}: {won} ({tried})",
        file=sys.stderr,
    )


def _params(kernel: UOp) -> dict[int, UOp]:
    nodes = (node for node in kernel.toposort() if node.op is Ops.PARAM)
    return {cast(ParamArg, node.arg).slot: node for node in nodes}


def _scratch(device: str, node: UOp) -> Buffer:
    pointer = node.dtype
    assert isinstance(pointer, PtrDType), "the arguments of a kernel are pointers"
    buffer = Buffer(device, pointer.size, pointer.base.scalar())
    # zeros: indices that are read from memory stay inside, and denormals do not slow it down
    return buffer.copyin(memoryview(bytes(buffer.nbytes)))


def _middle(variable: UOp) -> int:
    return (int(variable.vmin) + int(variable.vmax) + 1) // 2
