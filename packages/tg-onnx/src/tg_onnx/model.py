"""A model as plain records: its graph, nodes, inputs, outputs and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto
from tg_uop import DType

from tg_onnx.errors import ModelFormatError
from tg_onnx.proto import (
    DTYPE_OF_ELEMENT,
    Array,
    Attribute,
    attribute_value,
    sparse_array,
    tensor_array,
)

DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """A declared input or output; a dimension is a size, a name, or None where nothing is said."""

    name: str
    dtype: DType | None
    shape: tuple[int | str | None, ...] | None
    is_tensor: bool = True
    optional: bool = False

    def __str__(self) -> str:
        dtype = "any dtype" if self.dtype is None else str(self.dtype)
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
    """Nodes in the order in which they run, and what they start from and end in."""

    name: str
    nodes: tuple[Node, ...]
    inputs: Mapping[str, ValueInfo]
    outputs: Mapping[str, ValueInfo]
    constants: Mapping[str, Array]

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


def read_graph(model: ModelProto, source: str) -> Graph:
    """The main graph of a model.

    Raises `ModelFormatError` where a node uses a value that nothing before it gives.
    """
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    for domain in DEFAULT_DOMAINS:
        if domain in opsets:
            opsets.setdefault("", opsets[domain])
    graph = _graph(model.graph, opsets, source, 0)
    _require_defined(graph, source)
    return graph


def _graph(graph: GraphProto, opsets: Mapping[str, int], source: str, depth: int) -> Graph:
    if depth > MAX_DEPTH:
        raise ModelFormatError(source=source, reason=f"more than {MAX_DEPTH} nested graphs")
    constants = {tensor.name: tensor_array(tensor) for tensor in graph.initializer}
    for sparse in graph.sparse_initializer:
        constants[sparse.values.name] = sparse_array(sparse)
    inputs = {
        value.name: _value_info(value) for value in graph.input if value.name not in constants
    }
    outputs = {value.name: _value_info(value) for value in graph.output}
    nodes = tuple(
        _node(node, position, opsets, source, depth) for position, node in enumerate(graph.node)
    )
    return Graph(graph.name, nodes, inputs, outputs, constants)


def _node(
    node: NodeProto, position: int, opsets: Mapping[str, int], source: str, depth: int
) -> Node:
    domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
    subgraphs = {
        a.name: _graph(a.g, opsets, source, depth + 1)
        for a in node.attribute
        if a.type == AttributeProto.GRAPH
    }
    return Node(
        name=node.name or f"#{position} {node.op_type}",
        operator=node.op_type,
        domain=domain,
        opset=opsets.get(domain, 1),
        inputs=tuple(node.input),
        outputs=tuple(node.output),
        attributes={a.name: attribute_value(a) for a in node.attribute if a.name not in subgraphs},
        proto=node,
        subgraphs=subgraphs,
    )


def _value_info(value: ValueInfoProto) -> ValueInfo:
    if not value.type.HasField("tensor_type"):
        # a branch's output may leave its type open: such a value is taken as it comes
        optional = value.type.HasField("optional_type")
        return ValueInfo(value.name, None, None, is_tensor=False, optional=optional)
    tensor = value.type.tensor_type
    dtype = DTYPE_OF_ELEMENT.get(tensor.elem_type)
    if not tensor.HasField("shape"):
        return ValueInfo(value.name, dtype, None)
    dims: list[int | str | None] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            dims.append(dim.dim_value)
        else:
            dims.append(dim.dim_param or None)
    return ValueInfo(value.name, dtype, tuple(dims))


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
