"""Transposed convolutions and gradients of strided ones: only products that exist are summed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Context, GlobalCounters, Tensor

Array = npt.NDArray[np.floating[Any]]
rng = np.random.default_rng(0)

# batch, channels in and out, height, width, window, stride, padding, output padding
CASES = [
    (2, 16, 8, 9, 9, 3, 2, 1, 0),
    (2, 16, 8, 7, 7, 3, 2, 1, 1),
    (1, 8, 32, 6, 6, 2, 2, 0, 0),
    (1, 5, 48, 5, 4, 4, 2, 1, 0),
    (2, 33, 7, 5, 6, 5, 3, 2, 1),
    (1, 8, 3, 4, 4, 4, 4, 0, 0),
    (1, 4, 16, 9, 9, 7, 2, 3, 0),
    (3, 6, 1, 4, 5, 3, 2, 0, 0),
]


def transposed(x: Array, weight: Array, stride: int, padding: int, extra: int) -> Array:
    """Each element of `x` adds its multiple of the window where the window stood."""
    batch, _, height, width = x.shape
    _, outputs, window, _ = weight.shape
    shape = [(size - 1) * stride + window + extra for size in (height, width)]
    whole = np.zeros((batch, outputs, *shape), x.dtype)
    for i in range(height):
        for j in range(width):
            y, z = i * stride, j * stride
            part = np.einsum("nc,cokl->nokl", x[:, :, i, j], weight)
            whole[:, :, y : y + window, z : z + window] += part
    ends = [size - padding for size in shape]
    return whole[:, :, padding : ends[0], padding : ends[1]]


def operands(case: tuple[int, ...]) -> tuple[Array, Array]:
    batch, inputs, outputs, height, width, window, *_ = case
    x = rng.standard_normal((batch, inputs, height, width)).astype(np.float32)
    return x, rng.standard_normal((inputs, outputs, window, window)).astype(np.float32)


def drawn(*shape: int) -> Tensor:
    return Tensor(rng.standard_normal(shape).astype(np.float32)).realize()


@pytest.mark.parametrize("case", CASES)
def test_transposed_convolution(case: tuple[int, ...]) -> None:
    x, weight = operands(case)
    stride, padding, extra = case[-3:]
    result = Tensor(x).conv_transpose2d(
        Tensor(weight), stride=stride, padding=padding, output_padding=extra
    )
    expected = transposed(x, weight, stride, padding, extra)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES[:6])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "with a shortcut"])
def test_gradient_of_a_strided_convolution(case: tuple[int, ...], beside: bool) -> None:
    gradient, weight = operands(case)
    stride, padding, extra = case[-3:]
    expected = transposed(gradient, weight, stride, padding, extra)
    x = Tensor(np.zeros(expected.shape, np.float32))
    loss = (x.conv2d(Tensor(weight), stride=stride, padding=padding) * Tensor(gradient)).sum()
    if beside:
        loss = loss + (x[:, :, ::2, ::2] * 3).sum()
        expected[:, :, ::2, ::2] += 3
    (found,) = loss.gradient(x)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_what_is_left_out_cannot_spoil_the_sum() -> None:
    x, weight = operands((1, 4, 4, 6, 6, 3))
    weight[0, 0, 0, 0], weight[1, 1, 1, 1] = np.nan, np.inf
    x = np.abs(x) + 1
    expected = transposed(x, weight, 2, 1, 0)
    for unoptimized in (0, 1):
        with Context(NOOPT=unoptimized):
            result = Tensor(x).conv_transpose2d(Tensor(weight), stride=2, padding=1).numpy()
        assert 0 < np.isfinite(expected).sum() < expected.size
        np.testing.assert_array_equal(np.isfinite(result), np.isfinite(expected))


def test_phases_that_no_registers_hold() -> None:
    x, weight = drawn(1, 3, 2, 2, 2), drawn(3, 4, 3, 3, 3)
    whole = x.conv_transpose2d(weight, stride=4)
    assert whole.shape == (1, 4, 7, 7, 7)
    corner = np.einsum("c,cokl->okl", x.numpy()[0, :, 0, 0, 0], weight.numpy()[:, :, 0])
    np.testing.assert_allclose(whole.numpy()[0, :, 0, :3, :3], corner, rtol=1e-4, atol=1e-5)


def test_padding_may_leave_no_results() -> None:
    x, weight = drawn(2, 3, 1, 3), drawn(3, 4, 4, 2)
    nothing = x.conv_transpose2d(weight, padding=(2, 0))
    assert nothing.shape == (2, 4, 0, 4)
    gradient = nothing.sum().gradient(x)[0]
    np.testing.assert_array_equal(gradient.numpy(), np.zeros(x.shape))


def test_threads_and_optimizations_do_not_change_the_result() -> None:
    x, weight = (Tensor(array).realize() for array in operands((2, 32, 32, 14, 14, 3)))

    def run() -> Array:
        return x.conv_transpose2d(weight, stride=2, padding=1, output_padding=1).numpy()

    with Context(CPU_COUNT=2):
        two = run()
    with Context(CPU_COUNT=1):
        one = run()
    with Context(NOOPT=1):
        plain = run()
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(two, plain, rtol=1e-4, atol=1e-5)


def test_products_of_computed_factors_are_summed_where_they_are_made() -> None:
    # the gradient of a normalization is dear to compute, but not at the size of all products
    x, weight, other = (
        Tensor(rng.standard_normal(shape).astype(np.float32)).realize()
        for shape in ((2, 16, 8, 8), (32, 16, 3, 3), (32, 16, 1, 1))
    )
    scale = Tensor(rng.standard_normal((2, 32, 4, 4)).astype(np.float32)).realize()

    def normalized(value: Tensor) -> Tensor:
        return (value - value.mean(1, keepdim=True)) / (value.std(1, keepdim=True) + 1)

    both = normalized(x.conv2d(weight, stride=2, padding=1)) + x.conv2d(other, stride=2)
    (gradient,) = (both.square() * scale).sum().gradient(x)
    GlobalCounters.reset()
    gradient.realize()
    products = 2 * 32 * 16 * 3 * 3 * 4 * 4 * 4
    assert GlobalCounters.global_mem < products
