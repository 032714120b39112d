"""A model as plain records: its graph, nodes, inputs, outputs and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto
from tg_uop import DType

from tg_onnx.errors import ModelFormatError
from tg_onnx.proto import DTYPE_OF_ELEMENT, Array, Attribute, attribute_value, tensor_array

DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """A declared input or output; a dimension is a size, a name, or None where nothing is said."""

    name: str
    dtype: DType | None
    shape: tuple[int | str | None, ...] | None

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


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in the order in which they run, and what they start from and end in."""

    name: str
    nodes: tuple[Node, ...]
    inputs: Mapping[str, ValueInfo]
    outputs: Mapping[str, ValueInfo]
    constants: Mapping[str, Array]


def read_graph(model: ModelProto, source: str) -> Graph:
    """The main graph of a model.

    Raises `ModelFormatError` where a node uses a value that nothing before it gives.
    """
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    for domain in DEFAULT_DOMAINS:
        if domain in opsets:
            opsets.setdefault("", opsets[domain])
    graph = _graph(model.graph, opsets, source)
    _require_defined(graph, source)
    return graph


def _graph(graph: GraphProto, opsets: Mapping[str, int], source: str) -> Graph:
    constants = {tensor.name: tensor_array(tensor) for tensor in graph.initializer}
    inputs = {
        value.name: _value_info(value) for value in graph.input if value.name not in constants
    }
    outputs = {value.name: _value_info(value) for value in graph.output}
    nodes = tuple(_node(node, position, opsets) for position, node in enumerate(graph.node))
    return Graph(graph.name, nodes, inputs, outputs, constants)


def _node(node: NodeProto, position: int, opsets: Mapping[str, int]) -> Node:
    domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
    return Node(
        name=node.name or f"#{position} {node.op_type}",
        operator=node.op_type,
        domain=domain,
        opset=opsets.get(domain, 1),
        inputs=tuple(node.input),
        outputs=tuple(node.output),
        attributes={a.name: attribute_value(a) for a in node.attribute},
        proto=node,
    )


def _value_info(value: ValueInfoProto) -> ValueInfo:
    if not value.type.HasField("tensor_type"):
        return ValueInfo(value.name, None, None)
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
        unknown = [name for name in node.inputs if name not in known]
        if unknown:
            reason = f"node {node.name!r} uses {unknown}, which nothing before it gives"
            raise ModelFormatError(source=source, reason=reason)
        known.update(node.outputs)
    lacking = [name for name in graph.outputs if name not in known]
    if lacking:
        raise ModelFormatError(source=source, reason=f"outputs {lacking} are never computed")
