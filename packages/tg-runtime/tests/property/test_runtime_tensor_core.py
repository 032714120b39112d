"""Kernels on the processor's matrix unit give what the definition of their sum gives."""

from __future__ import annotations

import os
import random
import struct
from dataclasses import dataclass

import pytest
from tg_codegen import to_program
from tg_codegen.options import Options
from tg_runtime import Buffer, Device
from tg_uop import AxisType, DType, KernelInfo, Ops, Opt, OptOps, UOp, dtypes

CPU = Device["CPU"]
pytestmark = pytest.mark.skipif(
    not CPU.renderer.caps.tensor_cores, reason="this processor has no matrix unit"
)
ON_UNIT = (Opt(OptOps.TC, 0, (-1, 2, 1)),)


@dataclass(frozen=True)
class Case:
    """A product of `batch` pairs of matrices, of which either may lie transposed in memory."""

    rows: int
    columns: int
    depth: int
    batch: int = 1
    left_turned: bool = False
    right_turned: bool = False

    def left_at(self, b: UOp, i: UOp, k: UOp) -> UOp:
        place = k * self.rows + i if self.left_turned else i * self.depth + k
        return place + b * (self.rows * self.depth)

    def right_at(self, b: UOp, j: UOp, k: UOp) -> UOp:
        place = j * self.depth + k if self.right_turned else k * self.columns + j
        return place + b * (self.columns * self.depth)

    def kernel(self, dtype: DType, sums: DType, opts: tuple[Opt, ...] | None) -> UOp:
        """relu(left @ right + bias), where the bias is one number a column."""
        b, i, j = UOp.range(self.batch, 0), UOp.range(self.rows, 1), UOp.range(self.columns, 2)
        k = UOp.range(self.depth, 3, AxisType.REDUCE)
        left = UOp.param(1, dtype.ptr(self.batch * self.rows * self.depth))
        right = UOp.param(2, dtype.ptr(self.batch * self.columns * self.depth))
        bias = UOp.param(3, sums.ptr(self.columns))
        out = UOp.param(0, sums.ptr(self.batch * self.rows * self.columns))
        factors = left.index(self.left_at(b, i, k)), right.index(self.right_at(b, j, k))
        total = (factors[0].cast(sums) * factors[1].cast(sums)).reduce(k, arg=Ops.ADD)
        value = (total + bias.index(j)).maximum(UOp.const(sums, 0))
        place = (b * self.rows + i) * self.columns + j
        effect = out.index(place).store(value).end(b, i, j)
        return effect.sink(arg=KernelInfo(opts_to_apply=opts))

    def expected(self, left: list[int], right: list[int], bias: list[int]) -> list[int]:
        const = UOp.const
        found = []
        for b in range(self.batch):
            at = const(dtypes.weakint, b)
            rows = [
                [left[_at(self.left_at(at, _c(i), _c(k)))] for k in range(self.depth)]
                for i in range(self.rows)
            ]
            columns = [
                [right[_at(self.right_at(at, _c(j), _c(k)))] for k in range(self.depth)]
                for j in range(self.columns)
            ]
            for row in rows:
                for column, start in zip(columns, bias, strict=True):
                    found.append(max(0, start + sum(map(int.__mul__, row, column))))
        return found


def _c(value: int) -> UOp:
    return UOp.const(dtypes.weakint, value)


def _at(place: UOp) -> int:
    return int(place.simplify().const_value)


CASES = [
    Case(32, 32, 64),
    Case(64, 96, 128),
    Case(33, 47, 65),
    Case(16, 16, 31),
    Case(9, 40, 70, right_turned=True),
    Case(40, 33, 20, left_turned=True),
    Case(17, 50, 33, left_turned=True, right_turned=True),
    Case(20, 36, 64, batch=3),
]


def encoded(values: list[int], dtype: DType) -> bytes:
    """Small integers as elements of a dtype; as bfloat16 they are exact."""
    if dtype is dtypes.bfloat16:
        words = struct.unpack(f"{len(values)}I", struct.pack(f"{len(values)}f", *values))
        return struct.pack(f"{len(values)}H", *(word >> 16 for word in words))
    return struct.pack(f"{len(values)}{dtype.fmt}", *values)


def run(case: Case, dtype: DType, opts: tuple[Opt, ...] | None, cores: int = 1) -> list[int]:
    """The kernel's results on fixed data, and a check that they are right."""
    sums = dtypes.float32 if dtype.is_float else dtypes.int32
    draw = random.Random(f"{case}")
    limit = 8 if dtype.is_float else 127
    sizes = case.batch * case.rows * case.depth, case.batch * case.columns * case.depth
    left, right = ([draw.randint(-limit, limit) for _ in range(size)] for size in sizes)
    bias = [draw.randint(-50, 50) for _ in range(case.columns)]
    program = to_program(case.kernel(dtype, sums, opts), CPU.renderer, Options(cores=cores))
    assert "tileloadd64" in program.src[3].arg
    inputs = [(left, dtype), (right, dtype), (bias, sums)]
    buffers = [
        Buffer("CPU", len(data), kind, initial_value=encoded(data, kind)) for data, kind in inputs
    ]
    out = Buffer("CPU", case.batch * case.rows * case.columns, sums).allocate()
    size, _ = program.arg.launch_dims({})
    launch = CPU.runtime(program.arg, program.src[4].arg)
    launch(out.memory, *(b.memory for b in buffers), global_size=size, wait=True)
    found = [int(value) for value in out.as_memoryview().cast(sums.fmt).tolist()]
    assert found == case.expected(left, right, bias)
    return found


@pytest.mark.parametrize("dtype", [dtypes.bfloat16, dtypes.int8], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sums_on_the_unit_are_right(case: Case, dtype: DType) -> None:
    run(case, dtype, ON_UNIT)


@pytest.mark.parametrize("dtype", [dtypes.bfloat16, dtypes.int8], ids=str)
@pytest.mark.parametrize("case", [Case(64, 80, 64), Case(100, 40, 96), Case(40, 40, 32, batch=2)])
def test_the_heuristic_takes_the_unit_with_any_number_of_threads(case: Case, dtype: DType) -> None:
    assert run(case, dtype, None, cores=1) == run(case, dtype, None, cores=2)


def test_a_child_of_a_fork_may_use_the_unit() -> None:
    case = Case(32, 32, 64)
    expected = run(case, dtypes.int8, ON_UNIT)
    child = os.fork()
    if child == 0:
        os._exit(0 if run(case, dtypes.int8, ON_UNIT) == expected else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
