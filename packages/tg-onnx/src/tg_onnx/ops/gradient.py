"""Gradient, of ai.onnx.preview.training: derivatives of one value of a graph by others."""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor import Tensor

from tg_onnx.registry import operator

DOMAIN = "ai.onnx.preview.training"


@operator("Gradient", domain=DOMAIN)
def gradient(
    *inputs: Tensor, xs: Sequence[str], y: str, zs: Sequence[str] = ()
) -> tuple[Tensor, ...]:
    """The gradients of the sum of `y` by what `xs` names, in their shapes.

    The inputs are what `xs` and `zs` name, and after them what `y` names: it has been computed
    from them when the node runs.
    """
    return tuple(inputs[-1].sum().gradient(*inputs[: len(xs)]))
