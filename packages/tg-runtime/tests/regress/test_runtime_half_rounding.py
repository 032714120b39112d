"""A C compiler must not take out the rounding to half precision when it joins scalar code."""

from __future__ import annotations

import struct

import pytest
from tg_runtime import Buffer, Device
from tg_runtime.compile.clang import ClangCompiler
from tg_runtime.errors import CompileError, ToolMissingError
from tg_uop import ProgramInfo, dtypes

LINES = "\n".join(f"  out[{i}] = (float)(_Float16)in[{i}];" for i in range(8))
SOURCE = f"""
void rounding(const unsigned long long *args, long long core) {{
  float *restrict out = (float *)args[0];
  const float *restrict in = (const float *)args[1];
{LINES}
}}
"""


def test_half_precision_is_rounded_to() -> None:
    try:
        binary = ClangCompiler().compile_cached(SOURCE)
    except (ToolMissingError, CompileError) as error:
        pytest.skip(f"no C compiler with _Float16 here: {error}")
    program = Device["CPU"].runtime(ProgramInfo("rounding", globals=(0, 1)), binary)
    data = struct.pack("8f", *[0.1] * 8)
    source = Buffer("CPU", 8, dtypes.float32, initial_value=data)
    target = Buffer("CPU", 8, dtypes.float32).allocate()
    program(target.memory, source.memory)
    (rounded,) = struct.unpack("e", struct.pack("e", 0.1))
    assert target.as_memoryview().cast("f").tolist() == [rounded] * 8
