"""When a matrix unit takes a product, what the kernel becomes, and why it is refused."""

from __future__ import annotations

import pytest
from tg_codegen import to_program
from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.options import Options
from tg_codegen.render.registry import renderer_for
from tg_codegen.render.renderer import Renderer
from tg_uop import AxisType, KernelInfo, Ops, Opt, OptOps, Target, UOp, dtypes
from tg_uop.ir.args import TileProduct

ON_UNIT = Opt(OptOps.TC, 0, (-1, 2, 1))
BF16 = dtypes.bfloat16


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return renderer_for(Target.parse("CPU:LLVM:x86_64,sapphirerapids"))


def matmul(
    m: int, n: int, k: int, *, dtype: object = BF16, scaled: bool = False, squared: bool = False
) -> UOp:
    i, j, r = UOp.range(m, 0), UOp.range(n, 1), UOp.range(k, 2, AxisType.REDUCE)
    left = UOp.param(1, BF16.ptr(m * k)).index(i * k + r).cast(dtypes.float32)
    right = UOp.param(2, dtype.ptr(k * n)).index(r * n + j)  # type: ignore[attr-defined]
    right = right.cast(dtypes.float32)
    if scaled:
        right = right * 2
    value = (left * right).reduce(r, arg=Ops.ADD)
    if squared:
        value = value * (left * left).reduce(r, arg=Ops.ADD)
    out = UOp.param(0, dtypes.float32.ptr(m * n))
    return out.index(i * n + j).store(value).end(i, j).sink(arg=KernelInfo())


def statements(ast: UOp) -> list[TileProduct]:
    return [n.arg for n in ast.toposort() if isinstance(n.arg, TileProduct)]


def applied(kernel: UOp, renderer: Renderer, opt: Opt = ON_UNIT) -> Scheduler:
    view = Scheduler(kernel, renderer)
    view.apply_opt(opt)
    return view


def test_a_product_becomes_one_statement(renderer: Renderer) -> None:
    (record,) = statements(applied(matmul(64, 64, 96), renderer).ast)
    assert (record.unit, record.steps, record.rows, record.columns) == ("amx_bf16", 3, 32, 32)
    # rows of the left operand are read where they lie
    assert record.stride_a == 96 * 2
    assert record.operations == 2 * 32 * 32 * 96


def test_two_results_of_one_product(renderer: Renderer) -> None:
    (root,) = matmul(64, 64, 96).src
    store, loops = root.ended_effect, root.ended_ranges
    other = UOp.param(3, dtypes.float32.ptr(64 * 64)).index(store.stored_target.index_expr)
    both = UOp.group(store, other.store(store.stored_value * 3)).end(*loops)
    ast = applied(both.sink(arg=KernelInfo()), renderer).ast
    assert len(set(statements(ast))) == 1
    assert sum(node.op is Ops.STORE for node in ast.toposort()) >= 2


def test_an_operand_that_does_not_fill_its_tiles_is_packed(renderer: Renderer) -> None:
    ast = applied(matmul(50, 60, 70), renderer).ast
    (record,) = statements(ast)
    assert record.steps == 3
    assert record.stride_a > 96 * 2
    assert len([n for n in ast.toposort() if n.op is Ops.DEFINE_LOCAL]) == 3


def test_nothing_follows_the_statement(renderer: Renderer) -> None:
    view = applied(matmul(64, 64, 96), renderer)
    with pytest.raises(KernelOptError, match="let TC be the last Opt"):
        view.apply_opt(Opt(OptOps.UPCAST, 0, 2))


@pytest.mark.parametrize(
    ("kernel", "opt", "reason"),
    [
        (matmul(64, 64, 64, scaled=True), ON_UNIT, "computed, not loaded"),
        (matmul(64, 64, 64, squared=True), ON_UNIT, "not one sum"),
        (matmul(64, 64, 64, dtype=dtypes.float32), ON_UNIT, "multiplies"),
        (matmul(64, 64, 64), Opt(OptOps.TC, 0, (1, 2, 1)), "amx_int8"),
        (matmul(60, 64, 64), Opt(OptOps.TC, 0, (-1, 0, 1)), "no multiples of a tile"),
    ],
)
def test_other_kernels_are_refused(kernel: UOp, opt: Opt, reason: str, renderer: Renderer) -> None:
    view = Scheduler(kernel, renderer)
    with pytest.raises(KernelOptError, match=reason):
        view.apply_opt(opt)
    assert view.ast is kernel


@pytest.mark.parametrize(
    ("kernel", "options", "taken"),
    [
        (matmul(64, 64, 64), Options(), True),
        (matmul(50, 60, 70), Options(), True),
        (matmul(50, 60, 70), Options(tensor_core_effort=0), False),
        (matmul(64, 64, 64), Options(tensor_cores=0), False),
        (matmul(64, 64, 64), Options(tensor_core_select=1), False),
        (matmul(64, 64, 64), Options(optimize=False), False),
        (matmul(4, 64, 512), Options(), False),
        (matmul(16, 16, 16), Options(), False),
        (matmul(64, 64, 64, scaled=True), Options(), False),
    ],
)
def test_the_heuristic_follows_the_settings(
    kernel: UOp, options: Options, taken: bool, renderer: Renderer
) -> None:
    program = to_program(kernel, renderer, options)
    assert bool(statements(program.src[0])) == taken
    source = program.src[3].arg
    assert isinstance(source, str)
    assert ("tdpbf16ps" in source) == taken
    assert source.count("tilerelease()") == (2 if taken else 0)
