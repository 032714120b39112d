"""Random graphs through every kind of text."""

from __future__ import annotations

import pickle
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st
from tg_uop import DType, Ops, UOp, Variable, dtypes, evaluate, render
from tg_uop.errors import GraphTextError
from tg_uop.eval.scalar import truncated_quotient, truncated_remainder
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify
from tg_uop.text.dump import dump
from tg_uop.text.picture import to_dot, to_svg
from tg_uop.text.pycode import HEADER, from_python, to_python

ARITHMETIC = (Ops.ADD, Ops.SUB, Ops.MUL, Ops.MAX, Ops.IDIV, Ops.MOD)
BITS = (Ops.AND, Ops.OR, Ops.XOR)
COMPARISONS = (Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ)
FLOAT_BINARY = (Ops.ADD, Ops.MUL, Ops.SUB, Ops.MAX, Ops.FDIV)
FLOAT_UNARY = (Ops.NEG, Ops.SQRT, Ops.EXP2, Ops.TRUNC, Ops.SIN)

NAMES = {"x": (-8, 8), "y": (0, 9)}


@st.composite
def integer_graphs(draw: st.DrawFn, dtype: DType = dtypes.weakint) -> UOp:
    nodes = [Variable(name, *bounds, dtype=dtype) for name, bounds in NAMES.items()]
    nodes += [UOp.const(dtype, value) for value in draw(st.lists(st.integers(-9, 9), max_size=3))]
    for _ in range(draw(st.integers(1, 12))):
        pick = st.sampled_from(nodes)
        kind = draw(st.integers(0, 9))
        left, right = draw(pick), draw(pick)
        if kind < 6:
            nodes.append(left.alu(draw(st.sampled_from(ARITHMETIC)), right))
        elif kind < 8:
            nodes.append(left.alu(draw(st.sampled_from(BITS)), right))
        elif kind == 8:
            nodes.append(left.alu(Ops.NEG))
        else:
            condition = left.alu(draw(st.sampled_from(COMPARISONS)), right)
            nodes.append(condition.alu(Ops.WHERE, draw(pick), draw(pick)))
    return nodes[-1]


@st.composite
def float_graphs(draw: st.DrawFn) -> UOp:
    dtype = draw(st.sampled_from([*dtypes.floats, dtypes.float.vec(4)]))
    nodes = [UOp.const(dtype, value) for value in draw(st.lists(st.floats(), min_size=1))]
    for _ in range(draw(st.integers(1, 10))):
        pick = st.sampled_from(nodes)
        if draw(st.booleans()):
            nodes.append(draw(pick).alu(draw(st.sampled_from(FLOAT_BINARY)), draw(pick)))
        else:
            nodes.append(draw(pick).alu(draw(st.sampled_from(FLOAT_UNARY))))
    return nodes[-1]


@settings(max_examples=150)
@given(graph=integer_graphs() | integer_graphs(dtypes.int8) | float_graphs())
def test_every_text_leads_back_or_is_stable(graph: UOp) -> None:
    text = to_python(graph)
    listing = dump(graph)
    assert from_python(text) is graph
    assert pickle.loads(pickle.dumps(graph)) is graph
    assert dump(from_python(text)) == listing
    assert len(listing.splitlines()) == len(graph.toposort())
    verify(graph, Form.KERNEL)
    assert to_dot(graph).startswith("digraph")
    assert to_svg(graph).startswith("<svg")


@settings(max_examples=300)
@given(graph=integer_graphs(), x=st.integers(*NAMES["x"]), y=st.integers(*NAMES["y"]))
def test_an_expression_means_what_it_says(graph: UOp, x: int, y: int) -> None:
    text = render(graph)
    if "?" in text or ":=" in text:
        return
    names = {"x": x, "y": y, "idiv": truncated_quotient, "mod": truncated_remainder, "max": max}
    value = evaluate(graph, {"x": x, "y": y})
    try:
        shown = eval(text, names)
    except ZeroDivisionError:
        # Python raises where the graph gives 0
        return
    assert shown == value, text


ALPHABET = st.sampled_from("()[],.=-_'\"\\ \n01n9eoOpsUdtypeARG")


@settings(max_examples=200)
@given(
    graph=integer_graphs() | float_graphs(),
    edits=st.lists(
        st.tuples(st.integers(0, 10_000), st.integers(0, 6), st.text(ALPHABET, max_size=4)),
        min_size=1,
        max_size=3,
    ),
)
def test_damaged_text_is_refused_or_is_another_graph(
    graph: UOp, edits: list[tuple[int, int, str]]
) -> None:
    text = to_python(graph).split(HEADER)[1]
    for place, removed, inserted in edits:
        at = place % len(text)
        text = text[:at] + inserted + text[at + removed :] or "x"
    with suppress(GraphTextError):
        assert isinstance(from_python(text), UOp)
