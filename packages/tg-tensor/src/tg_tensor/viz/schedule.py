"""A schedule as text: one line a call, with what it reads and writes."""

from __future__ import annotations

from typing import cast

from tg_uop import Ops, UOp

from tg_tensor.engine.compile import estimate_uop
from tg_tensor.engine.report import call_name
from tg_tensor.schedule.hazards import written_slots
from tg_tensor.schedule.memory import buffer_bytes, buffer_under


def describe_schedule(linear: UOp) -> str:
    """The calls in order: number, name, estimated work, buffers written and read.

    Buffers are numbered in order of first use; `b3+256` starts 256 bytes into buffer 3.
    """
    names: dict[UOp, str] = {}
    lines = []
    for number, call in enumerate(linear.src):
        called = call.called
        written = {0} if called.op is Ops.COPY else written_slots(called)
        places = [_place(argument, names) for argument in call.call_args]
        outs = [place for slot, place in enumerate(places) if slot in written]
        ins = [place for slot, place in enumerate(places) if slot not in written]
        lines.append(f"{number:4d}  {_title(call)}  {' '.join(outs)} <- {' '.join(ins)}")
    total = sum(buffer_bytes(buffer) for buffer in names)
    lines.append(f"{len(linear.src)} calls, {len(names)} buffers, {total} bytes")
    return "\n".join(lines)


def _title(call: UOp) -> str:
    estimates = estimate_uop(call)
    name = call_name(call) if call.called.op is not Ops.SINK else _loops(call.called)
    return f"{name:<32} {estimates.ops!s:>12} ops {estimates.mem!s:>12} bytes"


def _loops(kernel: UOp) -> str:
    """The loops of a kernel that has no name yet."""
    loops = [node for node in kernel.toposort() if node.op is Ops.RANGE]
    loops.sort(key=lambda loop: loop.range_arg.axis_id)
    sizes = [f"{loop.axis_type.letter}{loop.size}" for loop in loops]
    return " ".join(sizes) if sizes else "one element"


def _place(argument: UOp, names: dict[UOp, str]) -> str:
    buffer = buffer_under(argument)
    name = names.setdefault(buffer, f"b{len(names)}")
    if argument.op is not Ops.BUFFER_VIEW:
        return name
    start = cast(tuple[int, int], argument.arg)[1] * argument.dtype.itemsize
    return f"{name}+{start}"
