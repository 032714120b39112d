"""Operations on sharded values: every way of sharding gives what one device gives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, Variable, dtypes, function

Array = npt.NDArray[np.float32]
Operation = Callable[..., Tensor]
rng = np.random.default_rng(7)


def devices(count: int) -> tuple[str, ...]:
    """Names of CPU devices."""
    return tuple(f"CPU:{i}" for i in range(count))


def numbers(*shape: int) -> Array:
    """Random numbers."""
    return rng.standard_normal(shape).astype(np.float32)


def compare(
    operation: Operation, arrays: list[Array], axes: tuple[int | None, ...], n: int
) -> None:
    """The operation on one device and on shards."""
    expected = operation(*(Tensor(a) for a in arrays)).numpy()
    sharded = [Tensor(a).shard(devices(n), axis) for a, axis in zip(arrays, axes, strict=True)]
    found = operation(*sharded)
    assert isinstance(found.device, tuple)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)


A = numbers(12, 6)
PLACEMENTS = list(product((None, 0, 1), repeat=2))
ONE = {
    "argmax": lambda x: x.argmax(0),
    "argmin_all": lambda x: x.argmin(),
    "sort": lambda x: x.sort(0)[0],
    "topk": lambda x: x.topk(3, 1)[1],
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(1),
    "flip": lambda x: x.flip((0, 1)),
    "pad": lambda x: x.pad(((1, 2), (2, 1)), value=3.0),
    "slice": lambda x: x[2:9, 1:3],
    "steps": lambda x: x[::-2, ::2],
    "row": lambda x: x[-1],
    "column": lambda x: x[:, 2],
    "lookup": lambda x: x[[0, 3, 11, -2]],
    "mask": lambda x: x[x > 0.5],
    "masked_fill": lambda x: x.masked_fill(x > 0, 1),
    "softmax": lambda x: x.softmax(0) + x.log_softmax(1),
    "var": lambda x: x.var(0) + x.std(),
    "layernorm": lambda x: x.layernorm(),
    "tril": lambda x: x.tril() + x.triu(1),
    "roll": lambda x: x.roll(2, 0),
    "repeat": lambda x: x.repeat(2, 3),
    "cat": lambda x: x.cat(x + 1, dim=0),
    "stack": lambda x: x.stack(x * 2, dim=1),
    "split": lambda x: x.split(4, 0)[1] * x.chunk(3, 0)[2],
    "split_axis": lambda x: x.reshape(4, 3, 2, 3).permute(2, 0, 3, 1),
    "merge_axes": lambda x: x.reshape(72) + 0,
    "other_axes": lambda x: x.reshape(9, 8).sum(1),
    "unfold": lambda x: x.unfold(0, 4, 2),
    "one_hot": lambda x: (x.abs() * 3).int().one_hot(8),
    "product": lambda x: x.prod(0),
    "any": lambda x: (x > 2).any(0) | (x > -9).all(0),
    "half": lambda x: x.half().sum(0),
    "bytes": lambda x: x.bitcast(dtypes.int16)[:, 1::2],
    "gram": lambda x: x @ x.T,
    "pool": lambda x: x.reshape(1, 1, 12, 6).max_pool2d(),
    "expand": lambda x: x.unsqueeze(1).expand(12, 3, 6),
    "counter": lambda x: x + Tensor.arange(6, device=x.device),
    "full_like": lambda x: x.full_like(3) + x.zeros_like(),
    "function": lambda x: function(lambda y: y.softmax(0))(x),  # type: ignore[operator]
    "inverse": lambda x: (x.T @ x + Tensor.eye(6, device=x.device)).inv(),
    "unique": lambda x: (x > 0).int().flatten().unique(),
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize(("axis", "n"), [(None, 2), (0, 4), (1, 4)])
def test_operations_on_one(name: str, axis: int | None, n: int) -> None:
    compare(ONE[name], [A], (axis,), n)


@pytest.mark.parametrize(("left", "right"), PLACEMENTS)
def test_matrix_products_in_every_placement(left: int | None, right: int | None) -> None:
    compare(lambda x, y: x @ y, [numbers(8, 6), numbers(6, 9)], (left, right), 3)


@pytest.mark.parametrize(("left", "right"), PLACEMENTS)
def test_sums_of_values_that_are_cut_differently(left: int | None, right: int | None) -> None:
    operation: Operation = lambda x, y: (x + y) * (x < y).where(x, y)  # noqa: E731
    compare(operation, [A, numbers(12, 6)], (left, right), 4)


@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, None), (2, 1), (1, 2), (None, 0)])
def test_products_of_batches(left: int | None, right: int | None) -> None:
    compare(lambda x, y: x @ y, [numbers(4, 5, 6), numbers(4, 6, 4)], (left, right), 2)


@pytest.mark.parametrize(("image", "weight"), [(0, None), (1, 1), (None, 0), (2, None), (3, 0)])
def test_convolutions(image: int | None, weight: int | None) -> None:
    def convolve(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return x.conv2d(w, b, padding=1)

    arrays = [numbers(4, 4, 6, 6), numbers(6, 4, 3, 3), numbers(6)]
    compare(convolve, arrays, (image, weight, 0 if weight == 0 else None), 2)


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_attention_and_norms(axis: int) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        found = q.scaled_dot_product_attention(k, v, is_causal=True)
        return found.batchnorm(None, None, found.mean((0, 2, 3)), found.std((0, 2, 3)) + 1)

    compare(attend, [numbers(2, 4, 6, 4) for _ in range(3)], (axis,) * 3, 2)


@pytest.mark.parametrize(("table", "index"), PLACEMENTS)
def test_embeddings(table: int | None, index: int | None) -> None:
    places = np.arange(8, dtype=np.float32).reshape(2, 4)
    compare(lambda w, i: w[i.int()], [A, places], (table, index), 2)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_cross_entropy(axis: int | None) -> None:
    def loss(x: Tensor) -> Tensor:
        labels = Tensor((np.arange(12) % 6).astype(np.int32), device=x.device)
        return x.cross_entropy(labels, label_smoothing=0.1)

    compare(loss, [A], (axis,), 3)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize("used", [3, 8])
def test_symbolic_lengths(axis: int | None, used: int) -> None:
    length = Variable("length", 1, 8).bind(used)
    a = numbers(2, 8, 4)
    x = Tensor(a).shard(devices(2), axis)[:, :length]
    scores = (x @ x.transpose(1, 2)).sum()
    heads = x.reshape(2, length, 2, 2).permute(0, 2, 1, 3).sum(2)
    kept = a[:, :used]
    np.testing.assert_allclose(scores.item(), np.einsum("bik,bjk->", kept, kept), rtol=1e-4)
    wanted = kept.reshape(2, used, 2, 2).transpose(0, 2, 1, 3).sum(2)
    np.testing.assert_allclose(heads.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_values_of_each_shard() -> None:
    x = Tensor(A).shard(devices(3), 0).realize()
    parts = [Tensor.from_uop(part).numpy() for part in x.uop.src]
    np.testing.assert_array_equal(np.concatenate(parts), A)


@pytest.mark.parametrize(
    ("reshaped", "axis"),
    [((4, 3, 6), 0), ((1, 12, 6), 1), ((12, 2, 3), 0), ((72,), 0), ((12, 6, 1), 0), ((6, 12), 0)],
)
def test_where_the_axis_is_after_a_reshape(reshaped: tuple[int, ...], axis: int) -> None:
    assert Tensor(A).shard(devices(2), 0).reshape(reshaped).uop.axis == axis


def test_where_the_axis_is_after_other_operations() -> None:
    x = Tensor(A).shard(devices(2), 0)
    assert (x + 1).uop.axis == 0
    assert x.T.uop.axis == 1
    assert x.sum(1).uop.axis == 0
    assert x.sum(0).uop.axis is None
    assert x[1:].uop.axis == 0
    assert (x @ x.T).uop.axis == 0
    assert Tensor(A).uop.axis is None
