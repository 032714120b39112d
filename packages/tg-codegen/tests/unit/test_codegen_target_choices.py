"""Options hide abilities of a target."""

from __future__ import annotations

import pytest
from tg_codegen.errors import UnsupportedError
from tg_codegen.options import Options
from tg_codegen.target.choices import used_capabilities
from tg_codegen.target.cpu import describe_cpu
from tg_codegen.target.registry import INTERPRETER, cpu_capabilities
from tg_uop import Ops, dtypes
from tg_uop.target import Target

CPU = cpu_capabilities(describe_cpu(Target("CPU", "LLVM", "x86_64,sapphirerapids")))


def test_defaults_hide_nothing() -> None:
    assert used_capabilities(CPU, Options()) is CPU
    assert used_capabilities(INTERPRETER, Options()) is INTERPRETER


def test_emulated_dtypes_by_any_name() -> None:
    for name in ("half", "float16"):
        caps = used_capabilities(CPU, Options(emulated_dtypes=(name,)))
        assert not caps.converts(dtypes.float16)
    with pytest.raises(UnsupportedError, match="bfloat16"):
        used_capabilities(CPU, Options(emulated_dtypes=("int64",)))


def test_own_functions_always() -> None:
    assert not used_capabilities(INTERPRETER, Options(transcendental=2)).has_op(Ops.SIN)
    assert used_capabilities(INTERPRETER, Options(transcendental=1)).has_op(Ops.SIN)


def test_devectorize_splits_to_scalars() -> None:
    caps = used_capabilities(CPU, Options(devectorize=2))
    assert (caps.vector_any_width, caps.max_lanes, caps.masked_memory) == (False, 1, False)
    assert used_capabilities(CPU, Options(devectorize=0)).vector_any_width
