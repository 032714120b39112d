"""Control flow and optional values: the host decides, the bodies run as graphs of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from tg_tensor import Tensor
from tg_tensor.realize import recorders

from tg_onnx.host import as_array
from tg_onnx.model import Node
from tg_onnx.registry import Value

Body = Callable[..., list[Value]]
Control = Callable[[Node, Sequence[Value], Mapping[str, Body]], Sequence[Value]]


GOING = np.asarray(True)
"""The condition of a round that runs: one object, so that captured rounds know it."""
MOST_ROUNDS = 1024
"""More rounds are not captured as one step, which would hold the kernels of all of them."""


def rounds_of(node: Node, inputs: Sequence[Value]) -> int:
    """How many rounds a loop goes at most, as far as that is known on the host; 0 for none."""
    if node.operator == "Loop":
        return int(inputs[0].item()) if isinstance(inputs[0], np.ndarray) else 0
    return _length(inputs[-1], 0) if node.operator == "Scan" and node.opset >= FIRST_SCAN else 0


FIRST_SCAN = 9
"""Before this opset the first axis of everything in a Scan is a batch."""


def run_if(node: Node, inputs: Sequence[Value], bodies: Mapping[str, Body]) -> Sequence[Value]:
    """One of two graphs."""
    return bodies["then_branch" if _truth(inputs[0]) else "else_branch"]()


def run_loop(node: Node, inputs: Sequence[Value], bodies: Mapping[str, Body]) -> Sequence[Value]:
    """A graph again and again, for a number of times, while a condition holds."""
    limit = None if inputs[0] is None else int(_host(inputs[0]).item())
    going = len(inputs) < 2 or inputs[1] is None or _truth(inputs[1])
    carried = list(inputs[2:])
    columns: list[list[Value]] = []
    iteration = 0
    while going and (limit is None or iteration < limit):
        results = bodies["body"](np.asarray(iteration, np.int64), GOING, *carried)
        going = _truth(results[0])
        carried = [_settled(value) for value in results[1 : 1 + len(carried)]]
        scanned = results[1 + len(carried) :]
        columns = columns or [[] for _ in scanned]
        for column, value in zip(columns, scanned, strict=True):
            column.append(_settled(value))
        iteration += 1
    if not columns:
        count = len(node.subgraphs["body"].outputs) - 1 - len(carried)
        names = list(node.subgraphs["body"].outputs)[1 + len(carried) :]
        return [*carried, *(_empty(node, name) for name in names[:count])]
    return [*carried, *(stack(column, 0) for column in columns)]


def run_scan(node: Node, inputs: Sequence[Value], bodies: Mapping[str, Body]) -> Sequence[Value]:
    """A graph for each element along an axis of its last inputs."""
    if node.opset < FIRST_SCAN:
        return _scan_batches(node, inputs[1:], bodies["body"])
    return _scan(node, inputs, bodies["body"], "scan_input_directions")


def _scan_batches(node: Node, inputs: Sequence[Value], body: Body) -> Sequence[Value]:
    """Before opset 9 the first axis of everything is a batch."""
    arrays = [_host(value) for value in inputs]
    batches = [
        _scan(node, [array[i] for array in arrays], body, "directions")
        for i in range(len(arrays[0]))
    ]
    return [stack(list(column), 0) for column in zip(*batches, strict=True)]


def _scan(node: Node, inputs: Sequence[Value], body: Body, directions: str) -> Sequence[Value]:
    scans = _integer(node, "num_scan_inputs")
    states = list(inputs[: len(inputs) - scans])
    scanned = inputs[len(inputs) - scans :]
    axes = _integers(node, "scan_input_axes", scans)
    reverse = _integers(node, directions, scans)
    length = _length(scanned[0], axes[0])
    columns: list[list[Value]] = []
    for step in range(length):
        parts = [
            _element(value, axis, length - 1 - step if backward else step)
            for value, axis, backward in zip(scanned, axes, reverse, strict=True)
        ]
        results = [_settled(value) for value in body(*states, *parts)]
        outputs = results[len(states) :]
        states = results[: len(states)]
        columns = columns or [[] for _ in outputs]
        for column, value in zip(columns, outputs, strict=True):
            column.append(value)
    out_axes = _integers(node, "scan_output_axes", len(columns))
    out_reverse = _integers(node, "scan_output_directions", len(columns))
    joined = [
        stack(column[::-1] if backward else column, axis)
        for column, axis, backward in zip(columns, out_axes, out_reverse, strict=True)
    ]
    return [*states, *joined]


def make_optional(
    node: Node, inputs: Sequence[Value], bodies: Mapping[str, Body]
) -> Sequence[Value]:
    """The value, or none."""
    return [inputs[0] if inputs else None]


def has_element(node: Node, inputs: Sequence[Value], bodies: Mapping[str, Body]) -> Sequence[Value]:
    """Whether there is a value."""
    return [np.asarray(bool(inputs) and inputs[0] is not None)]


def get_element(node: Node, inputs: Sequence[Value], bodies: Mapping[str, Body]) -> Sequence[Value]:
    """The value of an optional that has one."""
    if inputs[0] is None:
        raise ValueError("the optional has no value")
    return [inputs[0]]


CONTROL: dict[str, Control] = {
    "If": run_if,
    "Loop": run_loop,
    "Scan": run_scan,
    "Optional": make_optional,
    "OptionalHasElement": has_element,
    "OptionalGetElement": get_element,
}


def stack(values: Sequence[Value], axis: int) -> Value:
    """The values side by side along a new axis."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    if len(tensors) == len(values) > 0:
        return tensors[0].stack(*tensors[1:], dim=axis)
    return np.stack([_host(value) for value in values], axis)


def _empty(node: Node, name: str) -> Value:
    info = node.subgraphs["body"].outputs[name]
    dims = [size if isinstance(size, int) else 0 for size in info.shape or ()]
    array = np.zeros((0, *dims), np.float32)
    return Tensor(array).cast(info.dtype) if info.dtype is not None else array


def _settled(value: Value) -> Value:
    """Computed, so that graphs do not grow from one iteration to the next."""
    return value.realize() if isinstance(value, Tensor) else value


def _host(value: Value) -> np.ndarray:
    array = as_array(value)
    if array is None:
        raise ValueError("a value is missing")
    return array


def _truth(value: Value) -> bool:
    return bool(_host(value).reshape(-1)[0])


def _length(value: Value, axis: int) -> int:
    if value is None or isinstance(value, list | dict):
        raise TypeError("Scan goes over tensors")
    return int(value.shape[axis])


def _element(value: Value, axis: int, position: int) -> Value:
    if value is None or isinstance(value, list | dict):
        raise TypeError("Scan goes over tensors")
    dim = axis + value.ndim if axis < 0 else axis
    if isinstance(value, Tensor) and recorders.active:
        # a number in memory: in a captured step one kernel for all rounds
        number = Tensor(np.array([position], np.int32), device=value.device)
        return value.index_select(dim, number).squeeze(dim)
    return value[(slice(None),) * dim + (position,)]


def _integer(node: Node, name: str) -> int:
    value = node.attributes[name]
    if not isinstance(value, int):
        raise TypeError(f"{name} is an integer")
    return value


def _integers(node: Node, name: str, count: int) -> list[int]:
    value = node.attributes.get(name)
    return [int(v) for v in value] if isinstance(value, list) else [0] * count
