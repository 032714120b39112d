"""`to_program` fills PROGRAM in order, keeps what is given, and says what it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tg_codegen.errors import KernelFormError
from tg_codegen.options import Options
from tg_codegen.pipeline import PROGRAMS, canonical, to_program
from tg_codegen.render.renderer import Renderer
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.registry import INTERPRETER
from tg_uop import AxisType, KernelInfo, Ops, Opt, OptOps, ProgramInfo, UOp, dtypes
from tg_uop.target import Target
from tg_uop.text.dump import dump, dump_linear

NO_OPTS = KernelInfo(opts_to_apply=())


class ListingRenderer(Renderer):
    """Writes the dump of the instructions."""

    name = "LISTING"

    def render(self, linear_uops: Sequence[UOp], info: ProgramInfo) -> str:
        return f"{info.function_name}\n{dump_linear(UOp(Ops.LINEAR, src=tuple(linear_uops)))}\n"


def renderer(caps: Capabilities = INTERPRETER, compiles: bool = False) -> Renderer:
    return ListingRenderer(Target(device="PYTHON"), caps, str.encode if compiles else None)


def add_kernel(info: KernelInfo = NO_OPTS, size: int = 6) -> UOp:
    i = UOp.range(size, 0)
    out, x, y = (UOp.param(slot, dtypes.float.ptr(size)) for slot in range(3))
    return out.index(i).store(x.index(i) + y.index(i)).end(i).sink(arg=info)


def sum_kernel(info: KernelInfo = NO_OPTS) -> UOp:
    i, k = UOp.range(3, 0), UOp.range(8, 1, AxisType.REDUCE)
    out, x = UOp.param(0, dtypes.float.ptr(3)), UOp.param(1, dtypes.float.ptr(24))
    return out.index(i).store(x.index(i * 8 + k).reduce(k)).end(i).sink(arg=info)


def operands(program: UOp) -> list[Ops]:
    return [s.op for s in program.src]


# *** what is filled in ***


def test_without_a_compiler_it_ends_at_source() -> None:
    program = to_program(add_kernel(), renderer())
    assert operands(program) == [Ops.SINK, Ops.DEVICE, Ops.LINEAR, Ops.SOURCE]


def test_with_a_compiler_there_is_a_binary() -> None:
    program = to_program(add_kernel(), renderer(compiles=True))
    assert operands(program)[-1] is Ops.BINARY
    assert program.src[4].arg == program.src[3].arg.encode()


def test_own_instructions_are_kept() -> None:
    whole = to_program(add_kernel(), renderer())
    own = UOp(Ops.LINEAR, src=whole.src[2].src[:3])
    program = to_program(whole.replace(src=(*whole.src[:2], own), arg=None), renderer())
    assert program.src[2] is own
    assert len(str(program.src[3].arg).splitlines()) == 4


def test_own_source_is_kept_and_compiled() -> None:
    kernel = add_kernel(KernelInfo(name="mine", opts_to_apply=()))
    source = UOp(Ops.SOURCE, arg="own text")
    given = UOp(Ops.PROGRAM, src=(kernel, UOp(Ops.DEVICE, arg="PYTHON"), UOp(Ops.LINEAR), source))
    program = to_program(given, renderer(compiles=True))
    assert program.src[3] is source
    assert program.src[4].arg == b"own text"
    info = program.program_info
    assert (info.name, info.globals, info.outs, info.ins) == ("mine", (0, 1, 2), (0,), (1, 2))


def test_own_binary_is_kept() -> None:
    whole = to_program(add_kernel(), renderer())
    binary = UOp(Ops.BINARY, arg=b"own")
    program = to_program(whole.replace(src=(*whole.src, binary)), renderer(compiles=True))
    assert program.src[4] is binary
    assert program.program_info == whole.program_info


def test_own_launch_data_is_kept() -> None:
    info = ProgramInfo(name="given", global_size=(7, 1, 1))
    program = to_program(UOp(Ops.PROGRAM, src=(add_kernel(),), arg=info), renderer())
    assert program.program_info is info
    assert str(program.src[3].arg).startswith("given")


@pytest.mark.parametrize("order", [(), (Ops.DEVICE,), (Ops.SINK, Ops.LINEAR)])
def test_operands_out_of_order_are_refused(order: tuple[Ops, ...]) -> None:
    parts = {
        Ops.SINK: add_kernel(),
        Ops.DEVICE: UOp(Ops.DEVICE, arg="CPU"),
        Ops.LINEAR: UOp(Ops.LINEAR),
    }
    program = UOp(Ops.PROGRAM, src=tuple(parts[op] for op in order))
    with pytest.raises(KernelFormError, match="SINK, DEVICE, LINEAR"):
        to_program(program, renderer())


def test_anything_else_is_refused() -> None:
    with pytest.raises(KernelFormError, match="SINK or a PROGRAM"):
        to_program(UOp.const(dtypes.int, 1), renderer())


# *** launch data ***


def test_launch_data_of_a_kernel() -> None:
    info = to_program(add_kernel(), renderer()).program_info
    assert (info.globals, info.outs, info.ins, info.vars) == ((0, 1, 2), (0,), (1, 2), ())
    assert (info.global_size, info.local_size) == ((1, 1, 1), None)


def test_name_tells_the_loops_and_is_the_same_for_the_same_kernel() -> None:
    first = to_program(sum_kernel(), renderer()).program_info.name
    PROGRAMS.clear()
    again = to_program(sum_kernel(), renderer()).program_info.name
    assert first == again
    assert first.startswith("r_3_8n")
    assert to_program(add_kernel(), renderer()).program_info.name.startswith("E_6n")


def test_name_that_was_given_stays() -> None:
    program = to_program(add_kernel(KernelInfo(name="my kernel")), renderer())
    assert program.program_info.name == "my kernel"
    assert program.program_info.function_name == "my_20kernel"


def test_variables_are_sorted_by_name() -> None:
    n, m = UOp.variable("n", 1, 6), UOp.variable("m", 0, 3)
    i = UOp.range(n, 0)
    out, x = UOp.param(0, dtypes.float.ptr(6)), UOp.param(1, dtypes.float.ptr(9))
    kernel = out.index(i).store(x.index(i + m)).end(i).sink(arg=NO_OPTS)
    info = to_program(kernel, renderer()).program_info
    assert [v.var_name for v in info.vars] == ["m", "n"]
    assert info.vals({"n": 5, "m": 2}) == (2, 5)
    assert "_n" in info.name


def test_threads_are_the_global_size() -> None:
    t, i = UOp.range(4, (0, 0), AxisType.THREAD), UOp.range(6, (0, 1))
    out = UOp.param(0, dtypes.float.ptr(24))
    kernel = out.index(t * 6 + i).store(1.0).end(t, i).sink(arg=KernelInfo())
    info = to_program(kernel, renderer()).program_info
    assert (info.global_size, info.local_size) == ((4, 1, 1), None)


def test_groups_have_a_local_size_and_symbolic_grids_work() -> None:
    caps = Capabilities(
        ops=INTERPRETER.ops,
        dtypes=INTERPRETER.dtypes,
        has_local=True,
        has_shared=True,
        global_max=(1 << 31, 65535, 65535),
        local_max=(1024, 1024, 64),
    )
    n = UOp.variable("n", 1, 10)
    g, i = UOp.range(n * 2, (0, 0), AxisType.GLOBAL), UOp.range(8, (0, 1), AxisType.LOCAL)
    out = UOp.param(0, dtypes.float.ptr(160))
    kernel = out.index(g * 8 + i).store(1.0).end(g, i).sink(arg=KernelInfo())
    info = to_program(kernel, renderer(caps)).program_info
    assert info.launch_dims({"n": 3}) == ((6, 1, 1), (8, 1, 1))


def test_program_records_opts_and_work() -> None:
    opts = (Opt(OptOps.UPCAST, 0, 3),)
    info = to_program(add_kernel(KernelInfo(opts_to_apply=opts)), renderer()).program_info
    assert info.applied_opts == opts
    assert info.estimates is not None
    assert (info.estimates.ops, info.estimates.mem) == (6, 72)


# *** caches and options ***


def test_same_kernel_gives_the_same_program() -> None:
    one = renderer()
    assert to_program(add_kernel(), one) is to_program(add_kernel(), one)


def test_options_are_part_of_the_key() -> None:
    kernel = add_kernel(KernelInfo(), size=1 << 12)
    fast = to_program(kernel, renderer(), Options())
    plain = to_program(kernel, renderer(), Options(optimize=False))
    assert fast.program_info.applied_opts
    assert not plain.program_info.applied_opts


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    PROGRAMS.clear()
    monkeypatch.setattr(PROGRAMS, "limit", 2)
    for size in (2, 3, 4, 5):
        to_program(add_kernel(size=size), renderer())
    assert len(PROGRAMS.programs) == 2
    PROGRAMS.clear()


def test_loops_that_opts_name_are_not_merged() -> None:
    i, j = UOp.range(4, 0), UOp.range(8, 1)
    out = UOp.param(0, dtypes.float.ptr(32))
    effect = out.index(i * 8 + j).store(1.0).end(i, j)
    sizes = {}
    for wanted in (None, (Opt(OptOps.UPCAST, 1, 8),)):
        kernel = canonical(effect.sink(arg=KernelInfo(opts_to_apply=wanted)))
        sizes[wanted is None] = [n.size for n in kernel.toposort() if n.op is Ops.RANGE]
    assert sizes == {True: [32], False: [4, 8]}


# *** golden ***


def softmax_kernel() -> UOp:
    i, r, s, j = (
        UOp.range(4, n, AxisType.REDUCE if n in (1, 2) else AxisType.LOOP) for n in range(4)
    )
    out, x = UOp.param(0, dtypes.float.ptr(16)), UOp.param(1, dtypes.float.ptr(16))
    top = x.index(i * 4 + r).reduce(r, arg=Ops.MAX)
    total = (x.index(i * 4 + s) - top).reduce(s)
    value = (x.index(i * 4 + j) - top) * total.alu(Ops.RECIPROCAL)
    return out.index(i * 4 + j).store(value).end(i, j).sink(arg=NO_OPTS)


def matmul_kernel() -> UOp:
    i, j, k = UOp.range(4, 0), UOp.range(8, 1), UOp.range(4, 2, AxisType.REDUCE)
    out, x, y = (UOp.param(n, dtypes.float.ptr(size)) for n, size in enumerate((32, 16, 32)))
    product = (x.index(i * 4 + k) * y.index(k * 8 + j)).reduce(k)
    opts = (Opt(OptOps.UPCAST, 0, 2), Opt(OptOps.LANES, 1, 8), Opt(OptOps.UNROLL, 0, 2))
    info = KernelInfo(opts_to_apply=opts)
    return out.index(i * 8 + j).store(product).end(i, j).sink(arg=info)


def padded_kernel() -> UOp:
    i = UOp.range(10, 0)
    out, x = UOp.param(0, dtypes.int.ptr(10)), UOp.param(1, dtypes.int.ptr(8))
    inside = (i < 1).logical_not() & (i < 9)
    value = x.index((i - 1).valid(inside))
    info = KernelInfo(opts_to_apply=(Opt(OptOps.PADTO, 0, 4), Opt(OptOps.UPCAST, 0, 2)))
    return out.index(i).store(value).end(i).sink(arg=info)


KERNELS: dict[str, Callable[[], UOp]] = {
    "add": add_kernel,
    "sum": sum_kernel,
    "softmax": softmax_kernel,
    "matmul": matmul_kernel,
    "padded": padded_kernel,
}


@pytest.mark.parametrize("name", list(KERNELS))
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    """The optimized kernel and its instructions; a change shows in review."""
    program = to_program(KERNELS[name](), renderer())
    text = f"{dump(program.src[0])}\n\n{dump_linear(program.src[2])}\n"
    golden(f"pipeline_{name}.txt", text)
