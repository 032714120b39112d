"""The interpreter on kernels whose linear form is written by hand."""

from __future__ import annotations

import struct

import pytest
from tg_runtime import Buffer, Device
from tg_runtime.errors import CompileError, KernelFaultError, LaunchError, ObjectFileError
from tg_uop import AddrSpace, AxisType, DType, Ops, ProgramInfo, UOp, dtypes
from tg_uop.ir.args import ParamArg, RangeArg, SpecialArg
from tg_uop.text.pycode import to_python

INT = dtypes.int32


def param(slot: int, dtype: DType, size: int) -> UOp:
    return UOp(Ops.PARAM, dtype.ptr(size), (), ParamArg(slot))


def const(value: float, dtype: DType = INT) -> UOp:
    return UOp(Ops.CONST, dtype, (), value)


def loop(size: UOp, number: int = 0) -> UOp:
    return UOp(Ops.RANGE, INT, (size,), RangeArg((number,), AxisType.LOOP))


def address(memory: UOp, at: UOp, gate: UOp | None = None) -> UOp:
    gates = () if gate is None else (gate,)
    return UOp(Ops.INDEX, memory.dtype, (memory, at, *gates))


def run(
    nodes: list[UOp],
    buffers: list[Buffer],
    *,
    global_size: tuple[int, ...] = (1, 1, 1),
    local_size: tuple[int, ...] | None = None,
) -> None:
    text = to_python(UOp(Ops.LINEAR, dtypes.void, tuple(nodes)))
    info = ProgramInfo("kernel", globals=tuple(range(len(buffers))))
    program = Device["PYTHON"].runtime(info, text.encode())
    program(*[b.memory for b in buffers], global_size=global_size, local_size=local_size)


def buffer(values: list[float], dtype: DType) -> Buffer:
    assert dtype.fmt is not None
    data = struct.pack(f"{len(values)}{dtype.fmt}", *values)
    return Buffer("PYTHON", len(values), dtype, initial_value=data)


def read(found: Buffer) -> list[float]:
    return found.as_memoryview().cast(found.dtype.fmt).tolist()  # type: ignore[call-overload]


def test_a_loop_over_elements() -> None:
    target, source = param(0, dtypes.float32, 4), param(1, dtypes.float32, 4)
    size, half = const(4), const(0.5, dtypes.float32)
    i = loop(size)
    from_, to = address(source, i), address(target, i)
    loaded = UOp(Ops.LOAD, dtypes.float32, (from_,))
    total = UOp(Ops.ADD, dtypes.float32, (loaded, half))
    store = UOp(Ops.STORE, dtypes.void, (to, total))
    end = UOp(Ops.END, dtypes.void, (i,))
    out = buffer([0] * 4, dtypes.float32)
    nodes = [target, source, size, half, i, from_, to, loaded, total, store, end]
    run(nodes, [out, buffer([1, 2, 3, 4], dtypes.float32)])
    assert read(out) == [1.5, 2.5, 3.5, 4.5]


def test_vectors_masks_and_integer_wrapping() -> None:
    target, source = param(0, INT, 4), param(1, INT, 4)
    vector = INT.vec(4)
    zero = const(0)
    gate = UOp(Ops.VCONST, dtypes.bool.vec(4), (), (True, True, False, True))
    alt = UOp(Ops.VCONST, vector, (), (7, 7, 7, 7))
    from_, to = address(source, zero, gate), address(target, zero)
    loaded = UOp(Ops.LOAD, vector, (from_, alt))
    twice = UOp(Ops.ADD, vector, (loaded, loaded))
    picked = UOp(Ops.GEP, vector, (twice,), (3, 2, 1, 0))
    store = UOp(Ops.STORE, dtypes.void, (to, picked))
    out = buffer([0] * 4, INT)
    nodes = [target, source, zero, gate, alt, from_, to, loaded, twice, picked, store]
    run(nodes, [out, buffer([2**30, 1, 2, 3], INT)])
    assert read(out) == [6, 14, 2, -(2**31)]


def test_half_precision_goes_through_its_bits() -> None:
    target, source = param(0, dtypes.float16, 1), param(1, dtypes.float16, 1)
    zero = const(0)
    from_, to = address(source, zero), address(target, zero)
    loaded = UOp(Ops.LOAD, dtypes.float16, (from_,))
    product = UOp(Ops.MUL, dtypes.float16, (loaded, loaded))
    store = UOp(Ops.STORE, dtypes.void, (to, product))
    out = Buffer("PYTHON", 1, dtypes.float16, initial_value=bytes(2))
    value = Buffer("PYTHON", 1, dtypes.float16, initial_value=struct.pack("e", 0.1))
    run([target, source, zero, from_, to, loaded, product, store], [out, value])
    (rounded,) = struct.unpack("e", struct.pack("e", 0.1))
    assert bytes(out.as_memoryview()) == struct.pack("e", rounded * rounded)


def group_sum_nodes() -> list[UOp]:
    """Each of 4 work-items stores its number; after a barrier the first one adds them up."""
    target = param(0, INT, 2)
    shared = UOp(Ops.DEFINE_LOCAL, INT.ptr(4, AddrSpace.LOCAL), (), 0)
    total = UOp(Ops.DEFINE_REG, INT.ptr(1, AddrSpace.REG), (), 0)
    zero, four = const(0), const(4)
    group = UOp(Ops.SPECIAL, INT, (const(2),), SpecialArg("gidx0"))
    item = UOp(Ops.SPECIAL, INT, (four,), SpecialArg("lidx0"))
    own = address(shared, item)
    put = UOp(Ops.STORE, dtypes.void, (own, item))
    barrier = UOp(Ops.BARRIER, dtypes.void, (put,))
    cell = address(total, zero)
    clear = UOp(Ops.STORE, dtypes.void, (cell, zero))
    i = loop(four)
    each = address(shared, i)
    loaded = UOp(Ops.LOAD, INT, (each,))
    before = UOp(Ops.LOAD, INT, (cell,))
    added = UOp(Ops.ADD, INT, (before, loaded))
    keep = UOp(Ops.STORE, dtypes.void, (cell, added))
    end = UOp(Ops.END, dtypes.void, (i,))
    result = UOp(Ops.LOAD, INT, (UOp(Ops.AFTER, cell.dtype, (cell, end)),))
    first = UOp(Ops.CMPEQ, dtypes.bool, (item, zero))
    out = address(target, group, first)
    store = UOp(Ops.STORE, dtypes.void, (out, result))
    nodes = [target, shared, total, zero, four, group.src[0], group, item, own, put, barrier]
    nodes += [cell, clear, i, each, loaded, before, added, keep, end]
    return [*nodes, result.src[0], result, first, out, store]


def test_a_work_group_meets_at_its_barrier() -> None:
    out = buffer([0, 0], INT)
    run(group_sum_nodes(), [out], global_size=(2, 1, 1), local_size=(4, 1, 1))
    assert read(out) == [6, 6]


def test_a_barrier_that_some_never_reach_is_a_fault() -> None:
    zero = const(0)
    item = UOp(Ops.SPECIAL, INT, (const(4),), SpecialArg("lidx0"))
    condition = UOp(Ops.CMPEQ, dtypes.bool, (item, zero))
    branch = UOp(Ops.IF, dtypes.void, (condition,))
    barrier = UOp(Ops.BARRIER, dtypes.void, ())
    close = UOp(Ops.ENDIF, dtypes.void, (branch,))
    nodes = [zero, item.src[0], item, condition, branch, barrier, close]
    with pytest.raises(KernelFaultError, match="1 of 4 work-items wait"):
        run(nodes, [], local_size=(4, 1, 1))


def test_core_ids_count_the_grid() -> None:
    target = param(0, INT, 5)
    core = UOp(Ops.SPECIAL, INT, (const(5),), SpecialArg("core_id"))
    at = address(target, core)
    store = UOp(Ops.STORE, dtypes.void, (at, core))
    out = buffer([0] * 5, INT)
    run([target, core.src[0], core, at, store], [out], global_size=(5, 1, 1))
    assert read(out) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("place", [-1, 4])
def test_an_access_outside_is_a_fault_with_its_place(place: int) -> None:
    target = param(0, INT, 4)
    at = const(place)
    where = address(target, at)
    store = UOp(Ops.STORE, dtypes.void, (where, at))
    with pytest.raises(KernelFaultError, match=f"writes element {place} of param0, which has 4"):
        run([target, at, where, store], [buffer([0] * 4, INT)])


def test_a_closed_branch_does_nothing() -> None:
    target = param(0, INT, 1)
    no = const(False, dtypes.bool)
    zero = const(0)
    branch = UOp(Ops.IF, dtypes.void, (no,))
    where = address(target, zero)
    store = UOp(Ops.STORE, dtypes.void, (where, const(5)))
    close = UOp(Ops.ENDIF, dtypes.void, (branch,))
    out = buffer([1], INT)
    run([target, no, zero, const(5), branch, where, store, close], [out])
    assert read(out) == [1]


def test_a_buffer_that_is_too_short_is_refused() -> None:
    with pytest.raises(LaunchError, match="param0 needs 4000 bytes"):
        run([param(0, INT, 1000)], [buffer([0] * 4, INT)])


def test_text_that_is_no_kernel_is_refused() -> None:
    info = ProgramInfo("kernel")
    with pytest.raises(ObjectFileError, match="no text of a kernel"):
        Device["PYTHON"].runtime(info, b"import os")
    with pytest.raises(ObjectFileError, match="a kernel is a LINEAR"):
        Device["PYTHON"].runtime(info, to_python(const(1)).encode())


def test_an_unknown_instruction_is_named() -> None:
    with pytest.raises(CompileError, match="CUSTOM"):
        run([UOp(Ops.CUSTOM, dtypes.void, (), "text")], [])


def test_there_is_no_graph() -> None:
    assert Device["PYTHON"].graph is None
