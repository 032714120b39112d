"""UPat and PatternMatcher: what matches, what is captured, what a rule may be."""

from __future__ import annotations

from functools import partial

import pytest
from tg_uop.dtype.dtype import dtypes
from tg_uop.errors import PatternError
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import COMPILE_AFTER, PatternMatcher, Rule, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rewrite.reference import matches

a = UOp.variable("a", 0, 10)
b = UOp.variable("b", 0, 10)
f = UOp.param(0, dtypes.float)


def match(pattern: UPat, node: UOp) -> dict[str, UOp] | None:
    """The first captures; by interpretation and by the compiled rule, which must agree."""
    seen: list[dict[str, UOp]] = []

    def note(**captures: UOp) -> None:
        seen.append(captures)

    expected = list(matches(pattern, node, {}))
    Rule(pattern, note).compiled()(node, None)
    assert [c for c in seen if c] == [c for c in expected if c]
    assert len(seen) == len(expected)
    return seen[0] if seen else None


def test_op_dtype_and_arg() -> None:
    assert match(UPat(Ops.ADD), a + b) == {}
    assert match(UPat(Ops.MUL), a + b) is None
    assert match(UPat((Ops.MUL, Ops.ADD), name="n"), a + b) == {"n": a + b}
    assert match(UPat(dtype=dtypes.float), a) is None
    assert match(UPat(dtype=(dtypes.float, dtypes.weakint)), a) == {}
    assert match(UPat(Ops.DEFINE_VAR, arg=("a", 0, 10)), a) == {}
    assert match(UPat(Ops.DEFINE_VAR, arg=("b", 0, 10)), a) is None


def test_a_scalar_dtype_matches_its_vectors() -> None:
    assert match(UPat(dtype=dtypes.float), f.broadcast(4)) == {}
    assert match(UPat(dtype=dtypes.float.vec(4)), f) is None


def test_fixed_sources() -> None:
    pattern = UPat(Ops.IDIV, src=(UPat.var("x"), UPat.cvar("c")))
    node = a.alu(Ops.IDIV, a.const_like(3))
    assert match(pattern, node) == {"x": a, "c": a.const_like(3)}
    assert match(pattern, a.const_like(3).alu(Ops.IDIV, a)) is None
    assert match(UPat(Ops.NEG, src=(UPat.var("x"), UPat.var("y"))), a.alu(Ops.NEG)) is None


def test_permuted_sources() -> None:
    pattern = UPat(Ops.ADD, src=[UPat(Ops.MUL, name="m"), UPat.var("x")])
    assert match(pattern, b + a * 2) == {"m": a * 2, "x": b}
    assert match(pattern, a * 2 + b) == {"m": a * 2, "x": b}
    three = UPat(Ops.SINK, src=[UPat.cvar("c"), UPat(Ops.MUL), UPat(Ops.DEFINE_VAR)])
    assert match(three, (a * 2).sink(a, a.const_like(1))) == {"c": a.const_like(1)}


def test_one_pattern_for_all_sources() -> None:
    pattern = UPat(Ops.SINK, src=UPat(Ops.DEFINE_VAR))
    assert match(pattern, a.sink(b)) == {}
    assert match(pattern, a.sink(b * 2)) is None
    assert match(UPat(Ops.SINK, src=UPat(Ops.DEFINE_VAR, name="v")), a.sink(b)) is None
    assert match(UPat(Ops.SINK, src=UPat(Ops.DEFINE_VAR, name="v")), a.sink(a)) == {"v": a}


def test_leading_sources() -> None:
    pattern = UPat(Ops.SINK, src=(UPat.var("x"),), allow_any_len=True)
    assert match(pattern, a.sink(b, b)) == {"x": a}
    assert match(pattern, UOp(Ops.SINK)) is None


def test_a_name_twice_is_the_same_node() -> None:
    pattern = UPat.var("x") + UPat.var("x")
    assert match(pattern, a + a) == {"x": a}
    assert match(pattern, a + b) is None


def test_alternatives() -> None:
    pattern = UPat.any(UPat(Ops.MUL, src=(UPat.var("x"), UPat())), UPat.var("x"), name="n")
    assert match(pattern, a * 2) == {"x": a, "n": a * 2}
    assert match(UPat.var("x").or_casted("n") + 1, a.cast(dtypes.int) + 1) == {
        "x": a,
        "n": a.cast(dtypes.int),
    } or match(UPat.var("x").or_casted("n") + 1, a.cast(dtypes.int) + 1)


def test_backtracking_over_both_orders() -> None:
    """The inner permutation that fits the outer name is found."""
    pattern = (UPat.var("x") * UPat.var("y")) + UPat.var("y")
    assert match(pattern, a * b + a) == {"x": b, "y": a}
    assert match(pattern, b + a * b) == {"x": a, "y": b}


def test_constants_by_type() -> None:
    zero, negative = UOp.const(dtypes.float, 0.0), UOp.const(dtypes.float, -0.0)
    assert match(UPat.const(0), a.const_like(0)) == {}
    assert match(UPat.const(0), zero) == {}
    assert match(UPat.const(0), negative) is None
    assert match(UPat.const(-0.0), negative) == {}
    assert match(UPat.const(1), UOp.const(dtypes.bool, True)) is None
    assert match(UPat.const(True), UOp.const(dtypes.int, 1)) is None
    assert match(UPat.const(dtypes.int, 1), a.const_like(1)) is None
    nan = UOp.const(dtypes.float, float("nan"))
    assert match(UPat.const(0.0), nan) is None


def test_operators_build_patterns() -> None:
    x, y = UPat.var("x"), UPat.var("y")
    assert match(x + y * 2, a + b * 2) == {"x": a, "y": b}
    assert match(x // y, a.alu(Ops.IDIV, b)) == {"x": a, "y": b}
    assert match(x % y, a.alu(Ops.MOD, b)) == {"x": a, "y": b}
    assert match(x < y, a < b) == {"x": a, "y": b}
    assert match((x < y).logical_not(), (a < b).logical_not()) == {"x": a, "y": b}
    assert match(x.maximum(y), a.maximum(b)) == {"x": a, "y": b}
    assert match(UPat.var("c").where(x, y), (a < 3).where(a, b)) == {"c": a < 3, "x": a, "y": b}
    assert match(x.cast(dtypes.int), a.cast(dtypes.int)) == {"x": a}


def test_first_answer_wins_and_none_is_passed_over() -> None:
    matcher = PatternMatcher(
        [
            (UPat(Ops.ADD, name="n"), lambda n: None),
            (UPat(Ops.ADD, name="n"), lambda n: n),
            (UPat.var("x") + UPat.var("y"), lambda x, y: x),
            (UPat.var("x") + UPat.var("y"), lambda x, y: y),
        ]
    )
    assert matcher.rewrite(a + b) is a
    assert matcher.rewrite(a * b) is None


def test_rules_get_the_context_when_they_ask() -> None:
    seen: list[object] = []

    def note(ctx: object, n: UOp) -> None:
        seen.append(ctx)

    PatternMatcher([(UPat(Ops.ADD, name="n"), note)]).rewrite(a + b, ctx="here")
    assert seen == ["here"]


def test_functions_of_every_kind() -> None:
    class Adder:
        def __call__(self, x: UOp) -> UOp:
            return x + 1

        def method(self, x: UOp) -> UOp:
            return x + 2

    pattern = UPat.var("x") * UPat.var("y")
    assert PatternMatcher([(pattern, Adder())]).rewrite(a * b) is a + 1
    assert PatternMatcher([(pattern, Adder().method)]).rewrite(a * b) is a + 2
    assert PatternMatcher([(pattern, partial(lambda k, x: x + k, 3))]).rewrite(a * b) is a + 3
    assert PatternMatcher([(pattern, lambda x, k=4: x + k)]).rewrite(a * b) is a + 4
    assert PatternMatcher([(pattern, lambda **kw: kw["x"] + kw["y"])]).rewrite(a * b) is a + b


def test_a_parameter_without_a_capture_is_an_error() -> None:
    with pytest.raises(PatternError, match="'z'"):
        PatternMatcher([(UPat.var("x"), lambda x, z: z)])


def test_rule_decorator_and_sums_of_matchers() -> None:
    @rule(UPat.var("x") * UPat.const(1), law="x * 1 == x")
    def drop_one(x: UOp) -> UOp:
        return x

    @rule(UPat.var("x") + UPat.const(0), law="x + 0 == x")
    def drop_zero(x: UOp) -> UOp:
        return x

    both = PatternMatcher([drop_one]) + PatternMatcher([drop_zero, drop_one])
    assert both.rules == (drop_one, drop_zero)
    assert both.rewrite(a + 0) is a
    assert drop_one(x=a) is a
    assert (drop_one.name, drop_one.law) == ("drop_one", "x * 1 == x")
    assert drop_one.location.startswith(f"{__file__}:")


def test_a_rule_is_compiled_once_it_is_hot() -> None:
    matcher = PatternMatcher(
        [(UPat.var("x") + UPat.cvar("c"), lambda x, c: x if c.arg == 0 else None)]
    )
    for k in range(3 * COMPILE_AFTER):
        assert matcher.rewrite(a + (k % 2)) is (a if k % 2 == 0 else None)
    assert [type(attempt).__name__ for attempt in matcher.entry(a + 1)] == ["function"]


def test_live_ops() -> None:
    matcher = PatternMatcher([(UPat((Ops.ADD, Ops.MUL), name="n"), lambda n: None)])
    assert matcher.live_ops == {Ops.ADD, Ops.MUL}
    assert PatternMatcher([(UPat(name="n"), lambda n: None)]).live_ops == GroupOp.All


def test_deep_permutations_fall_back_to_interpretation() -> None:
    """More nested source lists than Python allows loops."""
    pattern = UPat.var("x")
    node = a
    for k in range(20):
        pattern = pattern + UPat.const(k)
        node = node + k
    assert PatternMatcher([(pattern, lambda x: x)]).rules[0].compiled()(node, None) is a


def test_patterns_print() -> None:
    text = repr(UPat.var("x", dtypes.int) + UPat.any(UPat.const(1), UPat(Ops.MUL)))
    assert "ADD" in text
    assert "name=x" in text
    assert "any" in text
