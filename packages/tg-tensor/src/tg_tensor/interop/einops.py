"""Tensors for the functions of einops: `import tg_tensor.interop.einops` is all that it takes.

`einops.array_api` works without it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from einops._backends import AbstractBackend
from tg_tensor.tensor import Tensor

Array = npt.NDArray[np.generic]


class TensorBackend(AbstractBackend):  # type: ignore[misc]
    """How einops reshapes, joins and reduces Tensors; it finds this class by its base."""

    framework_name = "tg_tensor"

    def is_appropriate_type(self, tensor: object) -> bool:
        """Whether it is a Tensor."""
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Array) -> Tensor:
        """A Tensor of an array."""
        return Tensor(x)

    def to_numpy(self, x: Tensor) -> Array:
        """An array of the values."""
        return x.numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        """The integers from `start` to before `stop`."""
        return Tensor.arange(start, stop)

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """The axes in another order."""
        return x.permute(tuple(axes))

    def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
        """A reduction by its name, such as "sum"."""
        found: Tensor = getattr(x, operation)(axis=tuple(axes))
        return found

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
        """The Tensors along an axis of their own."""
        return tensors[0].stack(*tensors[1:]) if len(tensors) > 1 else tensors[0].unsqueeze(0)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        """With an axis of size 1."""
        return x.unsqueeze(new_position)

    def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
        """The whole repeated along each axis."""
        return x.repeat(tuple(repeats))

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """The Tensors one after the other along an axis."""
        return tensors[0].cat(*tensors[1:], dim=axis)

    def is_float_type(self, x: Tensor) -> bool:
        """Whether a mean can be taken."""
        return x.dtype.is_float

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        """The sum of products that a formula says."""
        return Tensor.einsum(pattern, *x)
