"""What the heuristic proposes for kernels of each kind."""

from __future__ import annotations

import pytest
from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.choose import heuristic
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.options import Options
from tg_codegen.target.caps import Capabilities
from tg_uop import AxisType, KernelInfo, Ops, Opt, OptOps, UOp, dtypes
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify

FLOAT = dtypes.float32


class FakeRenderer:
    def __init__(self, **facts: object) -> None:
        known = {"ops": frozenset(Ops), "dtypes": frozenset((FLOAT,))}
        self.caps = Capabilities(**{**known, **facts})  # type: ignore[arg-type]


WIDE = FakeRenderer(
    vector_bits=512,
    vector_registers=32,
    masked_memory=True,
    has_fma=True,
    has_threads=True,
    max_threads=1024,
    stack_bytes=1 << 18,
    l1_bytes=1 << 15,
    l2_bytes=1 << 20,
)
NARROW = FakeRenderer(vector_bits=128, vector_registers=16, stack_bytes=1 << 18)
GPU = FakeRenderer(has_local=True, has_shared=True, shared_bytes=1 << 15, max_workgroup=1024)
TWO = Options(cores=2)


def buffer(slot: int, size: int) -> UOp:
    return UOp.param(slot, FLOAT.ptr(size))


def matmul(m: int, n: int, k: int, transposed: bool = False) -> UOp:
    i, j, r = UOp.range(m, 0), UOp.range(n, 1), UOp.range(k, 2, AxisType.REDUCE)
    right = buffer(2, k * n).index(j * k + r if transposed else r * n + j)
    value = (buffer(1, m * k).index(i * k + r) * right).reduce(r)
    return buffer(0, m * n).index(i * n + j).store(value).end(i, j).sink(arg=KernelInfo())


def pointwise(*sizes: int) -> UOp:
    loops = [UOp.range(size, axis) for axis, size in enumerate(sizes)]
    at, total = UOp.const(dtypes.weakint, 0), 1
    for loop, size in zip(loops, sizes, strict=True):
        at, total = at * size + loop, total * size
    value = buffer(1, total).index(at) + 1.0
    return buffer(0, total).index(at).store(value).end(*loops).sink(arg=KernelInfo())


def column_sums(m: int, n: int) -> UOp:
    i, r = UOp.range(n, 0), UOp.range(m, 1, AxisType.REDUCE)
    value = buffer(1, m * n).index(r * n + i).reduce(r)
    return buffer(0, n).index(i).store(value).end(i).sink(arg=KernelInfo())


def row_sums(m: int, n: int) -> UOp:
    i, r = UOp.range(m, 0), UOp.range(n, 1, AxisType.REDUCE)
    value = buffer(1, m * n).index(i * n + r).reduce(r)
    return buffer(0, m).index(i).store(value).end(i).sink(arg=KernelInfo())


def chosen(ast: UOp, renderer: FakeRenderer = WIDE, options: Options = TWO) -> Scheduler:
    return heuristic(Scheduler(ast, renderer), options)


def kinds(view: Scheduler) -> list[OptOps]:
    return [opt.op for opt in view.applied_opts]


def lane_axis(view: Scheduler) -> UOp:
    return next(r for r in view.rngs if r.range_arg.lanes)


def reads_of(view: Scheduler, slot: int) -> list[UOp]:
    found = [node for node in view.ast.toposort() if node.op is Ops.INDEX]
    return [node for node in found if node.src[0].op is Ops.PARAM and node.src[0].arg.slot == slot]


def test_a_large_matmul_is_tiled_staged_and_shared() -> None:
    view = chosen(matmul(1024, 1024, 1024))
    assert {OptOps.THREAD, OptOps.LANES, OptOps.STAGE} <= set(kinds(view))
    assert {OptOps.UPCAST, OptOps.LAP} & set(kinds(view)), "several rows at once"
    lane = lane_axis(view)
    rows = [r for r in view.rngs if r.axis_type is AxisType.UPCAST and r is not lane]
    registers = int(lane.vmax + 1) // 16
    for row in rows:
        registers *= int(row.vmax) + 1
    assert 8 <= registers <= 28, "accumulators fill the registers and fit into them"


def test_each_thread_copies_its_own_part_of_an_operand() -> None:
    view = chosen(matmul(64, 1000, 1000))
    assert OptOps.STAGE in kinds(view)
    shared = next(r for r in view.rngs if r.axis_type is AxisType.THREAD)
    assert shared in reads_of(view, 2)[0].ranges


@pytest.mark.parametrize(("m", "n", "outer"), [(128, 50257, 2), (50257, 128, 1)])
def test_what_exceeds_the_caches_is_read_once(m: int, n: int, outer: int) -> None:
    """The loops of the larger operand stand outside of those of the smaller one."""
    view = chosen(matmul(m, n, 64))
    loops = [r for r in view.rngs if r.axis_type is AxisType.LOOP]
    (larger,) = reads_of(view, outer)
    assert loops[0] in larger.ranges


def test_an_operand_that_is_used_seldom_is_read_in_place_by_blocks() -> None:
    view = chosen(matmul(16, 1024, 1024))
    assert OptOps.BLOCK in kinds(view)
    assert OptOps.STAGE not in kinds(view)


def test_a_long_reduction_of_any_divisible_length_is_blocked() -> None:
    assert OptOps.BLOCK in kinds(chosen(matmul(128, 64, 50257)))


def test_a_transposed_operand_is_staged_or_read_along() -> None:
    view = chosen(matmul(256, 256, 256, transposed=True))
    lane = lane_axis(view)
    loads = [b for b in view.bufs[1:] if lane in b.ranges]
    assert all(view.access(load).stride(lane) == 1 for load in loads)  # type: ignore[union-attr]


def test_narrow_vectors_get_a_smaller_tile() -> None:
    view = chosen(matmul(64, 64, 64), NARROW)
    assert view.upcast_size() <= 16 * 4 * 8


def test_a_product_of_odd_sizes_has_tiles_that_overlap() -> None:
    view = chosen(matmul(127, 127, 127))
    assert [opt.op for opt in view.applied_opts[:2]] == [OptOps.LAP, OptOps.LAP]
    assert OptOps.PADTO not in kinds(view)
    assert view.upcast_size() >= 16 * 8


def test_what_reads_its_result_is_computed_once() -> None:
    i, j, r = UOp.range(127, 0), UOp.range(127, 1), UOp.range(61, 2, AxisType.REDUCE)
    left, right = buffer(1, 127 * 61), buffer(2, 61 * 127)
    product = (left.index(i * 61 + r) * right.index(r * 127 + j)).reduce(r)
    place = buffer(0, 127 * 127).index(i * 127 + j)
    kernel = place.store(place + product).end(i, j).sink(arg=KernelInfo())
    assert OptOps.LAP not in kinds(chosen(kernel))
    with pytest.raises(KernelOptError, match="reads what it writes"):
        Scheduler(kernel, WIDE).apply_opt(Opt(OptOps.LAP, 0, (8, 0)))


def test_tiny_kernels_stay_on_one_thread() -> None:
    assert OptOps.THREAD not in kinds(chosen(pointwise(64)))
    assert OptOps.THREAD not in kinds(chosen(matmul(4, 4, 4)))


def test_one_core_means_no_threads_and_the_same_tile() -> None:
    alone, shared = (
        chosen(matmul(256, 256, 256), options=Options(cores=1)),
        chosen(matmul(256, 256, 256)),
    )
    assert OptOps.THREAD not in kinds(alone)
    assert lane_axis(alone).size == lane_axis(shared).size
    assert alone.upcast_size() == shared.upcast_size()


def test_what_no_number_of_threads_divides_is_shared_in_parts_that_overlap() -> None:
    for ast in (matmul(777, 777, 777), row_sums(1023, 1023), matmul(3, 777, 511)):
        view = chosen(ast)
        assert OptOps.THREAD in kinds(view)
        rest = next(r for r in view.rngs if r.axis_type is AxisType.THREAD)
        assert rest.size == 2


def test_threads_of_one_share_each_or_of_an_update_do_not_overlap() -> None:
    view = Scheduler(row_sums(5, 64), WIDE)
    with pytest.raises(KernelOptError, match="does not divide"):
        view.apply_opt(Opt(OptOps.THREAD, 0, 4))
    i = UOp.range(127, 0)
    place = buffer(0, 127).index(i)
    update = place.store(place * 2).end(i).sink(arg=KernelInfo())
    with pytest.raises(KernelOptError, match="does not divide"):
        Scheduler(update, WIDE).apply_opt(Opt(OptOps.THREAD, 0, 2))


@pytest.mark.parametrize(
    "kernel",
    [
        matmul(256, 96, 300),
        matmul(512, 512, 512, transposed=True),
        matmul(127, 131, 61),
        row_sums(64, 5000),
        column_sums(3000, 64),
        column_sums(1000, 1000),
    ],
)
def test_the_order_of_sums_does_not_depend_on_the_cores(kernel: UOp) -> None:
    structures = []
    for cores in (1, 2, 3, 8):
        view = chosen(kernel, options=Options(cores=cores))
        within = [r for r in view.rngs if r.axis_type.is_reduce or r.axis_type is AxisType.UPCAST]
        structures.append([(r.axis_type, r.size, r.range_arg.lanes) for r in within])
    assert all(structure == structures[0] for structure in structures)


@pytest.mark.parametrize("symbolic", ["m", "n", "k"])
@pytest.mark.parametrize("renderer", [WIDE, NARROW, GPU])
def test_sizes_known_only_later_are_no_obstacle(symbolic: str, renderer: FakeRenderer) -> None:
    sizes: dict[str, int | UOp] = {"m": 64, "n": 64, "k": 64}
    sizes[symbolic] = UOp.variable(symbolic, 1, 64)
    i, j = UOp.range(sizes["m"], 0), UOp.range(sizes["n"], 1)
    r = UOp.range(sizes["k"], 2, AxisType.REDUCE)
    value = (buffer(1, 4096).index(i * 64 + r) * buffer(2, 4096).index(r * 64 + j)).reduce(r)
    total = buffer(1, 4096).index(i * 64 + r).reduce(r)
    for result in (value, total):
        loops = [loop for loop in (i, j) if loop in result.ranges]
        at = i * 64 + j if j in loops else i
        kernel = buffer(0, 4096).index(at).store(result).end(*loops).sink(arg=KernelInfo())
        verify(chosen(kernel, renderer).get_optimized_ast(), Form.KERNEL)


def test_elementwise_lanes_follow_the_store() -> None:
    view = chosen(pointwise(1 << 20))
    assert kinds(view) == [OptOps.THREAD, OptOps.LANES]
    assert lane_axis(view).size == 64


def test_sizes_without_good_divisors_are_padded() -> None:
    view = chosen(pointwise(1_000_003))
    assert kinds(view) == [OptOps.PADTO, OptOps.THREAD, OptOps.LANES]


def test_contiguous_sums_have_lanes_along_the_reduction() -> None:
    view = chosen(row_sums(512, 1024))
    assert lane_axis(view).axis_type is AxisType.UNROLL


def test_rows_of_any_length_have_steps_that_do_not_wait_for_each_other() -> None:
    """1000 is no multiple of four vectors: padded, its steps can be written out in fours."""
    narrow = FakeRenderer(vector_bits=256, vector_any_width=True)
    for length in (1000, 1021):
        view = chosen(row_sums(64, length), narrow)
        assert kinds(view)[:3] == [OptOps.PADTO, OptOps.LANES, OptOps.UNROLL]


def test_columns_of_odd_length_are_summed_by_lanes_that_overlap() -> None:
    narrow = FakeRenderer(vector_bits=256, vector_any_width=True)
    assert chosen(column_sums(64, 1021), narrow).applied_opts[0] == Opt(OptOps.LAP, 0, (8, 1))


def test_groups_share_a_long_reduction() -> None:
    assert kinds(chosen(row_sums(16, 4096), GPU)) == [OptOps.GROUPTOP]


def test_groups_of_work_items_for_elementwise_kernels() -> None:
    view = chosen(pointwise(1 << 16), GPU)
    assert OptOps.LOCAL in kinds(view)
    assert AxisType.LOOP not in view.axis_types
