"""A graph as Python source: exact, and read without running it."""

from __future__ import annotations

import pytest
from tg_uop import (
    AddrSpace,
    AxisType,
    Estimates,
    Invalid,
    KernelInfo,
    Ops,
    Opt,
    OptOps,
    ProgramInfo,
    UOp,
    dtypes,
)
from tg_uop.errors import GraphTextError
from tg_uop.ir.args import CallArg, ReduceArg
from tg_uop.text.pycode import from_python, to_python


def kernel() -> UOp:
    out, left = UOp.param(0, dtypes.float.ptr(16)), UOp.param(1, dtypes.float.ptr(-1))
    r = UOp.range(4, (0, 1), AxisType.UPCAST, lanes=True)
    n = UOp.variable("n", 1, 8)
    info = KernelInfo(
        name='k "quoted"\n',
        axis_types=(AxisType.LOOP, AxisType.REDUCE),
        applied_opts=(Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.NOLOCALS), Opt(OptOps.TC, 0, (0, 1))),
        opts_to_apply=(),
        estimates=Estimates(n * 2, 4, 8),
        beam=2,
    )
    gated = (r + n).valid(r < 3)
    return out.index(r).store(left.index(gated) * 0.1).end(r).sink(arg=info)


def all_kinds_of_args() -> list[UOp]:
    return [
        kernel(),
        *[UOp.const(dtypes.float, v) for v in (0.1, -0.0, 0.0, 1e300, float("inf"), -float("inf"))],
        UOp.const(dtypes.double, float("nan")),
        UOp.const(dtypes.bool, True),
        UOp.const(dtypes.int8, -5),
        UOp.const(dtypes.weakint, Invalid),
        UOp.const(dtypes.weakint, 1 << 70),
        UOp.const(dtypes.float.vec(3), (1.0, float("-inf"), float("nan"))),
        UOp.const(dtypes.int.vec(2), (1, 2)).gep(1),
        UOp.const(dtypes.int, 3).rtag(("tag", 1, None)),
        UOp.const(dtypes.int, 3).rtag((True,)),
        UOp.define_reg(0, dtypes.float.vec(16), 4),
        UOp.define_local(1, dtypes.half, 64),
        UOp.param(0, dtypes.imageh((4, 4, 4))),
        UOp.param(2, dtypes.float, (3, UOp.variable("n", 1, 4)), ("CPU", "CPU:1"), "weight"),
        UOp.new_buffer("CPU", 10, dtypes.half).reduce(arg=Ops.MAX, axis=(0,)),
        UOp(Ops.SOURCE, arg="void f() {}\n'\"\\"),
        UOp(Ops.BINARY, arg=bytes(range(256))),
        UOp(Ops.PROGRAM, arg=ProgramInfo(vars=(UOp.variable("n", 1, 4),), aux=(1.5, "x"))),
        UOp(Ops.CALL, arg=CallArg(name="f")),
        UOp(Ops.NOOP, arg=(dtypes.float.ptr(3, AddrSpace.LOCAL), float("nan"), -1.5, b"x")),
        UOp(Ops.NOOP, arg=ReduceArg(Ops.ADD, (0, 1))),
        UOp(Ops.NOOP, arg=()),
    ]


@pytest.mark.parametrize("graph", all_kinds_of_args(), ids=lambda g: g.op.name)
def test_reading_and_executing_give_the_same_node(graph: UOp) -> None:
    text = to_python(graph)
    names: dict[str, object] = {}
    exec(text, names)
    # NaN inside of an arg that is no constant never equals itself
    if graph.op is Ops.NOOP and "nan" in text:
        assert to_python(from_python(text)) == text
        return
    assert from_python(text) is graph
    assert names["root"] is graph


def test_the_text_is_the_same_every_time() -> None:
    assert to_python(kernel()) == to_python(kernel())


def test_what_has_no_text_says_so() -> None:
    with pytest.raises(GraphTextError, match="no text"):
        to_python(UOp(Ops.CALL, arg=CallArg(grad_fxn=test_the_text_is_the_same_every_time)))


HOSTILE = [
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=__import__('os').system('true'))",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=open('/etc/passwd').read())",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=(lambda: 1)())",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=[x for x in (1,)])",
    "n0 = UOp(Ops.CONST, dtypes.int.__class__, ())",
    "n0 = UOp(Ops.CONST, dtypes.int.vec(2).__reduce__(), ())",
    "n0 = UOp(Ops.CONST, dtypes.default_float, (), arg=1.0)",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=1 + 1)",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=1, arg=2)",
    "n0 = UOp(Ops.CONST, dtypes.int, (), other=2)",
    "n0 = UOp(Ops.CONST, dtypes.int, (), 2)",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=KernelInfo(name=print('x')))",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=KernelInfo(unknown=1))",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=-'x')",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg='no number')",
    "n0 = UOp(Ops.CONST, dtypes.int, (), arg=" + "(" * 5000 + ")" * 5000 + ")",
    "n0 = UOp(Ops.NOWHERE, dtypes.int, ())",
    "n0 = UOp(Ops.NOOP, dtypes.nothing, ())",
    "n0 = UOp(Ops.NEG, dtypes.int, (n1,))",
    "n0 = UOp(Ops.NOOP, dtypes.int, ()",
    "n0 = UOp(Ops.NOOP, dtypes.int",
    "import os",
    "print('x')",
    "root = n5",
    "",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_other_text_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(GraphTextError) as caught:
        from_python("# a comment\n" + text)
    assert caught.value.line in (1, 2)


def test_the_error_shows_the_line() -> None:
    good = to_python(UOp.variable("a", 0, 3) + 1)
    broken = good.replace("Ops.ADD", "Ops.ADDD")
    with pytest.raises(GraphTextError, match="ADDD"):
        from_python(broken)
