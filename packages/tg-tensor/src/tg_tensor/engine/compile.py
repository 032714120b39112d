"""Turn the kernels of a schedule into programs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast, final

import tg_codegen
from tg_codegen.options import Options, current_options
from tg_codegen.render.renderer import Renderer
from tg_runtime import Device, Program
from tg_uop import Estimates, KernelInfo, Ops, ProgramInfo, UOp
from tg_uop.context import CAPTURE_PROCESS_REPLAY, CPU_COUNT
from tg_uop.errors import TgError

from tg_tensor.engine.backend import BackEnd, Pending
from tg_tensor.engine.errors import CallError
from tg_tensor.engine.measure import fastest_kernel
from tg_tensor.engine.plan_store import keep_program, kept_program
from tg_tensor.engine.progress import CompileProgress
from tg_tensor.engine.rewrite_pages import recorded
from tg_tensor.engine.source_store import keep_source

KEPT = 4096
"""Programs kept by identity of their kernels."""


@final
class _Kept:
    """A bounded table for several threads."""

    def __init__(self) -> None:
        self.entries: OrderedDict[object, object] = OrderedDict()
        self.lock = threading.Lock()

    def get(self, key: object) -> object | None:
        return self.entries.get(key)

    def put(self, key: object, value: object) -> None:
        with self.lock:
            self.entries[key] = value
            while len(self.entries) > KEPT:
                self.entries.popitem(last=False)


_programs = _Kept()
_runtimes = _Kept()
_searches = _Kept()
_estimates = _Kept()


def device_of_call(call: UOp) -> str:
    """Where a call runs: where its first argument is.

    Raises `CallError` for a call without arguments.
    """
    for argument in call.call_args:
        if isinstance(argument._device, str):
            return argument._device
    raise CallError(call=repr(call), reason="it has no argument on a device")


def compile_linear(linear: UOp, *, with_instructions: bool = True) -> UOp:
    """The schedule with every kernel replaced by its PROGRAM.

    Without instructions a PROGRAM may come from disk, with an empty LINEAR.
    Raises what `to_program` raises for a kernel that cannot be compiled.
    """
    todo = [call for call in dict.fromkeys(linear.src) if _is_to_compile(call)]
    if not todo:
        return linear
    compiled = _compiled_calls(todo, current_options(), with_instructions)
    return linear.replace(src=tuple(compiled.get(call, call) for call in linear.src))


def _is_to_compile(call: UOp) -> bool:
    return call.called.op is Ops.SINK or is_partial(call.called)


def _compiled_calls(
    calls: Sequence[UOp], options: Options, with_instructions: bool
) -> dict[UOp, UOp]:
    """Each call with its compiled form; sources become binaries beside the generating thread."""
    progress = CompileProgress(len(calls))
    started: dict[UOp, Pending | UOp] = {}
    compiled: dict[UOp, UOp] = {}
    made: dict[object, Pending | UOp] = {}
    try:
        with BackEnd(_threads_beside(calls)) as back_end:
            for call in calls:
                progress.show(len(started), 2 * len(calls))
                with _about(call):
                    started[call] = _started(call, options, with_instructions, back_end, made)
            for call, program in started.items():
                progress.show(len(calls) + len(compiled), 2 * len(calls))
                with _about(call):
                    finished = program.result() if isinstance(program, Pending) else program
                compiled[call] = UOp(Ops.CALL, call.dtype, (finished, *call.call_args), call.arg)
                compiled[call].source_line = call.source_line
    finally:
        progress.clear()
    return compiled


def _threads_beside(calls: Sequence[UOp]) -> int:
    """Threads that compile while this one generates code; one core has none to spare."""
    if len(calls) == 1 or CPU_COUNT.value == 1:
        return 0
    compilers = {Device[device_of_call(call)].compiler for call in calls}
    return max((compiler.side_by_side for compiler in compilers if compiler is not None), default=0)


@contextmanager
def _about(call: UOp) -> Iterator[None]:
    """What goes wrong inside names the line of the user's code that the call is for."""
    try:
        yield
    except TgError as error:
        error.about(call.source_line)
        raise


def _started(
    call: UOp,
    options: Options,
    with_instructions: bool,
    back_end: BackEnd,
    made: dict[object, Pending | UOp],
) -> Pending | UOp:
    """The program of a call, finished or to be finished by the back end."""
    kernel = call.called
    device = device_of_call(call)
    renderer = Device[device].renderer
    if options.beam > 0 and kernel.op is Ops.SINK:
        kernel = _searched(device, kernel, renderer, options)
    kept_on = None if with_instructions else device
    key = (kernel, renderer, options, kept_on is None)
    found = made.get(key)
    if found is None:
        found = _known_program(kernel, renderer, options, kept_on)
    if found is None:
        found = back_end.start(_rest_of(kernel, renderer, options, kept_on))
    made[key] = found
    return found


def is_partial(called: UOp) -> bool:
    """Whether a PROGRAM lacks its binary, or how to launch it."""
    if called.op is not Ops.PROGRAM:
        return False
    return len(called.src) < 5 or not isinstance(called.arg, ProgramInfo)


def compiled_program(
    kernel: UOp, renderer: Renderer, options: Options, device: str | None = None
) -> UOp:
    """The PROGRAM of a kernel, remembered by the identity of the kernel.

    With a `device`, it may come from what is kept on disk for that device's compiler.
    """
    found = _known_program(kernel, renderer, options, device)
    if found is not None:
        return found
    return _rest_of(kernel, renderer, options, device)()


def _known_program(
    kernel: UOp, renderer: Renderer, options: Options, device: str | None
) -> UOp | None:
    """The PROGRAM of a kernel that this or another process has compiled before."""
    key = (kernel, renderer, options, device is None)
    found = _programs.get(key)
    if found is None and device is not None and kernel.op is Ops.SINK:
        found = kept_program(kernel, renderer, Device[device].compiler, options)
        if found is not None:
            _programs.put(key, found)
    return cast("UOp | None", found)


def _rest_of(
    kernel: UOp, renderer: Renderer, options: Options, device: str | None
) -> Callable[[], UOp]:
    """Generate the code of a kernel; what is left to do for its PROGRAM."""
    with recorded(kernel.key.hex()) as results:
        source = tg_codegen.to_source(kernel, renderer, options)
        results.append(source)
    if CAPTURE_PROCESS_REPLAY.value:
        keep_source(kernel, renderer, options, source)

    def finish() -> UOp:
        program = tg_codegen.with_binary(source, renderer)
        if device is not None and kernel.op is Ops.SINK:
            keep_program(kernel, renderer, Device[device].compiler, options, program)
        _programs.put((kernel, renderer, options, device is None), program)
        return program

    return finish


def _searched(device: str, kernel: UOp, renderer: Renderer, options: Options) -> UOp:
    key = (device, kernel, renderer, options)
    found = _searches.get(key)
    if found is None:
        found = fastest_kernel(device, kernel, renderer, options)
        _searches.put(key, found)
    return cast(UOp, found)


def get_runtime(device: str, program: UOp) -> Program:
    """The program, ready to be called with buffers on `device`.

    Raises `CallError` for a PROGRAM without a binary.
    """
    key = (device, program)
    found = _runtimes.get(key)
    if found is None:
        if is_partial(program):
            raise CallError(
                call=repr(program),
                reason="it has no binary",
                hint="compile it with to_program and a renderer that has a compiler",
            )
        info = program.program_info
        found = Device[device].runtime(info, cast(bytes, program.src[4].arg))
        _runtimes.put(key, found)
    return cast(Program, found)


def estimate_uop(call: UOp) -> Estimates:
    """The work of a call, of a kernel or of a program; zero for what moves bytes only."""
    called = call.called if call.op is Ops.CALL else call
    if called.op is Ops.PROGRAM:
        info = cast(ProgramInfo, called.arg)
        if info is not None and info.estimates is not None:
            return info.estimates
        called = called.src[0]
    if called.op is not Ops.SINK:
        return Estimates()
    if isinstance(called.arg, KernelInfo) and called.arg.estimates is not None:
        return called.arg.estimates
    found = _estimates.get(called)
    if found is None:
        found = tg_codegen.estimate_kernel(called)
        _estimates.put(called, found)
    return cast(Estimates, found)
