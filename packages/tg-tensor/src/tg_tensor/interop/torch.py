"""PyTorch's tensors from Tensors and back, sharing memory on a CPU.

PyTorch is optional: it is imported when a function here is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tg_tensor.tensor import Tensor


def to_torch(x: Tensor, *, copy: bool | None = None) -> Any:
    """A tensor of PyTorch on the memory of `x`, with its values, dtype and wish for a gradient.

    Values that are not in the memory of the CPU are copied. A gradient does not cross: each library
    differentiates its own operations. Raises `ExchangeError` where `copy=False` cannot be had.
    """
    made = import_module("torch").from_dlpack(x.__dlpack__(copy=copy))
    return made.requires_grad_() if x.requires_grad else made


def from_torch(tensor: Any, *, copy: bool | None = None) -> Tensor:
    """A Tensor on the memory of a tensor of PyTorch on a CPU.

    Raises `ExchangeError` for a tensor of another device, and where `copy=False` cannot be had.
    """
    made = Tensor.from_dlpack(tensor.detach(), copy=copy)
    if tensor.requires_grad:
        made.requires_grad_()
    return made
