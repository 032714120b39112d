"""Convolution and pooling in one, two and three dimensions, every option, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

F = torch.nn.functional
Call = Callable[..., Any]
SPATIAL = {1: (9,), 2: (7, 9), 3: (4, 5, 6)}
KERNEL = {1: (3,), 2: (3, 2), 3: (2, 3, 2)}


def numbers(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape) + 7 * len(shape))
    return rng.standard_normal(shape).astype(np.float32)


def assert_same(ours: Call, theirs: Call, *arrays: Any, gradients: bool = True) -> None:
    mine = [Tensor(x, requires_grad=True) for x in arrays]
    other = [torch.tensor(x, requires_grad=True) for x in arrays]
    found, wanted = ours(*mine), theirs(*other)
    assert tuple(found.shape) == tuple(wanted.shape)
    np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    if not gradients or not wanted.numel():
        return
    weights = numbers(*wanted.shape)
    flowing = (found * Tensor(weights)).sum().gradient(*mine)
    (wanted * torch.tensor(weights)).sum().backward()
    for gradient, tensor in zip(flowing, other, strict=True):
        np.testing.assert_allclose(gradient.numpy(), tensor.grad.numpy(), rtol=1e-3, atol=1e-4)


CONVOLUTIONS: list[dict[str, Any]] = [
    {},
    {"stride": 2, "padding": 1},
    {"padding": "same"},
    {"padding": "same", "dilation": 2},
    {"padding": "valid"},
    {"groups": 2},
    {"groups": 4, "stride": 2},
]


@pytest.mark.parametrize("options", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution(dims: int, options: dict[str, Any]) -> None:
    inputs = 4 // options.get("groups", 1)
    assert_same(
        lambda x, w, b: getattr(x, f"conv{dims}d")(w, b, **options),
        lambda x, w, b: getattr(F, f"conv{dims}d")(x, w, b, **options),
        numbers(2, 4, *SPATIAL[dims]),
        numbers(8, inputs, *KERNEL[dims]),
        numbers(8),
    )


TRANSPOSED: list[dict[str, Any]] = [
    {},
    {"stride": 2, "output_padding": 1},
    {"stride": 3, "output_padding": 2, "padding": 1},
    {"dilation": 2, "output_padding": 1},
    {"groups": 2, "stride": 2},
    {"groups": 4},
]


@pytest.mark.parametrize("options", TRANSPOSED, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolution(dims: int, options: dict[str, Any]) -> None:
    groups = options.get("groups", 1)
    assert_same(
        lambda x, w, b: getattr(x, f"conv_transpose{dims}d")(w, b, **options),
        lambda x, w, b: getattr(F, f"conv_transpose{dims}d")(x, w, b, **options),
        numbers(2, 4, *SPATIAL[dims]),
        numbers(4, 8 // groups, *KERNEL[dims]),
        numbers(8),
        gradients=dims < 3,
    )


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_no_batch_and_an_empty_one(dims: int) -> None:
    w = numbers(4, 4, *KERNEL[dims])
    for name in (f"conv{dims}d", f"conv_transpose{dims}d"):
        ours: Call = lambda x, w, name=name: getattr(x, name)(w)  # noqa: E731
        theirs: Call = lambda x, w, name=name: getattr(F, name)(x, w)  # noqa: E731
        assert_same(ours, theirs, numbers(4, *SPATIAL[dims]), w)
        assert_same(ours, theirs, numbers(0, 4, *SPATIAL[dims]), w)


POOLS: list[dict[str, Any]] = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    {"kernel_size": 3, "stride": 3, "padding": 1, "ceil_mode": True},
    {"kernel_size": 2, "stride": 1},
]


@pytest.mark.parametrize("options", POOLS, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pools(dims: int, options: dict[str, Any]) -> None:
    x = numbers(2, 3, *SPATIAL[dims])
    largest, mean = f"max_pool{dims}d", f"avg_pool{dims}d"
    for dilation in (1, 2) if dims < 3 else (1,):
        given = {**options, "dilation": dilation}
        assert_same(
            lambda x, given=given: getattr(x, largest)(**given),
            lambda x, given=given: getattr(F, largest)(x, **given),
            x,
        )
        places = getattr(Tensor(x), largest)(**given, return_indices=True)[1]
        wanted = getattr(F, largest)(torch.tensor(x), **given, return_indices=True)[1]
        np.testing.assert_array_equal(places.numpy(), wanted.numpy())
    for counted in (True, False):
        given = {**options, "count_include_pad": counted}
        assert_same(
            lambda x, given=given: getattr(x, mean)(**given),
            lambda x, given=given: getattr(F, mean)(x, **given),
            x,
        )


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pools_of_a_given_size(dims: int) -> None:
    x = numbers(2, 3, *SPATIAL[dims])
    for size in (1, 2, 3, 4, 11) if dims < 3 else (1, 3):
        for kind in ("avg", "max"):
            name = f"adaptive_{kind}_pool{dims}d"
            assert_same(
                lambda x, name=name, size=size: getattr(x, name)(size),
                lambda x, name=name, size=size: getattr(F, name)(x, size),
                x,
            )
        places = getattr(Tensor(x), name)(size, return_indices=True)[1]
        wanted = getattr(F, name)(torch.tensor(x), size, return_indices=True)[1]
        np.testing.assert_array_equal(places.numpy(), wanted.numpy())


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_norms_of_windows_and_unpooling(dims: int) -> None:
    x = numbers(2, 3, *SPATIAL[dims])
    norm = f"lp_pool{dims}d"
    for p in (1, 2, 3):
        assert_same(
            lambda x, p=p: getattr(x.abs(), norm)(p, 2),
            lambda x, p=p: getattr(F, norm)(x.abs(), p, 2),
            x,
            gradients=dims < 3,
        )
    even = numbers(2, 3, *(6,) * dims)
    pooled, places = getattr(Tensor(even), f"max_pool{dims}d")(2, return_indices=True)
    values, indices = getattr(F, f"max_pool{dims}d")(torch.tensor(even), 2, return_indices=True)
    found = getattr(pooled, f"max_unpool{dims}d")(places, 2)
    wanted = getattr(F, f"max_unpool{dims}d")(values, indices, 2)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_other_ways_to_say_it() -> None:
    x = numbers(2, 3, 7, 9)
    assert_same(
        lambda x: x.adaptive_avg_pool2d((None, 4)),
        lambda x: F.adaptive_avg_pool2d(x, (None, 4)),
        x,
    )
    assert_same(
        lambda x: x.avg_pool2d(2, divisor_override=3),
        lambda x: F.avg_pool2d(x, 2, divisor_override=3),
        x,
    )
    assert_same(
        lambda x: x.max_pool2d((3, 2), (2, 1), 1, (1, 0)),
        lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 0)),
        x,
    )
    with_nan = x.copy()
    with_nan[0, 0, 3, 4] = np.nan
    assert_same(lambda x: x.max_pool2d(2), lambda x: F.max_pool2d(x, 2), with_nan, gradients=False)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats(dtype: type) -> None:
    x, w = numbers(2, 4, 6, 6).astype(dtype), numbers(4, 4, 3, 3).astype(dtype)
    found = Tensor(x).conv2d(Tensor(w))
    wanted = F.conv2d(torch.tensor(x), torch.tensor(w))
    assert found.numpy().dtype == dtype
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=2e-2, atol=2e-2)
    pooled = Tensor(x).avg_pool2d(3, 2, padding=1, ceil_mode=True)
    assert pooled.numpy().dtype == dtype
    wanted = F.avg_pool2d(torch.tensor(x), 3, 2, 1, True)
    np.testing.assert_allclose(pooled.numpy(), wanted.numpy(), rtol=2e-3, atol=2e-3)
