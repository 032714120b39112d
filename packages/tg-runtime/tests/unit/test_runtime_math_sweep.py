"""Transcendental functions on the CPU over all exponents: below 2 ulp in single precision."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable

import pytest
from tg_codegen.options import Options
from tg_codegen.pipeline import to_program
from tg_runtime import Buffer, Device
from tg_uop import DType, KernelInfo, Ops, UOp, dtypes
from tg_uop.dtype.value import FORMATS

COUNT = 1 << 15
LETTERS = {dtypes.float32: "f", dtypes.float64: "d"}
Exact = Callable[[float], float]
INTEGERS = {dtypes.float32: "I", dtypes.float64: "Q"}


def run(function: Callable[[UOp], UOp], values: array[float], dtype: DType) -> array[float]:
    """function(x) for every x, on the CPU."""
    count = len(values)
    i = UOp.range(count, 0)
    source = UOp.param(1, dtype.ptr(count)).index(i)
    store = UOp.param(0, dtype.ptr(count)).index(i).store(function(source))
    device = Device["CPU"]
    kernel = store.end(i).sink(arg=KernelInfo("sweep"))
    program = to_program(kernel, device.renderer, Options(verify=True))
    info = program.program_info
    binary = program.src[4].arg
    assert isinstance(binary, bytes)
    out = Buffer("CPU", count, dtype, initial_value=bytes(count * dtype.itemsize))
    given = Buffer("CPU", count, dtype, initial_value=values.tobytes())
    global_size, local_size = info.launch_dims({})
    device.runtime(info, binary)(
        out.memory, given.memory, global_size=global_size, local_size=local_size, vals=()
    )
    return array(LETTERS[dtype], bytes(out.as_memoryview()))


def every_exponent(dtype: DType, seed: int) -> array[float]:
    """Numbers whose bits step evenly through all patterns, both signs, with noise below."""
    bits = 8 * dtype.itemsize
    rng = random.Random(seed)
    step = (1 << bits) // COUNT
    patterns = [at * step + rng.randrange(step) for at in range(COUNT)]
    return array(LETTERS[dtype], array(INTEGERS[dtype], patterns).tobytes())


def between(low: float, high: float, dtype: DType, seed: int) -> array[float]:
    rng = random.Random(seed)
    return array(LETTERS[dtype], [rng.uniform(low, high) for _ in range(COUNT)])


def worst_error(found: array[float], given: array[float], exact: Exact, dtype: DType) -> float:
    """The largest error in ulp; infinity where a special value is wrong."""
    layout = FORMATS[dtype]
    worst = 0.0
    for x, result in zip(given, found, strict=True):
        expected = exact(x)
        if math.isnan(expected):
            wrong = not math.isnan(result)
        elif abs(expected) > layout.largest:
            wrong = result != math.copysign(math.inf, expected) and abs(result) < layout.largest
        else:
            exponent = math.frexp(expected)[1] - 1 if expected else layout.lowest_exponent
            unit = math.ldexp(1.0, max(exponent, layout.lowest_exponent) - layout.mantissa)
            worst = max(worst, abs(result - expected) / unit)
            wrong = math.isnan(result)
        if wrong:
            return math.inf
    return worst


def exact_exp2(x: float) -> float:
    return math.inf if x >= 1024 else 2.0**x if x == x else x


def exact_exp(x: float) -> float:
    return math.inf if x > 709.7 else math.exp(x)


def exact_log2(x: float) -> float:
    if x > 0:
        return math.log2(x)
    return -math.inf if x == 0 else math.nan


def exact_sin(x: float) -> float:
    return math.sin(x) if math.isfinite(x) else math.nan


def alu(op: Ops) -> Callable[[UOp], UOp]:
    return lambda x: x.alu(op)


FUNCTIONS: dict[str, tuple[Callable[[UOp], UOp], Exact, tuple[float, float]]] = {
    "exp2": (alu(Ops.EXP2), exact_exp2, (-150.0, 128.0)),
    "exp": (lambda x: (x * (1 / math.log(2))).alu(Ops.EXP2), exact_exp, (-104.0, 89.0)),
    "log2": (alu(Ops.LOG2), exact_log2, (0.5, 2.0)),
    "sin": (alu(Ops.SIN), exact_sin, (-50.0, 50.0)),
}


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_all_exponents(name: str, dtype: DType) -> None:
    function, exact, _ = FUNCTIONS[name]
    given = every_exponent(dtype, seed=1)
    limit = 2.0 if dtype is dtypes.float32 else 3.0
    assert worst_error(run(function, given, dtype), given, exact, dtype) < limit


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_where_it_matters(name: str, dtype: DType) -> None:
    function, exact, (low, high) = FUNCTIONS[name]
    given = between(low, high, dtype, seed=2)
    limit = 1.5 if dtype is dtypes.float32 else 3.0
    assert worst_error(run(function, given, dtype), given, exact, dtype) < limit


def test_sine_of_huge_numbers() -> None:
    given = array("f", [math.ldexp(1.0 + n / 4096, n % 127) for n in range(4096)])
    found = run(alu(Ops.SIN), given, dtypes.float32)
    assert worst_error(found, given, exact_sin, dtypes.float32) < 1.6


@pytest.mark.parametrize("length", [1, 3, 8, 17, 100])
def test_every_length_gives_the_same(length: int) -> None:
    """Vectors, what is left of them and scalars compute the same bits."""
    given = between(-10.0, 10.0, dtypes.float32, seed=3)[:length]
    long = array("f", list(given) * (1600 // length + 1))
    for function, _, _ in FUNCTIONS.values():
        expected = run(function, long, dtypes.float32)[:length]
        found = run(function, given, dtypes.float32)
        assert [repr(v) for v in found] == [repr(v) for v in expected]
