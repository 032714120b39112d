"""Convolution and pooling by every name, against direct loops in NumPy; what does not fit."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_tensor.errors import ArgumentError
from tg_uop.errors import ShapeError

SPATIAL = {1: (9,), 2: (6, 7), 3: (4, 5, 5)}
KERNEL = {1: (3,), 2: (3, 2), 3: (2, 3, 2)}


def numbers(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape) + 7 * len(shape))
    return rng.standard_normal(shape).astype(np.float32)


def windows_of(x: Any, kernel: tuple[int, ...], stride: int) -> Any:
    """All windows over the last axes, the kernel's axes last."""
    axes = tuple(range(x.ndim - len(kernel), x.ndim))
    every = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=axes)
    steps = (slice(None),) * (x.ndim - len(kernel)) + (slice(None, None, stride),) * len(kernel)
    return every[steps]


def convolved(x: Any, w: Any, stride: int = 1) -> Any:
    dims = w.ndim - 2
    slid = windows_of(x, w.shape[2:], stride)
    taps = tuple(range(slid.ndim - dims, slid.ndim))
    return np.moveaxis(np.tensordot(slid, w, axes=((1, *taps), (1, *range(2, w.ndim)))), -1, 1)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution(dims: int) -> None:
    x, w = numbers(2, 3, *SPATIAL[dims]), numbers(4, 3, *KERNEL[dims])
    convolve = getattr(Tensor(x), f"conv{dims}d")
    bias = numbers(4)
    shaped = bias.reshape((4,) + (1,) * dims)
    np.testing.assert_allclose(
        convolve(Tensor(w), Tensor(bias), stride=2).numpy(),
        convolved(x, w, 2) + shaped,
        rtol=1e-4,
        atol=1e-5,
    )
    same = convolve(Tensor(w), padding="same")
    assert same.shape == (2, 4, *SPATIAL[dims])
    alone = getattr(Tensor(x[0]), f"conv{dims}d")(Tensor(w))
    np.testing.assert_allclose(alone.numpy(), convolved(x, w)[0], rtol=1e-4, atol=1e-5)
    assert getattr(Tensor(x[:0]), f"conv{dims}d")(Tensor(w)).shape[0] == 0


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolution_is_the_transpose(dims: int) -> None:
    """<conv(x), y> = <x, conv_transpose(y)> for the sizes that fit."""
    x, w = numbers(1, 3, *SPATIAL[dims]), numbers(4, 3, *KERNEL[dims])
    forth = getattr(Tensor(x), f"conv{dims}d")(Tensor(w), stride=2)
    y = numbers(*forth.shape)
    rest = [(s - k) % 2 for s, k in zip(SPATIAL[dims], KERNEL[dims], strict=True)]
    back = getattr(Tensor(y), f"conv_transpose{dims}d")(Tensor(w), stride=2, output_padding=rest)
    assert back.shape == x.shape
    np.testing.assert_allclose(
        (forth.numpy() * y).sum(), (back.numpy() * x).sum(), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pools(dims: int) -> None:
    x = numbers(2, 3, *SPATIAL[dims])
    slid = windows_of(x, (2,) * dims, 2)
    taps = tuple(range(-dims, 0))
    largest, places = getattr(Tensor(x), f"max_pool{dims}d")(2, return_indices=True)
    np.testing.assert_array_equal(largest.numpy(), slid.max(taps))
    flat = x.reshape(2, 3, -1)
    picked = np.take_along_axis(flat, places.numpy().reshape(2, 3, -1), -1)
    np.testing.assert_array_equal(picked.reshape(largest.shape), largest.numpy())
    mean = getattr(Tensor(x), f"avg_pool{dims}d")(2)
    np.testing.assert_allclose(mean.numpy(), slid.mean(taps), rtol=1e-5, atol=1e-6)
    norm = getattr(Tensor(x), f"lp_pool{dims}d")(2, 2)
    np.testing.assert_allclose(norm.numpy(), np.sqrt((slid**2).sum(taps)), rtol=1e-5)
    back = getattr(largest, f"max_unpool{dims}d")(places, 2, output_size=SPATIAL[dims]).numpy()
    np.testing.assert_array_equal(back[back != 0], x[back != 0])
    assert (back != 0).sum() == largest.numel()


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pools_of_a_given_size(dims: int) -> None:
    x = numbers(2, 3, *SPATIAL[dims])
    sizes = (3, 2, 4)[:dims]
    largest, mean = np.zeros((2, 2, 3, *sizes), np.float32)
    for place in itertools.product(*map(range, sizes)):
        part = x[
            (
                slice(None),
                slice(None),
                *(
                    slice(p * own // size, -(-(p + 1) * own // size))
                    for p, own, size in zip(place, SPATIAL[dims], sizes, strict=True)
                ),
            )
        ].reshape(2, 3, -1)
        largest[(slice(None), slice(None), *place)] = part.max(-1)
        mean[(slice(None), slice(None), *place)] = part.mean(-1)
    found = getattr(Tensor(x), f"adaptive_max_pool{dims}d")(sizes)
    np.testing.assert_array_equal(found.numpy(), largest)
    found = getattr(Tensor(x), f"adaptive_avg_pool{dims}d")(sizes)
    np.testing.assert_allclose(found.numpy(), mean, rtol=1e-5, atol=1e-6)
    whole = getattr(Tensor(x), f"adaptive_avg_pool{dims}d")(1)
    np.testing.assert_allclose(
        whole.numpy().reshape(2, 3), x.reshape(2, 3, -1).mean(-1), rtol=1e-4, atol=1e-6
    )


X = numbers(1, 4, 6, 6)
W = numbers(4, 4, 3, 3)
MISTAKES: dict[str, tuple[type[Exception], Callable[[], object]]] = {
    "weights for another name": (ShapeError, lambda: Tensor(X).conv1d(Tensor(W))),
    "channels that do not fit": (ShapeError, lambda: Tensor(X[:, :3]).conv2d(Tensor(W))),
    "kernel too large": (ShapeError, lambda: Tensor(X).conv2d(Tensor(W), dilation=3)),
    "stride of 0": (ArgumentError, lambda: Tensor(X).conv2d(Tensor(W), stride=0)),
    "no groups": (ArgumentError, lambda: Tensor(X).conv2d(Tensor(W), groups=0)),
    "same with a stride": (
        ArgumentError,
        lambda: Tensor(X).conv2d(Tensor(W), stride=2, padding="same"),
    ),
    "three paddings": (ArgumentError, lambda: Tensor(X).conv2d(Tensor(W), padding=(1, 1, 1))),
    "bias of another length": (ShapeError, lambda: Tensor(X).conv2d(Tensor(W), Tensor([1.0]))),
    "too much output padding": (
        ArgumentError,
        lambda: Tensor(X).conv_transpose2d(Tensor(W), stride=2, output_padding=2),
    ),
    "groups that do not divide": (
        ShapeError,
        lambda: Tensor(X).conv_transpose2d(Tensor(W), groups=3),
    ),
    "window larger than all": (ShapeError, lambda: Tensor(X).max_pool2d(7)),
    "indices of another shape": (
        ShapeError,
        lambda: Tensor(X).max_unpool2d(Tensor([[[[0]]]]), 2),
    ),
    "three sizes for two axes": (
        ArgumentError,
        lambda: Tensor(X).adaptive_avg_pool2d((1, 2, 3)),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    error, mistake = MISTAKES[name]
    with pytest.raises(error):
        mistake()
