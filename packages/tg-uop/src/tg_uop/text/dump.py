"""A stable, numbered listing of a graph.

One line a node, operands first: number, op, dtype, operands by number, arg, tag, and the user's
source line where it is known. Equal graphs give equal text in every process.
"""

from __future__ import annotations

from collections.abc import Iterable

from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.ir.walk import toposort


def dump(root: UOp | Iterable[UOp], *, mark: UOp | None = None, lines: bool = True) -> str:
    """The listing of everything under `root` (or under several roots, numbered together).

    The node `mark` gets an arrow; `lines` shows the user's source lines.
    """
    roots = (root,) if isinstance(root, UOp) else tuple(root)
    order = toposort(roots)
    numbers = {node: i for i, node in enumerate(order)}
    width = len(str(max(len(numbers) - 1, 0)))
    return "\n".join(_line(node, numbers, width, mark, lines) for node in order)


def dump_linear(linear: UOp, *, mark: UOp | None = None) -> str:
    """The listing of a LINEAR in its own order, indented by loops and conditions.

    An operand that does not stand in the list is shown by its op.
    """
    numbers = {node: i for i, node in enumerate(linear.src)}
    width = len(str(max(len(numbers) - 1, 0)))
    depth = 0
    shown: list[str] = []
    for node in linear.src:
        if node.op in (Ops.END, Ops.ENDIF):
            depth = max(depth - 1, 0)
        shown.append(_line(node, numbers, width, mark, False, "  " * depth))
        if node.op in (Ops.RANGE, Ops.IF):
            depth += 1
    return "\n".join(shown)


def excerpt(root: UOp, node: UOp, *, around: int = 4) -> str:
    """The lines of the dump next to `node`, which is marked, and those of its operands."""
    order = list(root.src) if root.op is Ops.LINEAR and node in root.src else list(root.toposort())
    numbers = {each: i for i, each in enumerate(order)}
    at = numbers.get(node)
    if at is None:
        return repr(node)
    wanted = set(range(max(at - around, 0), min(at + around + 1, len(order))))
    wanted.update(numbers[s] for s in node.src[:8] if s in numbers)
    width = len(str(len(order) - 1))
    shown: list[str] = []
    previous = -1
    for i in sorted(wanted):
        if i != previous + 1:
            shown.append("   ...")
        shown.append(_line(order[i], numbers, width, node, True))
        previous = i
    if previous != len(order) - 1:
        shown.append("   ...")
    return "\n".join(shown)


def _line(
    node: UOp,
    numbers: dict[UOp, int],
    width: int,
    mark: UOp | None,
    show_source: bool,
    indent: str = "",
) -> str:
    operands = ", ".join(_operand(s, numbers) for s in node.src)
    parts = [f"{numbers[node]:>{width}}", indent + f"{node.op.name:<12}"]
    parts += [f"{_dtype_text(node):<16}", f"({operands})"]
    if node.arg is not None:
        parts.append(arg_text(node.arg))
    if node.tag is not None:
        parts.append(f"tag={arg_text(node.tag)}")
    if show_source and node.source_line is not None:
        parts.append(f"# {node.source_line[0]}:{node.source_line[1]}")
    text = " ".join(parts).rstrip()
    if mark is None:
        return text
    return ("-> " if node is mark else "   ") + text


def _operand(node: UOp, numbers: dict[UOp, int]) -> str:
    at = numbers.get(node)
    return node.op.name if at is None else f"%{at}"


def _dtype_text(node: UOp) -> str:
    return repr(node.dtype).removeprefix("dtypes.")


def arg_text(value: object) -> str:
    """An arg on one line, long bytes by their length."""
    if isinstance(value, bytes) and len(value) > 32:
        return f"<{len(value)} bytes>"
    text = repr(value)
    return text if "\n" not in text else repr(text)
