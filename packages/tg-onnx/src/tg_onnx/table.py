"""Say how each operator runs here: on tensors, on the host, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from onnx import defs

from tg_onnx.check import schema_of
from tg_onnx.contrib import CONTRIB_MODULES
from tg_onnx.host import HOST_ONLY
from tg_onnx.model import Graph, Node
from tg_onnx.ops import OPERATOR_MODULES
from tg_onnx.ops.control import CONTROL
from tg_onnx.plan import BUILT_IN
from tg_onnx.registry import OPERATORS, Takes

assert OPERATOR_MODULES, "importing the operators registers them"
assert CONTRIB_MODULES, "importing the operators registers them"

TENSORS, CONTROLLED, HOST, FUNCTION, MISSING = (
    "tensors",
    "control",
    "host",
    "by simpler ones",
    "missing",
)


def how_it_runs(domain: str, operator: str, opset: int) -> str:
    """Where an operator of an opset runs."""
    if domain == "" and (operator in CONTROL or operator in BUILT_IN):
        return CONTROLLED
    versions = OPERATORS.get((domain, operator), ())
    fitting = [version.takes for version in versions if version.since <= opset]
    if fitting:
        return {Takes.TENSORS: TENSORS, Takes.ARRAYS: HOST, Takes.VALUES: CONTROLLED}[fitting[-1]]
    if (domain, operator) in HOST_ONLY:
        return HOST
    return FUNCTION if _has_function(domain, operator, opset) else MISSING


def _has_function(domain: str, operator: str, opset: int) -> bool:
    schema = schema_of(operator, opset, domain)
    if schema is None:
        return False
    kinds = ("has_function", "has_context_dependent_function")
    return any(getattr(schema, kind) for kind in kinds)


def all_nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph, and of graphs inside of them."""
    waiting = [graph]
    while waiting:
        for node in waiting.pop().nodes:
            yield node
            waiting.extend(node.subgraphs.values())


def operator_rows(graph: Graph) -> list[tuple[str, str, int, int, str]]:
    """Domain, operator, opset, how often, and where it runs, for each operator of a graph."""
    counts = Counter((node.domain, node.operator, node.opset) for node in all_nodes(graph))
    return [
        (domain or "ai.onnx", operator, opset, count, how_it_runs(domain, operator, opset))
        for (domain, operator, opset), count in sorted(counts.items())
    ]


def coverage_markdown() -> str:
    """A page with every operator of the onnx package's schemas, and those of com.microsoft."""
    known = {(schema.domain, schema.name) for schema in defs.get_all_schemas()}
    domains = sorted({domain for domain, _ in known} | {domain for domain, _ in OPERATORS})
    parts = [_HEAD]
    for domain in domains:
        parts.append(f"\n## {domain or 'ai.onnx'}\n")
        parts.append("| operator | opsets of its versions | runs on | attributes that are taken |")
        parts.append("| --- | --- | --- | --- |")
        names = {name for d, name in known | OPERATORS.keys() if d == domain}
        parts.extend(_row(domain, name) for name in sorted(names))
    return "\n".join(parts) + "\n"


@cache
def _versions() -> dict[tuple[str, str], list[defs.OpSchema]]:
    found: dict[tuple[str, str], list[defs.OpSchema]] = {}
    for schema in defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return found


def _row(domain: str, name: str) -> str:
    versions = _versions().get((domain, name), [])
    opsets = sorted(schema.since_version for schema in versions)
    place = how_it_runs(domain, name, opsets[-1] if opsets else 1)
    newest = max(versions, key=lambda schema: schema.since_version, default=None)
    if newest is not None:
        attributes = sorted(newest.attributes)
        if newest.deprecated:
            place = f"{place} (deprecated)"
    else:
        attributes = sorted(
            {name for version in OPERATORS[domain, name] for name in version.attributes}
        )
    shown = ", ".join(f"`{attribute}`" for attribute in attributes) or "none"
    return f"| {name} | {', '.join(map(str, opsets)) or '1'} | {place} | {shown} |"


_HEAD = """# ONNX operators

What each operator runs on, by the schemas of the onnx package and what is registered in `tg_onnx`:

- *tensors*: computed by kernels, with a gradient where the operator has one;
- *control*: control flow, sequences, optional values and constants, which the runner itself knows;
- *host*: on NumPy arrays, between two captured steps, without a gradient;
- *by simpler ones*: replaced by its definition in the onnx package when a model is loaded;
- *missing*: a model with it is refused when it is loaded.

Strings and element types that no tensor has run on the host whichever the operator."""
