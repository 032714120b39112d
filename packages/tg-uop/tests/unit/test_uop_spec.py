"""The verifier: what each form admits and refuses, and what its errors say."""

from __future__ import annotations

import pytest
from tg_uop import (
    AxisType,
    DType,
    Invalid,
    KernelInfo,
    Ops,
    PatternMatcher,
    UOp,
    UPat,
    Variable,
    dtypes,
    graph_rewrite,
)
from tg_uop.errors import SpecError
from tg_uop.ir.args import BufferArg, CallArg, ParamArg, RangeArg, ReduceArg, SpecialArg
from tg_uop.rewrite.passes import Form as PassForm
from tg_uop.rewrite.trace import tracing
from tg_uop.spec import forms
from tg_uop.spec.node import Form
from tg_uop.spec.verify import TABLES, is_legal, spec_markdown, verify

F32, WEAK, I32 = dtypes.float, dtypes.weakint, dtypes.int
VOID = dtypes.void


def const(value: object, dtype: DType = F32) -> UOp:
    return UOp.const(dtype, value)


def refused(graph: UOp, form: Form, words: str) -> SpecError:
    with pytest.raises(SpecError, match=words) as caught:
        verify(graph, form)
    assert not is_legal(graph, form)
    assert caught.value.form == form.name.lower()
    return caught.value


# *** tensor form ***


def buffer(size: int = 4, dtype: DType = F32) -> UOp:
    return UOp.new_buffer("CPU", size, dtype)


def legal_tensors() -> dict[str, UOp]:
    x, y = buffer(), buffer()
    grid = x.alu(Ops.ADD, y)._sized(Ops.RESHAPE, (2, 2))
    n = Variable("n", 1, 4).bind(3)
    view = UOp(Ops.BUFFER_VIEW, F32, (x,), (2, 1))
    store = view.store(const(1.0))
    kernel = kernel_copy()
    return {
        "arithmetic": x.alu(Ops.MULACC, y, y),
        "scalar beside": x.alu(Ops.MUL, const(2.0)),
        "weakint": n.alu(Ops.ADD, const(1, WEAK)),
        "movement": grid._sized(Ops.PERMUTE, (1, 0))._sized(Ops.PAD, ((1, 0), (0, 1))),
        "symbolic": x._sized(Ops.SHRINK, ((0, n),)),
        "reduce": grid.reduce(arg=Ops.MAX, axis=(1,)),
        "compare": x.alu(Ops.CMPLT, y).alu(Ops.WHERE, x, y),
        "cast": x.cast(dtypes.half).bitcast(dtypes.uint16),
        "markers": x.contiguous().detach().contiguous_backward(),
        "copy": x.copy_to_device("CPU:1"),
        "store": x.after(store),
        "multi": x.multi(y, axis=0),
        "call": UOp(Ops.CALL, VOID, (kernel, x, y), CallArg()),
        "schedule": UOp(Ops.LINEAR, VOID, (UOp(Ops.CALL, VOID, (kernel, x, y), CallArg()),)),
        "sink": x.sink(y),
        "invalid": UOp.const(F32, Invalid),
        "placed constant": UOp.const(F32, 1.0, device="CPU"),
    }


def kernel_copy() -> UOp:
    out, source = UOp.param(0, F32.ptr(4)), UOp.param(1, F32.ptr(4))
    r = UOp.range(4, 0)
    return out.index(r).store(source.index(r)).end(r).sink(arg=KernelInfo())


@pytest.mark.parametrize("name", legal_tensors())
def test_legal_tensors(name: str) -> None:
    verify(legal_tensors()[name], Form.TENSOR)


def test_illegal_tensors() -> None:
    x, half, flags = buffer(), buffer(dtype=dtypes.half), buffer(dtype=dtypes.bool)
    cases = [
        (UOp(Ops.ADD, F32, (x, half)), "made of dtypes.float, dtypes.half"),
        (UOp(Ops.ADD, F32, (x,)), "2 operands, not 1"),
        (UOp(Ops.SUB, dtypes.bool, (flags, flags)), "none of its dtypes"),
        (UOp(Ops.SQRT, I32, (buffer(dtype=I32),)), "none of its dtypes"),
        (UOp(Ops.CMPLT, F32, (x, x)), "gives bool"),
        (UOp(Ops.WHERE, F32, (x, x, x)), "condition"),
        (UOp(Ops.BUFFER, WEAK, (UOp(Ops.DEVICE, arg="CPU"),), BufferArg(0, 4)), "known width"),
        (UOp(Ops.BUFFER, F32, (), BufferArg(0, 4)), "operand is a DEVICE"),
        (UOp(Ops.BUFFER_VIEW, F32, (x,), (4, 1)), "leave the 4 elements"),
        (UOp(Ops.REDUCE, F32, (x,), Ops.ADD), "ReduceArg"),
        (UOp(Ops.REDUCE, F32, (x,), ReduceArg(Ops.SUB, (0,))), "ADD, MUL or MAX"),
        (UOp(Ops.REDUCE, F32, (x,), ReduceArg(Ops.ADD, (0, 0))), "twice"),
        (UOp(Ops.REDUCE, dtypes.bool, (flags,), ReduceArg(Ops.ADD, (0,))), "sum of bool"),
        (UOp(Ops.STORE, VOID, (x, half)), "writes dtypes.half into dtypes.float"),
        (UOp(Ops.STORE, VOID, (x.alu(Ops.NEG), x)), "view of memory"),
        (UOp(Ops.STORE, VOID, (x, buffer(5))), r"shape \(5,\) into shape \(4,\)"),
        (UOp(Ops.AFTER, F32, (x, x.src[0])), "effects and values"),
        (UOp(Ops.DEVICE, arg=3), "device's name"),
        (UOp(Ops.LOAD, F32, (x,)), "no LOAD in this form"),
        (UOp(Ops.LINEAR, VOID, (x,)), "list of CALLs"),
        (UOp(Ops.CALL, VOID, (x,), None), "CallArg"),
        (UOp(Ops.DEFINE_VAR, WEAK, (), ("n", 3, 2)), "no value"),
        (UOp(Ops.DEFINE_VAR, F32, (), ("n", 1, 2)), "scalar integer"),
        (UOp(Ops.CONST, F32.vec(2), (), 1.0), "one lane"),
        (UOp(Ops.COPY, F32, (x, x)), "value and a DEVICE"),
    ]
    for graph, words in cases:
        refused(graph, Form.TENSOR, words)


def test_what_a_call_runs_is_not_in_tensor_form() -> None:
    x, y = buffer(), buffer()
    bad_argument = UOp(Ops.ADD, F32, (x,))
    verify(UOp(Ops.CALL, VOID, (kernel_copy(), x, y), CallArg()), Form.TENSOR)
    refused(UOp(Ops.CALL, VOID, (kernel_copy(), bad_argument), CallArg()), Form.TENSOR, "operands")


# *** kernel form ***


def test_legal_kernels() -> None:
    out, source = UOp.param(0, F32.ptr(4)), UOp.param(1, F32.ptr(64))
    r, k = UOp.range(4, 0), UOp.range(16, 1, AxisType.REDUCE)
    total = source.index(r * 16 + k).reduce(k, arg=Ops.ADD)
    verify(out.index(r).store(total).end(r).sink(arg=KernelInfo()), Form.KERNEL)
    lanes = UOp.range(4, 0, AxisType.UPCAST, lanes=True)
    n = Variable("n", 1, 4)
    gated = out.index((lanes + n).valid(lanes < n)).store(const(1.0))
    verify(gated.end(lanes).sink(arg=KernelInfo()), Form.KERNEL)
    scratch = UOp.define_local(0, F32, 4)
    first = scratch.index(r).store(source.index(r)).end(r)
    other = UOp.range(4, 2)
    second = out.index(other).store(scratch.after(first).index(other)).end(other)
    verify(second.sink(arg=KernelInfo()), Form.KERNEL)
    grid = UOp.placeholder((2, 2), F32, 0)
    i, j = UOp.range(2, 0), UOp.range(2, 1)
    verify(grid.index(i, j).store(const(0.0)).end(i, j).sink(arg=KernelInfo()), Form.KERNEL)


def test_illegal_kernels() -> None:
    out, source = UOp.param(0, F32.ptr(4)), UOp.param(1, F32.ptr(4))
    r = UOp.range(4, 0)
    store = out.index(r).store(source.index(r))
    k = UOp.range(4, 1, AxisType.REDUCE)
    info = KernelInfo()
    twin = UOp.range(5, 0)
    cases = [
        (store.sink(arg=info), "still open"),
        (store.end(r).sink(arg=None).replace(arg="x"), "KernelInfo"),
        (UOp(Ops.SINK, VOID, (source.index(const(0, WEAK)),), info), "effects"),
        (UOp(Ops.END, VOID, (store, const(1))), "RANGEs"),
        (UOp(Ops.END, VOID, (source.index(r), r)), "effect"),
        (UOp(Ops.STORE, VOID, (out, const(1.0))), "INDEX"),
        (UOp(Ops.STORE, VOID, (out.index(r), const(1, I32))), "writes dtypes.int"),
        (UOp(Ops.INDEX, F32, (const(1.0), r)), "looks into memory"),
        (UOp(Ops.INDEX, dtypes.half, (out, r)), "is no dtypes.half"),
        (UOp(Ops.INDEX, F32, (out, const(1.0))), "index is an integer"),
        (UOp(Ops.INDEX, F32, (out,)), "memory and an index"),
        (UOp(Ops.LOAD, F32, (out.index(r),)), "no LOAD"),
        (UOp(Ops.RANGE, WEAK, (const(4, WEAK),), 0), "RangeArg"),
        (UOp(Ops.RANGE, WEAK, (const(4, I32),), RangeArg((0,), AxisType.LOOP)), "its size"),
        (UOp.range(Variable("n", 1, 4), 0, AxisType.UPCAST), "a constant"),
        (UOp.range(4, 0, AxisType.LOOP, lanes=True), "lanes come from"),
        (UOp(Ops.REDUCE, F32, (source.index(k), k), ReduceArg(Ops.ADD, (0,))), "ADD, MUL or MAX"),
        (UOp(Ops.REDUCE, F32, (source.index(r), r), Ops.ADD), "reduce axes"),
        (UOp(Ops.REDUCE, F32, (source.index(k),), Ops.ADD), "at least one RANGE"),
        (UOp(Ops.PARAM, F32.ptr(4), (), 0), "ParamArg"),
        (UOp(Ops.PARAM, VOID, (), ParamArg(0)), "takes no"),
        (UOp(Ops.DEFINE_REG, F32.ptr(4), (), 0), "AddrSpace.REG"),
        (UOp(Ops.CONST, F32, (UOp(Ops.DEVICE, arg="CPU"),), 1.0), "no operands"),
        (UOp(Ops.CAST, F32, (source,)), "none of its dtypes"),
        (UOp(Ops.BITCAST, dtypes.half, (source.index(r),)), "keeps the bytes"),
        (UOp(Ops.RESHAPE, F32, (const(1.0),), ()), "only memory"),
        (
            source.index(r)
            .store(const(1.0))
            .end(r)
            .sink(source.index(twin).store(const(1.0)).end(twin), arg=info),
            "two loops have the id",
        ),
        (UOp(Ops.AFTER, F32.ptr(4), (out, source)), "effects"),
        (UOp(Ops.CUSTOM, VOID, (), 3), "text"),
    ]
    for graph, words in cases:
        refused(graph, Form.KERNEL, words)


# *** expanded form ***


def test_expanded() -> None:
    out = UOp.param(0, F32.ptr(64))
    lane = UOp.const(WEAK.vec(4), (0, 1, 2, 3))
    g = UOp.special(4, "gidx0")
    address = g.broadcast(4).alu(Ops.MUL, UOp.const(WEAK.vec(4), 4)).alu(Ops.ADD, lane)
    value = out.index(address)
    assert value.dtype is F32.vec(4)
    register = UOp.define_reg(0, F32.vec(4), 1)
    zero = const(0, WEAK)
    init = register.index(zero).store(UOp.const(F32.vec(4), 0.0))
    read = register.after(init).index(zero)
    total = read.alu(Ops.ADD, value)
    verify(out.index(address).store(total).sink(arg=KernelInfo()), Form.EXPANDED)
    picked = UOp.stack(total.gep(0), total.gep(3))
    verify(picked.gep((1, 0)), Form.EXPANDED)


def test_illegal_expanded() -> None:
    out = UOp.param(0, F32.ptr(64))
    r = UOp.range(4, 0)
    lanes = UOp.range(4, 1, AxisType.UPCAST, lanes=True)
    k = UOp.range(4, 2, AxisType.REDUCE)
    vector = UOp.const(F32.vec(4), 1.0)
    cases = [
        (lanes, "UPCAST axes are left"),
        (UOp.range(4, 0, AxisType.THREAD), "THREAD axes are left"),
        (out.index(k).reduce(k, arg=Ops.ADD), "no REDUCE"),
        (UOp(Ops.INDEX, F32, (out, r, r)), "2 operands, not 3"),
        (UOp(Ops.STACK, F32.vec(2), (const(1.0),)), "lanes"),
        (UOp(Ops.STACK, F32.vec(2), (const(1.0), const(1, I32))), "a lane of"),
        (UOp(Ops.GEP, F32, (vector,), (4,)), "no lanes"),
        (UOp(Ops.GEP, F32, (vector,), (0, 1)), "2 lanes"),
        (UOp(Ops.GEP, F32, (vector,), 0), "tuple of lanes"),
        (UOp(Ops.VCONST, WEAK.vec(3), (), (1, 2)), "one constant for each"),
        (UOp(Ops.WHERE, F32.vec(4), (const(True, dtypes.bool), vector, vector)), "for each lane"),
        (UOp(Ops.CAST, dtypes.half, (vector,)), "number of lanes"),
        (UOp(Ops.SPECIAL, WEAK, (const(4, WEAK),), "gidx0"), "SpecialArg"),
    ]
    for graph, words in cases:
        refused(graph, Form.EXPANDED, words)


# *** lowered form ***


def lowered_parts() -> tuple[UOp, UOp, UOp]:
    out = UOp.param(0, F32.ptr(64))
    r = UOp.range(const(16, I32), 0, dtype=I32)
    return out, r, r.alu(Ops.CMPLT, const(9, I32))


def test_lowered() -> None:
    out, r, gate = lowered_parts()
    plain = out.index(r, ptr=True)
    gated = out.index(r, gate, ptr=True)
    wide = plain.load(dtype=F32.vec(4))
    alternative = UOp.const(F32.vec(4), 0.0)
    masked = gated.load(alternative, dtype=F32.vec(4))
    store = plain.store(wide.alu(Ops.ADD, masked))
    guarded = gated.store(const(1.0))
    verify(store.end(r).sink(guarded.end(r), arg=KernelInfo()), Form.LOWERED)


def test_lowered_gathers() -> None:
    out = UOp.param(0, F32.ptr(64))
    places = UOp.const(I32.vec(4), (3, 1, 4, 1))
    address = out.index(places, ptr=True)
    gathered = address.load(dtype=F32.vec(4))
    verify(address.store(gathered), Form.LOWERED)
    refused(address.load(dtype=F32.vec(2)), Form.LOWERED, "4 places")
    refused(address.store(const(1.0)), Form.LOWERED, "4 places")


def test_illegal_lowered() -> None:
    out, r, gate = lowered_parts()
    address = out.index(r, ptr=True)
    gated = out.index(r, gate, ptr=True)
    yes = const(True, dtypes.bool)
    cases = [
        (UOp.range(4, 0), "none of its dtypes"),
        (UOp.const(I32, Invalid), "become a gate"),
        (out.index(r), "its dtype is a pointer"),
        (UOp(Ops.INDEX, F32.ptr(64), (out, const(1, dtypes.int16))), "int32 or int64"),
        (UOp(Ops.INDEX, F32.ptr(64), (out, r, r)), "gate is bool"),
        (UOp(Ops.INDEX, dtypes.half.ptr(64), (out, r)), "address in"),
        (UOp(Ops.LOAD, F32, (out,)), "reads from an INDEX"),
        (UOp(Ops.LOAD, dtypes.half, (address,)), "reads dtypes.half"),
        (gated.load(), "has an alternative"),
        (gated.load(const(1, I32)), "alternative is"),
        (gated.load(const(0.0)).alu(Ops.ADD, address.load(dtype=F32.vec(2)).gep(0)), None),
        (UOp(Ops.STORE, VOID, (address, const(1, I32))), "writes dtypes.int"),
        (UOp(Ops.STORE, VOID, (out, const(1.0))), "writes to an INDEX"),
        (UOp(Ops.ADD, dtypes.bool, (yes, yes)), "none of its dtypes"),
        (UOp(Ops.IF, VOID, (r,)), "scalar bool"),
        (UOp(Ops.ENDIF, VOID, (r,)), "IF"),
        (out.index(r, UOp.const(dtypes.bool.vec(3), True), ptr=True).store(const(1.0)), "one lane"),
    ]
    for graph, words in cases:
        if words is None:
            verify(graph, Form.LOWERED)
        else:
            refused(graph, Form.LOWERED, words)


# *** linear form ***


def linear_parts() -> dict[str, UOp]:
    out, r, gate = lowered_parts()
    size, nine = r.src[0], gate.src[1]
    address = out.index(r, ptr=True)
    one = const(1.0)
    store = address.store(one)
    opening = UOp(Ops.IF, VOID, (gate,))
    return {
        "out": out,
        "size": size,
        "nine": nine,
        "one": one,
        "r": r,
        "gate": gate,
        "address": address,
        "if": opening,
        "store": store,
        "endif": UOp(Ops.ENDIF, VOID, (opening,)),
        "end": UOp(Ops.END, VOID, (r,)),
        "after": out.after(UOp(Ops.END, VOID, (r,))),
    }


def linear(*names: str) -> UOp:
    parts = linear_parts()
    return UOp(Ops.LINEAR, VOID, tuple(parts[n] for n in names))


ORDER = ("out", "size", "nine", "one", "r", "gate", "address", "if", "store", "endif", "end")


def test_linear() -> None:
    verify(linear(*ORDER, "after"), Form.LINEAR)
    verify(UOp(Ops.LINEAR, VOID, (*linear(*ORDER).src, UOp(Ops.SINK, VOID))), Form.LINEAR)


def test_illegal_linear() -> None:
    parts = linear_parts()
    late = parts["address"].load()
    cases = [
        (parts["out"], "root is LINEAR"),
        (linear(*ORDER[:-1]), "no Ops.END closes"),
        (linear(*ORDER[1:]), "not defined before"),
        (linear(*ORDER[:8], "store", "end", "endif"), "innermost open is Ops.IF"),
        (linear(*ORDER[:4], "end"), "innermost open is nothing"),
        (linear(*ORDER, "out"), "twice"),
        (UOp(Ops.LINEAR, VOID, (*linear(*ORDER).src, late)), "in a block around it"),
        (UOp(Ops.LINEAR, VOID, (UOp(Ops.GROUP, VOID),)), "no GROUP"),
        (
            UOp(Ops.LINEAR, VOID, (UOp(Ops.END, VOID, (parts["store"], parts["r"])),)),
            "only operand",
        ),
    ]
    for graph, words in cases:
        refused(graph, Form.LINEAR, words)


# *** the error, the tables ***


def test_the_error_shows_where_and_what() -> None:
    out, source = UOp.param(0, F32.ptr(4)), UOp.param(1, F32.ptr(4))
    r = UOp.range(4, 0)
    bad = UOp(Ops.SQRT, F32, (source.index(r), source.index(r)))
    bad.source_line = ("model.py", 7)
    graph = out.index(r).store(bad.alu(Ops.NEG)).end(r).sink(arg=KernelInfo())
    with pytest.raises(SpecError) as caught:
        verify(graph, Form.KERNEL, origin_of=lambda node: f"rule for {node.op.name}")
    error = caught.value
    assert error.path == ("SINK", "END", "STORE", "NEG", "SQRT")
    assert "->" in error.excerpt
    assert "SQRT" in error.node
    assert error.origin == "rule for SQRT, model.py:7"
    for part in (error.rule, error.node, error.excerpt, error.origin, "SINK > END > STORE"):
        assert part in str(error)


def test_the_error_names_the_rule_that_made_the_node() -> None:
    def broken(x: UOp) -> UOp:
        return UOp(Ops.EXP2, F32, (x, x)).alu(Ops.NEG)

    matcher = PatternMatcher([(UPat(Ops.SQRT, src=(UPat.var("x"),)), broken)])
    out, source = UOp.param(0, F32.ptr(4)), UOp.param(1, F32.ptr(4))
    r = UOp.range(4, 0)
    graph = out.index(r).store(source.index(r).alu(Ops.SQRT)).end(r).sink(arg=KernelInfo())
    with tracing():
        rewritten = graph_rewrite(graph, matcher)
        error = refused(rewritten, Form.KERNEL, "EXP2")
    assert "broken" in error.origin
    assert "test_uop_spec.py" in error.origin
    assert refused(rewritten, Form.KERNEL, "EXP2").origin == ""


def test_tables_have_a_reason_for_every_op() -> None:
    for table in TABLES.values():
        for op, row in table.items():
            assert row.reason, op
    page = spec_markdown()
    for form in Form:
        assert f"## {form.name.capitalize()}" in page


def test_every_op_is_legal_somewhere() -> None:
    used = set().union(*TABLES.values())
    # they belong to what a program is made of, outside of any form
    beyond = {Ops.PROGRAM, Ops.SOURCE, Ops.BINARY, Ops.INS}
    assert set(Ops) - used - beyond == set()


def test_forms_for_pipelines() -> None:
    for form in Form:
        named = getattr(forms, form.name)
        assert isinstance(named, PassForm)
        assert named.name == form.name.lower()
    forms.KERNEL.check(kernel_copy())
    with pytest.raises(SpecError):
        forms.LOWERED.check(kernel_copy())


def test_special_arg_is_needed() -> None:
    verify(UOp(Ops.SPECIAL, WEAK, (const(4, WEAK),), SpecialArg("lidx0")), Form.EXPANDED)
