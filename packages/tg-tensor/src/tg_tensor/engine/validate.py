"""Run a kernel on the CPU as well and compare: what VALIDATE_WITH_CPU asks for."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from math import isclose, isnan
from typing import cast

from tg_codegen.options import current_options
from tg_runtime import Buffer, Device
from tg_uop import DType, Ops, ProgramInfo, UOp, dtypes

from tg_tensor.engine.buffers import buffer_of
from tg_tensor.engine.compile import compiled_program, device_of_call, get_runtime
from tg_tensor.engine.errors import ValidationError

RELATIVE = 1e-3
ABSOLUTE = 1e-4

Check = Callable[[Mapping[str, int]], None]


def validate_call(call: UOp) -> Check | None:
    """Take copies of the arguments now; the result compares after the call has run."""
    program = call.called
    if program.op is not Ops.PROGRAM or device_of_call(call) == "CPU":
        return None
    copies = [_on_cpu(buffer_of(argument)) for argument in call.call_args]

    def check(values: Mapping[str, int]) -> None:
        kernel = program.src[0]
        kernel = kernel.replace(arg=None) if kernel.arg is None else kernel
        witness = compiled_program(kernel, Device["CPU"].renderer, current_options())
        info = cast(ProgramInfo, witness.arg)
        global_size, local_size = info.launch_dims(values)
        get_runtime("CPU", witness)(
            *(copies[slot].memory for slot in info.globals),
            global_size=global_size,
            local_size=local_size,
            vals=info.vals(values),
            wait=True,
        )
        for slot in info.outs:
            _compare(info.name, slot, buffer_of(call.call_args[slot]), copies[slot])

    return check


def _on_cpu(buffer: Buffer) -> Buffer:
    copy = Buffer("CPU", buffer.size, buffer.dtype)
    copy.ensure_allocated()
    if buffer.is_allocated():
        copy.copy_from(buffer)
    return copy


def _compare(kernel: str, slot: int, got: Buffer, want: Buffer) -> None:
    left, right = _numbers(got), _numbers(want)
    for place, (a, b) in enumerate(zip(left, right, strict=True)):
        same = a == b or (isnan(a) and isnan(b))
        if not same and not isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            raise ValidationError(kernel=kernel, output=slot, element=place, got=a, want=b)


def _numbers(buffer: Buffer) -> array[float] | array[int]:
    code = _CODES.get(buffer.dtype, "B")
    return array(code, bytes(buffer.as_memoryview(allow_zero_copy=False)))


_CODES: dict[DType, str] = {
    dtypes.float32: "f",
    dtypes.float64: "d",
    dtypes.int8: "b",
    dtypes.int16: "h",
    dtypes.int32: "i",
    dtypes.int64: "q",
    dtypes.uint16: "H",
    dtypes.uint32: "I",
    dtypes.uint64: "Q",
}
