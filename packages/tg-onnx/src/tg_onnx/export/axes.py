"""Give inputs of a traced function axes of any size, each a Variable bound to its example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from tg_tensor import Tensor, Variable
from tg_uop import UOp
from tg_uop.ir.ops import Ops

from tg_onnx.errors import ExportError

LARGEST = 1 << 24
"""The largest size of an axis that is bounded by nothing else."""

Named = str | UOp
DynamicAxes = Mapping[str, Mapping[int, Named] | Sequence[int]]


class Axes:
    """The dynamic axes of inputs: `named` has, by input and axis, their names.

    `given` are the variables that the caller bounded, `sizes` the sizes of the examples by name,
    and `places` the input and axis that tells the size of each name.
    """

    def __init__(self, named: Sequence[Mapping[int, str]], given: Mapping[str, UOp]) -> None:
        self.named = named
        self.given = given
        self.sizes: dict[str, int] = {}
        self.places: dict[str, tuple[str, int]] = {}
        self._smallest = 1

    @property
    def names(self) -> list[str]:
        """Of all dynamic axes."""
        return list(self.places)

    @property
    def smallest_example(self) -> int:
        """The smallest size that an example has along an axis without bounds; 0 without any."""
        free = [size for name, size in self.sizes.items() if name not in self.given]
        return min(free, default=0)

    @contextmanager
    def at_least(self, smallest: int) -> Iterator[None]:
        """Inside, axes that the caller did not bound have this size or more."""
        before, self._smallest = self._smallest, smallest
        try:
            yield
        finally:
            self._smallest = before

    def note(self, name: str, size: int, place: tuple[str, int]) -> None:
        """An axis of an example. Raises `ExportError` where one of its name has another size."""
        if self.sizes.setdefault(name, size) != size:
            reason = f"{name!r} is {self.sizes[name]} and {size} in the examples"
            raise ExportError(operation="dynamic_axes", reason=reason)
        self.places.setdefault(name, place)

    def lengthened(self, index: int, array: np.ndarray) -> np.ndarray:
        """An array one longer along its dynamic axes, or shorter where there may be no more."""
        for axis, name in self.named[index].items():
            size = array.shape[axis]
            if size == self._bounds(name)[1]:
                array = np.take(array, range(max(size - 1, self._bounds(name)[0])), axis)
            else:
                last = np.take(array, [size - 1], axis)
                array = np.concatenate([array, last], axis)
        return array

    def opened(self, index: int, tensor: Tensor) -> Tensor:
        """A tensor whose dynamic axes are as long as variables that have their sizes."""
        named = self.named[index]
        if not named:
            return tensor.realize()
        pads, kept = [], []
        for axis, size in enumerate(tensor.shape):
            if axis not in named:
                pads.append((0, 0))
                kept.append(slice(None))
                continue
            low, high = self._bounds(named[axis])
            pads.append((0, high - size))
            kept.append(slice(0, Variable(named[axis], low, high).bind(size)))
        # a node of its own, that no view of the function is merged with
        return tensor.pad(pads)[tuple(kept)].contiguous()

    def _bounds(self, name: str) -> tuple[int, int]:
        if name in self.given:
            variable = self.given[name]
            return int(variable.vmin), int(variable.vmax)
        return min(self._smallest, self.sizes[name]), LARGEST


def read_axes(dynamic: DynamicAxes, examples: Mapping[str, np.ndarray]) -> Axes:
    """The axes that a caller named.

    Raises `ExportError` for inputs and axes that are not there, and sizes that do not fit.
    """
    unknown = sorted(dynamic.keys() - examples.keys())
    if unknown:
        inputs = ", ".join(examples)
        reason = f"there is no input {unknown[0]!r}, there are: {inputs}"
        raise ExportError(operation="dynamic_axes", reason=reason)
    given: dict[str, UOp] = {}
    named = [_named(name, dynamic.get(name, {}), a.ndim, given) for name, a in examples.items()]
    axes = Axes(named, given)
    for (name, array), own in zip(examples.items(), named, strict=True):
        for axis, called in own.items():
            axes.note(called, array.shape[axis], (name, axis))
            variable = given.get(called)
            if variable is not None and not variable.vmin <= array.shape[axis] <= variable.vmax:
                reason = f"{called!r} is {array.shape[axis]} in the example, outside of its bounds"
                raise ExportError(operation="dynamic_axes", reason=reason)
    return axes


def _named(
    name: str, own: Mapping[int, Named] | Sequence[int], ndim: int, given: dict[str, UOp]
) -> dict[int, str]:
    pairs = own if isinstance(own, Mapping) else {axis: f"{name}_{axis}" for axis in own}
    found: dict[int, str] = {}
    for axis, called in pairs.items():
        if not -ndim <= axis < ndim:
            reason = f"{name!r} has {ndim} axes, and none with the number {axis}"
            raise ExportError(operation="dynamic_axes", reason=reason)
        if isinstance(called, UOp):
            variable = called.src[0] if called.op is Ops.BIND else called
            given[variable.var_name] = variable
            called = variable.var_name
        found[axis % ndim] = called
    return found


def text_of_size(size: UOp) -> str:
    """An expression of variables, without the values that they are bound to."""
    bound = [node for node in size.toposort() if node.op is Ops.BIND]
    return size.substitute({node: node.src[0] for node in bound}).render()
