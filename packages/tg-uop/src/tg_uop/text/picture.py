"""A graph as a picture: DOT for Graphviz, or SVG that needs no other program."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from tg_uop.errors import GraphTextError
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.text.dump import arg_text

Label = Callable[[UOp], str]

# beyond it a picture helps nobody
MOST_NODES = 2000

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 150, 34, 14, 36, 10
MOST_LETTERS = 22


def to_dot(root: UOp, label: Label | None = None) -> str:
    """The graph in the DOT language, operands above their users.

    `label` gives the text of a node, lines apart by newlines.
    Raises `GraphTextError` for a graph of more than 2,000 nodes.
    """
    order = _small_enough(root)
    numbers = {node: i for i, node in enumerate(order)}
    lines = ["digraph uops {", '  node [shape=box, style=filled, fontname="monospace"];']
    for node, number in numbers.items():
        text = (label or node_label)(node).replace("\\", "\\\\").replace('"', '\\"')
        text = text.replace("\n", "\\n")
        lines.append(f'  n{number} [label="{text}", fillcolor="{color_of(node.op)}"];')
    for node, number in numbers.items():
        lines += [f"  n{numbers[operand]} -> n{number};" for operand in node.src]
    return "\n".join([*lines, "}"]) + "\n"


def to_svg(root: UOp, label: Label | None = None) -> str:
    """The graph as SVG: each node stands one row below its lowest operand.

    Raises `GraphTextError` for a graph of more than 2,000 nodes.
    """
    order = _small_enough(root)
    places = _places(order)
    width = max(x for x, _ in places.values()) + BOX_WIDTH + MARGIN
    height = max(y for _, y in places.values()) + BOX_HEIGHT + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="11">'
    ]
    for node in order:
        parts += [_edge(places[operand], places[node]) for operand in dict.fromkeys(node.src)]
    parts += [_box(node, places[node], label or node_label) for node in order]
    return "\n".join([*parts, "</svg>"]) + "\n"


def node_label(node: UOp) -> str:
    """Op and arg on the first line, the dtype on the second."""
    first = node.op.name if node.arg is None else f"{node.op.name} {arg_text(node.arg)}"
    return f"{first}\n{repr(node.dtype).removeprefix('dtypes.')}"


def color_of(op: Ops) -> str:
    """One pale colour for each kind of op."""
    for group, color in COLORS:
        if op in group:
            return color
    return "#f2f2f2"


COLORS = (
    (GroupOp.ALU, "#ffe9c9"),
    (GroupOp.Movement, "#d9f2d9"),
    (frozenset((Ops.CONST, Ops.VCONST, Ops.DEFINE_VAR, Ops.BIND)), "#eeeeee"),
    (frozenset((Ops.LOAD, Ops.INDEX, Ops.STORE, Ops.AFTER)), "#d4e6ff"),
    (frozenset((Ops.RANGE, Ops.END, Ops.SPECIAL, Ops.IF, Ops.ENDIF)), "#f6d5f2"),
    (frozenset((Ops.REDUCE, Ops.ALLREDUCE, Ops.WMMA)), "#ffd0d0"),
    (GroupOp.Buffer | GroupOp.Defines, "#cfe8e8"),
)


def _small_enough(root: UOp) -> list[UOp]:
    order = list(root.toposort())
    if len(order) > MOST_NODES:
        reason = f"a picture of {len(order)} nodes shows nothing; take a part, or a dump"
        raise GraphTextError(line=0, reason=reason)
    return order


def _places(order: list[UOp]) -> dict[UOp, tuple[int, int]]:
    rows: dict[UOp, int] = {}
    used: dict[int, int] = {}
    places: dict[UOp, tuple[int, int]] = {}
    for node in order:
        row = max((rows[operand] + 1 for operand in node.src), default=0)
        column = used.get(row, 0)
        used[row] = column + 1
        rows[node] = row
        x = MARGIN + column * (BOX_WIDTH + GAP_X)
        places[node] = (x, MARGIN + row * (BOX_HEIGHT + GAP_Y))
    return places


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + BOX_WIDTH // 2, start[1] + BOX_HEIGHT
    x2, y2 = end[0] + BOX_WIDTH // 2, end[1]
    middle = (y1 + y2) // 2
    return (
        f'<path d="M{x1} {y1} C{x1} {middle} {x2} {middle} {x2} {y2}" fill="none" stroke="#888"/>'
    )


def _box(node: UOp, place: tuple[int, int], label: Label) -> str:
    x, y = place
    whole = label(node)
    shown = "".join(
        f'<tspan x="{x + 5}" dy="13">{escape(_cut(line))}</tspan>' for line in whole.split("\n")[:2]
    )
    return (
        f'<g><title>{escape(whole)}</title><rect x="{x}" y="{y}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="4" fill="{color_of(node.op)}" stroke="#666"/>'
        f'<text y="{y + 2}">{shown}</text></g>'
    )


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
