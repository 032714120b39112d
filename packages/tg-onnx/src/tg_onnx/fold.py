"""Put products of codes in place of products of the floats that codes stand for.

A model that quantizers write in QDQ form computes with floats between DequantizeLinear and
QuantizeLinear. Of its products some can be had from the codes themselves:

    Conv(DQ(x), DQ(w), DQ(b)) and Q   becomes   QLinearConv
    MatMul(DQ(a), DQ(b)) and Q        becomes   QLinearMatMul, without Q MatMulIntegerToFloat
    Gemm(DQ(a), DQ(b), DQ(c))         becomes   QGemm, with Q or without
    Conv(DQ(x), DQ(w), b)             becomes   ConvInteger, then floats

Elementwise operators stay: they are fused with the conversions around them. A Relu or Clip before a
Q goes where the range of the codes does as much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from tg_onnx.model import Graph, Node
from tg_onnx.plan import reduced
from tg_onnx.proto import Array, Attribute

Floats = npt.NDArray[np.float32]

MICROSOFT = "com.microsoft"
DOMAINS = ("", MICROSOFT)
CODES = (np.dtype(np.int8), np.dtype(np.uint8))
FIRST_OPSET = 10
"""The first one of ai.onnx with QLinearConv and its like."""


def folded(graph: Graph) -> Graph:
    """The graph with products of codes where it has them; the graph itself where it has none."""
    if not any(node.operator == "DequantizeLinear" for node in graph.nodes):
        return graph
    return _Folding(graph).run()


@dataclass(frozen=True, slots=True)
class Codes:
    """What a DequantizeLinear makes floats of: names, with the parameters as arrays."""

    codes: str
    scale: str
    zero: str
    scales: Array
    zeros: Array
    axis: int

    @property
    def is_whole(self) -> bool:
        """Whether one scale stands for all of it."""
        return self.scales.size == 1


class _Folding:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants = dict(graph.constants)
        self.made = {name: node for node in graph.nodes for name in node.outputs if name}
        self.uses = Counter(list(graph.outputs))
        self.users: dict[str, Node] = {}
        for node in graph.nodes:
            names = [*node.inputs]
            for body in node.subgraphs.values():
                names.extend(body.outer_names())
            self.uses.update(names)
            self.users.update(dict.fromkeys(names, node))
        # what stands in place of a node, and nodes that are gone with it
        self.instead: dict[int, list[Node]] = {}

    def run(self) -> Graph:
        """The graph with what was found."""
        makers = {"Conv": self._conv, "MatMul": self._matmul, "Gemm": self._gemm}
        for node in self.graph.nodes:
            maker = makers.get(node.operator) if node.domain == "" else None
            if maker is None or node.opset < FIRST_OPSET:
                continue
            found = maker(node)
            if found is not None:
                self.instead[id(node)] = found
        if not self.instead:
            return self.graph
        nodes = []
        for node in self.graph.nodes:
            nodes.extend(self.instead.get(id(node), [node]))
        # a fused Q gives the name that its own node gave
        seen: set[str] = set()
        kept = []
        for node in nodes:
            if not node.outputs or node.outputs[0] not in seen or not node.outputs[0]:
                kept.append(node)
            seen.update(node.outputs)
        whole = replace(self.graph, nodes=tuple(kept), constants=self.constants)
        return reduced(whole, tuple(whole.outputs))

    # *** what is around a node ***

    def _codes(self, name: str) -> Codes | None:
        """What a value is dequantized from, with known parameters of 8 bits."""
        node = self.made.get(self._source(name))
        if node is not None and node.operator == "Transpose":
            return self._turned(node)
        if node is None or node.operator != "DequantizeLinear" or node.domain not in DOMAINS:
            return None
        if node.attributes.get("block_size") or node.attributes.get("output_dtype"):
            return None
        scales = self.constants.get(node.inputs[1])
        if scales is None or scales.dtype != np.float32:
            return None
        zero = node.inputs[2] if len(node.inputs) > 2 else ""
        zeros = self.constants.get(zero)
        if not zero:
            known = self.constants.get(node.inputs[0])
            if known is None:
                return None
            zeros = np.zeros(scales.shape, known.dtype)
            zero = self._constant(f"{name}/zero", zeros)
        if zeros is None or zeros.dtype not in CODES:
            return None
        axis = node.attributes.get("axis", 1)
        assert isinstance(axis, int), "the schema says so"
        return Codes(node.inputs[0], node.inputs[1], zero, scales, zeros, axis)

    def _turned(self, node: Node) -> Codes | None:
        """What a weight is dequantized from that is transposed afterwards."""
        inner = self._codes(node.inputs[0])
        known = None if inner is None else self.constants.get(inner.codes)
        if inner is None or known is None:
            return None
        given = node.attributes.get("perm")
        order = list(given) if isinstance(given, list) else list(range(known.ndim))[::-1]
        turned = np.ascontiguousarray(known.transpose(order))
        axis = order.index(inner.axis % known.ndim) if not inner.is_whole else 0
        return replace(inner, codes=self._constant(f"{node.name}/turned", turned), axis=axis)

    def _operands(self, node: Node) -> tuple[Codes, Codes] | None:
        left, right = self._codes(node.inputs[0]), self._codes(node.inputs[1])
        if left is None or right is None or not left.is_whole:
            return None
        return left, right

    def _quantizer(self, node: Node) -> Node | None:
        """The only use of a node's result if that is a Q with one scale."""
        user = self._only_user(node.outputs[0])
        if user is None:
            return None
        if user.operator in ("Relu", "Clip") and user.domain == "":
            following = self._only_user(user.outputs[0])
            if following is None or not self._is_done_by(user, following):
                return None
            user = following
        return None if self._parameters(user) is None else user

    def _only_user(self, name: str) -> Node | None:
        if self.uses[name] != 1 or name in self.graph.outputs:
            return None
        user = self.users.get(name)
        return user if user is not None and user.inputs[:1] == (name,) else None

    def _parameters(self, node: Node) -> tuple[Array, Array] | None:
        """Scale and zero point of a Q that has one for all."""
        if node.operator != "QuantizeLinear" or node.domain not in DOMAINS or len(node.inputs) < 3:
            return None
        scale, zero = (self.constants.get(name) for name in node.inputs[1:3])
        if scale is None or zero is None or scale.size != 1 or zero.dtype not in CODES:
            return None
        if scale.dtype != np.float32 or not node.attributes.get("saturate", 1):
            return None
        return scale, zero

    def _is_done_by(self, bound: Node, quantizer: Node) -> bool:
        """Whether the range of the codes lies within what a Relu or Clip leaves."""
        parameters = self._parameters(quantizer)
        if parameters is None:
            return False
        scale, zero = (float(array.reshape(-1)[0]) for array in parameters)
        bounds = (-128, 127) if parameters[1].dtype == np.int8 else (0, 255)
        lowest, highest = ((bound - zero) * scale for bound in bounds)
        low, high = 0.0, np.inf
        if bound.operator == "Clip":
            given = [self.constants.get(name) for name in bound.inputs[1:]]
            if bound.attributes or any(array is None for array in given) or len(given) != 2:
                return False
            low, high = (float(np.asarray(array).reshape(-1)[0]) for array in given)
        return low <= lowest and highest <= high

    # *** what is put there ***

    def _constant(self, name: str, array: Array) -> str:
        while name in self.constants or name in self.made:
            name += "'"
        self.constants[name] = array
        return name

    def _node(
        self,
        node: Node,
        operator: str,
        inputs: Sequence[str],
        output: str,
        attributes: Mapping[str, Attribute] | None = None,
        domain: str = "",
    ) -> Node:
        return Node(
            name=node.name,
            operator=operator,
            domain=domain,
            opset=1 if domain else node.opset,
            inputs=tuple(inputs),
            outputs=(output,),
            attributes=dict(attributes or {}),
            proto=helper.make_node(operator, list(inputs), [output], node.name, domain=domain),
            subgraphs={},
        )

    def _source(self, name: str) -> str:
        """The name of the same value where it is made."""
        node = self.made.get(name)
        while node is not None and node.operator == "Identity" and node.domain == "":
            name = node.inputs[0]
            node = self.made.get(name)
        return name

    def _whole_bias(self, name: str, left: Codes, right: Codes) -> str | None:
        """The codes of a bias that counts in units of the products; "" for no bias.

        Another bias is rounded to such units, as onnxruntime does.
        """
        if not name:
            return ""
        unit = _floats(left.scales).reshape(-1) * _floats(right.scales).reshape(-1)
        node = self.made.get(self._source(name))
        if node is not None and self._is_bias_of(node, unit):
            return node.inputs[0]
        exact = self._exact(name)
        if exact is None or exact.ndim != 1 or not unit.all():
            return None
        whole = np.rint(exact / unit)
        if not (np.abs(whole) < 2**31).all():
            return None
        return self._constant(f"{name}/codes", whole.astype(np.int32))

    def _is_bias_of(self, node: Node, unit: Floats) -> bool:
        """Whether a node dequantizes whole numbers of a unit."""
        if node.operator != "DequantizeLinear":
            return False
        codes, scales, *zeros = (self.constants.get(name) for name in node.inputs)
        if codes is None or scales is None or codes.dtype != np.int32:
            return False
        if any(zero is None or zero.any() for zero in zeros) or scales.size not in (1, unit.size):
            return False
        return bool(np.allclose(_floats(scales).reshape(-1), unit, 1e-5, 0))

    def _exact(self, name: str) -> Floats | None:
        """The floats of a constant, or of constant codes."""
        name = self._source(name)
        known = self.constants.get(name)
        if known is not None:
            return _floats(known) if known.dtype == np.float32 else None
        node = self.made.get(name)
        if node is None or node.operator != "DequantizeLinear":
            return None
        codes, scales, *zeros = (self.constants.get(name) for name in node.inputs)
        if codes is None or scales is None or scales.dtype != np.float32:
            return None
        if codes.ndim != 1 or scales.size not in (1, codes.size):
            return None
        if any(zero is None or zero.any() for zero in zeros):
            return None
        return _floats(codes) * _floats(scales).reshape(-1)

    def _conv(self, node: Node) -> list[Node] | None:
        operands = self._operands(node)
        if operands is None:
            return None
        x, w = operands
        if not w.is_whole and w.axis != 0:
            return None
        name = node.inputs[2] if len(node.inputs) > 2 else ""
        q = self._quantizer(node)
        bias = self._whole_bias(name, x, w)
        if q is not None and bias is not None:
            inputs = [x.codes, x.scale, x.zero, w.codes, w.scale, w.zero, q.inputs[1], q.inputs[2]]
            inputs += [bias] if bias else []
            return [self._node(node, "QLinearConv", inputs, q.outputs[0], node.attributes)]
        if w.codes not in self.constants:
            return None
        exact = self._exact(name) if name else None
        if name and exact is None and bias is None:
            return None
        return self._conv_to_float(node, x, w, exact, None if exact is not None else bias)

    def _conv_to_float(
        self, node: Node, x: Codes, w: Codes, exact: Floats | None, bias: str | None
    ) -> list[Node]:
        """Whole sums, then floats: a bias of whole numbers is added before, another one after."""
        dims = (1, -1, *(1,) * (self.constants[w.codes].ndim - 2))
        zero = self._constant(f"{node.name}/x zero", x.zeros.reshape(()))
        last = node.outputs[0]
        steps = [f"{last}/{step}" for step in ("sums", "biased", "floats", "scaled")]
        nodes = [
            self._node(
                node, "ConvInteger", [x.codes, w.codes, zero, w.zero], steps[0], node.attributes
            )
        ]
        current = steps[0]
        if bias:
            whole = self._constant(f"{node.name}/bias", self.constants[bias].reshape(dims))
            nodes.append(self._node(node, "Add", [current, whole], steps[1]))
            current = steps[1]
        to: dict[str, Attribute] = {"to": int(TensorProto.FLOAT)}
        nodes.append(self._node(node, "Cast", [current], steps[2], to))
        unit = (_floats(x.scales).reshape(-1) * _floats(w.scales).reshape(-1)).reshape(dims)
        scale = self._constant(f"{node.name}/unit", unit)
        target = last if exact is None else steps[3]
        nodes.append(self._node(node, "Mul", [steps[2], scale], target))
        if exact is not None:
            after = self._constant(f"{node.name}/bias", exact.reshape(dims))
            nodes.append(self._node(node, "Add", [steps[3], after], last))
        return nodes

    def _matmul(self, node: Node) -> list[Node] | None:
        operands = self._operands(node)
        if operands is None:
            return None
        a, b = operands
        if not b.is_whole and not self._has_scale_of_columns(b):
            return None
        q = self._quantizer(node)
        if q is not None:
            inputs = [a.codes, a.scale, a.zero, b.codes, b.scale, b.zero, q.inputs[1], q.inputs[2]]
            return [self._node(node, "QLinearMatMul", inputs, q.outputs[0])]
        inputs = [a.codes, b.codes, a.scale, b.scale, a.zero, b.zero]
        return [self._node(node, "MatMulIntegerToFloat", inputs, node.outputs[0], domain=MICROSOFT)]

    def _has_scale_of_columns(self, b: Codes) -> bool:
        known = self.constants.get(b.codes)
        return known is not None and known.ndim == 2 and b.axis in (1, -1)

    def _gemm(self, node: Node) -> list[Node] | None:
        operands = self._operands(node)
        if operands is None or node.attributes.get("beta", 1.0) != 1.0:
            return None
        a, b = operands
        turned = bool(node.attributes.get("transB", 0))
        if not b.is_whole and b.axis not in ((0, -2) if turned else (1, -1)):
            return None
        if node.attributes.get("alpha", 1.0) != 1.0:
            return None
        bias = self._whole_bias(node.inputs[2] if len(node.inputs) > 2 else "", a, b)
        if bias is None:
            return None
        kept = {key: node.attributes[key] for key in ("transA", "transB") if key in node.attributes}
        inputs = [a.codes, a.scale, a.zero, b.codes, b.scale, b.zero, bias]
        output = node.outputs[0]
        q = self._quantizer(node)
        if q is not None:
            inputs += [q.inputs[1], q.inputs[2]]
            output = q.outputs[0]
        return [self._node(node, "QGemm", inputs, output, kept, MICROSOFT)]


def _floats(array: Array) -> Floats:
    return array.astype(np.float32)
