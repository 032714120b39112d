"""Run the nodes of a graph one after the other: on tensors, or on the host where it must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from onnx import helper
from tg_tensor import Tensor
from tg_tensor.jit.errors import JitError
from tg_uop.errors import TgError

from tg_onnx.errors import OnnxError, OperatorError, UnsupportedOperatorError
from tg_onnx.habits import Frame, Habits, ReadOnHost, reading_inputs
from tg_onnx.host import as_array, is_tensor_dtype, needs_host, on_host, run_on_host
from tg_onnx.model import Node
from tg_onnx.ops import OPERATOR_MODULES
from tg_onnx.ops.control import GOING, MOST_ROUNDS, rounds_of
from tg_onnx.ops.written import as_strings, from_strings
from tg_onnx.plan import BUILT_IN, Plan, all_constants
from tg_onnx.proto import Array
from tg_onnx.registry import Operator, Result, Takes, Value, keywords_of

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
FREE_ELEMENTS = 1 << 16
"""Constants computed from smaller ones are kept in memory up to this size."""

RunBody = Callable[[Plan, dict[str, Value], Frame], list[Value]]


class Executor:
    """Runs nodes. Constants go to the device once, at their first use."""

    def __init__(self, plan: Plan, device: str | None) -> None:
        self.device = device
        # operators that ran by the reference implementation, a small number of integers aside
        self.ran_on_host: Counter[str] = Counter()
        self.uploaded: dict[int, Tensor] = {}
        self.constants = {id(GOING), *all_constants(plan.graph)}
        self.run_body: RunBody = self.run_plan
        # whether what depends on constants alone is computed once, at its first use
        self.folds = True
        self._folded: dict[tuple[int, int], Sequence[Value]] = {}
        # by the identity of a constant, the tensor that training changes in its place
        self.parameters: dict[int, Tensor] = {}

    def run_plan(self, plan: Plan, values: dict[str, Value], frame: Frame) -> list[Value]:
        """The values of a graph's outputs; `values` has its inputs and what is around it."""
        values.update(self.constants_of(plan))
        self.run_nodes(plan, range(len(plan.graph.nodes)), values, frame)
        return [values[name] for name in plan.graph.outputs]

    def constants_of(self, plan: Plan) -> Mapping[str, Value]:
        """The constants of a graph by name, weights that may have changed as tensors."""
        constants = plan.graph.constants
        if not self.parameters:
            return constants
        return {name: self.parameters.get(id(a), a) for name, a in constants.items()}

    def run_nodes(
        self, plan: Plan, positions: Iterable[int], values: dict[str, Value], frame: Frame
    ) -> None:
        """Some nodes of a graph; what no later node needs is dropped from `values`."""
        for position in positions:
            frame.position = position
            node = plan.graph.nodes[position]
            if self.folds and position in plan.static:
                results = self._fold(node, plan, position, values)
            else:
                results = self._run(node, plan, position, values, frame)
            if any(node.outputs[len(results) :]):
                lacking = f"it has {len(node.outputs)} outputs, of which {len(results)} are there"
                raise _operator_error(node, [values[name] for name in node.inputs], lacking)
            for name, result in zip(node.outputs, results, strict=False):
                if name:
                    values[name] = result
            for name in plan.last_use.get(position, ()):
                values.pop(name, None)
        frame.position = -1

    def _fold(
        self, node: Node, plan: Plan, position: int, values: dict[str, Value]
    ) -> Sequence[Value]:
        """The results of a node that depends on constants alone, in memory from now on."""
        key = (id(plan), position)
        known = self._folded.get(key)
        if known is not None:
            return known
        # what is read on the host here is the same at each call
        results = self._run(node, plan, position, values, Frame(plan.graph, Habits()))
        room = max([FREE_ELEMENTS, *(4 * _elements(values[name]) for name in node.inputs)])
        for result in results:
            if isinstance(result, Tensor) and result.numel() <= room:
                result.realize()
            self.constants.add(id(result))
        self._folded[key] = results
        return results

    def tensor(self, value: Value) -> Value:
        """An array as a tensor where tensors have such elements; all else as it is."""
        if not isinstance(value, np.ndarray) or not is_tensor_dtype(value):
            return value
        if id(value) not in self.constants:
            return Tensor(np.ascontiguousarray(value).reshape(value.shape), device=self.device)
        if id(value) not in self.uploaded:
            array = np.ascontiguousarray(value).reshape(value.shape)
            self.uploaded[id(value)] = Tensor(array, device=self.device).realize()
        return self.uploaded[id(value)]

    def _run(
        self, node: Node, plan: Plan, position: int, values: dict[str, Value], frame: Frame
    ) -> Sequence[Value]:
        inputs = [values[name] for name in node.inputs]
        if node.domain == "" and node.operator in BUILT_IN:
            return (_built_in(node, inputs),)
        if node.domain == "" and node.operator == "Identity":
            # whatever it is: tensors, sequences, strings
            return inputs[:1]
        if node.operator in HOST_OPERATORS and _all_small(inputs):
            try:
                return run_on_host(node, inputs)
            except (RuntimeError, TypeError, ValueError, ArithmeticError, MemoryError):
                # the reference has no such version: tensors do as well
                pass
        try:
            return self._dispatch(node, plan, position, inputs, values, frame)
        except (OnnxError, JitError, ReadOnHost):
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
            MemoryError,
        ) as error:
            reason = error.explain() if isinstance(error, TgError) else str(error)
            raise _operator_error(node, inputs, reason) from error

    def _dispatch(
        self,
        node: Node,
        plan: Plan,
        position: int,
        inputs: list[Value],
        values: dict[str, Value],
        frame: Frame,
    ) -> Sequence[Value]:
        control = plan.controls.get(position)
        if control is not None:
            if frame.is_captured and rounds_of(node, inputs) > MOST_ROUNDS:
                frame.read_inside()
            for name in reading_inputs(node.operator, node.inputs):
                _note(name, values[name], frame)
            bodies = plan.subplans[position]
            inner = {name: self._inner(node, body, values, frame) for name, body in bodies.items()}
            return control(node, inputs, inner)
        found = plan.operators[position]
        if found is None or (found.takes is Takes.TENSORS and needs_host(node, inputs)):
            return self._on_host(node, inputs, frame)
        if found.takes is Takes.TENSORS:
            results = self._on_tensors(node, inputs, found, frame)
        elif found.takes is Takes.ARRAYS:
            results = self._on_arrays(node, inputs, found, frame)
        else:
            results = self._on_values(node, inputs, found, frame)
        return results if isinstance(results, tuple) else (results,)

    def _on_tensors(self, node: Node, inputs: list[Value], found: Operator, frame: Frame) -> Result:
        if found.reads_data and not _all_small(inputs):
            frame.read_inside()
        operands: list[Value] = []
        for place, value in enumerate(inputs):
            if place not in found.host:
                operands.append(self.tensor(value))
                continue
            if not found.reads_data:
                _note(node.inputs[place], value, frame)
            operands.append(as_array(value))
        return found.run(*operands, **_attributes(node, found))

    def _on_values(self, node: Node, inputs: list[Value], found: Operator, frame: Frame) -> Result:
        operands = list(inputs)
        for place in found.host & set(range(len(inputs))):
            _note(node.inputs[place], inputs[place], frame)
            operands[place] = as_array(inputs[place])
        return found.run(*operands, **_attributes(node, found))

    def _on_arrays(self, node: Node, inputs: list[Value], found: Operator, frame: Frame) -> Result:
        is_shape = _all_small(inputs)
        if not is_shape:
            frame.read_inside()
        results = found.run(*map(on_host, inputs), **_attributes(node, found))
        if is_shape:
            return results
        # what comes after knows data by their shape, not by what they are in this call
        parts = results if isinstance(results, tuple) else (results,)
        return tuple(map(self.tensor, parts))

    def _on_host(self, node: Node, inputs: list[Value], frame: Frame) -> Sequence[Value]:
        frame.read_inside()
        written = _written(node, inputs)
        if written is not None:
            return (self.tensor(written),)
        self.ran_on_host[node.operator] += 1
        return run_on_host(node, inputs)

    def _inner(
        self, node: Node, body: Plan, values: Mapping[str, Value], outside: Frame
    ) -> Callable[..., list[Value]]:
        frame = outside_frame(body, outside)
        if node.operator == "Scan" and node.opset < 9:
            outside.read_inside()

        def run(*arguments: Value) -> list[Value]:
            scope = dict(values)
            scope.update(zip(body.graph.inputs, arguments, strict=True))
            results = self.run_body(body, scope, frame)
            if node.operator == "Loop" and isinstance(results[0], Tensor):
                # whether there is another round
                outside.read_inside()
            return results

        return run


def _written(node: Node, inputs: list[Value]) -> Array | None:
    """The result of a cast to or from strings; None where there is none."""
    if node.operator not in ("Cast", "CastLike") or node.domain != "":
        return None
    x = as_array(inputs[0])
    if x is None:
        return None
    if node.operator == "Cast":
        element = node.attributes.get("to")
        if not isinstance(element, int):
            return None
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(element))
    else:
        like = as_array(inputs[1])
        dtype = np.dtype(object) if like is None else like.dtype
    if dtype.kind in "OU":
        return as_strings(x)
    return from_strings(x, dtype) if x.dtype.kind in "OU" else None


def outside_frame(body: Plan, outside: Frame) -> Frame:
    """The frame of a body in a node of a graph that runs."""
    return Frame(body.graph, body.habits, outside, outside.is_captured, outside.captures)


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


def _operator_error(node: Node, inputs: Sequence[Value], reason: str) -> OperatorError:
    described = [_describe(value) for value in inputs]
    return OperatorError(operator=node.operator, node=node.name, inputs=described, reason=reason)


def _note(name: str, value: Value, frame: Frame) -> None:
    if isinstance(value, Tensor):
        frame.read(name)


def _built_in(node: Node, inputs: list[Value]) -> Array:
    if node.operator == "Constant":
        return constant_value(node)
    shape = np.asarray(_shape(inputs[0]), np.int64)
    if node.operator == "Size":
        return np.asarray(np.prod(shape, dtype=np.int64))
    start = node.attributes.get("start", 0)
    end = node.attributes.get("end")
    return shape[start:end]  # type: ignore[misc]


def _attributes(node: Node, found: Operator) -> dict[str, object]:
    """The node's attributes; refuses those that the implementation does not know."""
    known = keywords_of(found.run)
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
    if "opset" in known and "opset" not in node.attributes:
        extra["opset"] = node.opset
    return {**node.attributes, **extra}


def _all_small(inputs: list[Value]) -> bool:
    arrays = [value for value in inputs if value is not None]
    return bool(arrays) and all(
        isinstance(value, np.ndarray) and value.size <= HOST_ELEMENTS for value in arrays
    )


def _elements(value: Value) -> int:
    if isinstance(value, Tensor):
        return int(value.numel())
    return value.size if isinstance(value, np.ndarray) else 0


def _shape(value: Value) -> tuple[int, ...]:
    if value is None or isinstance(value, list | dict):
        raise TypeError("Shape and Size take a tensor")
    return tuple(int(size) for size in value.shape)


def _describe(value: Value) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return f"a sequence of {len(value)}"
    if isinstance(value, dict):
        return f"a map of {len(value)}"
    dtype = value.dtype if isinstance(value, Tensor) else np.dtype(value.dtype).name
    return f"{dtype} {tuple(value.shape)}"
