"""Print what runs: one line a call, and what DEBUG asks for of a kernel."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO, cast

from tg_runtime import Device
from tg_uop import Ops, ProgramInfo, UOp
from tg_uop.text.dump import dump, dump_linear

from tg_tensor.engine.buffers import buffer_of
from tg_tensor.engine.compile import device_of_call, estimate_uop
from tg_tensor.engine.stats import GlobalCounters

_shown: set[UOp] = set()


def call_name(call: UOp) -> str:
    """What a call is called in reports."""
    called = call.called
    if called.op is Ops.PROGRAM:
        return called.program_info.name
    if called.op is Ops.COPY:
        target, source = call.call_args
        return f"copy {buffer_of(target).nbytes} {source.device} -> {target.device}"
    return called.op.name.lower()


def report_call(
    call: UOp, seconds: float, values: Mapping[str, int], out: TextIO | None = None
) -> None:
    """One line: device, number, name, time, rates, memory in use, the user's line it is for."""
    estimates = estimate_uop(call)
    operations = _number(estimates.ops, values)
    bytes_moved = _number(estimates.mem, values)
    if call.called.op is Ops.COPY:
        bytes_moved = buffer_of(call.call_args[0]).nbytes
    time = max(seconds, 1e-9)
    line = (
        f"*** {device_of_call(call):<8} {GlobalCounters.kernel_count:5d}  {call_name(call):<40} "
        f"mem {GlobalCounters.mem_used / 1e6:9.2f} MB  {seconds * 1e6:10.2f} us  "
        f"{operations / time * 1e-9:9.2f} GFLOPS  {bytes_moved / time * 1e-9:8.2f} GB/s"
    )
    if call.source_line is not None:
        file, number = call.source_line
        line += f"  {Path(file).name}:{number}"
    print(line, file=out or sys.stdout)


def report_compiled(call: UOp, level: int, out: TextIO | None = None) -> None:
    """Once for each program: opts (3), source (4), kernel (5), instructions (6), assembly (7)."""
    program = call.called
    if program.op is not Ops.PROGRAM or program in _shown:
        return
    _shown.add(program)
    info = cast(ProgramInfo, program.arg)
    stream = out or sys.stdout
    print(f"{info.name}: {list(info.applied_opts)}", file=stream)
    if level >= 5:
        print(dump(program.src[0]), file=stream)
    if level >= 6:
        print(dump_linear(program.src[2]), file=stream)
    if level >= 4:
        print(program.src[3].arg, file=stream)
    if level >= 7:
        print(_assembly(call, cast(str, program.src[3].arg)), file=stream)


def _assembly(call: UOp, source: str) -> str:
    compiler = Device[device_of_call(call)].compiler
    assemble = getattr(compiler, "assembly", None)
    return assemble(source) if assemble is not None else "(this compiler shows no assembly)"


def _number(size: object, values: Mapping[str, int]) -> int:
    return size if isinstance(size, int) else cast(UOp, size).evaluate(values)
