"""The devices agree: PYTHON, CPU:LLVM and CPU:CLANG give the same values for the same kernels.

Integers and bools must be equal bit for bit; floats may differ in the last places, as a compiled
kernel may fuse a multiply with an add and adds up in another order.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_codegen.options import Options
from tg_codegen.pipeline import to_program
from tg_codegen.render.registry import renderer_names
from tg_runtime import Buffer, Device
from tg_runtime.compile.clang import find_c_compiler
from tg_runtime.errors import ToolMissingError
from tg_uop import AxisType, DType, KernelInfo, Ops, UOp, dtypes
from tg_uop.context import Context
from tg_uop.dtype.value import Value, from_bytes, to_bytes
from tg_uop.target import Target

INT, FLOAT, BOOL, BYTE = dtypes.int32, dtypes.float32, dtypes.bool, dtypes.uint8
NAN, INF = math.nan, math.inf


def devices() -> list[str]:
    """The targets of this machine that kernels run on; PYTHON, the witness, is first."""
    found = ["PYTHON", "CPU:LLVM"]
    try:
        find_c_compiler()
    except ToolMissingError:
        return found
    return [*found, "CPU:CLANG"] if "CLANG" in renderer_names("CPU") else found


DEVICES = devices()
WAYS = [Options(optimize=False, verify=True), Options(cores=2, verify=True)]


@dataclass(frozen=True)
class Case:
    """A kernel that writes parameter 0, its size and dtype, and the inputs."""

    kernel: UOp
    size: int
    dtype: DType
    inputs: Sequence[tuple[DType, Sequence[Value]]] = ()
    variables: tuple[int, ...] = ()


def run(case: Case, target: str, options: Options) -> list[Value]:
    """What the kernel writes on one target."""
    name = Target.parse(target).device
    device = Device[name]
    with Context(DEV=target):
        program = to_program(case.kernel, device.renderer, options)
    info = program.program_info
    binary = program.src[4].arg
    assert isinstance(binary, bytes)
    out = Buffer(name, case.size, case.dtype, initial_value=bytes(case.size * case.dtype.itemsize))
    buffers = {0: out}
    for slot, (dtype, values) in enumerate(case.inputs, start=1):
        data = to_bytes(list(values), dtype)
        buffers[slot] = Buffer(name, len(values), dtype, initial_value=data)
    global_size, local_size = info.launch_dims({})
    device.runtime(info, binary)(
        *[buffers[slot].memory for slot in info.globals],
        global_size=global_size,
        local_size=local_size,
        vals=case.variables,
    )
    return from_bytes(bytes(out.as_memoryview()), case.dtype)


def assert_close(found: Sequence[Value], expected: Sequence[Value], what: str) -> None:
    for at, (one, other) in enumerate(zip(found, expected, strict=True)):
        if isinstance(one, float) and isinstance(other, float):
            same = (math.isnan(one) and math.isnan(other)) or one == other
            close = math.isfinite(one) and math.isclose(one, other, rel_tol=2e-6, abs_tol=1e-30)
            assert same or close, f"{what}: element {at} is {one}, PYTHON has {other}"
        else:
            assert one == other, f"{what}: element {at} is {one}, PYTHON has {other}"


def check(case: Case, ways: Sequence[Options] = tuple(WAYS)) -> list[Value]:
    """All targets agree, optimized or not; what they agree on."""
    expected = run(case, DEVICES[0], ways[0])
    for target in DEVICES:
        for options in ways:
            found = run(case, target, options)
            assert_close(found, expected, f"{target} with optimize={options.optimize}")
    return expected


# building kernels


def memory(slot: int, dtype: DType, size: int) -> UOp:
    return UOp.param(slot, dtype.ptr(size))


def loop(size: int, number: int, kind: AxisType = AxisType.LOOP) -> UOp:
    return UOp.range(size, number, kind)


def elementwise(
    size: int, dtype: DType, function: Callable[..., UOp], *inputs: tuple[DType, Sequence[Value]]
) -> Case:
    """out[i] = function(in1[i], in2[i], ...)"""
    i = loop(size, 0)
    loaded = [memory(n, kind, size).index(i) for n, (kind, _) in enumerate(inputs, start=1)]
    store = memory(0, dtype, size).index(i).store(function(*loaded))
    return Case(store.end(i).sink(arg=KernelInfo("elementwise")), size, dtype, inputs)


def unary(op: Ops, dtype: DType) -> Callable[[UOp], UOp]:
    return lambda x: UOp(op, dtype, (x,))


def binary(op: Ops, dtype: DType) -> Callable[[UOp, UOp], UOp]:
    return lambda x, y: UOp(op, dtype, (x, y))


def spread(values: Sequence[Value], size: int) -> list[Value]:
    return [values[i % len(values)] for i in range(size)]


# one kernel for each kind of work

SIZES = [1, 3, 8, 17, 130]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [INT, FLOAT, BYTE, dtypes.int64, dtypes.float64, dtypes.int16])
def test_sums_of_elements(size: int, dtype: DType) -> None:
    values: list[Value] = [1, 2, 100, 27, 3] if dtype.is_int else [1.5, -2.25, 1e10, 0.1, -0.0]
    case = elementwise(
        size,
        dtype,
        lambda x, y: UOp(Ops.ADD, dtype, (UOp(Ops.MUL, dtype, (x, y)), x)),
        (dtype, spread(values, size)),
        (dtype, spread(values[::-1], size)),
    )
    check(case)


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    NAN,
    INF,
    -INF,
    3.4e38,
    1e-45,
    2.5,
    -2.5,
    1e10,
    -1e10,
    3e9,
    2**31.0,
]


@pytest.mark.parametrize("op", [Ops.MAX, Ops.ADD, Ops.MUL, Ops.SUB, Ops.FDIV])
def test_special_values_of_float_operations(op: Ops) -> None:
    pairs = [(x, y) for x in SPECIAL for y in SPECIAL]
    left, right = [p[0] for p in pairs], [p[1] for p in pairs]
    rounded = [struct.unpack("f", struct.pack("f", v))[0] for v in left]
    rounded_right = [struct.unpack("f", struct.pack("f", v))[0] for v in right]
    case = elementwise(
        len(pairs), FLOAT, binary(op, FLOAT), (FLOAT, rounded), (FLOAT, rounded_right)
    )
    check(case)


@pytest.mark.parametrize("op", [Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ])
def test_comparisons_with_nan(op: Ops) -> None:
    pairs = [(x, y) for x in SPECIAL[:8] for y in SPECIAL[:8]]
    rounded = [struct.unpack("f", struct.pack("f", p[0]))[0] for p in pairs]
    right = [struct.unpack("f", struct.pack("f", p[1]))[0] for p in pairs]
    check(elementwise(len(pairs), BOOL, binary(op, BOOL), (FLOAT, rounded), (FLOAT, right)))


@pytest.mark.parametrize("op", [Ops.SQRT, Ops.RECIPROCAL, Ops.TRUNC, Ops.NEG])
def test_exact_float_functions(op: Ops) -> None:
    values = [struct.unpack("f", struct.pack("f", v))[0] for v in [*SPECIAL, 0.7, 123.456, -7.9]]
    check(elementwise(len(values), FLOAT, unary(op, FLOAT), (FLOAT, values)))


@pytest.mark.parametrize("op", [Ops.EXP2, Ops.LOG2, Ops.SIN])
def test_transcendental_functions(op: Ops) -> None:
    values = [0.0, 1.0, -1.0, 0.5, 2.0, 10.25, -10.25, 100.0, 0.001, NAN, INF, -INF, 1e-3, 77.7]
    rounded = [struct.unpack("f", struct.pack("f", v))[0] for v in values]
    check(elementwise(len(values), FLOAT, unary(op, FLOAT), (FLOAT, rounded)))


@pytest.mark.parametrize("target", [INT, BYTE, dtypes.int8, dtypes.int64, dtypes.uint32, BOOL])
@pytest.mark.parametrize("size", [1, 8, 15])
def test_casts_from_float(target: DType, size: int) -> None:
    values = [struct.unpack("f", struct.pack("f", v))[0] for v in SPECIAL]
    for start in range(0, len(values), size):
        part = spread(values[start:], size)
        check(elementwise(size, target, lambda x: x.cast(target), (FLOAT, part)))


@pytest.mark.parametrize("target", [FLOAT, dtypes.float64, dtypes.uint8, dtypes.int64, BOOL])
def test_casts_from_int(target: DType) -> None:
    values = [0, 1, -1, 2**31 - 1, -(2**31), 255, 256, 16777217, 12345]
    check(elementwise(len(values), target, lambda x: x.cast(target), (INT, values)))


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16, dtypes.fp8e4m3, dtypes.fp8e5m2])
@pytest.mark.parametrize("size", [1, 9, 32])
def test_narrow_floats(dtype: DType, size: int) -> None:
    values = [struct.unpack("f", struct.pack("f", v))[0] for v in [0.1, -1.7, 300.0, 1e-4, 7, NAN]]
    half = UOp.const(dtype, 0.5)
    case = elementwise(
        size,
        FLOAT,
        lambda x: UOp(Ops.MUL, dtype, (x.cast(dtype), half)).cast(FLOAT),
        (FLOAT, spread(values, size)),
    )
    check(case)
    stored = elementwise(size, dtype, lambda x: x.cast(dtype), (FLOAT, spread(values, size)))
    check(stored)


EDGES = [0, 1, -1, 2, -2, 3, 7, -7, 31, 100, 2**31 - 1, -(2**31), -(2**31) + 1]


@pytest.mark.parametrize("op", [Ops.IDIV, Ops.MOD, Ops.MUL, Ops.MAX, Ops.XOR, Ops.AND, Ops.OR])
@pytest.mark.parametrize("dtype", [INT, BYTE, dtypes.uint32, dtypes.int64])
def test_integer_operations(op: Ops, dtype: DType) -> None:
    assert isinstance(dtype.min, int)
    edges = [v for v in EDGES if dtype.min <= v <= dtype.max] + [dtype.min, dtype.max]
    pairs = [(x, y) for x in edges for y in edges]
    left, right = [p[0] for p in pairs], [p[1] for p in pairs]
    check(elementwise(len(pairs), dtype, binary(op, dtype), (dtype, left), (dtype, right)))


@pytest.mark.parametrize("op", [Ops.SHL, Ops.SHR])
@pytest.mark.parametrize("dtype", [INT, dtypes.uint32])
def test_shifts(op: Ops, dtype: DType) -> None:
    values = [1, 5, 2**31 - 1, 0x12345678] + ([-1, -(2**31)] if dtype is INT else [2**32 - 1])
    pairs = [(x, y) for x in values for y in (0, 1, 7, 31)]
    left, right = [p[0] for p in pairs], [p[1] for p in pairs]
    check(elementwise(len(pairs), dtype, binary(op, dtype), (dtype, left), (dtype, right)))


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 641, -1, -3, -8, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("op", [Ops.IDIV, Ops.MOD])
def test_division_by_constants(op: Ops, divisor: int) -> None:
    values = [*EDGES, 640, 641, 642, -641, 99, 1000000007]
    constant = UOp.const(INT, divisor)
    check(elementwise(len(values), INT, lambda x: UOp(op, INT, (x, constant)), (INT, values)))


def test_bitcasts() -> None:
    values = [struct.unpack("f", struct.pack("f", v))[0] for v in SPECIAL if not math.isnan(v)]
    check(elementwise(len(values), INT, lambda x: x.bitcast(INT), (FLOAT, values)))


def test_threefry() -> None:
    values = [0, 1, 2**63, 2**64 - 1, 1234567890123456789]
    dtype = dtypes.uint64
    seeds = [7, 0, 2**64 - 1, 5, 2**32]
    op = binary(Ops.THREEFRY, dtype)
    check(elementwise(len(values), dtype, op, (dtype, values), (dtype, seeds)))


def numbers(count: int, seed: int = 0) -> list[Value]:
    source = random.Random(seed)
    # few bits, so that sums are exact in any order
    return [source.randint(-64, 64) / 8 for _ in range(count)]


@pytest.mark.parametrize("op", [Ops.ADD, Ops.MAX])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 5), (16, 16), (5, 130), (64, 48)])
def test_reductions_of_rows(op: Ops, rows: int, columns: int) -> None:
    i, j = loop(rows, 0), loop(columns, 1, AxisType.REDUCE)
    source = memory(1, FLOAT, rows * columns).index(i * columns + j)
    store = memory(0, FLOAT, rows).index(i).store(source.reduce(j, arg=op))
    kernel = store.end(i).sink(arg=KernelInfo("rows"))
    check(Case(kernel, rows, FLOAT, [(FLOAT, numbers(rows * columns))]))


@pytest.mark.parametrize(("n", "m", "k"), [(2, 3, 4), (16, 48, 16), (17, 33, 9), (64, 96, 32)])
def test_matrix_products(n: int, m: int, k: int) -> None:
    i, j, r = loop(n, 0), loop(m, 1), loop(k, 2, AxisType.REDUCE)
    left = memory(1, FLOAT, n * k).index(i * k + r)
    right = memory(2, FLOAT, k * m).index(r * m + j)
    product = (left * right).reduce(r)
    store = memory(0, FLOAT, n * m).index(i * m + j).store(product)
    kernel = store.end(i, j).sink(arg=KernelInfo("matmul"))
    inputs = [(FLOAT, numbers(n * k, 1)), (FLOAT, numbers(k * m, 2))]
    found = check(Case(kernel, n * m, FLOAT, inputs))
    a, b = inputs[0][1], inputs[1][1]
    assert found[m + 1] == sum(a[k + t] * b[t * m + 1] for t in range(k))


def test_padding_is_a_gate() -> None:
    i = loop(20, 0)
    inside = UOp(Ops.AND, BOOL, (i < 15, UOp(Ops.XOR, BOOL, (i < 5, UOp.const(BOOL, True)))))
    source = memory(1, FLOAT, 10).index((i - 5).valid(inside))
    store = memory(0, FLOAT, 20).index(i).store(source + 1.0)
    kernel = store.end(i).sink(arg=KernelInfo("pad"))
    found = check(Case(kernel, 20, FLOAT, [(FLOAT, numbers(10))]))
    assert found[:5] == found[15:] == [1.0] * 5


def test_a_closed_store_does_nothing() -> None:
    i = loop(20, 0)
    store = memory(0, INT, 20).index(i.valid((i % 3) < 1)).store(memory(1, INT, 20).index(i))
    kernel = store.end(i).sink(arg=KernelInfo("masked"))
    found = check(Case(kernel, 20, INT, [(INT, list(range(1, 21)))]))
    assert found == [v if (v - 1) % 3 == 0 else 0 for v in range(1, 21)]


@pytest.mark.parametrize("size", [1, 9, 16])
def test_a_gather_reads_where_it_is_told(size: int) -> None:
    places = [n * 7 % 5 for n in range(size)]
    i = loop(size, 0)
    place = memory(2, INT, size).index(i).cast(dtypes.weakint)
    store = memory(0, FLOAT, size).index(i).store(memory(1, FLOAT, 5).index(place))
    kernel = store.end(i).sink(arg=KernelInfo("gather"))
    inputs = [(FLOAT, [1.0, 2.0, 3.0, 4.0, 5.0]), (INT, places)]
    assert check(Case(kernel, size, FLOAT, inputs)) == [place + 1.0 for place in places]


def test_transposed_copies() -> None:
    i, j = loop(24, 0), loop(40, 1)
    source = memory(1, FLOAT, 960).index(j * 24 + i)
    store = memory(0, FLOAT, 960).index(i * 40 + j).store(source)
    kernel = store.end(i, j).sink(arg=KernelInfo("transpose"))
    check(Case(kernel, 960, FLOAT, [(FLOAT, numbers(960))]))


def test_softmax_like_nesting() -> None:
    """A reduction inside of an elementwise expression inside of a reduction."""
    rows, columns = 6, 20
    i, j, k = loop(rows, 0), loop(columns, 1, AxisType.REDUCE), loop(columns, 2, AxisType.REDUCE)
    source = memory(1, FLOAT, rows * columns)
    highest = source.index(i * columns + j).reduce(j, arg=Ops.MAX)
    total = (source.index(i * columns + k) - highest).reduce(k)
    store = memory(0, FLOAT, rows).index(i).store(total + highest)
    kernel = store.end(i).sink(arg=KernelInfo("nested"))
    check(Case(kernel, rows, FLOAT, [(FLOAT, numbers(rows * columns))]))


def test_a_variable_is_a_number() -> None:
    n = UOp.variable("n", 1, 100)
    i = loop(10, 0)
    value = memory(1, INT, 10).index(i) + n.cast(INT)
    kernel = memory(0, INT, 10).index(i).store(value).end(i).sink(arg=KernelInfo("variable"))
    case = Case(kernel, 10, INT, [(INT, list(range(10)))], (42,))
    assert check(case) == list(range(42, 52))


# random kernels

SCALARS: dict[DType, st.SearchStrategy[Value]] = {
    INT: st.one_of(st.sampled_from(EDGES), st.integers(-(2**31), 2**31 - 1)),
    BYTE: st.integers(0, 255),
    BOOL: st.booleans(),
    FLOAT: st.one_of(st.sampled_from([v / 8 for v in range(-64, 64)]), st.floats(width=32)),
}
INT_OPS = [Ops.ADD, Ops.SUB, Ops.MUL, Ops.IDIV, Ops.MOD, Ops.MAX, Ops.AND, Ops.OR, Ops.XOR]
FLOAT_OPS = [Ops.ADD, Ops.SUB, Ops.MUL, Ops.MAX]
BOOL_OPS = [Ops.AND, Ops.OR, Ops.XOR]
COMPARISONS = [Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ]


@st.composite
def expressions(draw: st.DrawFn, leaves: dict[DType, list[UOp]], dtype: DType, depth: int) -> UOp:
    """A random expression of a dtype over loaded values and constants."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        if leaves.get(dtype) and draw(st.booleans()):
            return draw(st.sampled_from(leaves[dtype]))
        return UOp.const(dtype, draw(SCALARS[dtype]))

    def operand(kind: DType) -> UOp:
        return draw(expressions(leaves, kind, depth - 1))

    if draw(st.integers(0, 4)) == 0:
        return UOp(Ops.WHERE, dtype, (operand(BOOL), operand(dtype), operand(dtype)))
    if draw(st.integers(0, 4)) == 0:
        kind = draw(st.sampled_from([k for k in SCALARS if k is not dtype]))
        return operand(kind).cast(dtype)
    if dtype is BOOL:
        if draw(st.booleans()):
            kind = draw(st.sampled_from([INT, BYTE, FLOAT]))
            return UOp(draw(st.sampled_from(COMPARISONS)), BOOL, (operand(kind), operand(kind)))
        return UOp(draw(st.sampled_from(BOOL_OPS)), BOOL, (operand(BOOL), operand(BOOL)))
    op = draw(st.sampled_from(FLOAT_OPS if dtype is FLOAT else INT_OPS))
    return UOp(op, dtype, (operand(dtype), operand(dtype)))


@st.composite
def random_cases(draw: st.DrawFn, kinds: Sequence[DType]) -> Case:
    size = draw(st.sampled_from([1, 2, 7, 16, 33]))
    i = loop(size, 0)
    inputs: list[tuple[DType, list[Value]]] = []
    leaves: dict[DType, list[UOp]] = {}
    for slot, kind in enumerate(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)), 1):
        values = draw(st.lists(SCALARS[kind], min_size=size, max_size=size))
        inputs.append((kind, values))
        leaves.setdefault(kind, []).append(memory(slot, kind, size).index(i))
    dtype = draw(st.sampled_from(kinds))
    value = draw(expressions(leaves, dtype, draw(st.integers(1, 4))))
    store = memory(0, dtype, size).index(i).store(value)
    return Case(store.end(i).sink(arg=KernelInfo("random")), size, dtype, inputs)


def used_inputs(case: Case) -> Case:
    """Inputs that the kernel reads: others have no slot in the program."""
    return replace(case, inputs=tuple(case.inputs))


@settings(max_examples=60, deadline=None)
@given(random_cases([INT, BYTE, BOOL]))
def test_random_integer_kernels(case: Case) -> None:
    check(used_inputs(case))


@settings(max_examples=40, deadline=None)
@given(random_cases([INT, FLOAT, BOOL]))
def test_random_mixed_kernels(case: Case) -> None:
    """Floats only where no rounding can differ: products and sums are of few bits or special."""
    check(used_inputs(case), [Options(optimize=False, verify=True)])
