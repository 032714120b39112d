"""Convolution, pooling and matrix products against plain NumPy loops, through the witness."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ArgumentError
from tg_uop import Ops
from tg_uop.errors import ShapeError

Array = npt.NDArray[np.generic]
Witness = Callable[[Tensor], Array]


def numbers(*shape: int) -> npt.NDArray[np.float64]:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def reference_conv(x: Array, w: Array, s: int, d: int, p: int, groups: int) -> Array:
    x = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
    outputs, inputs, rows, columns = w.shape
    high = (x.shape[2] - d * (rows - 1) - 1) // s + 1
    wide = (x.shape[3] - d * (columns - 1) - 1) // s + 1
    result = np.zeros((x.shape[0], outputs, high, wide))
    for o in range(outputs):
        group = o // (outputs // groups)
        for c in range(inputs):
            for i in range(rows):
                for j in range(columns):
                    part = x[:, group * inputs + c, i * d :: s, j * d :: s][:, :high, :wide]
                    result[:, o] += w[o, c, i, j] * part
    return result


@pytest.mark.parametrize(
    ("high", "wide", "kernel", "stride", "dilation", "padding", "groups"),
    [
        (6, 7, 3, 1, 1, 0, 1),
        (6, 7, 3, 2, 1, 1, 1),
        (8, 9, 3, 1, 2, 2, 2),
        (7, 7, 2, 2, 1, 0, 1),
        (5, 5, 1, 1, 1, 0, 1),
        (7, 7, 1, 2, 1, 0, 1),
        (9, 8, 3, 3, 2, 1, 2),
        (10, 10, 4, 2, 1, 1, 1),
        (7, 7, 2, 3, 1, 0, 4),
        (12, 12, 3, 5, 3, 0, 1),
        (4, 4, 3, 7, 1, 0, 1),
    ],
)
def test_convolution(
    high: int,
    wide: int,
    kernel: int,
    stride: int,
    dilation: int,
    padding: int,
    groups: int,
    witness: Witness,
) -> None:
    x, w = numbers(2, 4, high, wide), numbers(8, 4 // groups, kernel, kernel)
    found = Tensor(x).conv2d(
        Tensor(w), groups=groups, stride=stride, dilation=dilation, padding=padding
    )
    wanted = reference_conv(x, w, stride, dilation, padding, groups)
    np.testing.assert_allclose(witness(found), wanted, atol=1e-10)


def test_convolution_is_one_reduction() -> None:
    found = Tensor(numbers(1, 2, 5, 5)).conv2d(Tensor(numbers(3, 2, 3, 3)), padding=1)
    assert sum(node.op is Ops.REDUCE for node in found.uop.toposort()) == 1


def test_other_numbers_of_axes_and_paddings(witness: Witness) -> None:
    x, w, bias = numbers(2, 3, 9), numbers(4, 3, 3), numbers(4)
    found = Tensor(x).conv2d(Tensor(w), Tensor(bias), padding=(1, 2))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 2)))
    wanted = reference_conv(padded[:, :, None], w[:, :, None], 1, 1, 0, 1)[:, :, 0]
    np.testing.assert_allclose(witness(found), wanted + bias[:, None], atol=1e-10)
    deep = Tensor(numbers(1, 2, 4, 4, 4)).conv2d(Tensor(numbers(3, 2, 2, 2, 2)))
    assert deep.shape == (1, 3, 3, 3, 3)


def test_transposed_convolution_undoes_the_shape(witness: Witness) -> None:
    x, w = numbers(2, 4, 5, 5), numbers(4, 3, 3, 3)
    found = Tensor(x).conv_transpose2d(Tensor(w), stride=2, padding=1, output_padding=1)
    wanted = np.zeros((2, 3, 13, 13))
    for i in range(5):
        for j in range(5):
            piece = np.einsum("bc,cohw->bohw", x[:, :, i, j], w)
            wanted[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3] += piece
    np.testing.assert_allclose(witness(found), wanted[:, :, 1:11, 1:11], atol=1e-10)


@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((1, 3, 5, 5), (2, 4, 3, 3), {}),
        ((1, 3, 5, 5), (2, 3, 3), {}),
        ((1, 3, 2, 2), (2, 3, 3, 3), {}),
        ((1, 4, 5, 5), (3, 2, 3, 3), {"groups": 2}),
    ],
)
def test_what_does_not_fit_is_refused(
    x: tuple[int, ...], w: tuple[int, ...], options: dict[str, int]
) -> None:
    with pytest.raises(ShapeError, match="conv2d"):
        Tensor.zeros(x).conv2d(Tensor.zeros(w), **options)  # type: ignore[arg-type]


def test_bad_window_arguments() -> None:
    x, w = Tensor.zeros(1, 1, 5, 5), Tensor.zeros(1, 1, 3, 3)
    with pytest.raises(ArgumentError, match="stride"):
        x.conv2d(w, stride=(1, 1, 1))
    with pytest.raises(ArgumentError, match="padding"):
        x.conv2d(w, padding=(1, 1, 1))


# *** pooling ***


def test_largest_of_windows(witness: Witness) -> None:
    x = numbers(2, 3, 6, 7)
    found = witness(Tensor(x).max_pool2d())
    wanted = x[:, :, :6, :6].reshape(2, 3, 3, 2, 3, 2).max((3, 5))
    np.testing.assert_array_equal(found, wanted)
    overlapping = witness(Tensor(x).max_pool2d((3, 3), 2, padding=1))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))  # type: ignore[call-overload]
    np.testing.assert_array_equal(overlapping, view[:, :, ::2, ::2].max((-1, -2)))


def test_positions_of_the_largest_and_back(witness: Witness) -> None:
    x = Tensor([[[[1.0, 5.0, 2.0, 0.0], [3.0, 5.0, 9.0, 1.0]]]])
    values, places = x.max_pool2d(return_indices=True)
    assert witness(values).tolist() == [[[[5, 9]]]]
    assert witness(places).tolist() == [[[[1, 6]]]]
    back = witness(values.max_unpool2d(places))
    assert back.tolist() == [[[[0, 5, 0, 0], [0, 0, 9, 0]]]]


def test_integers_have_a_lowest_value_too(witness: Witness) -> None:
    x = Tensor([[[[-5, -6], [-7, -8]]]])
    assert witness(x.max_pool2d(2, padding=1)).tolist() == [[[[-5, -6], [-7, -8]]]]


def test_mean_of_windows(witness: Witness) -> None:
    x = np.ones((1, 1, 3, 3), np.float32)
    counted = witness(Tensor(x).avg_pool2d(2, padding=1))
    assert counted.tolist() == [[[[0.25, 0.5], [0.5, 1.0]]]]
    inside = witness(Tensor(x).avg_pool2d(2, padding=1, count_include_pad=False))
    assert inside.tolist() == [[[[1, 1], [1, 1]]]]
    partial = witness(Tensor(x).avg_pool2d(2, ceil_mode=True))
    assert partial.tolist() == [[[[1, 1], [1, 1]]]]


# *** matrix products ***


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4, 5), (5, 6)), ((5,), (5, 6)), ((4, 5), (5,)), ((5,), (5,)), ((2, 1, 3, 4), (5, 4, 2))],
)
def test_products(left: tuple[int, ...], right: tuple[int, ...], witness: Witness) -> None:
    a, b = numbers(*left), numbers(*right)
    np.testing.assert_allclose(witness(Tensor(a) @ Tensor(b)), a @ b, atol=1e-10)


def test_number_types_of_products(witness: Witness) -> None:
    x = Tensor(np.full((1, 2), 100, np.int8))
    assert (x @ x.T).dtype is dtypes.int8
    assert witness(x @ x.T).tolist() == [[np.array(20000).astype(np.int8)]]
    half = Tensor(np.full((1, 4096), 1, np.float16))
    assert witness(half @ half.T).tolist() == [[4096]]
    assert (half.matmul(half.T, dtype=dtypes.float32)).dtype is dtypes.float32


def test_products_explain_what_does_not_fit() -> None:
    with pytest.raises(ShapeError, match="3 columns on the left meet 2 rows"):
        Tensor.zeros(2, 3) @ Tensor.zeros(2, 3)
    with pytest.raises(ShapeError, match="a number has no axis"):
        Tensor.zeros(2, 3) @ Tensor(1.0)


@pytest.mark.parametrize(
    ("formula", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bij,jk->bik", [(2, 3, 4), (4, 5)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("ij->j", [(2, 3)]),
        ("...j,jk", [(2, 3, 4), (4, 5)]),
        ("ij,ij->", [(2, 3), (2, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("abc->cab", [(2, 3, 4)]),
        ("...i,...i->...", [(2, 3), (4, 1, 3)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ],
)
def test_einsum(formula: str, shapes: list[tuple[int, ...]], witness: Witness) -> None:
    arrays = [numbers(*shape) for shape in shapes]
    found = Tensor.einsum(formula, *map(Tensor, arrays))
    np.testing.assert_allclose(witness(found), np.einsum(formula, *arrays), atol=1e-10)


def test_einsum_explains_a_bad_formula() -> None:
    x = Tensor.zeros(2, 3)
    with pytest.raises(ArgumentError, match="one an operand"):
        Tensor.einsum("ij,jk->ik", x)
    with pytest.raises(ArgumentError, match="as many letters as axes"):
        Tensor.einsum("ijk->i", x)
    with pytest.raises(ShapeError, match="axis j"):
        Tensor.einsum("ij,jk->ik", x, x)
