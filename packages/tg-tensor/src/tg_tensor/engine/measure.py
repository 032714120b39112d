"""Time kernels on their device, and search for the fastest form of one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from math import inf
from time import monotonic
from typing import cast, final

import tg_codegen
from tg_codegen.errors import SearchError
from tg_codegen.options import Options
from tg_codegen.render.renderer import Renderer
from tg_runtime import Buffer, Device, DiskCache, content_key
from tg_uop import KernelInfo, Ops, Opt, OptOps, PtrDType, UOp
from tg_uop.context import IGNORE_BEAM_CACHE
from tg_uop.ir.args import OptArg, ParamArg

RUNS = 3
"""Runs of a candidate; the fastest counts, because noise only ever adds."""

HOPELESS = 3.0
"""A first run this much slower than the best so far is not repeated."""

BUDGET_S = 60.0
"""Seconds to search for one kernel; what was best by then is taken."""


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


def fastest_kernel(device: str, kernel: UOp, renderer: Renderer, options: Options) -> UOp:
    """The kernel with the Opts that a search of `options.beam` finds, or finds on disk.

    A kernel that says itself which Opts it wants stays as it is.
    """
    info = kernel.arg
    if isinstance(info, KernelInfo) and info.opts_to_apply is not None:
        return kernel
    plain = tg_codegen.canonical(kernel)
    timer = Timer(device, plain, renderer, options)
    end = monotonic() + BUDGET_S
    shows = sys.stderr.isatty()

    def report(rounds: int, tried: int, fastest: float) -> None:
        print(  # noqa: T201
            f"\rsearching: round {rounds}, {tried} tried, best {fastest * 1e6:.1f} us ",
            end="",
            file=sys.stderr,
            flush=True,
        )

    try:
        found = tg_codegen.beam_search(
            plain,
            renderer,
            timer,
            width=options.beam,
            options=replace(options, beam=0),
            target=f"{renderer.target}",
            known=None if IGNORE_BEAM_CACHE else KeptResults(),
            keep_going=lambda: monotonic() < end,
            report=report if shows else None,
        )
    except SearchError:
        return kernel
    finally:
        if shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # noqa: T201
    return found.kernel


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


@final
class KeptResults(MutableMapping[str, tuple[Opt, ...]]):
    """Results of searches, on disk."""

    def __init__(self) -> None:
        self._disk = DiskCache("beam", level=1)

    def __getitem__(self, key: str) -> tuple[Opt, ...]:
        raw = self._disk.get(content_key(key))
        if raw is None:
            raise KeyError(key)
        return tuple(_opt(entry) for entry in json.loads(raw))

    def __setitem__(self, key: str, opts: tuple[Opt, ...]) -> None:
        entries = [[opt.op.name, opt.axis, opt.arg] for opt in opts]
        self._disk.put(content_key(key), json.dumps(entries).encode())

    def __delitem__(self, key: str) -> None:
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._disk.get(content_key(key)) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _opt(entry: list[object]) -> Opt:
    name, axis, arg = entry
    kept = tuple(arg) if isinstance(arg, list) else arg
    return Opt(OptOps[cast(str, name)], cast("int | None", axis), cast(OptArg, kept))
