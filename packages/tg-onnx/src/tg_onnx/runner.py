"""Run a model: values in and out by name, the nodes between them captured as steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from tg_tensor import Device, Tensor
from tg_tensor.engine.buffers import watchers
from tg_tensor.realize import recorders
from tg_uop.arguments import methods_name_bad_arguments, shown

from tg_onnx.cheaper import with_products
from tg_onnx.check import check_model, check_operators
from tg_onnx.errors import ModelFormatError, ModelInputError
from tg_onnx.fold import folded
from tg_onnx.habits import Frame
from tg_onnx.host import is_tensor_dtype
from tg_onnx.model import Graph, ValueInfo, read_graph, with_given
from tg_onnx.parameters import weights_of
from tg_onnx.plan import Plan, expand_functions, plan_graph, reduced
from tg_onnx.proto import Array, Source, load_model
from tg_onnx.registry import Map, Value
from tg_onnx.segments import SegmentedExecutor

Output: TypeAlias = "Tensor | Array | Map | list[Output] | None"


@methods_name_bad_arguments()
class OnnxRunner:
    """An ONNX model as a callable.

    >>> runner = OnnxRunner("model.onnx")
    >>> runner({"x": Tensor.ones(1, 3)})["y"].shape
    (1, 3)

    Raises `ModelFormatError` when the model cannot be read and `UnsupportedOperatorError` when
    it has operators that are not known; both before anything runs. `MissingModelError` is for a
    file that is not there, `TargetError` for a device that does not exist.
    """

    def __init__(self, model: Source, device: str | None = None, *, capture: bool = True) -> None:
        """`capture=False` runs node by node at every call."""
        proto, self.source, files = load_model(model)
        check_model(proto, self.source)
        proto = expand_functions(proto, self.source)
        self.graph: Graph = read_graph(proto, self.source, files)
        check_operators(self.graph)
        self.device = device if device is None else Device.canonicalize(device)
        self.capture = capture
        self._folded = folded(with_products(self.graph))
        self.plan: Plan = plan_graph(self._folded)
        self._executor = SegmentedExecutor(self.plan, device)
        self._parameters: dict[str, Tensor] | None = None
        self._subsets: dict[tuple[tuple[str, ...], tuple[str, ...]], Plan] = {
            (tuple(self.graph.outputs), ()): self.plan
        }

    @property
    def ran_on_host(self) -> Counter[str]:
        """How often operators ran by the reference implementation, a few integers aside."""
        return self._executor.ran_on_host

    @property
    def graph_inputs(self) -> Mapping[str, ValueInfo]:
        """The declared inputs by name."""
        return self.graph.inputs

    @property
    def graph_outputs(self) -> Mapping[str, ValueInfo]:
        """The declared outputs by name."""
        return self.graph.outputs

    def __call__(
        self, inputs: Mapping[str, object], outputs: Sequence[str] | None = None
    ) -> dict[str, Output]:
        """The outputs by name: all of them, or those named. Inputs are tensors, arrays or nested
        lists; sequences come as lists; strings, and element types that tensors do not have, as
        arrays. A constant that the model declares as an input too may be given as well.

        The first call with inputs of some dtypes and shapes gives expressions that are not yet
        realized. The second is captured and later ones are replayed: these give new tensors in
        memory, with no graph behind them. Nothing is captured where an input or a parameter
        requires a gradient, inside of another captured step, and with `capture=False`.

        Raises `ModelInputError` for inputs and outputs that the model does not declare, and
        `OperatorError` for a node that its inputs do not fit.
        """
        names = tuple(self.graph.outputs if outputs is None else outputs)
        given = tuple(name for name in self.graph.replaceable if name in inputs)
        plan = self._plan_for(names, given)
        values: dict[str, Value] = {"": None}
        for name, info in self.graph.inputs.items():
            values[name] = self._input(name, info, inputs)
        for name in given:
            values[name] = self._input(name, self.graph.replaceable[name], inputs)
        unknown = sorted(inputs.keys() - values.keys())
        if unknown:
            expected = ", ".join(self.graph.inputs) or "no inputs"
            raise ModelInputError(name=unknown[0], reason="no such input", expected=expected)
        frame = Frame(plan.graph, plan.habits, captures=self._may_capture(values))
        run = self._executor.run_segments if frame.captures else self._executor.run_plan
        results = run(plan, values, frame)
        return {name: self._output(name, value) for name, value in zip(names, results, strict=True)}

    def named_parameters(self) -> dict[str, Tensor]:
        """The weights by name: float constants with axes, other than statistics and bounds.

        They require gradients from now on, and each call reads what they are then: assign to
        them, or give them to an optimizer. While one requires a gradient, no call is captured by
        the runner itself; a training step as a whole can be a `TinyJit`.
        """
        if self._parameters is None:
            self._executor.train()
            self._parameters = {}
            for name, array in weights_of(self.plan).items():
                tensor = self._executor.tensor(array)
                assert isinstance(tensor, Tensor), "tensors hold all floats of weights"
                tensor.requires_grad = True
                self._executor.parameters[id(array)] = tensor
                self._parameters[name] = tensor
        return dict(self._parameters)

    def parameters(self) -> list[Tensor]:
        """The weights, as `named_parameters` has them."""
        return list(self.named_parameters().values())

    def _plan_for(self, names: tuple[str, ...], given: tuple[str, ...]) -> Plan:
        """The plan of what some of the outputs need, with constants that are given anew."""
        plan = self._subsets.get((names, given))
        if plan is not None:
            return plan
        for name in names:
            if name not in self.graph.outputs:
                expected = ", ".join(self.graph.outputs)
                raise ModelInputError(name=name, reason="no such output", expected=expected)
        graph = folded(with_given(self.graph, given)) if given else self._folded
        plan = self._subsets[names, given] = plan_graph(reduced(graph, names))
        return plan

    def _may_capture(self, values: Mapping[str, Value]) -> bool:
        if not self.capture or recorders.active or watchers.active:
            return False
        tensors = [value for value in values.values() if isinstance(value, Tensor)]
        tensors.extend((self._parameters or {}).values())
        return not any(tensor.requires_grad for tensor in tensors)

    def _input(self, name: str, info: ValueInfo, inputs: Mapping[str, object]) -> Value:
        if name not in inputs:
            if info.optional:
                return None
            raise ModelInputError(name=name, reason="it is missing", expected=str(info))
        given = inputs[name]
        if not info.is_tensor and (given is None or isinstance(given, list | dict)):
            return given
        if isinstance(given, Tensor):
            tensor = given
        else:
            array = _array(name, given, info)
            if not is_tensor_dtype(array):
                if info.is_tensor and info.dtype is not None:
                    reason = f"it is {shown(given)}"
                    raise ModelInputError(name=name, reason=reason, expected=str(info))
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

    def _output(self, name: str, value: Value) -> Output:
        if isinstance(value, list):
            return [self._output(name, element) for element in value]
        if isinstance(value, dict) or (
            isinstance(value, np.ndarray) and not is_tensor_dtype(value)
        ):
            return value
        info = self.graph.outputs[name]
        if value is None:
            if info.is_tensor:
                raise ModelFormatError(source=self.source, reason=f"output {name!r} has no value")
            return None
        tensor = self._executor.tensor(value)
        assert isinstance(tensor, Tensor), "an array of a dtype that tensors have"
        return tensor


def _array(name: str, given: object, info: ValueInfo) -> Array:
    try:
        return np.asarray(given)
    except ValueError as error:
        raise ModelInputError(name=name, reason=str(error), expected=str(info)) from error


def _fits(shape: tuple[int, ...], declared: tuple[int | str | None, ...]) -> bool:
    if len(shape) != len(declared):
        return False
    pairs = zip(shape, declared, strict=True)
    return all(not isinstance(want, int) or have == want for have, want in pairs)
