"""Put products in place of powers whose exponent is a constant 2 or 3.

Exported normalizations square by Pow, whose exponent is a value like any other: a power of two
values takes an exponential and a logarithm.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from onnx import helper

from tg_onnx.model import Graph, Node

MOST_FACTORS = 3


def with_products(graph: Graph) -> Graph:
    """The graph, and those inside of its nodes, with products for such powers."""
    exponents = dict(graph.constants)
    for node in graph.nodes:
        value = node.attributes.get("value")
        if node.operator == "Constant" and node.domain == "" and hasattr(value, "shape"):
            exponents[node.outputs[0]] = value  # type: ignore[assignment]
    nodes: list[Node] = []
    has_changed = False
    for node in graph.nodes:
        factors = 0
        if node.operator == "Pow" and node.domain == "" and not node.attributes:
            exponent = exponents.get(node.inputs[1])
            # an exponent with axes may give its shape to the result
            if exponent is not None and exponent.ndim == 0 and exponent.dtype.kind in "fiu":
                factors = int(exponent) if exponent in range(2, MOST_FACTORS + 1) else 0
        if factors:
            nodes.extend(_products(node, factors))
        elif node.subgraphs:
            inner = {name: with_products(body) for name, body in node.subgraphs.items()}
            is_same = all(inner[name] is body for name, body in node.subgraphs.items())
            nodes.append(node if is_same else replace(node, subgraphs=inner))
        else:
            nodes.append(node)
        has_changed |= nodes[-1] is not node
    return replace(graph, nodes=tuple(nodes)) if has_changed else graph


def _products(node: Node, factors: int) -> list[Node]:
    x, output = node.inputs[0], node.outputs[0]
    names = [x, *(f"{output}/{count}" for count in range(2, factors)), output]
    found = []
    for before, after in pairwise(names):
        proto = helper.make_node("Mul", [before, x], [after], node.name)
        found.append(
            replace(node, operator="Mul", inputs=(before, x), outputs=(after,), proto=proto)
        )
    return found
