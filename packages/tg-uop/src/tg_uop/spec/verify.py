"""Check a graph against the table of its form; the error shows where and why it is not legal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tg_uop.errors import SpecError
from tg_uop.ir.args import KernelInfo
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.spec.expanded import EXPANDED
from tg_uop.spec.kernel import KERNEL
from tg_uop.spec.linear import LINEAR, misplaced
from tg_uop.spec.lowered import LOWERED
from tg_uop.spec.node import Check, Form, Table
from tg_uop.spec.origin import rule_that_made
from tg_uop.spec.tensor import TENSOR
from tg_uop.text.dump import excerpt

TABLES: dict[Form, Table] = {
    Form.TENSOR: TENSOR,
    Form.KERNEL: KERNEL,
    Form.EXPANDED: EXPANDED,
    Form.LOWERED: LOWERED,
    Form.LINEAR: LINEAR,
}

CHECKS: dict[Form, dict[Ops, Check]] = {
    form: {op: row.check for op, row in table.items()} for form, table in TABLES.items()
}

OriginOf = Callable[[UOp], str | None]


def verify(graph: UOp, form: Form, origin_of: OriginOf = rule_that_made) -> None:
    """Raise unless every node under `graph` is legal in `form`.

    In linear form `graph` is the LINEAR node. `origin_of` tells which rule or
    pass made a node; by default the trace that is on does.
    Raises `SpecError` with the first illegal node, the path to it, its surroundings and the rule.
    """
    found = first_violation(graph, form)
    if found is None:
        return
    node, problem = found
    row = TABLES[form].get(node.op)
    rule = problem if row is None else f"{node.op.name} ({row.reason}): {problem}"
    raise SpecError(
        form=form.name.lower(),
        rule=rule,
        node=repr(node),
        path=_shortened([step.op.name for step in path_to(graph, node)]),
        excerpt=excerpt(graph, node),
        origin=_origin(node, origin_of),
    )


def is_legal(graph: UOp, form: Form) -> bool:
    """Whether `verify` would pass."""
    return first_violation(graph, form) is None


def first_violation(graph: UOp, form: Form) -> tuple[UOp, str] | None:
    """An illegal node and what is wrong with it, or None."""
    checks = CHECKS[form]
    if form is Form.LINEAR:
        return _linear_violation(graph, checks)
    seen = {graph: None}
    if form is Form.TENSOR:
        return _graph_violation(graph, checks, seen, _below_tensor)
    violation = _graph_violation(graph, checks, seen, None)
    return violation if violation is not None else _clashing_axes(seen)


def _graph_violation(
    graph: UOp,
    checks: dict[Ops, Check],
    seen: dict[UOp, None],
    below: Callable[[UOp], tuple[UOp, ...]] | None,
) -> tuple[UOp, str] | None:
    """Check every node under `graph` and enter it into `seen`."""
    stack = [graph]
    while stack:
        node = stack.pop()
        check = checks.get(node.op)
        problem = _absent(node) if check is None else check(node)
        if problem is not None:
            return node, problem
        for operand in node.src if below is None else below(node):
            if operand not in seen:
                seen[operand] = None
                stack.append(operand)
    return None


def _absent(node: UOp) -> str:
    return f"there is no {node.op.name} in this form"


def _below_tensor(node: UOp) -> tuple[UOp, ...]:
    """The operands that are in tensor form too: a kernel that is called is not."""
    if node.op is not Ops.CALL:
        return node.src
    called = node.called
    is_kernel = called.op is Ops.SINK and isinstance(called.arg, KernelInfo)
    return node.call_args if is_kernel or called.op in NOT_TENSOR else node.src


NOT_TENSOR = frozenset((Ops.PROGRAM, Ops.COPY, Ops.BUFFER_VIEW, Ops.CUSTOM_FUNCTION, Ops.LINEAR))


def _clashing_axes(nodes: Iterable[UOp]) -> tuple[UOp, str] | None:
    """Two different loops of one identity."""
    known: dict[tuple[int, ...], UOp] = {}
    for node in nodes:
        if node.op is not Ops.RANGE:
            continue
        other = known.setdefault(node.range_arg.axis_id, node)
        if other is not node:
            return node, f"two loops have the id {node.range_arg.axis_id}: {other!r} is another"
    return None


def _linear_violation(graph: UOp, checks: dict[Ops, Check]) -> tuple[UOp, str] | None:
    if graph.op is not Ops.LINEAR:
        return graph, "its root is LINEAR"
    for node in graph.src:
        check = checks.get(node.op)
        problem = _absent(node) if check is None else check(node)
        if problem is not None:
            return node, problem
    return misplaced(graph.src)


def path_to(graph: UOp, wanted: UOp) -> list[UOp]:
    """The nodes on a shortest way from `graph` down to `wanted`, both included."""
    parents: dict[UOp, UOp] = {}
    level = [graph]
    while level and wanted is not graph and wanted not in parents:
        following: list[UOp] = []
        for node in level:
            for operand in node.src:
                if operand is not graph and operand not in parents:
                    parents[operand] = node
                    following.append(operand)
        level = following
    path = [wanted]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return path[::-1]


def _shortened(path: list[str], ends: int = 10) -> list[str]:
    if len(path) <= 2 * ends:
        return path
    return [*path[:ends], f"... {len(path) - 2 * ends} more ...", *path[-ends:]]


def _origin(node: UOp, origin_of: OriginOf) -> str:
    found = [origin_of(node)]
    if node.source_line is not None:
        file, line = node.source_line
        found.append(f"{file}:{line}")
    return ", ".join(text for text in found if text)


def spec_markdown() -> str:
    """The reference page of all forms: a table each, with a line an op."""
    lines = ["# Forms", ""]
    for form, table in TABLES.items():
        lines += [f"## {form.name.capitalize()}", "", "| op | what it is there |", "| --- | --- |"]
        lines += [f"| {op.name} | {table[op].reason} |" for op in sorted(table)]
        lines.append("")
    return "\n".join(lines)
