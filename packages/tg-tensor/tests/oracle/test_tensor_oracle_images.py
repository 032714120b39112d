"""Resizing, sampling and blocks of images, against PyTorch: values and gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

F = torch.nn.functional
Call = Callable[..., Any]


def numbers(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape) + 7 * len(shape))
    return rng.standard_normal(shape).astype(np.float32)


def assert_same(ours: Call, theirs: Call, *arrays: Any, gradients: bool = True) -> None:
    mine = [Tensor(x, requires_grad=True) for x in arrays]
    other = [torch.tensor(x, requires_grad=True) for x in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, wanted = ours(*mine), theirs(*other)
    assert tuple(found.shape) == tuple(wanted.shape)
    np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    if not gradients:
        return
    weights = numbers(*wanted.shape)
    flowing = (found * Tensor(weights)).sum().gradient(*mine)
    (wanted * torch.tensor(weights)).sum().backward()
    for gradient, tensor in zip(flowing, other, strict=True):
        np.testing.assert_allclose(gradient.numpy(), tensor.grad.numpy(), rtol=1e-3, atol=1e-4)


MODES: list[tuple[str, bool | None, bool]] = [
    ("nearest", None, False),
    ("nearest-exact", None, False),
    ("area", None, False),
    ("bilinear", False, False),
    ("bilinear", True, False),
    ("bilinear", False, True),
    ("bicubic", False, False),
    ("bicubic", True, False),
    ("bicubic", False, True),
]


@pytest.mark.parametrize(("mode", "corners", "antialias"), MODES, ids=str)
def test_resizing(mode: str, corners: bool | None, antialias: bool) -> None:
    x = numbers(2, 3, 7, 9)
    for size in ((13, 17), (3, 4), (7, 9), (1, 1), (14, 5)):
        assert_same(
            lambda x, size=size: x.interpolate(size, mode, corners, antialias=antialias),
            lambda x, size=size: F.interpolate(
                x, size, mode=mode, align_corners=corners, antialias=antialias
            ),
            x,
        )
    for factor in (2, 0.5, 1.7, (0.7, 2.3)):
        assert_same(
            lambda x, f=factor: x.interpolate(None, mode, corners, f, antialias),
            lambda x, f=factor: F.interpolate(
                x, scale_factor=f, mode=mode, align_corners=corners, antialias=antialias
            ),
            x,
            gradients=False,
        )


@pytest.mark.parametrize("mode", ["nearest", "linear", "area"])
def test_resizing_one_and_three_axes(mode: str) -> None:
    three = {"linear": "trilinear"}.get(mode, mode)
    assert_same(
        lambda x: x.interpolate(23, mode), lambda x: F.interpolate(x, 23, mode=mode),
        numbers(2, 3, 11),
    )  # fmt: skip
    assert_same(
        lambda x: x.interpolate((5, 2, 7), three),
        lambda x: F.interpolate(x, (5, 2, 7), mode=three),
        numbers(1, 2, 3, 4, 6),
    )


def test_nearest_elements_for_every_length() -> None:
    x = np.arange(37, dtype=np.float32).reshape(1, 1, 37)
    cases = [(size, mode) for size in range(1, 120, 7) for mode in ("nearest", "nearest-exact")]
    found = [Tensor(x).interpolate((size,), mode) for size, mode in cases]
    Tensor.realize(*found)
    for result, (size, mode) in zip(found, cases, strict=True):
        wanted = F.interpolate(torch.tensor(x), size, mode=mode)
        np.testing.assert_array_equal(result.numpy(), wanted.numpy())


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float64])
def test_resizing_other_dtypes(dtype: type) -> None:
    x = (np.abs(numbers(1, 2, 6, 6)) * 60).astype(dtype)
    for mode in ("nearest", "bilinear"):
        found = Tensor(x).interpolate((9, 4), mode).numpy()
        wanted = F.interpolate(torch.tensor(x), (9, 4), mode=mode).numpy()
        assert found.dtype == dtype
        # uint8 is resized in fixed point there
        np.testing.assert_allclose(
            found.astype(np.float64), wanted.astype(np.float64), rtol=2e-3, atol=1.01e-3 if dtype is
            np.float64 else 1,
        )  # fmt: skip


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_sampling(mode: str, padding: str) -> None:
    rng = np.random.default_rng(1)
    flat = rng.uniform(-1.6, 1.6, (2, 4, 5, 2)).astype(np.float32)
    deep = rng.uniform(-1.6, 1.6, (2, 3, 2, 2, 3)).astype(np.float32)
    for corners in (False, True):
        ours: Call = lambda x, g, c=corners: x.grid_sample(g, mode, padding, c)  # noqa: E731
        theirs: Call = lambda x, g, c=corners: F.grid_sample(x, g, mode, padding, c)  # noqa: E731
        smooth = mode != "nearest"
        assert_same(ours, theirs, numbers(2, 3, 6, 7), flat, gradients=smooth)
        if mode != "bicubic":
            assert_same(ours, theirs, numbers(2, 2, 3, 4, 5), deep, gradients=smooth)


@pytest.mark.parametrize("corners", [False, True])
def test_affine_grids(corners: bool) -> None:
    for size, theta in (((2, 3, 5, 6), numbers(2, 2, 3)), ((2, 1, 2, 3, 4), numbers(2, 3, 4))):
        assert_same(
            lambda t, size=size: t.affine_grid(size, corners),
            lambda t, size=size: F.affine_grid(t, size, corners),
            theta,
        )


WINDOWS: list[dict[str, Any]] = [
    {"kernel_size": 2},
    {"kernel_size": (3, 2), "stride": 2, "padding": 1},
    {"kernel_size": 3, "dilation": 2, "padding": 2},
    {"kernel_size": 2, "stride": 3},
]


@pytest.mark.parametrize("options", WINDOWS, ids=str)
def test_columns(options: dict[str, Any]) -> None:
    x = numbers(2, 3, 7, 8)
    assert_same(lambda x: x.im2col(**options), lambda x: F.unfold(x, **options), x)
    columns = F.unfold(torch.tensor(x), **options).numpy()
    assert_same(
        lambda x: x.fold((7, 8), **options), lambda x: F.fold(x, (7, 8), **options), columns
    )


def test_pixels() -> None:
    assert_same(lambda x: x.pixel_shuffle(2), lambda x: F.pixel_shuffle(x, 2), numbers(2, 8, 3, 4))
    assert_same(
        lambda x: x.pixel_unshuffle(2), lambda x: F.pixel_unshuffle(x, 2), numbers(2, 3, 4, 6)
    )
    assert_same(
        lambda x: x.channel_shuffle(2),
        lambda x: F.channel_shuffle(x, 2),
        numbers(2, 8, 3, 4),
        gradients=False,
    )
