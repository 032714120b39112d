"""Numbers of NumPy wherever a Python number may stand, and seeds, shapes and axes made of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes

Kind = Callable[[float], object]

KINDS = [np.int64, np.int32, np.uint8, np.int16]

SHAPED: list[Callable[[Kind], object]] = [
    lambda i: Tensor.zeros(i(2), i(3)),
    lambda i: Tensor.ones((i(2), 3)),
    lambda i: Tensor.full((i(2),), i(7)),
    lambda i: Tensor.full_like(Tensor.zeros(2), i(7)),
    lambda i: Tensor.arange(i(3)),
    lambda i: Tensor.arange(i(0), i(5), i(2)),
    lambda i: Tensor.eye(i(2)),
    lambda i: Tensor.linspace(i(0), i(1), i(3)),
    lambda i: Tensor.zeros(np.array([2, 3])),
    lambda i: Tensor([1]).one_hot(i(3)),
]

MOVED: list[Callable[[Tensor, Kind], object]] = [
    lambda x, i: x.reshape(i(3), i(2)),
    lambda x, i: x.reshape((i(3), -1)),
    lambda x, i: x.view(i(6)),
    lambda x, i: x[:1].expand(i(4), i(3)),
    lambda x, i: x[:1].expand(i(4), -1),
    lambda x, i: x.permute(i(1), i(0)),
    lambda x, i: x.transpose(i(0), i(1)),
    lambda x, i: x.flip(i(0)),
    lambda x, i: x.flip((i(0), i(1))),
    lambda x, i: x[:1].squeeze(i(0)),
    lambda x, i: x.unsqueeze(i(1)),
    lambda x, i: x.flatten(i(0), i(1)),
    lambda x, i: x.unflatten(i(1), (i(3), i(1))),
    lambda x, i: x.repeat(i(1), i(2)),
    lambda x, i: x.repeat_interleave(i(2), i(1)),
    lambda x, i: x.pad((i(1), i(0))),
    lambda x, i: x.pad(((i(0), i(0)), (i(1), i(0)))),
    lambda x, i: x.shrink(((i(0), i(1)), (i(0), i(2)))),
    lambda x, i: x.pad_to(i(3), i(3)),
    lambda x, i: x[i(1)],
    lambda x, i: x[i(0) : i(2), i(1)],
    lambda x, i: x[:: i(2)],
    lambda x, i: x.cat(x, dim=i(1)),
    lambda x, i: x.stack(x, dim=i(1)),
    lambda x, i: x.split(i(1), i(1))[2],
    lambda x, i: x.split((i(1), i(2)), i(1))[1],
    lambda x, i: x.chunk(i(2))[1],
    lambda x, i: x.sum(i(1)),
    lambda x, i: x.mean((i(0), i(1))),
    lambda x, i: x.max(i(0)),
    lambda x, i: x.argmax(i(1)),
    lambda x, i: x.float().softmax(i(0)),
    lambda x, i: x.cumsum(i(1)),
    lambda x, i: x.float().std(i(1), correction=i(0)),
    lambda x, i: x.sort(i(1))[0],
    lambda x, i: x.topk(i(2), i(1))[0],
    lambda x, i: x.roll(i(1), i(0)),
    lambda x, i: x.roll((i(1),), (i(0),)),
    lambda x, i: x.tril(i(1)),
    lambda x, i: x.diagonal(i(0)),
    lambda x, i: x.unfold(i(1), i(2), i(1)),
    lambda x, i: x.scatter(i(0), Tensor([[0]]), i(9)),
    lambda x, i: x.masked_fill(x > 2, i(0)),
    lambda x, i: x.float().lerp(x.float(), i(1)),
    lambda x, i: x.clip(i(1), i(3)),
    lambda x, i: x.float().layernorm(i(1)),
    lambda x, i: x.float().normalize(dim=i(1)),
    lambda x, i: x.float().reshape(1, 1, 2, 3).max_pool2d(i(2), i(1)),
    lambda x, i: x.float().reshape(1, 1, 2, 3).avg_pool2d((i(2), i(2)), padding=i(0)),
    lambda x, i: x.float().reshape(1, 1, 2, 3).interpolate((i(3), i(3))),
    lambda x, i: (
        x.float()
        .reshape(1, 1, 2, 3)
        .conv2d(Tensor.ones(1, 1, 2, 2), stride=i(1), padding=i(1), dilation=i(1), groups=i(1))
    ),
    lambda x, i: x.contiguous().assign(i(5)),
]


def as_arrays(value: object) -> list[np.ndarray]:
    """The value, or each of a tuple."""
    return [v.numpy() for v in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(len(SHAPED)))
def test_numpy_integers_make_shapes(number: int, kind: type) -> None:
    """Sizes, bounds and fill values of any integer class make what Python's make."""
    for got, want in zip(*(as_arrays(SHAPED[number](k)) for k in (kind, int)), strict=True):
        assert got.dtype == want.dtype
        assert np.array_equal(got, want)


@pytest.mark.parametrize("number", range(len(MOVED)))
def test_numpy_integers_are_axes_sizes_and_amounts(number: int) -> None:
    """Methods that take whole numbers take NumPy's; the shapes of the results are plain."""
    x = Tensor.arange(6).reshape(2, 3)
    got, want = MOVED[number](x, np.int64), MOVED[number](x, int)
    assert all(type(size) is int for size in got.shape)
    assert np.array_equal(got.numpy(), want.numpy())


@pytest.mark.parametrize("shape", [(np.int64(2), np.int64(3)), (np.uint8(2), 3)])
def test_numpy_integers_are_shapes_of_drawn_numbers(shape: tuple[int, ...]) -> None:
    """The stream goes on after each kind of draw as if Python's numbers had been given."""
    plain = tuple(int(size) for size in shape)
    for size in (shape, plain):
        Tensor.manual_seed(3)
        Tensor.rand(size).realize()
        Tensor.randn(*size).realize()
        Tensor.randint(size, low=np.int64(0), high=np.int64(9)).realize()
        Tensor.randperm(size[0]).realize()
        last = Tensor.rand(2).tolist()
        if size is shape:
            first = last
    assert first == last


@pytest.mark.parametrize("seed", [np.int64(3), np.uint8(200), np.int32(-1), 2**70, -5])
def test_seeds_of_any_integer_class(seed: int) -> None:
    """The same stream as for the Python number, and a stream that goes on."""
    Tensor.manual_seed(seed)
    first = Tensor.rand(3).tolist()
    Tensor.manual_seed(int(seed))
    assert Tensor.rand(3).tolist() == first
    assert Tensor.rand(3).tolist() != first


def test_a_seed_that_is_no_integer_leaves_the_stream_alone() -> None:
    """A float is refused, and drawing still works."""
    with pytest.raises(TypeError):
        Tensor.manual_seed(1.5)  # type: ignore[arg-type]
    assert Tensor.rand(2).shape == (2,)


@pytest.mark.parametrize("shape", [(-1,), (2, -3), (1.5,), ("a",)])
def test_shapes_that_cannot_be_leave_the_stream_alone(shape: tuple[object, ...]) -> None:
    """Refused when built; the next draw is the one that would have come."""
    Tensor.manual_seed(1)
    want = Tensor.rand(2).tolist()
    Tensor.manual_seed(1)
    for draw in (Tensor.rand, Tensor.randn, Tensor.randint):
        with pytest.raises((ValueError, TypeError)):
            draw(*shape)
    assert Tensor.rand(2).tolist() == want


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.float32(1.5), dtypes.float32),
        (np.int64(3), dtypes.int32),
        (np.bool_(True), dtypes.bool),
        (True, dtypes.bool),
        (2, dtypes.int32),
        (2.0, dtypes.float32),
    ],
)
def test_fill_values_give_the_dtype_of_their_kind(value: object, dtype: object) -> None:
    """A bool fills bools, an integer the default integer, a float the default float."""
    assert Tensor.full((2,), value).dtype == dtype


@pytest.mark.parametrize("axis", [1.0, "a", [0.5]])
def test_axes_that_are_no_whole_numbers_are_refused(axis: object) -> None:
    """With a TypeError that comes when the expression is built."""
    with pytest.raises(TypeError):
        Tensor.ones(2, 3).sum(axis)


def test_numpy_scalars_beside_tensors() -> None:
    """Both orders of the operands give a Tensor, not an array of objects."""
    x = Tensor([1.0, 2.0])
    for scalar in (np.float32(2), np.float64(2), np.int64(2), np.uint8(2), np.bool_(True)):
        for got, want in (
            (x + scalar, [1 + float(scalar), 2 + float(scalar)]),
            (scalar + x, [1 + float(scalar), 2 + float(scalar)]),
            (scalar * x, [float(scalar), 2 * float(scalar)]),
            (scalar / x, [float(scalar), float(scalar) / 2]),
            (scalar - x, [float(scalar) - 1, float(scalar) - 2]),
        ):
            assert isinstance(got, Tensor)
            assert got.tolist() == want
        assert isinstance(scalar < x, Tensor)
        assert isinstance(scalar == x, Tensor)
