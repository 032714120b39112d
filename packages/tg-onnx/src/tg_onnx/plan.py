"""Decide before anything runs how each node of a graph, and of graphs inside of it, will run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, defs, inliner

from tg_onnx.contrib import CONTRIB_MODULES
from tg_onnx.errors import ModelFormatError
from tg_onnx.habits import Habits
from tg_onnx.host import HOST_ONLY
from tg_onnx.ml import ML_MODULES
from tg_onnx.model import DEFAULT_DOMAINS, Graph, Node
from tg_onnx.ops.control import CONTROL, Control
from tg_onnx.registry import OPERATORS, Operator, find_operator

assert CONTRIB_MODULES, "importing the operators registers them"
assert ML_MODULES, "importing the operators registers them"

MAX_EXPANSIONS = 16
BUILT_IN = frozenset(["Shape", "Size", "Constant"])


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph, and by the position of a node what runs it and which values it uses last.

    `static` are the nodes that depend on constants alone.
    """

    graph: Graph
    operators: tuple[Operator | None, ...]
    controls: Mapping[int, Control]
    subplans: Mapping[int, Mapping[str, Plan]]
    last_use: Mapping[int, tuple[str, ...]]
    static: frozenset[int]
    habits: Habits = field(default_factory=Habits)


def plan_graph(graph: Graph) -> Plan:
    """The plan of a graph; how deep graphs nest was limited when the graph was read.

    Raises `UnsupportedOperatorError` for the first node that nothing can run.
    """
    controls: dict[int, Control] = {}
    subplans: dict[int, dict[str, Plan]] = {}
    operators = []
    for position, node in enumerate(graph.nodes):
        control = CONTROL.get(node.operator) if node.domain == "" else None
        if control is not None:
            controls[position] = control
            subplans[position] = {name: plan_graph(g) for name, g in node.subgraphs.items()}
        operators.append(None if control is not None or _runs_without(node) else _operator(node))
    static = static_nodes(graph)
    return Plan(graph, tuple(operators), controls, subplans, last_uses(graph), static)


DRAWS = frozenset(
    [
        "Bernoulli",
        "Dropout",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    ]
)


def static_nodes(graph: Graph) -> frozenset[int]:
    """The nodes that compute the same at each call, from constants of their graph."""
    known = {"", *graph.constants}
    found = set()
    for position, node in enumerate(graph.nodes):
        if node.subgraphs or node.operator in DRAWS or not known.issuperset(node.inputs):
            continue
        found.add(position)
        known.update(node.outputs)
    return frozenset(found)


def _runs_without(node: Node) -> bool:
    return node.domain == "" and node.operator in BUILT_IN


def _operator(node: Node) -> Operator | None:
    """None for operators of the host."""
    key = (node.domain, node.operator)
    if key in HOST_ONLY and key not in OPERATORS:
        return None
    return find_operator(node)


def last_uses(graph: Graph) -> dict[int, tuple[str, ...]]:
    """For each node, the values that nothing after it needs."""
    last: dict[str, int] = {}
    for position, node in enumerate(graph.nodes):
        inner: set[str] = set()
        for body in node.subgraphs.values():
            inner |= body.outer_names()
        for name in (*node.inputs, *node.outputs, *inner):
            last[name] = position
    dying: dict[int, list[str]] = {}
    for name, position in last.items():
        if name and name not in graph.outputs:
            dying.setdefault(position, []).append(name)
    return {position: tuple(names) for position, names in dying.items()}


def reduced(graph: Graph, outputs: Sequence[str]) -> Graph:
    """The part of a graph that some of its outputs need; all inputs stay."""
    needed = set(outputs)
    nodes = []
    for node in graph.nodes[::-1]:
        if needed.isdisjoint(node.outputs):
            continue
        nodes.append(node)
        needed.update(node.inputs)
        for body in node.subgraphs.values():
            needed |= body.outer_names()
    return replace(
        graph,
        nodes=tuple(nodes[::-1]),
        outputs={name: graph.outputs[name] for name in outputs},
        constants={name: value for name, value in graph.constants.items() if name in needed},
    )


def all_constants(graph: Graph) -> frozenset[int]:
    """The identities of the arrays that live as long as the graph."""
    found = {id(array) for array in graph.constants.values()}
    for node in graph.nodes:
        found.update(id(value) for value in node.attributes.values())
        for body in node.subgraphs.values():
            found |= all_constants(body)
    return frozenset(found)


def expand_functions(model: ModelProto, source: str) -> ModelProto:
    """The model with every function in place of its calls.

    These are the model's own functions, and operators without an implementation here that the
    onnx package defines by simpler ones. Raises `ModelFormatError` for functions that call
    themselves.
    """
    own = {(_domain(f.domain), f.name): f.node for f in model.functions}
    _refuse_recursion(own, source)
    try:
        if own:
            model = inliner.inline_local_functions(_with_own_defaults(model))
        for _ in range(MAX_EXPANSIONS):
            # the definition of one operator may use another
            wanted = {key for key in _operators_of(model.graph) if not _is_known(key)}
            if not wanted:
                return model
            model = _expand(model, sorted(wanted))
            if wanted <= _operators_of(model.graph):
                return model
    except (RuntimeError, ValueError) as error:
        raise ModelFormatError(source=source, reason=f"its functions: {error}") from error
    return model


def _with_own_defaults(model: ModelProto) -> ModelProto:
    """A copy where calls of the model's functions state attributes left at their defaults."""
    copy = ModelProto()
    copy.CopyFrom(model)
    defaults = {(_domain(f.domain), f.name): f.attribute_proto for f in copy.functions}
    for nodes in (copy.graph.node, *(f.node for f in copy.functions)):
        for node in _all_nodes(list(nodes)):
            given = {attribute.name for attribute in node.attribute}
            declared = defaults.get((_domain(node.domain), node.op_type), ())
            node.attribute.extend(a for a in declared if a.name not in given)
    return copy


def _expand(model: ModelProto, wanted: list[tuple[str, str]]) -> ModelProto:
    """The model with these operators replaced, where the onnx package can."""
    model = _with_defaults(model, frozenset(wanted))
    for key in wanted:
        before = model.SerializeToString(deterministic=True)
        try:
            after = inliner.inline_selected_functions(model, [key], inline_schema_functions=True)
        except RuntimeError:
            # it cannot type the inputs of this operator
            continue
        if after.SerializeToString(deterministic=True) != before:
            model = after
    return model


def _with_defaults(model: ModelProto, wanted: frozenset[tuple[str, str]]) -> ModelProto:
    """A copy where nodes of these operators state attributes left at their defaults.

    A function's body refers to the attributes of its call, and those left out would be left out
    of the body.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    versions = {_domain(opset.domain): opset.version for opset in model.opset_import}
    for node in _all_nodes(list(copy.graph.node)):
        domain = _domain(node.domain)
        if (domain, node.op_type) not in wanted or domain not in versions:
            continue
        try:
            schema = defs.get_schema(node.op_type, versions[domain], domain)
        except defs.SchemaError:
            continue
        given = {attribute.name for attribute in node.attribute}
        for name, declared in schema.attributes.items():
            if name not in given and declared.default_value.name:
                node.attribute.append(declared.default_value)
    return copy


def _is_known(key: tuple[str, str]) -> bool:
    domain, name = key
    if key in OPERATORS or key in HOST_ONLY:
        return True
    return domain == "" and (name in CONTROL or name in BUILT_IN)


def _domain(domain: str) -> str:
    return "" if domain in DEFAULT_DOMAINS else domain


def _operators_of(graph: GraphProto) -> set[tuple[str, str]]:
    return {(_domain(node.domain), node.op_type) for node in _all_nodes(list(graph.node))}


def _all_nodes(nodes: list[NodeProto]) -> Iterator[NodeProto]:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                waiting.extend(attribute.g.node)


def _refuse_recursion(own: Mapping[tuple[str, str], list[NodeProto]], source: str) -> None:
    """Take away functions that call none of the remaining ones until none is left."""
    calls = {
        key: {(_domain(n.domain), n.op_type) for n in _all_nodes(list(body))} & own.keys()
        for key, body in own.items()
    }
    while calls:
        leaves = [key for key, called in calls.items() if not called & calls.keys()]
        if not leaves:
            raise ModelFormatError(source=source, reason="its functions call themselves")
        for key in leaves:
            del calls[key]
