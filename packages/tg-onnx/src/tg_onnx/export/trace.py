"""Trace a function on Tensors and write what it computes as a checked ONNX model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, helper
from tg_tensor import Tensor
from tg_uop.ir.uop import UOp

from tg_onnx.errors import ExportError
from tg_onnx.export.nodes import OPSET, Emitter, element_of, sizes_of

IR_VERSION = 10
"""Of the onnx releases that brought the opset."""

Result = Tensor | Sequence[Tensor]


def export(
    function: Callable[..., Result],
    example_inputs: Sequence[Tensor],
    path: str | Path,
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_axes: Mapping[str, Mapping[int, str]] | None = None,
) -> ModelProto:
    """Write `function` as a model of opset 21, with the shapes and dtypes of the examples.

    What the function reads besides its arguments, such as weights, becomes part of the model. It
    is called twice, with other values the second time, to find out whether it reads values of its
    arguments, which a model cannot.

    Raises `ExportError` for operations that the opset cannot express, values that are read, and
    `dynamic_axes`, since sizes are fixed when a function is traced.
    """
    if dynamic_axes:
        raise ExportError(operation="dynamic_axes", reason="sizes are those of the examples")
    arrays = [tensor.numpy() for tensor in example_inputs]
    ids = list(input_names or (f"x{i}" for i in range(len(arrays))))
    emitter = Emitter(_trace(function, example_inputs, [_other(a) for a in arrays])[1])
    inputs, results = _trace(function, example_inputs, arrays)
    for name, node in zip(ids, inputs, strict=True):
        emitter.add_input(name, node)
    names = list(output_names or (f"y{i}" for i in range(len(results))))
    for name, result in zip(names, results, strict=True):
        emitter.add_output(name, result)
    graph = helper.make_graph(
        emitter.needed(names),
        getattr(function, "__name__", "function"),
        [_declared(name, node) for name, node in zip(ids, inputs, strict=True)],
        [_declared(name, node) for name, node in zip(names, results, strict=True)],
        emitter.constants,
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="tg"
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save_model(model, str(path))
    return model


def _trace(
    function: Callable[..., Result], like: Sequence[Tensor], arrays: Sequence[np.ndarray]
) -> tuple[list[UOp], list[UOp]]:
    """The nodes of fresh inputs, and of what the function makes of them."""
    given = [
        Tensor(np.ascontiguousarray(array), device=old.device, dtype=old.dtype).realize()
        for array, old in zip(arrays, like, strict=True)
    ]
    found = function(*given)
    results = [found] if isinstance(found, Tensor) else list(found)
    for result in results:
        if not isinstance(result, Tensor):
            raise ExportError(operation=type(result).__name__, reason="results are Tensors")
    return [tensor.uop for tensor in given], [result.uop for result in results]


def _other(array: np.ndarray) -> np.ndarray:
    """Other values that fit as well as these: for integers, the same in another order."""
    if array.dtype.kind == "f":
        return (array * 0.5 + 0.125).astype(array.dtype)
    if array.dtype.kind == "b":
        return ~array
    return np.flip(array)


def _declared(name: str, node: UOp) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_of(node.dtype, node), sizes_of(node))
