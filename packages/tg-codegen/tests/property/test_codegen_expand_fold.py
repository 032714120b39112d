"""Folding index arithmetic while copying gives the numbers that the plain operations give."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tg_codegen.expand.fold import MEANING, folded
from tg_uop import Ops, UOp, dtypes

WEAK = dtypes.weakint
LANES = 4
SUMS = (Ops.ADD, Ops.ADD, Ops.MUL, Ops.SUB, Ops.IDIV, Ops.MOD, Ops.MAX)
COMPARISONS = (Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ)
LOOPS = tuple(UOp.range(size, axis) for axis, size in enumerate((3, 8, 5)))

Value = int | bool | tuple[int | bool, ...]


def constant(value: int) -> UOp:
    return UOp.const(WEAK, value)


@st.composite
def expressions(draw: st.DrawFn, depth: int, wide: bool) -> tuple[UOp, UOp]:
    """One expression twice: from plain nodes, and with folding at each step."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        leaf = draw_leaf(draw, wide)
        return leaf, leaf
    op = draw(st.sampled_from(SUMS))
    plain_left, folded_left = draw(expressions(depth - 1, wide))
    if op in (Ops.MUL, Ops.IDIV, Ops.MOD):
        number = draw(st.integers(-4, 9) if op is Ops.MUL else st.integers(1, 9))
        right = constant(number).broadcast(LANES) if wide else constant(number)
        plain_right = folded_right = right
    else:
        plain_right, folded_right = draw(expressions(depth - 1, wide))
    dtype = plain_left.dtype
    plain = UOp(op, dtype, (plain_left, plain_right))
    return plain, folded(op, dtype, (folded_left, folded_right))


def draw_leaf(draw: st.DrawFn, wide: bool) -> UOp:
    kind = draw(st.integers(0, 3))
    if kind == 0:
        node = constant(draw(st.integers(-3, 12)))
    elif kind == 1 or not wide:
        node = draw(st.sampled_from(LOOPS))
    else:
        steps = draw(st.sampled_from(((0, 1, 2, 3), (3, 2, 1, 0), (0, 4, 8, 12), (5, 5, 0, 1))))
        return UOp.const(WEAK.vec(LANES), steps)
    return node.broadcast(LANES) if wide else node


def evaluate(root: UOp, env: dict[UOp, int]) -> Value:
    """The number, or one for each lane."""
    values: dict[UOp, Value] = {}
    for node in root.toposort():
        count = node.dtype.count
        if node.op is Ops.RANGE:
            values[node] = env[node]
        elif node.op is Ops.CONST:
            values[node] = node.arg if count == 1 else (node.arg,) * count  # type: ignore[assignment]
        elif node.op is Ops.VCONST:
            values[node] = node.arg  # type: ignore[assignment]
        elif node.op is Ops.STACK:
            values[node] = tuple(values[s] for s in node.src)  # type: ignore[misc]
        elif count == 1:
            values[node] = MEANING[node.op](*(values[s] for s in node.src))  # type: ignore[arg-type]
        else:
            columns = zip(*(values[s] for s in node.src), strict=True)  # type: ignore[arg-type]
            values[node] = tuple(MEANING[node.op](*lane) for lane in columns)
    return values[root]


def check_everywhere(plain: UOp, short: UOp) -> None:
    assert short.dtype == plain.dtype
    for step in range(24):
        env = {loop: step * 7 % loop.range_size.const_value for loop in LOOPS}
        assert evaluate(short, env) == evaluate(plain, env), env


@settings(max_examples=400)
@given(pair=expressions(5, wide=False))
def test_scalars(pair: tuple[UOp, UOp]) -> None:
    check_everywhere(*pair)


@settings(max_examples=400)
@given(pair=expressions(5, wide=True))
def test_vectors(pair: tuple[UOp, UOp]) -> None:
    check_everywhere(*pair)


@settings(max_examples=200)
@given(
    left=expressions(3, wide=True),
    right=expressions(3, wide=True),
    op=st.sampled_from(COMPARISONS),
)
def test_comparisons(left: tuple[UOp, UOp], right: tuple[UOp, UOp], op: Ops) -> None:
    dtype = dtypes.bool.vec(LANES)
    plain = UOp(op, dtype, (left[0], right[0]))
    check_everywhere(plain, folded(op, dtype, (left[1], right[1])))


def test_a_lane_axis_of_a_row_is_a_splat_and_steps() -> None:
    """What legalization looks for: the base once, a constant for each lane."""
    row = folded(Ops.MUL, WEAK, (LOOPS[0], constant(64)))
    lanes = UOp.const(WEAK.vec(LANES), (0, 1, 2, 3))
    index = folded(Ops.ADD, WEAK.vec(LANES), (row.broadcast(LANES), lanes))
    index = folded(Ops.ADD, WEAK.vec(LANES), (index, constant(5).broadcast(LANES)))
    splat, steps = index.src
    assert splat.src == (UOp(Ops.ADD, WEAK, (row, constant(5))),) * LANES
    assert steps is lanes
