"""Refuse models that contradict themselves, and nodes that their operators do not allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, defs

from tg_onnx.errors import ModelFormatError, UnsupportedOperatorError
from tg_onnx.model import DEFAULT_DOMAINS, Graph, Node
from tg_onnx.registry import OPERATORS

OLDEST_IR = 3
MOST_NODES = 1_000_000
"""Nodes of a model with every function in place of its calls."""

FunctionKey = tuple[str, str]
KINDS: dict[defs.OpSchema.AttrType, tuple[type, ...]] = {
    defs.OpSchema.AttrType.INT: (int,),
    defs.OpSchema.AttrType.FLOAT: (float, int),
    defs.OpSchema.AttrType.STRING: (str,),
    defs.OpSchema.AttrType.TENSOR: (np.ndarray,),
    defs.OpSchema.AttrType.INTS: (list,),
    defs.OpSchema.AttrType.FLOATS: (list,),
    defs.OpSchema.AttrType.STRINGS: (list,),
}


def check_model(model: ModelProto, source: str) -> None:
    """Put the nodes of each graph in the order in which they can run, and check all names.

    Raises `ModelFormatError` for a format version or opset that is not known, a name with two
    meanings, a graph that needs its own results, and functions that grow beyond bounds.
    """
    if not OLDEST_IR <= model.ir_version <= onnx.IR_VERSION:
        known = f"{OLDEST_IR} to {onnx.IR_VERSION} are known"
        raise ModelFormatError(
            source=source, reason=f"IR version {model.ir_version}, where {known}"
        )
    _check_text(model, source)
    _check_opsets(model, source)
    _check_growth(model, source)
    for graph in _graphs(model):
        _drop_trailing(graph)
        _check_names(graph, source)
        _sort(graph, source)


def _check_text(model: ModelProto, source: str) -> None:
    """Names that are no UTF-8 come as bytes."""
    waiting: list[Message] = [model]
    while waiting:
        for field, value in waiting.pop().ListFields():
            values = [value] if isinstance(value, str | bytes | Message) else value
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                waiting.extend(values)
            elif field.type == FieldDescriptor.TYPE_STRING:
                for text in values:
                    if isinstance(text, bytes):
                        reason = f"{field.name} {text!r} is not UTF-8"
                        raise ModelFormatError(source=source, reason=reason)


def _check_opsets(model: ModelProto, source: str) -> None:
    """Domains that no node uses may have any version."""
    versions = {_domain(opset.domain): opset.version for opset in model.opset_import}
    own = {_domain(function.domain) for function in model.functions}
    newest = defs.onnx_opset_version()
    for node in _all_nodes(model.graph):
        domain = _domain(node.domain)
        if domain == "" and not 1 <= versions.get("", 0) <= newest:
            stated = f"opset {versions['']}" if "" in versions else "no opset"
            reason = (
                f"node {node.name!r} ({node.op_type}) is of domain ai.onnx, of which the model "
                f"states {stated}; there are 1 to {newest}"
            )
            raise ModelFormatError(source=source, reason=reason)
        if domain in versions and versions[domain] < 1 and domain not in own:
            reason = f"opset {versions[domain]} of domain {domain!r} of node {node.name!r}"
            raise ModelFormatError(source=source, reason=reason)


def _check_growth(model: ModelProto, source: str) -> None:
    """The nodes that there would be with functions in place of calls. Those that call themselves
    are found when they are expanded.
    """
    bodies = {(_domain(f.domain), f.name): list(f.node) for f in model.functions}
    if len(bodies) < len(model.functions):
        names = Counter((_domain(f.domain), f.name, f.overload) for f in model.functions)
        name, count = names.most_common(1)[0]
        if count > 1:
            raise ModelFormatError(source=source, reason=f"{count} functions {name[1]!r}")
    calls = {key: Counter(_calls(nodes, bodies)) for key, nodes in bodies.items()}
    sizes = {key: len(nodes) for key, nodes in bodies.items()}
    totals: dict[FunctionKey, int] = {}
    while len(totals) < len(calls):
        ready = [k for k in calls if k not in totals and calls[k].keys() <= totals.keys()]
        if not ready:
            return
        for key in ready:
            inner = sum(count * totals[called] for called, count in calls[key].items())
            totals[key] = sizes[key] + inner
    grown = sum(totals[key] for key in _calls(list(_all_nodes(model.graph)), bodies))
    if grown > MOST_NODES:
        reason = f"its functions, in place of their calls, are more than {MOST_NODES:,} nodes"
        raise ModelFormatError(source=source, reason=reason)


def _calls(nodes: list[NodeProto], known: Mapping[FunctionKey, object]) -> Iterator[FunctionKey]:
    for node in nodes:
        key = (_domain(node.domain), node.op_type)
        if key in known:
            yield key


def _drop_trailing(graph: GraphProto) -> None:
    """Inputs left out at the end are not there; of Loop the first two always are."""
    for node in graph.node:
        while node.op_type != "Loop" and node.input and not node.input[-1]:
            del node.input[-1]


def _check_names(graph: GraphProto, source: str) -> None:
    """Each value is given once: an input with a default is one that is both."""
    constants = [t.name for t in graph.initializer]
    constants += [sparse.values.name for sparse in graph.sparse_initializer]
    inputs = [value.name for value in graph.input]
    made = [name for node in graph.node for name in node.output if name]
    for names, kind in ((constants, "initializers"), (inputs, "inputs"), (made, "nodes' results")):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ModelFormatError(source=source, reason=f"two {kind} have the name {twice[0]!r}")
    given = {*constants, *inputs}
    for node in graph.node:
        again = given.intersection(node.output) - {""}
        if again:
            what = "an input or initializer"
            reason = f"a result of node {node.name or node.op_type!r} has the name of {what}"
            raise ModelFormatError(source=source, reason=f"{reason}: {min(again)!r}")
    if "" in inputs or any(not value.name for value in graph.output):
        raise ModelFormatError(source=source, reason="an input or output has no name")


def _sort(graph: GraphProto, source: str) -> None:
    """Give nodes an order where each comes after those that it needs, if they have none."""
    nodes = list(graph.node)
    maker = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needs = [{maker[n] for n in _needed(node) if n in maker} for node in nodes]
    if all(all(other < i for other in need) for i, need in enumerate(needs)):
        return
    order = _order(needs)
    if len(order) < len(nodes):
        stuck = nodes[min(set(range(len(nodes))) - set(order))]
        name = stuck.name or stuck.op_type
        raise ModelFormatError(source=source, reason=f"node {name!r} needs its own results")
    sorted_nodes = [nodes[i] for i in order]
    copies = [NodeProto() for _ in sorted_nodes]
    for copy, node in zip(copies, sorted_nodes, strict=True):
        copy.CopyFrom(node)
    del graph.node[:]
    graph.node.extend(copies)


def _order(needs: list[set[int]]) -> list[int]:
    users: dict[int, list[int]] = {}
    for position, need in enumerate(needs):
        for other in need:
            users.setdefault(other, []).append(position)
    waiting = [len(need) for need in needs]
    ready = [i for i, count in enumerate(waiting) if count == 0]
    order = []
    for position in ready:
        order.append(position)
        for user in users.get(position, ()):
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    return order


def _needed(node: NodeProto) -> set[str]:
    """The names that a node, or a node of a graph in it, takes; its bodies' own names too."""
    names = set(node.input)
    for inner in _bodies(node):
        own = {value.name for value in inner.input} | {t.name for t in inner.initializer}
        made = {name for body in inner.node for name in body.output}
        taken = {name for body in inner.node for name in _needed(body)}
        names |= (taken | {value.name for value in inner.output}) - own - made
    return names - {""}


def _bodies(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def _graphs(model: ModelProto) -> Iterator[GraphProto]:
    waiting = [model.graph]
    while waiting:
        graph = waiting.pop()
        yield graph
        for node in graph.node:
            waiting.extend(_bodies(node))


def _all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    waiting = [graph]
    while waiting:
        for node in waiting.pop().node:
            yield node
            waiting.extend(_bodies(node))


def _domain(domain: str) -> str:
    return "" if domain in DEFAULT_DOMAINS else domain


def check_operators(graph: Graph) -> None:
    """Each node has the inputs, outputs and attributes that its operator's schema allows.

    Raises `UnsupportedOperatorError` naming node, operator, domain, opset and what there is.
    """
    for node in graph.nodes:
        schema = schema_of(node.operator, node.opset, node.domain)
        if schema is not None:
            _check_counts(node, schema)
            _check_attributes(node, schema)
        elif (node.domain, node.operator) in OPERATORS:
            _check_keywords(node)
        if node.domain == "":
            _check_bodies(node)
        for body in node.subgraphs.values():
            check_operators(body)


@cache
def schema_of(operator: str, opset: int, domain: str) -> defs.OpSchema | None:
    """The schema that holds in an opset; None for operators that the onnx package does not know."""
    try:
        return defs.get_schema(operator, opset, domain)
    except (defs.SchemaError, TypeError, OverflowError):
        return None


def _check_counts(node: Node, schema: defs.OpSchema) -> None:
    for what, names, least, most in (
        ("inputs", node.inputs, schema.min_input, schema.max_input),
        ("outputs", node.outputs, schema.min_output, schema.max_output),
    ):
        if not least <= len(names) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise _refused(node, f"it has {len(names)} {what}, where there are {wanted}")
    for place, declared in enumerate(schema.inputs[: len(node.inputs)]):
        single = declared.option == defs.OpSchema.FormalParameterOption.Single
        if single and not node.inputs[place] and node.domain == "":
            raise _refused(node, f"input {declared.name!r} is left out")


def _check_attributes(node: Node, schema: defs.OpSchema) -> None:
    given = {*node.attributes, *node.subgraphs}
    for name, declared in schema.attributes.items():
        if declared.required and name not in given:
            raise _refused(node, f"attribute {name!r} is missing")
        kinds = KINDS.get(declared.type)
        value = node.attributes.get(name)
        if kinds is not None and value is not None and not isinstance(value, kinds):
            kind = str(declared.type).rsplit(".")[-1].lower()
            raise _refused(node, f"attribute {name!r} is {value!r}, where it takes {kind}")
    known = set(schema.attributes) | _keywords(node.domain, node.operator)
    unknown = sorted(given - known)
    if unknown:
        listed = ", ".join(sorted(schema.attributes)) or "none"
        raise _refused(node, f"attribute {unknown[0]!r} is not known; there are {listed}")


def _check_keywords(node: Node) -> None:
    """Of operators without a schema, the implementation tells."""
    known = _keywords(node.domain, node.operator)
    unknown = sorted(node.attributes.keys() - known)
    if unknown:
        listed = ", ".join(sorted(known)) or "none"
        raise _refused(node, f"attribute {unknown[0]!r} is not known; there are {listed}")


def _check_bodies(node: Node) -> None:
    """The graphs of control flow take and give as many values as the node."""
    shift = {"If": 0, "Loop": 1, "Scan": 0}.get(node.operator)
    if shift is None:
        return
    for name, body in node.subgraphs.items():
        given = len(body.outputs) - shift
        if given < len(node.outputs):
            reason = f"{name} gives {max(given, 0)} values, where the node has {len(node.outputs)}"
            raise _refused(node, reason)
        taken = len(body.inputs)
        wanted = {"If": 0, "Loop": max(len(node.inputs), 2)}.get(node.operator, taken)
        if taken != wanted:
            raise _refused(node, f"{name} takes {taken} values, where it would get {wanted}")


@cache
def _keywords(domain: str, operator: str) -> frozenset[str]:
    """The attributes that implementations take, in whichever version."""
    versions = OPERATORS.get((domain, operator), ())
    return frozenset(name for version in versions for name in version.attributes)


def _refused(node: Node, reason: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(
        operator=node.operator,
        domain=node.domain,
        opset=node.opset,
        node=node.name,
        reason=reason,
    )
