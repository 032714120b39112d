"""graph_rewrite: fixed points, directions, loops, fuel, traces; and pipelines of passes."""

from __future__ import annotations

import pytest
from tg_uop.context import Context
from tg_uop.dtype.dtype import dtypes
from tg_uop.errors import PassError, PipelineError, RewriteFuelError, SpecError
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.passes import Form, Pass, Pipeline
from tg_uop.rewrite.pattern import UPat
from tg_uop.rewrite.trace import Trace, tracing

x = UOp.variable("x", 0, 10)
y = UOp.variable("y", 0, 10)
BOTH = pytest.mark.parametrize("bottom_up", [False, True], ids=["sources first", "node first"])


@rule(UPat.var("x") + UPat.const(0), law="x + 0 == x")
def drop_zero(x: UOp) -> UOp:
    """Test rule."""
    return x


@rule(UPat.var("x") * UPat.const(1), law="x * 1 == x")
def drop_one(x: UOp) -> UOp:
    """Test rule."""
    return x


@rule(UPat.cvar("a") + UPat.cvar("b"), law="constants add")
def add_constants(a: UOp, b: UOp) -> UOp:
    """Test rule."""
    return a.const_like(a.const_value + b.const_value)


DROP = PatternMatcher([drop_zero, drop_one, add_constants])


@BOTH
def test_fixed_point(bottom_up: bool) -> None:
    expr = ((x + 0) * 1 + (x.const_like(-3) + 3)) * (y + 0)
    assert graph_rewrite(expr, DROP, bottom_up=bottom_up) is x * y


@BOTH
def test_nothing_to_do_gives_the_same_object(bottom_up: bool) -> None:
    expr = (x * y + 3).sink(x)
    assert graph_rewrite(expr, DROP, bottom_up=bottom_up) is expr


@BOTH
def test_unchanged_parts_are_kept(bottom_up: bool) -> None:
    kept = x * y + 3
    result = graph_rewrite(kept.sink(y + 0), DROP, bottom_up=bottom_up)
    assert result.src == (kept, y)


@BOTH
def test_tags_and_lines_survive_rebuilding(bottom_up: bool) -> None:
    node = ((x + 0) * y).rtag("mine")
    node.source_line = ("model.py", 7)
    result = graph_rewrite(node, DROP, bottom_up=bottom_up)
    assert (result.tag, result.source_line) == ("mine", ("model.py", 7))


def test_sources_first_sees_final_sources() -> None:
    seen: list[UOp] = []
    spy = PatternMatcher([(UPat(Ops.MUL, name="n"), lambda n: seen.append(n))])
    graph_rewrite((x + 0) * y, DROP + spy)
    assert seen == [x * y]


def test_node_first_sees_the_node_as_it_stands_and_again() -> None:
    seen: list[UOp] = []
    spy = PatternMatcher([(UPat(Ops.MUL, name="n"), lambda n: seen.append(n))])
    graph_rewrite((x + 0) * y, DROP + spy, bottom_up=True)
    assert seen == [(x + 0) * y, x * y]


@BOTH
def test_replacement_with_unprocessed_sources(bottom_up: bool) -> None:
    spread = PatternMatcher(
        [
            (
                UPat(
                    Ops.MUL, src=(UPat(Ops.ADD, src=(UPat.var("a"), UPat.var("b"))), UPat.var("c"))
                ),
                lambda a, b, c: a * c + b * c,
            )
        ]
    )
    expr = ((x + y) + (x + 3)) * y
    result = graph_rewrite(expr, spread, bottom_up=bottom_up)
    assert result is (x * y + y * y) + (x * y + y.const_like(3) * y)


@BOTH
def test_gate_leaves_what_is_below(bottom_up: bool) -> None:
    closed = (x + 0) * y
    expr = closed.sink(y + 0)
    result = graph_rewrite(expr, DROP, bottom_up=bottom_up, gate=lambda n: n is not closed)
    assert result.src == (closed, y)


@BOTH
def test_two_rules_that_undo_each_other(bottom_up: bool) -> None:
    def to_shift(v: UOp) -> UOp:
        return v.alu(Ops.SHL, v.const_like(1))

    def to_product(v: UOp) -> UOp:
        return v * 2

    loop = PatternMatcher(
        [
            (UPat.var("v") * UPat.const(2), to_shift),
            (UPat(Ops.SHL, src=(UPat.var("v"), UPat.const(1))), to_product),
        ]
    )
    with pytest.raises(RewriteFuelError) as raised:
        graph_rewrite(x * 2 + 1, loop, bottom_up=bottom_up, name="undo")
    error = raised.value
    assert error.name == "undo"
    assert {text.split()[0] for text in error.rules} == {"to_shift", "to_product"}
    assert any("SHL" in node for node in error.nodes)
    assert __file__ in str(error)


@BOTH
def test_a_rule_that_wraps_its_own_match(bottom_up: bool) -> None:
    wrap = PatternMatcher([(UPat(Ops.MUL, name="n"), lambda n: n.cast(dtypes.int))])
    with pytest.raises(RewriteFuelError, match="MUL"):
        graph_rewrite(x * y, wrap, bottom_up=bottom_up)


@BOTH
def test_growth_without_end_runs_out_of_fuel(bottom_up: bool) -> None:
    def grow(n: UOp, c: UOp) -> UOp:
        return n.src[0] * (c.const_value + 1)

    matcher = PatternMatcher([(UPat(Ops.MUL, src=(UPat(), UPat.cvar("c")), name="n"), grow)])
    with pytest.raises(RewriteFuelError, match="grow"):
        graph_rewrite(x * 2, matcher, bottom_up=bottom_up, fuel=50)


@BOTH
def test_a_rule_with_state_may_wrap_once(bottom_up: bool) -> None:
    def wrap(ctx: set[UOp], n: UOp) -> UOp | None:
        if n in ctx:
            return None
        ctx.add(n)
        return n.alu(Ops.NEG)

    matcher = PatternMatcher([(UPat(Ops.MUL, name="n"), wrap)])
    expr = (x * y).sink((x * y) + 1)
    result = graph_rewrite(expr, matcher, ctx=set(), bottom_up=bottom_up)
    assert result is (-(x * y)).sink(-(x * y) + 1)


@BOTH
def test_a_chain_of_100_000_nodes(bottom_up: bool) -> None:
    expr = x
    for k in range(50_000):
        expr = (expr + y) + (0 if k % 2 else 1)
    result = graph_rewrite(expr, DROP, bottom_up=bottom_up)
    expected = x
    for k in range(50_000):
        expected = expected + y if k % 2 else (expected + y) + 1
    assert result is expected


def test_trace_records_rule_line_before_and_after() -> None:
    with tracing() as trace:
        graph_rewrite((x + 0) * 1, DROP, name="drop")
    (record,) = trace.rewrites
    assert (record.name, record.sink, record.result) == ("drop", (x + 0) * 1, x)
    assert [(m.rule, m.before, m.after) for m in trace.matches] == [
        ("drop_zero", x + 0, x),
        ("drop_one", x * 1, x),
    ]
    assert trace.matches[0].law == "x + 0 == x"
    assert trace.matches[0].location.startswith(f"{__file__}:")
    assert trace.counts() == {m.location: 1 for m in trace.matches}


def test_explicit_trace_and_none_outside() -> None:
    mine = Trace()
    graph_rewrite(x + 0, DROP, track=mine)
    graph_rewrite(y + 0, DROP)
    assert [m.before for m in mine.matches] == [x + 0]


# *** passes ***


def _no_sums(u: UOp) -> None:
    for node in u.toposort():
        if node.op is Ops.ADD:
            raise SpecError(form="flat", rule="no sums", node=repr(node))


ANY = Form("any")
FLAT = Form("flat", _no_sums)


def test_pipeline_runs_passes_in_order() -> None:
    pipeline = Pipeline(
        Pass("drop", DROP, before=ANY, after=ANY),
        Pass("wrap", lambda u: u * 2, before=ANY, after=FLAT, place="after drop: no sums are left"),
    )
    assert pipeline.run(x + 0) is x * 2
    assert [p.name for p in pipeline] == ["drop", "wrap"]
    assert len(pipeline) == 2


def test_context_reaches_the_rules_of_a_pass() -> None:
    matcher = PatternMatcher([(UPat(Ops.MUL, name="n"), lambda ctx, n: ctx)])
    assert Pipeline(Pass("take", matcher, before=ANY, after=ANY)).run(x * y, ctx=x) is x


def test_pipeline_names_the_pass_that_breaks_its_form() -> None:
    pipeline = Pipeline(Pass("leave-sums", DROP, before=ANY, after=FLAT))
    with Context(SPEC=1), pytest.raises(PassError, match="leave-sums") as raised:
        pipeline.run(x + y)
    assert raised.value.cause.rule == "no sums"
    with Context(SPEC=0):
        assert pipeline.run(x + y) is x + y


def test_input_is_verified_too() -> None:
    with Context(SPEC=1), pytest.raises(SpecError):
        Pipeline(Pass("drop", DROP, before=FLAT, after=ANY)).run(x + y)


def test_forms_must_meet_and_names_must_differ() -> None:
    first = Pass("first", DROP, before=ANY, after=FLAT)
    with pytest.raises(PipelineError, match="begins in any form"):
        Pipeline(first, Pass("second", DROP, before=ANY, after=ANY))
    with pytest.raises(PipelineError, match="two passes"):
        Pipeline(first, Pass("first", DROP, before=FLAT, after=ANY))
