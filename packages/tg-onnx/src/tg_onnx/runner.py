"""Run a model: each node by its operator, on tensors; shape arithmetic stays on the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature

import numpy as np
from tg_tensor import Tensor
from tg_uop.errors import TgError

from tg_onnx.errors import (
    ModelFormatError,
    ModelInputError,
    OnnxError,
    OperatorError,
    UnsupportedOperatorError,
)
from tg_onnx.host import HOST_FORMS, Value, as_array, is_tensor_dtype, needs_host, run_on_host
from tg_onnx.model import Graph, Node, ValueInfo, read_graph
from tg_onnx.ops import OPERATOR_MODULES
from tg_onnx.plan import BUILT_IN, Plan, all_constants, expand_functions, plan_graph
from tg_onnx.proto import Array, Source, load_model
from tg_onnx.registry import Operator

Output = Tensor | Array | list["Output"] | None

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
        proto = expand_functions(proto, self.source)
        self.graph: Graph = read_graph(proto, self.source)
        self.device = device
        self.plan: Plan = plan_graph(self.graph)
        # operators that ran by the reference implementation, a small number of integers aside
        self.ran_on_host: Counter[str] = Counter()
        self._uploaded: dict[int, Tensor] = {}
        self._constants = all_constants(self.graph)

    @property
    def graph_inputs(self) -> Mapping[str, ValueInfo]:
        """The declared inputs by name."""
        return self.graph.inputs

    @property
    def graph_outputs(self) -> Mapping[str, ValueInfo]:
        """The declared outputs by name."""
        return self.graph.outputs

    def __call__(self, inputs: Mapping[str, object]) -> dict[str, Output]:
        """The outputs by name, not yet realized. Inputs are tensors, arrays or nested lists.

        Sequences come as lists; strings, and element types that tensors do not have, as arrays.
        Raises `ModelInputError` for inputs that the model does not declare, and `OperatorError`
        for a node that its inputs do not fit.
        """
        values: dict[str, Value] = {"": None}
        for name, info in self.graph.inputs.items():
            values[name] = self._input(name, info, inputs)
        unknown = sorted(inputs.keys() - self.graph.inputs.keys())
        if unknown:
            expected = ", ".join(self.graph.inputs) or "no inputs"
            raise ModelInputError(name=unknown[0], reason="no such input", expected=expected)
        results = self.run_plan(self.plan, values)
        return {
            name: self._output(name, value)
            for name, value in zip(self.graph.outputs, results, strict=True)
        }

    def run_plan(self, plan: Plan, values: dict[str, Value]) -> list[Value]:
        """The values of a graph's outputs; `values` has its inputs and what is around it."""
        values.update(plan.graph.constants)
        for position, node in enumerate(plan.graph.nodes):
            results = self._run(node, plan, position, values)
            for name, result in zip(node.outputs, results, strict=False):
                if name:
                    values[name] = result
            for name in plan.last_use.get(position, ()):
                values.pop(name, None)
        return [values[name] for name in plan.graph.outputs]

    def _input(self, name: str, info: ValueInfo, inputs: Mapping[str, object]) -> Value:
        if name not in inputs:
            if info.optional:
                return None
            raise ModelInputError(name=name, reason="it is missing", expected=str(info))
        given = inputs[name]
        if not info.is_tensor and (given is None or isinstance(given, list)):
            return given
        if isinstance(given, Tensor):
            tensor = given
        else:
            array = np.asarray(given)
            if not is_tensor_dtype(array):
                return array
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
        self, node: Node, plan: Plan, position: int, values: dict[str, Value]
    ) -> Sequence[Value]:
        inputs = [values[name] for name in node.inputs]
        if node.domain == "" and node.operator in BUILT_IN:
            return (self._on_host_only(node, inputs),)
        if node.operator in HOST_OPERATORS and _all_small(inputs):
            try:
                return run_on_host(node, inputs)
            except (RuntimeError, TypeError, ValueError):
                # the reference has no such version: tensors do as well
                pass
        try:
            return self._dispatch(node, plan, position, inputs, values)
        except OnnxError:
            raise
        except (
            ValueError,
            TypeError,
            IndexError,
            KeyError,
            NotImplementedError,
            ArithmeticError,
            RuntimeError,
            AttributeError,
        ) as error:
            described = [_describe(value) for value in inputs]
            reason = error.explain() if isinstance(error, TgError) else str(error)
            raise OperatorError(
                operator=node.operator, node=node.name, inputs=described, reason=reason
            ) from error

    def _dispatch(
        self,
        node: Node,
        plan: Plan,
        position: int,
        inputs: list[Value],
        values: dict[str, Value],
    ) -> Sequence[Value]:
        control = plan.controls.get(position)
        if control is not None:
            inner = {
                name: self._inner(body, values) for name, body in plan.subplans[position].items()
            }
            return control(node, inputs, inner)
        found = plan.operators[position]
        if found is None or needs_host(node, inputs):
            self.ran_on_host[node.operator] += 1
            return run_on_host(node, inputs)
        operands = [
            as_array(value) if place in found.host else self._tensor(value)
            for place, value in enumerate(inputs)
        ]
        try:
            results = found.run(*operands, **_attributes(node, found))
        except NotImplementedError:
            if node.domain or node.operator not in HOST_FORMS:
                raise
            self.ran_on_host[node.operator] += 1
            return run_on_host(node, inputs)
        return results if isinstance(results, tuple) else (results,)

    def _inner(self, body: Plan, values: Mapping[str, Value]) -> Callable[..., list[Value]]:
        def run(*arguments: Value) -> list[Value]:
            scope = dict(values)
            scope.update(zip(body.graph.inputs, arguments, strict=True))
            return self.run_plan(body, scope)

        return run

    def _on_host_only(self, node: Node, inputs: list[Value]) -> Array:
        if node.operator == "Constant":
            return constant_value(node)
        shape = np.asarray(_shape(inputs[0]), np.int64)
        if node.operator == "Size":
            return np.asarray(np.prod(shape, dtype=np.int64))
        start = node.attributes.get("start", 0)
        end = node.attributes.get("end")
        return shape[start:end]  # type: ignore[misc]

    def _output(self, name: str, value: Value) -> Output:
        if isinstance(value, list):
            return [self._output(name, element) for element in value]
        if isinstance(value, np.ndarray) and not is_tensor_dtype(value):
            return value
        info = self.graph.outputs[name]
        if value is None:
            if info.is_tensor:
                raise ModelFormatError(source=self.source, reason=f"output {name!r} has no value")
            return None
        tensor = self._tensor(value)
        assert isinstance(tensor, Tensor), "an array of a dtype that tensors have"
        return tensor

    def _tensor(self, value: Value) -> Value:
        if not isinstance(value, np.ndarray) or not is_tensor_dtype(value):
            return value
        if id(value) not in self._constants:
            return Tensor(np.ascontiguousarray(value).reshape(value.shape), device=self.device)
        if id(value) not in self._uploaded:
            array = np.ascontiguousarray(value).reshape(value.shape)
            self._uploaded[id(value)] = Tensor(array, device=self.device).realize()
        return self._uploaded[id(value)]


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


def _shape(value: Value) -> tuple[int, ...]:
    if value is None or isinstance(value, list):
        raise TypeError("Shape and Size take a tensor")
    return tuple(int(size) for size in value.shape)


def _describe(value: Value) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return f"a sequence of {len(value)}"
    dtype = value.dtype if isinstance(value, Tensor) else np.dtype(value.dtype).name
    return f"{dtype} {tuple(value.shape)}"
