"""Turn the kernels of a schedule into programs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import cast, final

from tg_codegen.analyze.cost import estimate_kernel
from tg_codegen.options import Options, current_options
from tg_codegen.pipeline import to_program
from tg_codegen.render.renderer import Renderer
from tg_runtime import Device, Program
from tg_uop import Estimates, KernelInfo, Ops, ProgramInfo, UOp
from tg_uop.errors import TgError

from tg_tensor.engine.errors import CallError
from tg_tensor.engine.measure import fastest_kernel
from tg_tensor.engine.plan_store import keep_program, kept_program
from tg_tensor.engine.progress import CompileProgress

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
    options = current_options()
    calls = []
    changed = False
    progress = CompileProgress(len(linear.src))
    try:
        for number, call in enumerate(linear.src):
            progress.show(number)
            compiled = _compiled_call(call, options, with_instructions)
            changed = changed or compiled is not call
            calls.append(compiled)
    finally:
        progress.clear()
    return linear.replace(src=tuple(calls)) if changed else linear


def _compiled_call(call: UOp, options: Options, with_instructions: bool) -> UOp:
    called = call.called
    is_done = called.op is not Ops.SINK and not is_partial(called)
    if is_done:
        return call
    device = device_of_call(call)
    renderer = Device[device].renderer
    kept_on = None if with_instructions else device
    if options.beam > 0 and called.op is Ops.SINK:
        called = _searched(device, called, renderer, options)
    try:
        program = compiled_program(called, renderer, options, kept_on)
    except TgError as error:
        error.about(call.source_line)
        raise
    compiled = UOp(Ops.CALL, call.dtype, (program, *call.call_args), call.arg)
    compiled.source_line = call.source_line
    return compiled


def is_partial(called: UOp) -> bool:
    """Whether a PROGRAM lacks its binary."""
    return called.op is Ops.PROGRAM and len(called.src) < 5


def compiled_program(
    kernel: UOp, renderer: Renderer, options: Options, device: str | None = None
) -> UOp:
    """The PROGRAM of a kernel, remembered by the identity of the kernel.

    With a `device`, it may come from what is kept on disk for that device's compiler.
    """
    key = (kernel, renderer, options, device is None)
    found = _programs.get(key)
    if found is None:
        found = _made_program(kernel, renderer, options, device)
        _programs.put(key, found)
    return cast(UOp, found)


def _made_program(kernel: UOp, renderer: Renderer, options: Options, device: str | None) -> UOp:
    if device is None or kernel.op is not Ops.SINK:
        return to_program(kernel, renderer, options)
    compiler = Device[device].compiler
    found = kept_program(kernel, renderer, compiler, options)
    if found is not None:
        return found
    program = to_program(kernel, renderer, options)
    keep_program(kernel, renderer, compiler, options, program)
    return program


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
        found = estimate_kernel(called)
        _estimates.put(called, found)
    return cast(Estimates, found)
