"""Where a product with a power of two is one instruction, and where it stays two products."""

from __future__ import annotations

import pytest
from tg_codegen import to_program
from tg_codegen.legalize.arithmetic import SINGLE, scaled_by_power, times_power_of_two
from tg_codegen.render.registry import renderer_for
from tg_uop import AxisType, KernelInfo, Ops, UOp, dtypes
from tg_uop.dtype.dtype import DType
from tg_uop.target import Target


def exponential(dtype: DType, lanes: int) -> UOp:
    """2 ** x of a vector of `lanes`."""
    i = UOp.range(lanes, 0, AxisType.UPCAST, lanes=True)
    x = UOp.param(1, dtype.ptr(lanes)).index(i)
    store = UOp.param(0, dtype.ptr(lanes)).index(i).store(x.alu(Ops.EXP2))
    return store.end(i).sink(arg=KernelInfo(opts_to_apply=()))


def scalings(kernel: UOp, arch: str) -> list[str]:
    renderer = renderer_for(Target("CPU", "LLVM", arch))
    (source,) = (s.arg for s in to_program(kernel, renderer).src if s.op is Ops.SOURCE)
    assert isinstance(source, str)
    lines = [line for line in source.splitlines() if "scalef" in line and "call" in line]
    return [line.split("scalef.")[1].split("(")[0] for line in lines]


@pytest.mark.parametrize(
    ("dtype", "lanes", "expected"),
    [
        (dtypes.float32, 16, ["ps.512"]),
        (dtypes.float32, 64, ["ps.512"] * 4),
        (dtypes.float32, 48, ["ps.512"] * 3),
        (dtypes.float32, 24, ["ps.256"] * 3),
        (dtypes.float32, 4, ["ps.128"]),
        (dtypes.float32, 6, []),
        (dtypes.float64, 8, ["pd.512"]),
        (dtypes.float64, 12, ["pd.256"] * 3),
    ],
)
def test_avx512_scales_whole_registers(dtype: DType, lanes: int, expected: list[str]) -> None:
    assert scalings(exponential(dtype, lanes), "x86_64,x86-64-v4") == expected


@pytest.mark.parametrize("arch", ["x86_64,x86-64-v3", "aarch64,apple-m1", "riscv64,+v"])
def test_other_processors_multiply_twice(arch: str) -> None:
    assert scalings(exponential(dtypes.float32, 16), arch) == []


def test_only_the_whole_of_both_products_counts() -> None:
    value, shifted = (UOp.variable(name, 0.0, 9.0, dtypes.float32) for name in "vs")
    scaled = times_power_of_two(value, shifted, SINGLE)
    assert scaled_by_power(scaled) == (value, shifted)
    assert scaled_by_power(scaled.src[0]) is None
    assert scaled_by_power(scaled.src[0] * shifted) is None
    other = times_power_of_two(value, value, SINGLE)
    assert scaled_by_power(scaled.src[0] * other.src[1]) is None
