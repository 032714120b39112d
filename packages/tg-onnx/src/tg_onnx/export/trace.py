"""Trace a function on Tensors and write what it computes as a checked ONNX model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import onnx
from onnx import ModelProto, helper
from tg_tensor import Tensor
from tg_uop.ir.uop import UOp

from tg_onnx.errors import ExportError
from tg_onnx.export.axes import LARGEST, Axes, DynamicAxes, read_axes, text_of_size
from tg_onnx.export.calls import Notes, noted_calls
from tg_onnx.export.nodes import OPSET, Emitter, element_of
from tg_onnx.export.numbers import refuse_read_numbers

IR_VERSION = 10
"""Of the onnx releases that brought the opset."""

Result = Tensor | Sequence[Tensor] | Mapping[str, Tensor]


def export(
    function: Callable[..., Result],
    example_inputs: Tensor | Sequence[Tensor],
    path: str | Path,
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_axes: DynamicAxes | None = None,
) -> ModelProto:
    """Write `function` as a model of opset 21, with the shapes and dtypes of the examples.

    It takes as many Tensors as there are examples, and gives a Tensor, several, or a dict of them
    by their names.

    `dynamic_axes` names the axes of inputs that may have any size: `{"x0": {0: "batch"}}`, or
    `{"x0": [0]}` for a name made up. Axes of one name have one size. A `Variable` in place of a
    name says which sizes there may be; otherwise they go from 1, or from the smallest power of two
    at which the function does not ask what bounds do not tell, to `LARGEST`.

    What the function reads besides its arguments, such as weights, becomes part of the model. It
    is called twice, with other values and sizes the second time, to find out whether it reads
    values of its arguments, which a model cannot.

    Raises `ExportError` for operations that the opset cannot express, for values and sizes that
    are read, and for dynamic axes that are not there or do not fit together.
    """
    examples = [example_inputs] if isinstance(example_inputs, Tensor) else list(example_inputs)
    arrays = [tensor.numpy() for tensor in examples]
    ids = list(input_names or (f"x{i}" for i in range(len(arrays))))
    axes = read_axes(dynamic_axes or {}, dict(zip(ids, arrays, strict=True)))
    first, second = _two_traces(function, examples, arrays, axes)
    refuse_read_numbers((first.inputs, first.results), (second.inputs, second.results))
    emitter = Emitter(second.results, first.notes, axes.places, LARGEST if axes.names else math.inf)
    for name, node in zip(ids, first.inputs, strict=True):
        emitter.add_input(name, node)
    emitter.make_constants(first.results)
    names = list(output_names or first.names)
    for name, result in zip(names, first.results, strict=True):
        emitter.add_output(name, result)
    graph = helper.make_graph(
        emitter.needed(names),
        getattr(function, "__name__", "function"),
        [_declared(name, node) for name, node in zip(ids, first.inputs, strict=True)],
        [_declared(name, node) for name, node in zip(names, first.results, strict=True)],
        emitter.constants,
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="tg"
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save_model(model, str(path))
    return model


@dataclass(frozen=True, slots=True)
class Trace:
    """The nodes of inputs, of what a function makes of them by name, and its calls that are worth
    an operator.
    """

    inputs: list[UOp]
    results: list[UOp]
    names: list[str]
    notes: Notes


def _two_traces(
    function: Callable[..., Result],
    like: Sequence[Tensor],
    arrays: Sequence[np.ndarray],
    axes: Axes,
) -> tuple[Trace, Trace]:
    """With the examples, and with other values and sizes."""
    others = [_other(axes.lengthened(i, array)) for i, array in enumerate(arrays)]
    smallest = 1
    while True:
        try:
            with axes.at_least(smallest):
                second = _trace(function, like, others, axes)
                return _trace(function, like, arrays, axes), second
        except (TypeError, AssertionError) as error:
            if not axes.names:
                raise
            # a condition on a size that bounds do not decide
            smallest *= 2
            if smallest > axes.smallest_example:
                reason = f"{error}; a Variable instead of the name of an axis bounds its size"
                raise ExportError(operation="dynamic_axes", reason=reason) from error
        except MemoryError as error:
            reason = "it realizes a value with an axis of any size"
            raise ExportError(operation="realize", reason=reason) from error


def _trace(
    function: Callable[..., Result],
    like: Sequence[Tensor],
    arrays: Sequence[np.ndarray],
    axes: Axes,
) -> Trace:
    given = [
        axes.opened(i, Tensor(np.ascontiguousarray(array), device=old.device, dtype=old.dtype))
        for i, (array, old) in enumerate(zip(arrays, like, strict=True))
    ]
    inputs = [tensor.uop for tensor in given]
    with noted_calls() as notes:
        found = function(*given)
    results, names = _results(found)
    for result in results:
        if not isinstance(result, Tensor):
            raise ExportError(operation=type(result).__name__, reason="results are Tensors")
    return Trace(inputs, [tensor.uop for tensor in results], names, notes)


def _results(found: Result) -> tuple[list[Tensor], list[str]]:
    """What a function gives, and what it is called: by the keys of a dict, else by numbers."""
    if isinstance(found, Mapping):
        return list(found.values()), [str(name) for name in found]
    results = [found] if isinstance(found, Tensor) else list(found)
    return results, [f"y{i}" for i in range(len(results))]


def _other(array: np.ndarray) -> np.ndarray:
    """Other values that fit as well as these: for integers, the same in another order."""
    if array.dtype.kind == "f":
        return (array * 0.5 + 0.125).astype(array.dtype)
    if array.dtype.kind == "b":
        return ~array
    return np.flip(array)


def _declared(name: str, node: UOp) -> onnx.ValueInfoProto:
    sizes = [
        size if isinstance(size, int) else text_of_size(cast(UOp, size)) for size in node.shape
    ]
    return helper.make_tensor_value_info(name, element_of(node.dtype, node), sizes)
