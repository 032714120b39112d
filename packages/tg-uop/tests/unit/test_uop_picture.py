"""Pictures of graphs."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from tg_uop import UOp, Variable, dtypes
from tg_uop.errors import GraphTextError
from tg_uop.text.picture import to_dot, to_svg


def graph() -> UOp:
    x = Variable('n"<&>', 0, 9)
    return (x + 1) * (x + 1).cast(dtypes.int).cast(dtypes.weakint)


def test_dot_has_a_box_for_each_node_and_an_arrow_for_each_operand() -> None:
    text = to_dot(graph())
    nodes = graph().toposort()
    assert text.count("[label=") == len(nodes)
    assert text.count(" -> ") == sum(len(node.src) for node in nodes)
    assert 'n\\"<&>' in text


def test_svg_is_well_formed() -> None:
    root = ET.fromstring(to_svg(graph()))
    boxes = [e for e in root.iter() if e.tag.endswith("rect")]
    assert len(boxes) == len(graph().toposort())
    places = {(e.get("x"), e.get("y")) for e in boxes}
    assert len(places) == len(boxes)


def test_own_labels() -> None:
    assert "mine" in to_dot(graph(), label=lambda node: "mine\nline")
    assert "mine" in to_svg(graph(), label=lambda node: "mine")


def test_too_large_a_graph_is_refused() -> None:
    node: UOp = Variable("x", 0, 1)
    for i in range(2100):
        node = node + (i + 1)
    for write in (to_dot, to_svg):
        with pytest.raises(GraphTextError, match="shows nothing"):
            write(node)
