"""Resizing, sampling and blocks of images: known values, kernel counts, what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor
from tg_tensor.errors import ArgumentError
from tg_uop.errors import ShapeError


def numbers(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape) + 7 * len(shape))
    return rng.standard_normal(shape).astype(np.float32)


RAMP = np.arange(8, dtype=np.float32)


@pytest.mark.parametrize("antialias", [False, True])
def test_a_ramp_stays_a_ramp(antialias: bool) -> None:
    """Away from the ends linear interpolation is exact on straight lines."""
    for length in (4, 16):
        found = Tensor(RAMP).interpolate((length,), antialias=antialias).numpy()
        wanted = (np.arange(length) + 0.5) * (8 / length) - 0.5
        edge = 5 if length > 8 else 1
        np.testing.assert_allclose(found[edge:-edge], wanted[edge:-edge], atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "cubic", "area"])
def test_what_is_constant_stays_so(mode: str) -> None:
    for length in (3, 8, 13, 16):
        found = Tensor.full((1, 8), 2.5).interpolate((length,), mode)
        np.testing.assert_allclose(found.numpy(), np.full((1, length), 2.5), rtol=1e-6)
    assert Tensor(RAMP).interpolate((4,), "area").tolist() == [0.5, 2.5, 4.5, 6.5]


def test_corners_and_nearest_elements() -> None:
    x = Tensor([[0.0, 10.0]])
    np.testing.assert_allclose(
        x.interpolate((5,), "linear", True).numpy(), [[0, 2.5, 5, 7.5, 10]], atol=1e-6
    )
    assert x.interpolate((3,), "nearest").tolist() == [[0.0, 0.0, 10.0]]
    assert x.interpolate((4,), "nearest-exact").tolist() == [[0.0, 0.0, 10.0, 10.0]]
    image = Tensor(numbers(1, 1, 2, 2))
    assert image.upsample(scale_factor=3).shape == (1, 1, 6, 6)
    assert image.interpolate(scale_factor=1.5, mode="bilinear").shape == (1, 1, 3, 3)
    whole = Tensor(np.array([[[[0, 255]]]], np.uint8)).interpolate((1, 3), "bilinear")
    assert whole.tolist() == [[[[0, 128, 255]]]]


@pytest.mark.parametrize(
    ("mode", "most"), [("nearest", 2), ("bilinear", 2), ("bicubic", 2), ("area", 4)]
)
def test_kernel_counts(mode: str, most: int) -> None:
    x = Tensor(numbers(2, 3, 8, 8)).realize()
    for size in ((13, 17), (16, 16), (5, 4)):
        before = GlobalCounters.kernel_count
        x.interpolate(size, mode).realize()
        assert GlobalCounters.kernel_count - before <= most


def test_sampling_at_the_elements_themselves() -> None:
    x = numbers(2, 3, 4, 5)
    same = Tensor([[[1.0, 0, 0], [0, 1, 0]]] * 2)
    for mode in ("bilinear", "nearest", "bicubic"):
        for corners in (False, True):
            grid = same.affine_grid((2, 3, 4, 5), corners)
            found = Tensor(x).grid_sample(grid, mode, align_corners=corners)
            np.testing.assert_allclose(found.numpy(), x, atol=1e-5)
    mirrored = (same * Tensor([[-1.0], [1.0]])).affine_grid((2, 3, 4, 5))
    found = Tensor(x).grid_sample(mirrored)
    np.testing.assert_allclose(found.numpy(), x[..., ::-1], atol=1e-5)


def test_sampling_outside() -> None:
    x = Tensor(np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2))
    far = Tensor([[[[5.0, 5.0], [-1e30, 1e30]]]])
    assert x.grid_sample(far).tolist() == [[[[0.0, 0.0]]]]
    assert x.grid_sample(far, padding_mode="border").tolist() == [[[[4.0, 3.0]]]]
    near = Tensor([[[[1.0, 1.0]]]])
    assert x.grid_sample(near, padding_mode="reflection").tolist() == [[[[4.0]]]]


def test_blocks_come_back() -> None:
    x = Tensor(numbers(2, 8, 4, 6))
    assert x.pixel_shuffle(2).shape == (2, 2, 8, 12)
    np.testing.assert_array_equal(x.pixel_shuffle(2).pixel_unshuffle(2).numpy(), x.numpy())
    assert Tensor([[0, 1, 2, 3]]).channel_shuffle(2).tolist() == [[0, 2, 1, 3]]
    columns = x.im2col(2, stride=2)
    assert columns.shape == (2, 32, 6)
    np.testing.assert_array_equal(columns.fold((4, 6), 2, stride=2).numpy(), x.numpy())
    times = Tensor.ones(1, 1, 3, 3).im2col(2).fold((3, 3), 2)
    assert times.tolist() == [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]


I = Tensor(numbers(1, 2, 4, 4))
MISTAKES: dict[str, tuple[type[Exception], Callable[[], object]]] = {
    "unknown mode": (ArgumentError, lambda: I.interpolate((2, 2), "sharp")),
    "mode for another rank": (ArgumentError, lambda: I.interpolate((2, 2), "trilinear")),
    "corners of nearest": (ArgumentError, lambda: I.interpolate((2, 2), "nearest", True)),
    "no size": (ArgumentError, lambda: I.interpolate()),
    "two sizes": (ArgumentError, lambda: I.interpolate((2, 2), scale_factor=2.0)),
    "size of 0": (ArgumentError, lambda: I.interpolate((0, 2))),
    "points of another batch": (ShapeError, lambda: I.grid_sample(Tensor.zeros(2, 1, 1, 2))),
    "unknown padding": (
        ArgumentError,
        lambda: I.grid_sample(Tensor.zeros(1, 1, 1, 2), padding_mode="wrap"),
    ),
    "maps of another shape": (ShapeError, lambda: Tensor.zeros(1, 3, 3).affine_grid((1, 1, 2, 2))),
    "channels that do not fit": (ShapeError, lambda: I.pixel_shuffle(2)),
    "image that does not fit": (ShapeError, lambda: I.pixel_unshuffle(3)),
    "groups that do not divide": (ShapeError, lambda: I.channel_shuffle(3)),
    "columns that do not fit": (ShapeError, lambda: Tensor.zeros(1, 4, 5).fold((4, 4), 2)),
    "columns of what is no image": (ShapeError, lambda: Tensor.zeros(4, 5).im2col(2)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    error, mistake = MISTAKES[name]
    with pytest.raises(error):
        mistake()
