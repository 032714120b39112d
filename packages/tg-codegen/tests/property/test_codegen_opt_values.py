"""Opts never change what a kernel computes: random kernels, random Opts, kernel form as witness."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.choose import heuristic
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.options import Options
from tg_codegen.pipeline import canonical, lowering, optimization
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.registry import INTERPRETER
from tg_uop import AxisType, KernelInfo, Ops, Opt, OptOps, UOp, dtypes
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify

Run = Callable[..., dict[int, list[int]]]
INT = dtypes.int32


class FakeRenderer:
    """A target described by its capabilities alone."""

    def __init__(self, **facts: object) -> None:
        known = {"ops": frozenset(Ops), "dtypes": frozenset((INT,))}
        self.caps = Capabilities(**{**known, **facts})  # type: ignore[arg-type]


CPU = FakeRenderer(
    vector_bits=128,
    vector_registers=16,
    masked_memory=True,
    has_threads=True,
    max_threads=4,
    stack_bytes=1 << 16,
)
LOWERED = FakeRenderer(
    ops=INTERPRETER.ops,
    dtypes=INTERPRETER.dtypes,
    vector_bits=128,
    vector_any_width=True,
    masked_memory=True,
    has_threads=True,
    max_threads=4,
    stack_bytes=1 << 16,
)
# as LOWERED, but the last step of a padded loop is peeled, whether it adds up or stores
UNMASKED = FakeRenderer(
    ops=INTERPRETER.ops,
    dtypes=INTERPRETER.dtypes,
    vector_bits=128,
    vector_any_width=True,
    has_threads=True,
    max_threads=4,
    stack_bytes=1 << 16,
)
GPU = FakeRenderer(has_local=True, has_shared=True, shared_bytes=1 << 14, max_workgroup=64)


def buffer(slot: int, size: int) -> UOp:
    return UOp.param(slot, INT.ptr(size))


def loop(size: int, axis: int) -> UOp:
    return UOp.range(size, axis)


def reduce_loop(size: int, axis: int) -> UOp:
    return UOp.range(size, axis, AxisType.REDUCE)


def kernel(out: UOp, at: UOp, value: UOp, *loops: UOp) -> UOp:
    return out.index(at).store(value).end(*loops).sink(arg=KernelInfo())


def matmul(m: int, n: int, k: int) -> tuple[UOp, tuple[int, ...]]:
    i, j, r = loop(m, 0), loop(n, 1), reduce_loop(k, 2)
    product = buffer(1, m * k).index(i * k + r) * buffer(2, k * n).index(r * n + j)
    return kernel(buffer(0, m * n), i * n + j, product.reduce(r), i, j), (m * n, m * k, k * n)


def convolution(channels: int, size: int, window: int) -> tuple[UOp, tuple[int, ...]]:
    """Padded, so that its loads are gated and several loops move them alike."""
    c, x = loop(channels, 0), loop(size, 1)
    k = reduce_loop(window, 2)
    place = x + k - window // 2
    inside = (place < 0).logical_not() & (place < size)
    image = buffer(1, channels * size).index((c * size + place).valid(inside))
    value = (image * buffer(2, window).index(k)).reduce(k)
    out = buffer(0, channels * size)
    return kernel(out, c * size + x, value, c, x), (channels * size, channels * size, window)


def centered(m: int, n: int, op: Ops) -> tuple[UOp, tuple[int, ...]]:
    """Each row minus its sum or maximum: a reduction outside of an inner output loop."""
    i, j, r = loop(m, 0), loop(n, 1), reduce_loop(n, 2)
    rows = buffer(1, m * n)
    peak = rows.index(i * n + r).reduce(r, arg=op)
    value = rows.index(i * n + j) * 3 - peak
    return kernel(buffer(0, m * n), i * n + j, value, i, j), (m * n, m * n)


def pointwise(m: int, n: int) -> tuple[UOp, tuple[int, ...]]:
    i, j = loop(m, 0), loop(n, 1)
    value = buffer(1, m * n).index(j * m + i) * buffer(2, n).index(j) + i.cast(INT)
    return kernel(buffer(0, m * n), i * n + j, value, i, j), (m * n, m * n, n)


SIZES = st.integers(1, 8)


def squares(m: int, n: int, k: int) -> tuple[UOp, tuple[int, ...]]:
    """A sum over two loops with an epilogue."""
    i, r, s = loop(m, 0), reduce_loop(n, 1), reduce_loop(k, 2)
    value = buffer(1, m * n * k).index((i * n + r) * k + s)
    total = (value * buffer(2, n).index(r)).reduce(r, s)
    return kernel(buffer(0, m), i, total * 2 + i.cast(INT), i), (m, m * n * k, n)


def two_outputs(m: int, n: int) -> tuple[UOp, tuple[int, ...]]:
    """A value for each element, and one for each row; the second moves with fewer loops."""
    i, j, r = loop(m, 0), loop(n, 1), reduce_loop(n, 2)
    values = buffer(2, m * n)
    first = buffer(0, m * n).index(i * n + j).store(values.index(i * n + j) * 2).end(i, j)
    total = values.index(i * n + r).reduce(r, arg=Ops.MAX)
    second = buffer(1, m).index(i).store(total).end(i)
    return first.sink(second, arg=KernelInfo()), (m * n, m, m * n)


def updated(m: int, n: int, k: int) -> tuple[UOp, tuple[int, ...]]:
    """A product that is stored, and added to what a second buffer holds."""
    i, j, r = loop(m, 0), loop(n, 1), reduce_loop(k, 2)
    total = (buffer(2, m * k).index(i * k + r) * buffer(3, k * n).index(r * n + j)).reduce(r)
    place = i * n + j
    state = buffer(1, m * n).index(place)
    stores = buffer(0, m * n).index(place).store(total).group(state.store(state * 3 + total))
    return stores.end(i, j).sink(arg=KernelInfo()), (m * n, m * n, m * k, k * n)


def set_apart(size: int, window: int, step: int, channels: int) -> tuple[UOp, tuple[int, ...]]:
    """A window over elements that lie some steps apart, for several outputs at each place."""
    whole = (size - 1) * step + window
    x, c = loop(whole, 0), loop(channels, 1)
    k = reduce_loop(window, 2)
    place = x - k + window - 1
    inside = (place < window - 1).logical_not() & (place < (size - 1) * step + window)
    counts = inside & ((place - window + 1 + step * window) % step < 1)
    source = buffer(1, size).index(((place - window + 1) // step).valid(counts))
    term = source * buffer(2, window * channels).index(k * channels + c)
    value = counts.where(term, UOp.const(INT, 0)).reduce(k)
    out = buffer(0, whole * channels)
    sizes = (whole * channels, size, window * channels)
    return kernel(out, x * channels + c, value, x, c), sizes


def heavy(value: UOp) -> UOp:
    """More instructions than a store and a load are worth."""
    for step in range(4):
        value = (value * 3 + step).alu(Ops.XOR, value)
    return value


def weighted(m: int, n: int) -> tuple[UOp, tuple[int, ...]]:
    """Each row of heavy values times their sum, as in softmax: what a reduction needs, and the
    outputs again.
    """
    i, j, r = loop(m, 0), loop(n, 1), reduce_loop(n, 2)
    rows = buffer(1, m * n)
    peak = rows.index(i * n + reduce_loop(n, 3)).reduce(reduce_loop(n, 3), arg=Ops.MAX)
    total = heavy(rows.index(i * n + r) - peak).reduce(r)
    value = heavy(rows.index(i * n + j) - peak) * total
    return kernel(buffer(0, m * n), i * n + j, value, i, j), (m * n, m * n)


KERNELS = st.one_of(
    st.builds(weighted, SIZES, SIZES),
    st.builds(two_outputs, SIZES, SIZES),
    st.builds(squares, SIZES, SIZES, st.integers(1, 4)),
    st.builds(matmul, SIZES, SIZES, SIZES),
    st.builds(convolution, st.integers(1, 4), st.integers(2, 8), st.integers(1, 4)),
    st.builds(centered, SIZES, SIZES, st.sampled_from((Ops.ADD, Ops.MAX))),
    st.builds(pointwise, SIZES, SIZES),
    st.builds(updated, SIZES, SIZES, SIZES),
    st.builds(set_apart, SIZES, st.integers(1, 4), st.integers(1, 3), SIZES),
)
AXES = st.integers(0, 5)
AMOUNTS = st.sampled_from((0, 2, 3, 4))
SPLITS = (
    OptOps.UPCAST,
    OptOps.UNROLL,
    OptOps.LANES,
    OptOps.LOCAL,
    OptOps.THREAD,
    OptOps.GROUP,
    OptOps.GROUPTOP,
    OptOps.BLOCK,
)
OPTS = st.one_of(
    st.builds(Opt, st.sampled_from(SPLITS), AXES, AMOUNTS),
    st.builds(
        lambda axis, blocks, outside, operands: Opt(
            OptOps.BLOCK, axis, (blocks, outside, *operands)
        ),
        st.integers(0, 1),
        AMOUNTS,
        st.integers(0, 2),
        st.lists(st.integers(1, 3), max_size=2),
    ),
    st.builds(Opt, st.just(OptOps.PADTO), AXES, st.sampled_from((2, 4))),
    st.builds(
        lambda axis, amount, lanes: Opt(OptOps.LAP, axis, (amount, lanes)),
        AXES,
        st.integers(2, 5),
        st.integers(0, 1),
    ),
    st.builds(Opt, st.just(OptOps.SWAP), AXES, AXES),
    st.builds(Opt, st.just(OptOps.KEEP), st.none(), st.integers(0, 2)),
    st.builds(
        Opt,
        st.just(OptOps.STAGE),
        st.one_of(st.none(), AXES),
        st.builds(lambda n: (n,), st.integers(0, 3)),
    ),
)


def memory_for(sizes: tuple[int, ...]) -> dict[int, list[int]]:
    memory = {
        slot: [(7 * i * i + 3 * i + slot) % 23 - 9 for i in range(size)]
        for slot, size in enumerate(sizes)
    }
    memory[0] = [-77] * sizes[0]
    return memory


def applies(view: Scheduler, opt: Opt) -> bool:
    """Apply `opt` if it can be."""
    try:
        view.apply_opt(opt)
    except KernelOptError:
        return False
    return True


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(case=KERNELS, opts=st.lists(OPTS, max_size=6), target=st.sampled_from((CPU, GPU)))
def test_opts_keep_the_value(
    case: tuple[UOp, tuple[int, ...]], opts: list[Opt], target: FakeRenderer, read_kernel: Run
) -> None:
    ast, sizes = case
    view = Scheduler(ast, target)
    if target is GPU:
        view.convert_loop_to_global()
    for opt in opts:
        before, applied = view.ast, list(view.applied_opts)
        if not applies(view, opt):
            assert view.ast is before
            assert view.applied_opts == applied
    memory = memory_for(sizes)
    changed = view.get_optimized_ast()
    verify(changed, Form.KERNEL)
    assert read_kernel(changed, memory) == read_kernel(ast, memory)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=KERNELS, target=st.sampled_from((CPU, GPU)))
def test_the_heuristic_keeps_the_value(
    case: tuple[UOp, tuple[int, ...]], target: FakeRenderer, read_kernel: Run
) -> None:
    ast, sizes = case
    changed = heuristic(Scheduler(ast, target), Options(cores=4)).get_optimized_ast()
    verify(changed, Form.KERNEL)
    memory = memory_for(sizes)
    assert read_kernel(changed, memory) == read_kernel(ast, memory)


def test_tiles_that_overlap_keep_the_value(read_kernel: Run, run_linear: Run) -> None:
    """Rows and lanes that divide nothing, on two threads, one operand staged."""
    ast, sizes = matmul(7, 11, 5)
    opts = (
        Opt(OptOps.LAP, 1, (4, 1)),
        Opt(OptOps.LAP, 0, (2, 0)),
        Opt(OptOps.THREAD, 0, 2),
        Opt(OptOps.SWAP, 0, 1),
        Opt(OptOps.STAGE, 0, (2,)),
    )
    view = Scheduler(ast, LOWERED)
    accepted = [opt for opt in opts if applies(view, opt)]
    assert accepted[:3] == list(opts[:3])
    assert any(opt.op is OptOps.STAGE for opt in accepted)
    asked = ast.replace(arg=KernelInfo(opts_to_apply=tuple(accepted)))
    linear = lowering(LOWERED.caps).run(optimization(LOWERED, Options(optimize=False)).run(asked))
    memory = memory_for(sizes)
    assert run_linear(linear.src, memory) == read_kernel(ast, memory)


ALL_REPLICATED = [Opt(OptOps.UPCAST, 0, 0), Opt(OptOps.LANES, 0, 0), Opt(OptOps.BLOCK, 0, 2)]


@example(case=matmul(2, 4, 6), opts=ALL_REPLICATED, target=LOWERED)
@settings(
    max_examples=120,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(case=KERNELS, opts=st.lists(OPTS, max_size=6), target=st.sampled_from((LOWERED, UNMASKED)))
def test_opts_survive_lowering(
    case: tuple[UOp, tuple[int, ...]],
    opts: list[Opt],
    target: FakeRenderer,
    read_kernel: Run,
    run_linear: Run,
) -> None:
    ast, sizes = case
    known = canonical(ast.replace(arg=KernelInfo(opts_to_apply=())))
    view = Scheduler(known, target)
    accepted = [opt for opt in opts if applies(view, opt)]
    asked = known.replace(arg=KernelInfo(opts_to_apply=tuple(accepted)))
    optimized_kernel = optimization(target, Options(optimize=False)).run(asked)
    linear = lowering(target.caps).run(optimized_kernel)
    memory = memory_for(sizes)
    assert run_linear(linear.src, memory) == read_kernel(ast, memory)


@given(
    sizes=st.tuples(st.integers(1, 6), st.integers(2, 12)),
    lanes=st.sampled_from((0, 2, 4)),
    threads=st.sampled_from((1, 2)),
    target=st.sampled_from((LOWERED, UNMASKED)),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_kept_is_what_was_computed_again(
    sizes: tuple[int, int],
    lanes: int,
    threads: int,
    target: FakeRenderer,
    read_kernel: Run,
    run_linear: Run,
) -> None:
    ast, lengths = weighted(*sizes)
    view = Scheduler(ast, target)
    if lanes and sizes[1] > lanes:
        for _ in range(2):
            # the loop over the outputs, and after it has been split that of the sum
            number = next(i for i, r in enumerate(view.rngs) if r.range_arg.axis_id in ((1,), (2,)))
            applies(view, Opt(OptOps.PADTO, number, lanes))
            assert applies(view, Opt(OptOps.LANES, number, lanes))
    view.apply_opt(Opt(OptOps.KEEP, None, 1))
    if threads > 1 and sizes[0] > 1:
        applies(view, Opt(OptOps.THREAD, 0, threads))
    memory = memory_for(lengths)
    assert read_kernel(view.get_optimized_ast(), memory) == read_kernel(ast, memory)
    linear = lowering(target.caps).run(view.get_optimized_ast())
    assert run_linear(linear.src, memory) == read_kernel(ast, memory)
