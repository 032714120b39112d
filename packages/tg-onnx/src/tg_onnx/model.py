"""A model as plain records: its graph, nodes, inputs, outputs and constants."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)
from tg_uop import DType

from tg_onnx.errors import ModelFormatError, UnsupportedOperatorError
from tg_onnx.external import ExternalFiles
from tg_onnx.proto import (
    DTYPE_OF_ELEMENT,
    NO_FILES,
    Array,
    Attribute,
    attribute_value,
    sparse_array,
    tensor_array,
)

DEFAULT_DOMAINS = ("", "ai.onnx")
# before opset 6, which inputs a runtime could overwrite: nothing that a result depends on
IDLE_ATTRIBUTES = frozenset(["consumed_inputs"])


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """A declared input or output.

    A dimension is a size, a name, or None where nothing is said.
    """

    name: str
    dtype: DType | None
    shape: tuple[int | str | None, ...] | None
    is_tensor: bool = True
    optional: bool = False
    # of what no tensor holds: "string", "sequence of float" ...
    kind: str = ""

    def __str__(self) -> str:
        dtype = self.kind or ("any dtype" if self.dtype is None else str(self.dtype))
        return f"{self.name}: {dtype}, shape {self.shape if self.shape is not None else 'any'}"


@dataclass(frozen=True, slots=True)
class Node:
    """One use of an operator. An empty input name is an input left out."""

    name: str
    operator: str
    domain: str
    opset: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    proto: NodeProto
    subgraphs: Mapping[str, Graph]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in the order in which they run, and what they start from and end in.

    `replaceable` are the constants that the model also declares as inputs: a caller may give
    other values in their place.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: Mapping[str, ValueInfo]
    outputs: Mapping[str, ValueInfo]
    constants: Mapping[str, Array]
    replaceable: Mapping[str, ValueInfo] = field(default_factory=dict)

    def outer_names(self) -> set[str]:
        """The names that the graph, or a graph in one of its nodes, takes from outside."""
        known = {"", *self.inputs, *self.constants}
        outer: set[str] = set()
        for node in self.nodes:
            needed = {*node.inputs}
            for inner in node.subgraphs.values():
                needed |= inner.outer_names()
            outer |= needed - known
            known.update(node.outputs)
        return outer | (self.outputs.keys() - known)


MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class _Reader:
    """What all graphs of one model share."""

    opsets: Mapping[str, int]
    files: ExternalFiles
    source: str

    def graph(self, graph: GraphProto, depth: int) -> Graph:
        """A graph with those inside of its nodes."""
        if depth > MAX_DEPTH:
            reason = f"more than {MAX_DEPTH} nested graphs"
            raise ModelFormatError(source=self.source, reason=reason)
        constants = {t.name: tensor_array(t, self.files) for t in graph.initializer}
        for sparse in graph.sparse_initializer:
            constants[sparse.values.name] = sparse_array(sparse, self.files)
        declared = {value.name: _value_info(value) for value in graph.input}
        inputs = {name: info for name, info in declared.items() if name not in constants}
        replaceable = {name: info for name, info in declared.items() if name in constants}
        outputs = {value.name: _value_info(value) for value in graph.output}
        nodes = tuple(self.node(n, position, depth) for position, n in enumerate(graph.node))
        return Graph(graph.name, nodes, inputs, outputs, constants, replaceable)

    def node(self, node: NodeProto, position: int, depth: int) -> Node:
        """A node; one without a name is called by its position."""
        domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
        subgraphs = {
            a.name: self.graph(a.g, depth + 1)
            for a in node.attribute
            if a.type == AttributeProto.GRAPH
        }
        attributes = {
            a.name: attribute_value(a, self.files)
            for a in node.attribute
            if a.name not in subgraphs and a.name not in IDLE_ATTRIBUTES
        }
        return Node(
            name=node.name or f"#{position} {node.op_type}",
            operator=node.op_type,
            domain=domain,
            opset=self.opsets.get(domain, 1),
            inputs=(*node.input, *_named_inputs(node, attributes)),
            outputs=tuple(node.output),
            attributes=attributes,
            proto=node,
            subgraphs=subgraphs,
        )


def _named_inputs(node: NodeProto, attributes: Mapping[str, Attribute]) -> tuple[str, ...]:
    """What a node reads beside its inputs, by name: the value that a Gradient is of.

    Raises `UnsupportedOperatorError` for a Gradient at other values than those of the graph, which
    would have to be computed again from them.
    """
    if node.op_type != "Gradient":
        return ()
    parts = [attributes.get("xs", ()), attributes.get("zs", ())]
    names = [name for part in parts if isinstance(part, Sequence) for name in part]
    if list(node.input) != names:
        raise UnsupportedOperatorError(
            operator=node.op_type,
            domain=node.domain,
            opset=1,
            node=node.name,
            reason=f"its inputs must be the values that xs and zs name, {', '.join(names)}",
        )
    return (str(attributes.get("y")),)


def read_graph(model: ModelProto, source: str, files: ExternalFiles = NO_FILES) -> Graph:
    """The main graph of a model.

    Raises `ModelFormatError` where a node uses a value that nothing before it gives.
    """
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    for domain in DEFAULT_DOMAINS:
        if domain in opsets:
            opsets.setdefault("", opsets[domain])
    graph = _Reader(opsets, files, source).graph(model.graph, 0)
    _require_defined(graph, source)
    return graph


def with_given(graph: Graph, names: Collection[str]) -> Graph:
    """The graph with some of its replaceable constants as inputs."""
    taken = {name: graph.replaceable[name] for name in names}
    left = {name: value for name, value in graph.constants.items() if name not in taken}
    return replace(graph, inputs={**graph.inputs, **taken}, constants=left)


def _value_info(value: ValueInfoProto) -> ValueInfo:
    if not value.type.HasField("tensor_type"):
        # a branch's output may leave its type open: such a value is taken as it comes
        optional = value.type.HasField("optional_type")
        kind = _kind_of(value.type)
        return ValueInfo(value.name, None, None, is_tensor=False, optional=optional, kind=kind)
    tensor = value.type.tensor_type
    dtype = DTYPE_OF_ELEMENT.get(tensor.elem_type)
    kind = "" if dtype is not None else _kind_of(value.type)
    if not tensor.HasField("shape"):
        return ValueInfo(value.name, dtype, None, kind=kind)
    dims: list[int | str | None] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            dims.append(dim.dim_value)
        else:
            dims.append(dim.dim_param or None)
    return ValueInfo(value.name, dtype, tuple(dims), kind=kind)


def _kind_of(declared: TypeProto) -> str:
    """What a declared type is called; "" where it is left open."""
    words = []
    for _ in range(MAX_DEPTH):
        if declared.HasField("optional_type"):
            words.append("optional")
            declared = declared.optional_type.elem_type
        elif declared.HasField("sequence_type"):
            words.append("sequence of")
            declared = declared.sequence_type.elem_type
        elif declared.HasField("map_type"):
            return " ".join([*words, "map"])
        else:
            break
    element = declared.tensor_type.elem_type
    if element != TensorProto.UNDEFINED and element in TensorProto.DataType.values():
        words.append(TensorProto.DataType.Name(element).lower())
    return " ".join(words)


def _require_defined(graph: Graph, source: str) -> None:
    known = {"", *graph.inputs, *graph.constants}
    for node in graph.nodes:
        needed = {*node.inputs}
        for inner in node.subgraphs.values():
            needed |= inner.outer_names()
        unknown = sorted(needed - known)
        if unknown:
            reason = f"node {node.name!r} uses {unknown}, which nothing before it gives"
            raise ModelFormatError(source=source, reason=reason)
        known.update(node.outputs)
    lacking = [name for name in graph.outputs if name not in known]
    if lacking:
        raise ModelFormatError(source=source, reason=f"outputs {lacking} are never computed")
