"""Products of 8-bit codes are exact, in every signedness, with every kind of zero point."""

from __future__ import annotations

import numpy as np
import pytest
from tg_onnx.ops.codes import product_of_bytes
from tg_onnx.ops.neural import conv
from tg_onnx.ops.quantize import conv_integer, matmul_integer, qlinear_conv
from tg_tensor import Context, Tensor

KINDS = [np.uint8, np.int8]


def codes(kind, *shape, seed=0):
    low, high = (0, 256) if kind is np.uint8 else (-128, 128)
    return np.random.default_rng(seed).integers(low, high, shape).astype(kind)


@pytest.mark.parametrize("of_a", KINDS)
@pytest.mark.parametrize("of_b", KINDS)
@pytest.mark.parametrize("zeros", ["none", "one", "each", "host", "nothing"])
def test_matrices(of_a, of_b, zeros):
    a, b = codes(of_a, 2, 5, 40, seed=1), codes(of_b, 40, 7, seed=2)
    sizes = {"one": ((), ()), "each": ((5,), (7,)), "host": ((), (7,)), "nothing": ((), ())}
    za = zb = None
    if zeros != "none":
        za, zb = codes(of_a, *sizes[zeros][0], seed=3), codes(of_b, *sizes[zeros][1], seed=3)
    if zeros == "nothing":
        zb = np.array(128 if of_b is np.uint8 else 0, of_b)
    left = a.astype(np.int64) - (0 if za is None else za.astype(np.int64).reshape(-1, 1))
    right = b.astype(np.int64) - (0 if zb is None else zb.astype(np.int64))
    of_right = zb if zeros in ("host", "nothing") or zb is None else Tensor(zb)
    found = matmul_integer(Tensor(a), Tensor(b), None if za is None else Tensor(za), of_right)
    assert found.dtype.name == "int"
    np.testing.assert_array_equal(found.numpy(), left @ right)


def plain_conv(x, w, pads):
    """In whole numbers, with strides of 1."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    kernel = w.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


@pytest.mark.parametrize("of_x", KINDS)
@pytest.mark.parametrize("of_w", KINDS)
@pytest.mark.parametrize("channels", [2, 5])
@pytest.mark.parametrize("each", [False, True])
def test_convolutions(of_x, of_w, channels, each):
    x, w = codes(of_x, 2, channels, 6, 5, seed=4), codes(of_w, 4, channels, 3, 3, seed=5)
    zx, zw = codes(of_x, seed=6), codes(of_w, *((4,) if each else ()), seed=7)
    pads = [1, 0, 2, 1]
    expected = plain_conv(
        x.astype(np.int64) - zx, w.astype(np.int64) - zw.astype(np.int64).reshape(-1, 1, 1, 1), pads
    )
    found = conv_integer(Tensor(x), Tensor(w), Tensor(zx), zw, pads=pads)
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("shapes", [((3, 2100), (2100, 5)), ((2, 3, 70), (2, 70, 4))])
@pytest.mark.parametrize("has_unit", [True, False])
def test_products_with_and_without_a_unit(shapes, has_unit):
    a, b = (np.full(shape, -128, np.int8) for shape in shapes)
    b[..., 0] = codes(np.int8, *b.shape[:-1])
    with Context(TC=1 if has_unit else 0):
        found = product_of_bytes(Tensor(a), Tensor(b)).numpy()
    np.testing.assert_array_equal(found, a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize("has_unit", [True, False])
@pytest.mark.parametrize("of_w", KINDS)
@pytest.mark.parametrize(
    ("shape", "weights", "options"),
    [
        ((1, 8, 9, 20), (6, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((2, 8, 9, 9), (6, 8, 3, 3), {"strides": [2, 2], "pads": [1, 0, 2, 1]}),
        ((1, 8, 9, 9), (6, 8, 3, 3), {"dilations": [2, 3], "pads": [1, 2, 1, 2]}),
        ((2, 12, 8, 8), (10, 6, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
        ((1, 8, 50), (6, 8, 5), {"strides": [3]}),
        ((1, 6, 5, 6, 7), (4, 6, 2, 3, 2), {"strides": [1, 2, 1], "auto_pad": "SAME_UPPER"}),
        ((1, 40, 6, 6), (8, 40, 1, 1), {"strides": [2, 2]}),
        ((1, 130, 4, 4), (8, 130, 3, 3), {}),
        ((2, 6, 8, 8), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1], "strides": [2, 1]}),
    ],
)
def test_convolutions_like_those_of_differences(has_unit, of_w, shape, weights, options):
    x, w = codes(np.uint8, *shape, seed=1), codes(of_w, *weights, seed=2)
    zx, zw = np.uint8(77), codes(of_w, weights[0], seed=3)
    with Context(TC=1 if has_unit else 0):
        found = conv_integer(Tensor(x), Tensor(w), Tensor(zx), zw, **options).realize()
    each = zw.astype(np.float64).reshape(-1, *(1,) * (w.ndim - 1))
    floats = Tensor(x.astype(np.float64) - 77), Tensor(w.astype(np.float64) - each)
    np.testing.assert_array_equal(found.numpy(), conv(*floats, **options).numpy())


def test_convolutions_of_groups():
    x, w = codes(np.uint8, 1, 4, 5, 5), codes(np.int8, 4, 1, 3, 3)
    zero = np.array(0, np.int8)
    found = conv_integer(Tensor(x), Tensor(w), None, zero, group=4)
    expected = [
        plain_conv(x[:, i : i + 1].astype(np.int64), w[i : i + 1].astype(np.int64), [0] * 4)
        for i in range(4)
    ]
    np.testing.assert_array_equal(found.numpy(), np.concatenate(expected, 1))


def test_a_quantized_convolution():
    x, w = codes(np.uint8, 1, 5, 6, 6), codes(np.int8, 3, 5, 3, 3)
    scales = np.array([0.01, 0.02, 0.03], np.float32)
    y = qlinear_conv(
        Tensor(x),
        Tensor(np.float32(0.02)),
        Tensor(np.uint8(120)),
        Tensor(w),
        Tensor(scales),
        np.zeros(3, np.int8),
        Tensor(np.float32(0.5)),
        Tensor(np.uint8(128)),
        Tensor(np.array([100, -50, 0], np.int32)),
    )
    sums = plain_conv(x.astype(np.int64) - 120, w.astype(np.int64), [0] * 4)
    sums = sums + np.array([100, -50, 0]).reshape(1, 3, 1, 1)
    exact = sums * (0.02 * scales.astype(np.float64)).reshape(1, 3, 1, 1) / 0.5
    expected = np.clip(np.round(exact) + 128, 0, 255)
    assert np.abs(y.numpy().astype(np.int64) - expected).max() <= 1
    assert (y.numpy() == expected).mean() > 0.99
