"""Note which calls of Tensor methods a function makes that ONNX has one operator for.

What a convolution or a lookup is made of says little to a runtime, and over an axis of any size
it is padded to the largest. While a function is traced, the methods listed in `WRITERS` leave a
note at their result: the operator to write instead of all that it was computed by.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from typing import Any, cast

from tg_tensor import Tensor
from tg_tensor.ops.conv import padding_pairs
from tg_uop import DType, UOp, dtypes
from tg_uop.ir.ops import Ops

Size = int | UOp
Input = UOp | tuple[Size, ...] | int | None
Sizes = int | Sequence[int]

SUMMED = (dtypes.float32, dtypes.float64, dtypes.float16)
SORTED = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
PLACES = (dtypes.int32, dtypes.int64)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator: values, lists of sizes and numbers it is given, None for what is left out, and
    which output is meant.
    """

    operator: str
    inputs: tuple[Input, ...]
    dtype: DType
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    place: int = 0


Notes = dict[UOp, Call]
Arguments = Mapping[str, Any]
Writer = Callable[[Tensor, Arguments], Sequence[Call] | None]
"""The calls that give the results of a method, or None where no operator does."""


def _window(given: Arguments, kernel: Sequence[int]) -> dict[str, Any] | None:
    """The attributes of a window; None for padding by a name that is no number, or below 0."""
    count = len(kernel)
    padding = given["padding"]
    if isinstance(padding, str):
        if padding != "valid":
            return None
        padding = 0
    pads = padding_pairs("export", padding, count)
    if min(min(pair) for pair in pads) < 0:
        return None
    stride = given["stride"]
    return {
        "kernel_shape": list(kernel),
        "strides": list(kernel) if stride is None else _per_axis(stride, count),
        "dilations": _per_axis(given["dilation"], count),
        "pads": [low for low, _ in pads] + [high for _, high in pads],
    }


def _per_axis(given: Sizes, count: int) -> list[int]:
    values = [given] if isinstance(given, int) else list(given)
    return values * count if len(values) == 1 else values


def _convolution(x: Tensor, given: Arguments) -> Sequence[Call] | None:
    weight, bias = given["weight"], given["bias"]
    same = all(t is None or t.dtype is x.dtype for t in (weight, bias))
    if x.ndim != weight.ndim or x.dtype not in SUMMED or not same or given.get("dtype"):
        return None
    window = _window(given, weight.shape[2:])
    if window is None:
        return None
    window["group"] = given["groups"]
    if "output_padding" in given:
        window["output_padding"] = _per_axis(given["output_padding"], weight.ndim - 2)
    operator = "ConvTranspose" if "output_padding" in given else "Conv"
    values = tuple(t.uop for t in (x, weight, bias) if t is not None)
    return [Call(operator, values, x.dtype, window)]


def _pool(operator: str, count: int) -> Writer:
    def write(x: Tensor, given: Arguments) -> Sequence[Call] | None:
        kernel = _per_axis(given["kernel_size"], count)
        plain = not given["ceil_mode"] and x.dtype is dtypes.float32 and x.ndim == count + 2
        if not plain or given.get("return_indices") or given.get("divisor_override"):
            return None
        window = _window(given, kernel)
        if window is None:
            return None
        if operator == "AveragePool":
            window["count_include_pad"] = int(given["count_include_pad"])
        return [Call(operator, (x.uop,), x.dtype, window)]

    return write


def _sum_so_far(x: Tensor, given: Arguments) -> Sequence[Call] | None:
    if not x.ndim or x.dtype not in (dtypes.float32, *PLACES):
        return None
    return [Call("CumSum", (x.uop, given["axis"]), x.dtype)]


def _sorted(x: Tensor, given: Arguments) -> Sequence[Call] | None:
    if not x.ndim or x.dtype not in SORTED:
        return None
    axis = given["dim"] % x.ndim
    largest = given["descending"] if "descending" in given else given["largest"]
    amount = cast(Size, given["k"] if "k" in given else x.shape[axis])
    attributes = {"axis": axis, "largest": int(largest), "sorted": 1}
    inputs = (x.uop, (amount,))
    values = Call("TopK", inputs, x.dtype, attributes, 2, 0)
    return [values, Call("TopK", inputs, dtypes.int64, attributes, 2, 1)]


def _order(x: Tensor, given: Arguments) -> Sequence[Call] | None:
    found = _sorted(x, given)
    return None if found is None else found[1:]


def _largest(operator: str) -> Writer:
    def write(x: Tensor, given: Arguments) -> Sequence[Call] | None:
        axis = given["axis"]
        if axis is None or not x.ndim or x.dtype not in SORTED:
            return None
        attributes = {"axis": axis % x.ndim, "keepdims": int(given["keepdim"])}
        return [Call(operator, (x.uop,), dtypes.int64, attributes)]

    return write


def _gathered(x: Tensor, given: Arguments) -> Sequence[Call] | None:
    index = given["index"]
    if not x.ndim or index.dtype not in PLACES or x.ndim != index.ndim:
        return None
    axis = given["dim"] % x.ndim
    return [Call("GatherElements", (x.uop, index.uop), x.dtype, {"axis": axis})]


def _looked_up(x: Tensor, given: Arguments) -> Sequence[Call] | None:
    index = given["index"]
    items = index if isinstance(index, tuple) else (index,)
    *before, wanted = items
    if any(not isinstance(item, slice) or item != slice(None) for item in before):
        return None
    if not isinstance(wanted, Tensor) or wanted.dtype not in PLACES or len(items) > x.ndim:
        return None
    return [Call("Gather", (x.uop, wanted.uop), x.dtype, {"axis": len(before)})]


WRITERS: Mapping[str, Writer] = {
    "conv2d": _convolution,
    "conv_transpose2d": _convolution,
    "max_pool1d": _pool("MaxPool", 1),
    "max_pool2d": _pool("MaxPool", 2),
    "max_pool3d": _pool("MaxPool", 3),
    "avg_pool1d": _pool("AveragePool", 1),
    "avg_pool2d": _pool("AveragePool", 2),
    "avg_pool3d": _pool("AveragePool", 3),
    "cumsum": _sum_so_far,
    "sort": _sorted,
    "argsort": _order,
    "topk": _sorted,
    "argmax": _largest("ArgMax"),
    "argmin": _largest("ArgMin"),
    "gather": _gathered,
    "__getitem__": _looked_up,
}


def _resized(x: Tensor, given: Arguments) -> tuple[Call, list[Size]] | None:
    """Images of any size, which no Tensor can resize yet, to a size that is said."""
    how = RESIZE.get(given["mode"])
    is_open = any(isinstance(n, UOp) for n in x.shape[2:])
    wanted = _resized_to(x, given) if is_open else None
    if how is None or wanted is None or given["antialias"]:
        return None
    shape = cast(list[Size], [*x.shape[:2], *wanted])
    attributes = dict(how)
    if given["align_corners"] and how["mode"] != "nearest":
        attributes["coordinate_transformation_mode"] = "align_corners"
    return Call("Resize", (x.uop, None, None, tuple(shape)), x.dtype, attributes), shape


def _resized_to(x: Tensor, given: Arguments) -> Sequence[Size] | None:
    """The sizes that are asked for, or those that whole factors give."""
    size, factor = given["size"], given["scale_factor"]
    spatial = cast(Sequence[Size], x.shape[2:])
    if size is not None:
        return [size] * len(spatial) if isinstance(size, int | UOp) else list(size)
    factors = [factor] * len(spatial) if isinstance(factor, int | float) else factor
    if factors is None or any(f != int(f) for f in factors):
        return None
    return [length * int(f) for length, f in zip(spatial, factors, strict=True)]


RESIZE: Mapping[str, Mapping[str, Any]] = {
    "nearest": {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    },
    "nearest-exact": {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
    **{name: {"mode": "linear"} for name in ("linear", "bilinear", "trilinear")},
    **{name: {"mode": "cubic", "cubic_coeff_a": -0.75} for name in ("cubic", "bicubic")},
}


def _placing(method: Callable[..., Any], notes: Notes) -> Callable[..., Any]:
    """Instead of a call that has to know all sizes, something of the shape that it gives."""
    parameters = signature(method)

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        bound = parameters.bind(*arguments, **named)
        bound.apply_defaults()
        given = dict(bound.arguments)
        x = given.pop("self")
        found = _resized(x, given)
        if found is None:
            return method(*arguments, **named)
        written, shape = found
        axes = tuple(range(2, x.ndim))
        # another node for each call
        place = (x.max(axes, keepdim=True) + len(notes)).cast(x.dtype).expand(shape)
        return _note(place, written, notes)

    return call


@contextmanager
def noted_calls() -> Iterator[Notes]:
    """The notes, by the nodes of results, of calls that this thread makes inside.

    One thread at a time: the methods are those of all.
    """
    notes: Notes = {}
    with _lock:
        before = dict(vars(Tensor))
        for name, writer in WRITERS.items():
            method = getattr(Tensor, name)
            setattr(Tensor, name, _of_this_thread(_noting(method, writer, notes), method))
        resize = Tensor.interpolate
        noting = _of_this_thread(_placing(resize, notes), resize)
        Tensor.interpolate = noting  # type: ignore[method-assign]
        try:
            yield notes
        finally:
            for name in (*WRITERS, "interpolate"):
                if name in before:
                    setattr(Tensor, name, before[name])
                else:
                    delattr(Tensor, name)


_lock = threading.RLock()


def _of_this_thread(noting: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method that takes notes where it is called by the thread that traces."""
    tracing = threading.get_ident()

    @wraps(plain)
    def call(*arguments: Any, **named: Any) -> Any:
        method = noting if threading.get_ident() == tracing else plain
        return method(*arguments, **named)

    return call


def _noting(method: Callable[..., Any], writer: Writer, notes: Notes) -> Callable[..., Any]:
    parameters = signature(method)

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        result = method(*arguments, **named)
        bound = parameters.bind(*arguments, **named)
        bound.apply_defaults()
        given = dict(bound.arguments)
        calls = writer(given.pop("self"), given)
        if calls is None:
            return result
        results = result if isinstance(result, tuple) else (result,)
        marked = tuple(_note(t, c, notes) for t, c in zip(results, calls, strict=True))
        return marked if isinstance(result, tuple) else marked[0]

    return call


def _note(result: Tensor, call: Call, notes: Notes) -> Tensor:
    """The result behind a node of its own, which no later view is merged with."""
    if result.uop.op is Ops.CONTIGUOUS:
        # the value that was given, as it is
        return result
    marked = result.contiguous()
    if marked.uop.op is Ops.CONTIGUOUS:
        notes[marked.uop] = call
    return marked
