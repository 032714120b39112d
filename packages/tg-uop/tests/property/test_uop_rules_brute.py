"""Each rule against brute force: instances are made from the rule's own pattern."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tg_uop.dtype.dtype import ConstFloat, DType, Invalid, InvalidType, dtypes
from tg_uop.errors import TgError
from tg_uop.eval.graph import evaluate
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rewrite.matcher import Rule
from tg_uop.rewrite.pattern import Order, UPat
from tg_uop.rewrite.reference import apply_reference
from tg_uop.rules.fold import FOLD
from tg_uop.rules.gates import element_at_invalid, store_at_invalid
from tg_uop.rules.sets import INDEX_MATH, SYMBOLIC, SYMBOLIC_SIMPLE

INTS = (dtypes.weakint, dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16)
WIDE_INTS = (dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64)
FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.fp8e4m3)
TESTED = (dtypes.bool, *INTS, *WIDE_INTS, *FLOATS)
# the first six are numbers of every format
FLOAT_VALUES = (0.0, -0.0, 1.0, -1.0, 2.5, -3.75, 0.001, 448.0, float("inf"), -float("inf"))
NAN = float("nan")

ONLY_FLOAT = GroupOp.Unary - {Ops.NEG} | {Ops.FDIV}
ONLY_INT = frozenset((Ops.IDIV, Ops.MOD, Ops.SHL, Ops.SHR))
BITS = frozenset((Ops.AND, Ops.OR, Ops.XOR))
NOT_ON_BOOL = frozenset((Ops.SUB, Ops.NEG, Ops.POW, Ops.MULACC))
ARITY = dict.fromkeys(GroupOp.Unary, 1) | dict.fromkeys(GroupOp.Binary, 2)
ARITY |= dict.fromkeys(GroupOp.Ternary, 3) | {Ops.CAST: 1, Ops.BITCAST: 1}

MOST_ASSIGNMENTS = 48


def allowed(op: Ops, dtype: DType) -> bool:
    """Whether `op` has a meaning on operands of `dtype`; shifts of exact integers
    by negative amounts have none."""
    if op in (Ops.SHL, Ops.SHR) and dtype is dtypes.weakint:
        return False
    if op in (Ops.THREEFRY, Ops.POW):
        return False
    if op in ONLY_FLOAT:
        return dtype.is_float
    if op in ONLY_INT:
        return dtype.is_int
    if op in BITS:
        return not dtype.is_float
    return not (op in NOT_ON_BOOL and dtype.is_bool)


# *** expressions ***


def constant(draw: st.DrawFn, dtype: DType) -> UOp:
    if dtype.is_bool:
        return UOp.const(dtype, draw(st.booleans()))
    if dtype.is_float:
        return UOp.const(dtype, draw(st.sampled_from((*FLOAT_VALUES[:6], 0.5, 4.0))))
    small = draw(st.integers(-9, 13))
    if dtype is dtypes.weakint:
        return UOp.const(dtype, small)
    edge = draw(st.sampled_from((small, small, small, dtype.min, dtype.max)))
    return UOp.const(dtype, min(max(int(edge), int(dtype.min)), int(dtype.max)))


def leaf(draw: st.DrawFn, dtype: DType) -> UOp:
    """A variable with narrow bounds, a value of any size, or a loop index."""
    name = draw(st.sampled_from("abc"))
    if dtype.is_bool or dtype.is_float:
        return UOp.param(ord(name), dtype)
    kind = draw(st.sampled_from(("variable", "variable", "whole", "range")))
    if kind == "whole" and dtype is not dtypes.weakint:
        return UOp.param(ord(name), dtype)
    if kind == "range":
        return UOp.range(draw(st.integers(1, 6)), ord(name), dtype=dtype)
    low = 0 if dtype.is_unsigned else draw(st.sampled_from((0, 0, 0, -5, 2)))
    return UOp.variable(name, low, low + draw(st.integers(0, 9)), dtype)


def atom(draw: st.DrawFn, dtype: DType) -> UOp:
    """A leaf, or a quotient or remainder of one."""
    base = leaf(draw, dtype)
    if not dtype.is_int:
        return base
    op = draw(st.sampled_from((None, None, Ops.IDIV, Ops.MOD, Ops.MAX)))
    return base if op is None else base.alu(op, UOp.const(dtype, draw(st.integers(1, 6))))


def expression(draw: st.DrawFn, dtype: DType) -> UOp:
    """A sum of a few scaled atoms, a comparison, or a leaf."""
    if dtype.is_bool:
        operand = draw(st.sampled_from((dtypes.weakint, dtypes.int8, dtypes.bool)))
        if operand.is_bool:
            return leaf(draw, dtype)
        op = draw(st.sampled_from((Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ)))
        return expression(draw, operand).alu(op, constant(draw, operand))
    if dtype.is_float:
        return draw(st.sampled_from((leaf, leaf, constant)))(draw, dtype)
    total = atom(draw, dtype)
    for _ in range(draw(st.integers(0, 3))):
        factor = constant(draw, dtype)
        total = total + atom(draw, dtype) * factor
    if draw(st.booleans()):
        total = total + constant(draw, dtype)
    return total


# *** instances of patterns ***


def domain(pattern: UPat) -> frozenset[DType]:
    """The dtypes that a node of this pattern can have."""
    own = frozenset(TESTED) if pattern.dtypes is None else pattern.dtypes & set(TESTED)
    if pattern.ops is None or not pattern.src:
        return own if pattern.ops is None else _by_ops(pattern, own)
    if pattern.ops <= GroupOp.Comparison:
        return own & {dtypes.bool}
    if pattern.ops <= {Ops.CAST, Ops.BITCAST}:
        return own
    parts = pattern.src[1:] if pattern.ops == {Ops.WHERE} else pattern.src
    for part in parts:
        own &= domain(part)
    return _by_ops(pattern, own)


def _by_ops(pattern: UPat, own: frozenset[DType]) -> frozenset[DType]:
    ops = pattern.ops or frozenset()
    return frozenset(
        d for d in own if any(allowed(op, d) or op in GroupOp.Comparison for op in ops)
    )


def instance(draw: st.DrawFn, pattern: UPat, dtype: DType, bound: dict[str, UOp]) -> UOp:
    """A node that matches, of `dtype` where the pattern allows it."""
    if pattern.alternatives:
        pattern = draw(st.sampled_from(pattern.alternatives))
    for name in pattern.names:
        if name in bound:
            return bound[name]
    choices = domain(pattern)
    assume(choices)
    if dtype not in choices:
        dtype = draw(st.sampled_from(sorted(choices)))
    node = _instance(draw, pattern, dtype, bound)
    for name in pattern.names:
        bound[name] = node
    return node


def _instance(draw: st.DrawFn, pattern: UPat, dtype: DType, bound: dict[str, UOp]) -> UOp:
    if pattern.ops is None and pattern.order is Order.ANYTHING:
        return expression(draw, dtype)
    ops = [op for op in sorted(pattern.ops or GroupOp.ALU) if _fits(op, dtype)]
    assume(ops)
    op = draw(st.sampled_from(ops))
    if op in GroupOp.Constant:
        if op is Ops.VCONST or pattern.arg is None:
            return constant(draw, dtype)
        value = pattern.arg
        assume(isinstance(value, InvalidType) or _holds(dtype, value))
        return UOp.const(dtype, value)
    operand = _operand_dtype(draw, op, pattern, dtype)
    src = [
        instance(draw, p, _part_dtype(op, i, operand), bound)
        for i, p in enumerate(_parts(op, pattern))
    ]
    if pattern.order is Order.PERMUTED and draw(st.booleans()):
        src.reverse()
    kinds = {s.dtype for s in (src[1:] if op is Ops.WHERE else src)}
    assume(len(kinds) == 1)
    if op in GroupOp.ALU:
        return src[0].alu(op, *src[1:])
    if op is Ops.BITCAST:
        assume(src[0].dtype.itemsize == dtype.itemsize)
    return UOp(op, dtype, tuple(src))


def _fits(op: Ops, dtype: DType) -> bool:
    if op in (Ops.CONST, Ops.CAST):
        return True
    if op is Ops.BITCAST:
        return dtype is not dtypes.weakint and not dtype.is_bool
    return dtype.is_bool if op in GroupOp.Comparison else allowed(op, dtype)


def _holds(dtype: DType, value: object) -> bool:
    assert isinstance(value, bool | int | float)
    if isinstance(value, bool) or dtype.is_bool:
        return isinstance(value, bool) and dtype.is_bool
    return dtype.is_float or (value == int(value) and dtype.min <= value <= dtype.max)


def _parts(op: Ops, pattern: UPat) -> tuple[UPat, ...]:
    if pattern.order is Order.ANYTHING:
        return (UPat(),) * ARITY[op]
    if pattern.order is Order.ALL:
        return pattern.src * ARITY[op]
    return pattern.src


def _operand_dtype(draw: st.DrawFn, op: Ops, pattern: UPat, dtype: DType) -> DType:
    if op not in GroupOp.Comparison and op not in (Ops.CAST, Ops.BITCAST):
        return dtype
    choices = frozenset(TESTED)
    for part in pattern.src:
        choices &= domain(part)
    assume(choices)
    return draw(st.sampled_from(sorted(choices)))


def _part_dtype(op: Ops, place: int, operand: DType) -> DType:
    return dtypes.bool if op is Ops.WHERE and place == 0 else operand


# *** rules that want more than their pattern says ***


def floor_instance(draw: st.DrawFn) -> UOp:
    dtype = draw(st.sampled_from((dtypes.weakint, dtypes.int8)))
    x, divisor = expression(draw, dtype), UOp.const(dtype, draw(st.integers(2, 5)))
    quotient, rest = x.alu(Ops.IDIV, divisor), x.alu(Ops.MOD, divisor)
    if draw(st.booleans()):
        return (rest < 0).where(quotient + -1, quotient)
    return (rest < 0).where(rest + divisor, rest)


def conjunction_instance(draw: st.DrawFn) -> UOp:
    result = expression(draw, dtypes.bool)
    for _ in range(draw(st.integers(1, 3))):
        cond = expression(draw, dtypes.bool)
        result = result & (cond.ne(True) if draw(st.booleans()) else cond)
    return result


def guarded_instance(draw: st.DrawFn) -> UOp:
    index = expression(draw, dtypes.weakint)
    if draw(st.booleans()):
        index = index.alu(Ops.IDIV, UOp.const(dtypes.weakint, draw(st.integers(2, 4))))
    cond = conjunction_instance(draw)
    if draw(st.booleans()):
        cond = (index.src[0] < draw(st.integers(-2, 6))) & cond if index.src else cond
    return cond.where(index, UOp.const(index.dtype, Invalid))


def branches_instance(draw: st.DrawFn) -> UOp:
    x = leaf(draw, dtypes.weakint)
    branches = [x < draw(st.integers(-3, 9)) for _ in range(2)]
    if draw(st.booleans()):
        branches = [x.alu(Ops.MOD, x.const_like(draw(st.integers(1, 6)))) for _ in range(2)]
    return (x < draw(st.integers(-3, 9))).where(*branches)


def minimum_instance(draw: st.DrawFn) -> UOp:
    dtype = draw(st.sampled_from((dtypes.int8, dtypes.uint8, dtypes.int32)))
    other = draw(st.sampled_from((leaf, constant)))(draw, dtype)
    # the flipped constant is folded by then
    return graph_rewrite(leaf(draw, dtype).minimum(other), FOLD)


def joined_instance(draw: st.DrawFn) -> UOp:
    dtype = draw(st.sampled_from((dtypes.weakint, dtypes.int8, dtypes.uint8)))
    x, d = expression(draw, dtype), draw(st.integers(1, 4))
    c = draw(st.integers(1, 4))
    quotient = x.alu(Ops.IDIV, UOp.const(dtype, d))
    if draw(st.booleans()):
        quotient = quotient.alu(Ops.MOD, UOp.const(dtype, c))
    return leaf(draw, dtype) + quotient * d + x.alu(Ops.MOD, UOp.const(dtype, d))


def symbolic_instance(draw: st.DrawFn) -> UOp:
    n = UOp.variable("n", 1, 5)
    inner = draw(st.sampled_from((UOp.range(n, 9), UOp.variable("a", 0, 7))))
    op = draw(st.sampled_from((Ops.IDIV, Ops.MOD)))
    return (n * UOp.variable("b", 0, 3) + inner).alu(op, n)


def bitcast_instance(draw: st.DrawFn) -> UOp:
    # a Python float does not keep the payload of a nan, so none stands between
    first, third = (draw(st.sampled_from((dtypes.int16, dtypes.float16))) for _ in range(2))
    return leaf(draw, first).bitcast(dtypes.uint16).bitcast(third)


SPECIAL: dict[str, Callable[[st.DrawFn], UOp]] = {
    "floor_of_bounded": floor_instance,
    "simplify_conjunction": conjunction_instance,
    "simplify_guarded": guarded_instance,
    "simplify_branches": branches_instance,
    "minimum_by_bounds": minimum_instance,
    "recombine": joined_instance,
    "bitcast_twice": bitcast_instance,
    "divide_by_symbol": symbolic_instance,
}


@st.composite
def instances(draw: st.DrawFn, rule: Rule) -> UOp:
    """A node that the rule's pattern matches."""
    special = SPECIAL.get(rule.name)
    if special is not None:
        return special(draw)
    choices = domain(rule.pattern)
    if rule.pattern.alternatives:
        choices = frozenset(TESTED)
    assume(choices)
    dtype = draw(st.sampled_from(sorted(choices)))
    return instance(draw, rule.pattern, dtype, {})


# *** values ***


def values_of(node: UOp, chance: random.Random) -> list[object]:
    """What a leaf can be."""
    dtype = node.dtype
    if node.op in (Ops.DEFINE_VAR, Ops.RANGE):
        return list(range(int(node.vmin), int(node.vmax) + 1))
    if dtype.is_bool:
        return [False, True]
    if dtype.is_float:
        exact = [v for v in (*FLOAT_VALUES, NAN) if same(UOp.const(dtype, v), v)]
        return list(exact)
    low, high = int(dtype.min), int(dtype.max)
    edges = [low, low + 1, -1, 0, 1, 2, high - 1, high]
    return [v for v in [*edges, chance.randint(low, high)] if low <= v <= high]


def same(node: UOp, value: float) -> bool:
    """Whether the dtype of the node holds the value exactly."""
    cast = evaluate(UOp.const(dtypes.float64, value).cast(node.dtype).cast(dtypes.float64))
    return exactly(cast) == exactly(value)


def assignments(nodes: list[UOp], chance: random.Random) -> list[dict[UOp, object]]:
    """All assignments to the leaves if they are few, else some at random."""
    choices = [values_of(node, chance) for node in nodes]
    total = 1
    for values in choices:
        total *= len(values)
    if total <= MOST_ASSIGNMENTS:
        picked = list(product(*choices))
    else:
        picked = [tuple(map(chance.choice, choices)) for _ in range(MOST_ASSIGNMENTS)]
    return [dict(zip(nodes, values, strict=True)) for values in picked]


def leaves(*roots: UOp) -> list[UOp]:
    found = (
        n for n in UOp.sink(*roots).toposort() if n.op in (Ops.DEFINE_VAR, Ops.RANGE, Ops.PARAM)
    )
    return sorted(found, key=lambda n: n.key)


def is_possible(values: dict[UOp, object]) -> bool:
    """A loop index is below its size."""
    names = {n.var_name: v for n, v in values.items() if n.op is Ops.DEFINE_VAR}
    for node, value in values.items():
        if node.op is Ops.RANGE and not value < evaluate(node.range_size, names):  # type: ignore[operator]
            return False
    return True


def exactly(value: object) -> object:
    """A key that tells -0.0 from 0.0 and holds nan equal to itself."""
    return ConstFloat(value) if isinstance(value, float) else value


def assert_same_value(before: UOp, after: UOp, seed: int) -> None:
    """Both nodes have one value for every assignment, within the bounds of the second."""
    assert after.dtype is before.dtype
    chance = random.Random(seed)
    for values in assignments(leaves(before, after), chance):
        if not is_possible(values):
            continue
        expected = evaluate(before, node_vals=values)  # type: ignore[arg-type]
        got = evaluate(after, node_vals=values)  # type: ignore[arg-type]
        shown = {str(n.arg): v for n, v in values.items()}
        assert exactly(got) == exactly(expected), (
            f"{before.render(False)} -> {after.render(False)} at {shown}"
        )
        if isinstance(got, int) and not isinstance(got, InvalidType):
            assert after.vmin <= got <= after.vmax


BY_EXAMPLE = (element_at_invalid, store_at_invalid)
VECTORS = ("fold_picked_lanes", "fold_constant_stack")
ALL_RULES = tuple(dict.fromkeys(SYMBOLIC_SIMPLE.rules + SYMBOLIC.rules + INDEX_MATH.rules))
TRIED = [r for r in ALL_RULES if r not in BY_EXAMPLE and r.name not in VECTORS]


@pytest.mark.parametrize("rule", TRIED, ids=[r.name for r in TRIED])
def test_rule_keeps_the_value(rule: Rule) -> None:
    """And the compiled rule does what the interpreted one does; and the rule fires at all."""
    fired = 0

    @settings(max_examples=50, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        nonlocal fired
        try:
            node = data.draw(instances(rule))
        except TgError:
            assume(False)
        after = rule.compiled()(node, None)
        assert after is apply_reference(rule.alternatives, rule.signature, rule.fn, node, None)
        if after is not None:
            fired += 1
            assert_same_value(node, after, fired)

    check()
    assert fired, f"rule {rule.name} never fired: its pattern or its side condition is never met"
