"""The Scheduler: numbering of axes, each Opt's effect, each refusal's reason."""

from __future__ import annotations

import pytest
from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.choose import optimized
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.options import Options
from tg_codegen.target.caps import Capabilities
from tg_uop import AxisType, KernelInfo, Ops, Opt, OptOps, UOp, dtypes

FLOAT = dtypes.float32


class FakeRenderer:
    def __init__(self, **facts: object) -> None:
        known = {"ops": frozenset(Ops), "dtypes": frozenset((FLOAT,))}
        self.caps = Capabilities(**{**known, **facts})  # type: ignore[arg-type]


CPU = FakeRenderer(
    vector_bits=512, vector_registers=32, has_threads=True, max_threads=8, stack_bytes=1 << 15
)
GPU = FakeRenderer(has_local=True, has_shared=True, shared_bytes=1024, max_workgroup=128)
PLAIN = FakeRenderer()


def buffer(slot: int, size: int) -> UOp:
    return UOp.param(slot, FLOAT.ptr(size))


def matmul(m: int = 8, n: int = 32, k: int = 12) -> UOp:
    i, j, r = UOp.range(m, 0), UOp.range(n, 1), UOp.range(k, 2, AxisType.REDUCE)
    value = (buffer(1, m * k).index(i * k + r) * buffer(2, k * n).index(r * n + j)).reduce(r)
    return buffer(0, m * n).index(i * n + j).store(value).end(i, j).sink(arg=KernelInfo())


def softmax_like() -> UOp:
    i, j, r = UOp.range(8, 0), UOp.range(16, 1), UOp.range(16, 2, AxisType.REDUCE)
    rows = buffer(1, 128)
    value = rows.index(i * 16 + j) - rows.index(i * 16 + r).reduce(r, arg=Ops.MAX)
    return buffer(0, 128).index(i * 16 + j).store(value).end(i, j).sink(arg=KernelInfo())


def applied(*opts: Opt, renderer: FakeRenderer = CPU, ast: UOp | None = None) -> Scheduler:
    view = Scheduler(ast if ast is not None else matmul(), renderer)
    if renderer is GPU:
        view.convert_loop_to_global()
    for opt in opts:
        view.apply_opt(opt)
    return view


def shape(view: Scheduler) -> list[tuple[str, object]]:
    return list(zip(view.shape_str(), view.full_shape, strict=True))


def test_axes_of_a_kernel() -> None:
    view = applied()
    assert shape(view) == [("L0", 8), ("L1", 32), ("R0", 12)]
    assert view.output_axes == [0, 1]
    assert view.reduce_axes == [2]
    assert view.upcastable_dims == [0, 1]
    assert view.unrollable_dims == [2]
    assert view.output_shape == [8, 32]
    assert view.reduceop is not None
    assert view.reduceop.op is Ops.REDUCE


def test_buffers_and_strides() -> None:
    view = applied()
    assert [b.index_buffer.arg.slot for b in view.bufs] == [0, 1, 2]  # type: ignore[attr-defined]
    assert [view.strides(b) for b in view.bufs] == [[32, 1, 0], [12, 0, 1], [0, 1, 32]]


@pytest.mark.parametrize(
    ("opt", "expected"),
    [
        (Opt(OptOps.UPCAST, 0, 4), [("L0", 2), ("L1", 32), ("u0", 4), ("R0", 12)]),
        (Opt(OptOps.UPCAST, 0, 0), [("L0", 32), ("u0", 8), ("R0", 12)]),
        (Opt(OptOps.UNROLL, 0, 4), [("L0", 8), ("L1", 32), ("R0", 3), ("r0", 4)]),
        (Opt(OptOps.LANES, 1, 16), [("L0", 8), ("L1", 2), ("u0", 16), ("R0", 12)]),
        (Opt(OptOps.THREAD, 0, 2), [("t0", 2), ("L0", 4), ("L1", 32), ("R0", 12)]),
        (Opt(OptOps.PADTO, 2, 16), [("L0", 8), ("L1", 32), ("R0", 16)]),
        (Opt(OptOps.SWAP, 0, 1), [("L0", 32), ("L1", 8), ("R0", 12)]),
    ],
)
def test_opts_of_a_cpu(opt: Opt, expected: list[tuple[str, int]]) -> None:
    view = applied(opt)
    assert shape(view) == expected
    assert view.applied_opts == [opt]


@pytest.mark.parametrize(
    ("opt", "expected"),
    [
        (Opt(OptOps.LOCAL, 1, 16), [("g0", 8), ("g1", 2), ("l0", 16), ("R0", 12)]),
        (Opt(OptOps.GROUP, 0, 4), [("g0", 8), ("g1", 32), ("G0", 4), ("R0", 3)]),
        (Opt(OptOps.GROUPTOP, 0, 4), [("g0", 8), ("g1", 32), ("G0", 4), ("R0", 3)]),
    ],
)
def test_opts_of_a_gpu(opt: Opt, expected: list[tuple[str, int]]) -> None:
    assert shape(applied(opt, renderer=GPU)) == expected


REFUSALS = [
    (CPU, (Opt(OptOps.UPCAST, 0, 3),), "3 does not divide", "PADTO"),
    (CPU, (Opt(OptOps.UPCAST, 9, 2),), "no axis number 9", "axes 0 to 2"),
    (CPU, (Opt(OptOps.UPCAST, 2, 2),), "REDUCE axis is none of", "UNROLL"),
    (CPU, (Opt(OptOps.UPCAST, 0, 1),), "nothing to split", "2 or more"),
    (CPU, (Opt(OptOps.UPCAST, 0, (2,)),), "no number of steps", "int"),
    (CPU, (Opt(OptOps.UNROLL, 1, 2),), "no reduce axis to unroll number 1", "axes 0 to 0"),
    (CPU, (Opt(OptOps.LOCAL, 0, 2),), "no work-groups", "THREAD"),
    (CPU, (Opt(OptOps.GROUP, 0, 2),), "no memory that a group shares", "UNROLL"),
    (CPU, (Opt(OptOps.TC, 0, (-1, 0, 1)),), "no tensor cores", "LANES"),
    (CPU, (Opt(OptOps.LANES, 2, 12),), "cannot have 12 lanes", "power of two"),
    (
        CPU,
        (Opt(OptOps.LANES, 1, 8), Opt(OptOps.LANES, 0, 8)),
        "two axes of lanes",
        "one axis of lanes",
    ),
    (CPU, (Opt(OptOps.THREAD, 0, 2), Opt(OptOps.THREAD, 1, 2)), "THREAD axis already", "limit"),
    (CPU, (Opt(OptOps.THREAD, 1, 16),), "more than 8", "at most 8"),
    (CPU, (Opt(OptOps.THREAD, 2, 2),), "REDUCE axis is none of", "only loops over outputs"),
    (CPU, (Opt(OptOps.PADTO, 0, 4),), "multiple of 4 already", "leave it out"),
    (CPU, (Opt(OptOps.PADTO, 0, 64),), "mostly padding", "32 or less"),
    (CPU, (Opt(OptOps.LAP, 0, (4, 0)),), "do not overlap", "UPCAST or LANES"),
    (CPU, (Opt(OptOps.LAP, 0, 3),), "no tile", "give (steps"),
    (CPU, (Opt(OptOps.SWAP, 0, 0),), "with itself", "two axes"),
    (CPU, (Opt(OptOps.SWAP, 0, 2),), "REDUCE axis is none of", "change places"),
    (CPU, (Opt(OptOps.STAGE, None, (0,)),), "writes to this buffer", "only read"),
    (CPU, (Opt(OptOps.STAGE, None, (7,)),), "no operand 7", "there are 3"),
    (CPU, (Opt(OptOps.STAGE, 2, (1,)),), "no inner loop", "further outside"),
    (CPU, (Opt(OptOps.STAGE, None, 1),), "names no operand", "number in bufs"),
    (
        CPU,
        (Opt(OptOps.STAGE, 0, (1,)), Opt(OptOps.UPCAST, 0, 2)),
        "fill the same memory",
        "stage afterwards",
    ),
    (CPU, (Opt(OptOps.BLOCK, 0, 3), Opt(OptOps.UPCAST, 0, 2)), "in blocks already", "the last"),
    (CPU, (Opt(OptOps.BLOCK, 0, (3, 4)),), "no 4 output loops", "there are 2"),
    (CPU, (Opt(OptOps.BLOCK, 0, (3,)),), "too short", "loops outside"),
    (CPU, (Opt(OptOps.KEEP, None, 0),), "no other loop computes", "same sizes and lanes"),
    (CPU, (Opt(OptOps.KEEP, None, 1),), "no reduction 1", "there are 1"),
    (CPU, (Opt(OptOps.KEEP, 0, None),), "no reduction None", "there are 1"),
    (PLAIN, (Opt(OptOps.STAGE, None, (1,)),), "no scratch memory", "in place"),
    (PLAIN, (Opt(OptOps.THREAD, 0, 2),), "no threads", "LOCAL"),
    (GPU, (Opt(OptOps.LOCAL, 1, 16), Opt(OptOps.LOCAL, 0, 8), Opt(OptOps.LOCAL, 0, 2)), "", ""),
    (GPU, (Opt(OptOps.NOLOCALS), Opt(OptOps.LOCAL, 0, 2)), "NOLOCALS", "leave NOLOCALS out"),
    (GPU, (Opt(OptOps.LOCAL, 0, 2), Opt(OptOps.NOLOCALS)), "already", "put it first"),
    (
        GPU,
        (Opt(OptOps.LOCAL, 1, 0), Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.GROUP, 0, 4)),
        "shared memory",
        "less",
    ),
]


@pytest.mark.parametrize(("renderer", "opts", "reason", "hint"), REFUSALS)
def test_refusals_say_why_and_what_would_work(
    renderer: FakeRenderer, opts: tuple[Opt, ...], reason: str, hint: str
) -> None:
    view = applied(*opts[:-1], renderer=renderer)
    before = view.ast
    with pytest.raises(KernelOptError) as caught:
        view.apply_opt(opts[-1])
    assert reason in caught.value.reason
    assert hint in caught.value.hint
    assert caught.value.opt == opts[-1]
    assert caught.value.kernel == "test"
    assert view.ast is before


def test_kernels_with_effects_of_their_own_are_left_alone() -> None:
    i, j = UOp.range(8, 0), UOp.range(8, 1)
    memory = buffer(0, 8)
    first = memory.index(i).store(UOp.const(FLOAT, 0.0)).end(i)
    later = memory.after(first)
    kernel = later.index(j).store(later.index(j) + 1.0).end(j).sink(arg=KernelInfo())
    with pytest.raises(KernelOptError, match="AFTER"):
        applied(Opt(OptOps.UPCAST, 0, 2), ast=kernel)
    assert optimized(kernel, CPU, Options(cores=4)).src == kernel.src


def test_lanes_may_differ_between_values() -> None:
    view = applied(Opt(OptOps.LANES, 1, 16), Opt(OptOps.LANES, 2, 16), ast=softmax_like())
    lanes = [r for r in view.rngs if r.range_arg.lanes]
    assert [r.axis_type for r in lanes] == [AxisType.UPCAST, AxisType.UNROLL]


def exponentials(width: int = 16) -> UOp:
    """Rows of exponentials, each divided by their sum."""
    i, j, r = UOp.range(8, 0), UOp.range(width, 1), UOp.range(width, 2, AxisType.REDUCE)
    rows = buffer(1, 8 * width)
    total = rows.index(i * width + r).alu(Ops.EXP2).reduce(r)
    value = rows.index(i * width + j).alu(Ops.EXP2) / total
    place = buffer(0, 8 * width).index(i * width + j)
    return place.store(value).end(i, j).sink(arg=KernelInfo())


def exponentials_left(view: Scheduler) -> int:
    return sum(node.op is Ops.EXP2 for node in view.ast.toposort())


def test_a_value_that_two_loops_need_is_computed_once() -> None:
    view = applied(Opt(OptOps.KEEP, None, 0), Opt(OptOps.UNROLL, 0, 4), ast=exponentials())
    assert exponentials_left(view) == 1
    lanes = (Opt(OptOps.LANES, 1, 16), Opt(OptOps.LANES, 2, 16))
    assert exponentials_left(applied(*lanes, Opt(OptOps.KEEP, None, 0), ast=exponentials())) == 1


def test_what_is_kept_runs_in_the_same_lanes_and_fits_scratch_memory() -> None:
    with pytest.raises(KernelOptError, match="no other loop computes"):
        applied(Opt(OptOps.LANES, 1, 16), Opt(OptOps.KEEP, None, 0), ast=exponentials())
    with pytest.raises(KernelOptError, match="65536 bytes"):
        applied(Opt(OptOps.KEEP, None, 0), ast=exponentials(1 << 14))
    with pytest.raises(KernelOptError, match="fill the same memory"):
        applied(Opt(OptOps.KEEP, None, 0), Opt(OptOps.UPCAST, 0, 2), ast=exponentials())


def test_the_heuristic_keeps_exponentials() -> None:
    chosen = optimized(exponentials(1024), CPU, Options(cores=2))
    assert Opt(OptOps.KEEP, None, 0) in chosen.arg.applied_opts
    assert all(
        opt.op is not OptOps.KEEP
        for opt in optimized(softmax_like(), CPU, Options()).arg.applied_opts
    )


def test_a_symbolic_axis_is_no_subject_of_splits() -> None:
    n = UOp.variable("n", 1, 64)
    i = UOp.range(n, 0)
    kernel = buffer(0, 64).index(i).store(buffer(1, 64).index(i) + 1.0).end(i).sink()
    with pytest.raises(KernelOptError, match="known only when it runs"):
        applied(Opt(OptOps.UPCAST, 0, 2), ast=kernel)


def test_wanted_opts_are_applied_and_recorded() -> None:
    opts = (Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.UNROLL, 0, 2))
    asked = matmul().replace(arg=KernelInfo(opts_to_apply=opts))
    info = optimized(asked, CPU, Options()).arg
    assert isinstance(info, KernelInfo)
    assert info.applied_opts == opts
    assert info.opts_to_apply == ()
    assert info.axis_types.count(AxisType.UPCAST) == 1


def test_a_kernel_that_comes_optimized_stays() -> None:
    i, u = UOp.range(8, 0), UOp.range(4, 1, AxisType.UPCAST)
    at = i * 4 + u
    kernel = buffer(0, 32).index(at).store(buffer(1, 32).index(at)).end(i, u).sink()
    assert optimized(kernel, CPU, Options(cores=4)).src == kernel.src


def test_no_optimization_when_switched_off() -> None:
    kernel = matmul(64, 64, 64)
    assert optimized(kernel, CPU, Options(optimize=False, cores=4)).src == kernel.src


def test_a_copy_goes_its_own_way() -> None:
    view = applied(Opt(OptOps.UPCAST, 0, 4))
    twin = view.copy()
    twin.apply_opt(Opt(OptOps.UNROLL, 0, 4))
    assert view.applied_opts == [Opt(OptOps.UPCAST, 0, 4)]
    assert twin.shape_len == view.shape_len + 1


def test_names_and_colors() -> None:
    view = applied(Opt(OptOps.UPCAST, 0, 4))
    assert view.kernel_name() == "r_2_32_4_12"
    assert view.get_optimized_ast(name="mine").arg.name == "mine"  # type: ignore[attr-defined]
    assert view.colored_shape(dense=True).count("\x1b[") == 8
