"""Run a model: each node by its operator, on tensors; shape arithmetic stays on the host."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature

import numpy as np
from onnx.reference import ReferenceEvaluator
from tg_tensor import Tensor

from tg_onnx.errors import (
    ModelFormatError,
    ModelInputError,
    OnnxError,
    OperatorError,
    UnsupportedOperatorError,
)
from tg_onnx.model import Graph, Node, ValueInfo, read_graph
from tg_onnx.ops import OPERATOR_MODULES
from tg_onnx.proto import Array, Source, load_model
from tg_onnx.registry import Operator, find_operator

Value = Tensor | Array | None

assert OPERATOR_MODULES, "importing the operators registers them"

# integer arithmetic on shapes: a few numbers, needed on the host to build what follows
HOST_OPERATORS = frozenset(
    [
        "Add",
        "And",
        "Cast",
        "Ceil",
        "Concat",
        "ConstantOfShape",
        "Div",
        "Equal",
        "Expand",
        "Floor",
        "Gather",
        "Greater",
        "Identity",
        "Less",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "Range",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "Reshape",
        "Slice",
        "Split",
        "Squeeze",
        "Sub",
        "Transpose",
        "Unsqueeze",
        "Where",
    ]
)
HOST_ELEMENTS = 1024


class OnnxRunner:
    """An ONNX model as a callable.

    >>> runner = OnnxRunner("model.onnx")
    >>> runner({"x": Tensor.ones(1, 3)})["y"].shape
    (1, 3)

    Raises `ModelFormatError` when the model cannot be read and `UnsupportedOperatorError` when
    it has operators that are not known; both before anything runs.
    """

    def __init__(self, model: Source, device: str | None = None) -> None:
        proto, self.source = load_model(model)
        self.graph: Graph = read_graph(proto, self.source)
        self.device = device
        self.operators: list[Operator | None] = [
            None if node.operator in ("Shape", "Size", "Constant") else find_operator(node)
            for node in self.graph.nodes
        ]
        self.constants: dict[str, Value] = dict(self.graph.constants)
        self._uploaded: dict[str, Tensor] = {}
        self._last_use = _last_uses(self.graph)

    @property
    def graph_inputs(self) -> Mapping[str, ValueInfo]:
        """The declared inputs by name."""
        return self.graph.inputs

    @property
    def graph_outputs(self) -> Mapping[str, ValueInfo]:
        """The declared outputs by name."""
        return self.graph.outputs

    def __call__(self, inputs: Mapping[str, object]) -> dict[str, Tensor]:
        """The outputs by name, not yet realized. Inputs are tensors, arrays or nested lists.

        Raises `ModelInputError` for inputs that the model does not declare, and `OperatorError`
        for a node that its inputs do not fit.
        """
        values: dict[str, Value] = {"": None, **self.constants}
        for name, info in self.graph.inputs.items():
            values[name] = self._input(name, info, inputs)
        unknown = sorted(inputs.keys() - self.graph.inputs.keys())
        if unknown:
            expected = ", ".join(self.graph.inputs) or "no inputs"
            raise ModelInputError(name=unknown[0], reason="no such input", expected=expected)
        for position, node in enumerate(self.graph.nodes):
            results = self._run(node, self.operators[position], values)
            for name, result in zip(node.outputs, results, strict=False):
                values[name] = result
            for name in self._last_use.get(position, ()):
                values.pop(name, None)
        return {name: self._output(name, values[name]) for name in self.graph.outputs}

    def _input(self, name: str, info: ValueInfo, inputs: Mapping[str, object]) -> Tensor:
        if name not in inputs:
            raise ModelInputError(name=name, reason="it is missing", expected=str(info))
        given = inputs[name]
        if isinstance(given, Tensor):
            tensor = given
        else:
            array = np.asarray(given)
            tensor = Tensor(array, device=self.device)
        if info.dtype is not None and tensor.dtype != info.dtype:
            if isinstance(given, Tensor | np.ndarray):
                reason = f"it has dtype {tensor.dtype}"
                raise ModelInputError(name=name, reason=reason, expected=str(info))
            tensor = tensor.cast(info.dtype)
        if info.shape is not None and not _fits(tuple(tensor.shape), info.shape):
            reason = f"it has shape {tuple(tensor.shape)}"
            raise ModelInputError(name=name, reason=reason, expected=str(info))
        return tensor

    def _run(
        self, node: Node, found: Operator | None, values: Mapping[str, Value]
    ) -> tuple[Value, ...]:
        inputs = [values[name] for name in node.inputs]
        if found is None:
            return (self._on_host_only(node, inputs),)
        if node.operator in HOST_OPERATORS and _all_small(inputs):
            return run_on_host(node, inputs)
        operands = [
            _array(value) if position in found.host else self._tensor(node.inputs[position], value)
            for position, value in enumerate(inputs)
        ]
        try:
            results = found.run(*operands, **_attributes(node, found))
        except OnnxError:
            raise
        except (ValueError, TypeError, IndexError, NotImplementedError, ArithmeticError) as error:
            described = [_describe(value) for value in inputs]
            raise OperatorError(
                operator=node.operator, node=node.name, inputs=described, reason=str(error)
            ) from error
        return results if isinstance(results, tuple) else (results,)

    def _on_host_only(self, node: Node, inputs: list[Value]) -> Array:
        if node.operator == "Constant":
            return constant_value(node)
        shape = np.asarray(_shape(inputs[0]), np.int64)
        if node.operator == "Size":
            return np.asarray(np.prod(shape, dtype=np.int64))
        start = node.attributes.get("start", 0)
        end = node.attributes.get("end")
        return shape[start:end]  # type: ignore[misc]

    def _output(self, name: str, value: Value) -> Tensor:
        tensor = self._tensor(name, value)
        if tensor is None:
            raise ModelFormatError(source=self.source, reason=f"output {name!r} has no value")
        return tensor

    def _tensor(self, name: str, value: Value) -> Tensor | None:
        if value is None or isinstance(value, Tensor):
            return value
        if name not in self.graph.constants:
            return Tensor(np.ascontiguousarray(value), device=self.device)
        if name not in self._uploaded:
            uploaded = Tensor(np.ascontiguousarray(value), device=self.device)
            self._uploaded[name] = uploaded.realize()
        return self._uploaded[name]


def constant_value(node: Node) -> Array:
    """The array of a Constant node, whichever attribute holds it."""
    kinds: dict[str, type[np.generic]] = {
        "value_int": np.int64,
        "value_ints": np.int64,
        "value_float": np.float32,
        "value_floats": np.float32,
    }
    for name, value in node.attributes.items():
        if name == "value" and isinstance(value, np.ndarray):
            return value
        if name in kinds:
            return np.asarray(value, kinds[name])
    raise UnsupportedOperatorError(
        operator="Constant",
        domain=node.domain,
        opset=node.opset,
        node=node.name,
        reason=f"attributes {sorted(node.attributes)}",
    )


def run_on_host(node: Node, inputs: list[Value]) -> tuple[Value, ...]:
    """A node on small arrays, by the reference implementation of the onnx package."""
    names = [name for name in node.inputs if name]
    arrays = {n: v for n, v in zip(node.inputs, inputs, strict=True) if n and v is not None}
    assert set(names) == set(arrays), "a present input has a value"
    evaluator = ReferenceEvaluator(node.proto, opsets={node.domain: node.opset})
    results = evaluator.run(None, arrays)
    return tuple(np.asarray(result) for result in results)


def _attributes(node: Node, found: Operator) -> dict[str, object]:
    """The node's attributes; refuses those that the implementation does not know."""
    parameters = signature(found.run).parameters.values()
    known = {p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY}
    unknown = sorted(node.attributes.keys() - known)
    if unknown:
        raise UnsupportedOperatorError(
            operator=node.operator,
            domain=node.domain,
            opset=node.opset,
            node=node.name,
            reason=f"attribute {unknown[0]!r} is not known",
        )
    extra: dict[str, object] = {}
    if "n_outputs" in known:
        extra["n_outputs"] = len(node.outputs)
    if "opset" in known:
        extra["opset"] = node.opset
    return {**node.attributes, **extra}


def _last_uses(graph: Graph) -> dict[int, tuple[str, ...]]:
    """For each node, the values that nothing after it needs."""
    last: dict[str, int] = {}
    for position, node in enumerate(graph.nodes):
        for name in (*node.inputs, *node.outputs):
            last[name] = position
    dying: dict[int, list[str]] = {}
    for name, position in last.items():
        if name and name not in graph.outputs:
            dying.setdefault(position, []).append(name)
    return {position: tuple(names) for position, names in dying.items()}


def _fits(shape: tuple[int, ...], declared: tuple[int | str | None, ...]) -> bool:
    if len(shape) != len(declared):
        return False
    pairs = zip(shape, declared, strict=True)
    return all(not isinstance(want, int) or have == want for have, want in pairs)


def _all_small(inputs: list[Value]) -> bool:
    arrays = [value for value in inputs if value is not None]
    return bool(arrays) and all(
        isinstance(value, np.ndarray) and value.size <= HOST_ELEMENTS for value in arrays
    )


def _array(value: Value) -> Array | None:
    return value.numpy() if isinstance(value, Tensor) else value


def _shape(value: Value) -> tuple[int, ...]:
    assert value is not None, "Shape and Size have an input"
    return tuple(int(size) for size in value.shape)


def _describe(value: Value) -> str:
    if value is None:
        return "none"
    dtype = value.dtype if isinstance(value, Tensor) else np.dtype(value.dtype).name
    return f"{dtype} {tuple(value.shape)}"
