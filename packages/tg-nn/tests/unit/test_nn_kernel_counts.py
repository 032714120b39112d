"""How many kernels layers and steps of optimizers take, on shapes that nobody thought of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tg_nn import BatchNorm, Conv2d, LayerNorm, Linear, RMSNorm
from tg_nn.optim import LAMB, LARS, SGD, AdamW, Muon, Optimizer
from tg_nn.state import get_parameters
from tg_tensor import GlobalCounters, Tensor

rng = np.random.default_rng(0)


def data(*shape: int) -> Tensor:
    return Tensor(rng.standard_normal(shape).astype(np.float32)).realize()


def kernels(*values: Tensor) -> int:
    GlobalCounters.reset()
    Tensor.realize(*values)
    return int(GlobalCounters.kernel_count)


CONVOLUTIONS = [
    ((1, 3, 7, 9), (5, 3), {"padding": 1}),
    ((2, 8, 16, 16), (8, 3), {"stride": 2}),
    ((1, 1, 3, 3), (1, 1), {}),
    ((4, 16, 5, 5), (32, 1), {"bias": False}),
    ((2, 6, 9, 11), (6, 3), {"groups": 6, "padding": 1}),
    ((1, 4, 12, 12), (4, 3), {"dilation": 2}),
]


@pytest.mark.parametrize(("shape", "layer", "options"), CONVOLUTIONS)
def test_convolution_norm_and_activation_are_one_kernel(
    shape: tuple[int, ...], layer: tuple[int, int], options: dict[str, int]
) -> None:
    """At inference, whatever the steps and groups."""
    conv = Conv2d(shape[1], layer[0], layer[1], **options)  # type: ignore[arg-type]
    norm = BatchNorm(layer[0])
    Tensor.realize(*get_parameters([conv, norm]))
    with Tensor.train(False):
        assert kernels(norm(conv(data(*shape))).relu()) == 1


@pytest.mark.parametrize("shape", [(3, 40), (2, 7, 33), (1, 768), (5, 6, 7, 48)])
def test_norms_and_what_follows_them(shape: tuple[int, ...]) -> None:
    """A norm is one kernel, with the line before it a product more."""
    norm, rms, line = LayerNorm(shape[-1]), RMSNorm(shape[-1]), Linear(shape[-1], 9)
    Tensor.realize(*get_parameters([norm, rms, line]))
    assert kernels(norm(data(*shape)).gelu()) == 1
    assert kernels(rms(data(*shape)) * 2) == 1
    assert kernels(line(norm(data(*shape))).relu()) <= 2


STEPS: list[tuple[Callable[[Sequence[Tensor]], Optimizer], int]] = [
    (lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True), 1),
    # the numbers that count the steps are read by all others, so that they wait for a kernel
    (lambda p: AdamW(p, lr=0.1), 2),
    # the norms of each parameter, and of each direction or gradient
    (lambda p: LAMB(p, lr=0.1, weight_decay=0.1), 2 + 3),
    (lambda p: LARS(p, lr=0.1), 1 + 2 * 3),
    # two rounds of three products for the matrix, and one to begin with
    (lambda p: Muon(p, lr=0.1, ns_steps=2), 1 + 3 * 2 + 1),
]


@pytest.mark.parametrize(("build", "most"), STEPS)
def test_a_step_is_one_kernel_and_its_norms(
    build: Callable[[Sequence[Tensor]], Optimizer], most: int
) -> None:
    params = [data(*shape).requires_grad_() for shape in ((12, 20), (12,), (1,))]
    optimizer = build(params)
    for _ in range(2):
        for param in params:
            param.grad = data(*param.shape)
        GlobalCounters.reset()
        with Tensor.train():
            optimizer.step()
    assert GlobalCounters.kernel_count <= most
