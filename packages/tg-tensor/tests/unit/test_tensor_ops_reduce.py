"""Reductions and running reductions against NumPy, through the witness."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, dtypes
from tg_uop.errors import ShapeError

Array = npt.NDArray[np.generic]
Witness = Callable[[Tensor], Array]

A = np.random.default_rng(3).standard_normal((2, 3, 4)).astype(np.float32)
LONG = np.random.default_rng(4).standard_normal((2, 1000)).astype(np.float32)


def close(found: Array, wanted: object, tolerance: float = 2e-6) -> None:
    reference = np.asarray(wanted)
    np.testing.assert_allclose(found, reference, rtol=tolerance, atol=tolerance)
    assert found.shape == reference.shape


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 2), (1, -1)])
def test_over_axes(axis: int | tuple[int, ...] | None, witness: Witness) -> None:
    x = Tensor(A)
    close(witness(x.sum(axis)), A.sum(axis))
    close(witness(x.sum(axis, keepdim=True)), A.sum(axis, keepdims=True))
    close(witness(x.max(axis)), A.max(axis))
    close(witness(x.min(axis)), A.min(axis))
    close(witness(x.mean(axis)), A.mean(axis))
    close(witness(x.prod(axis)), A.prod(axis))
    close(witness(x.var(axis)), A.var(axis, ddof=1))
    close(witness(x.std(axis, correction=0)), A.std(axis))
    close(witness((x > 0).all(axis)), (A > 0).all(axis))
    close(witness((x > 0).any(axis)), (A > 0).any(axis))
    close(witness(x.logsumexp(axis)), np.log(np.exp(A).sum(axis)))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_positions(axis: int | None, witness: Witness) -> None:
    found = Tensor(A).argmax(axis)
    assert found.dtype is dtypes.int32
    np.testing.assert_array_equal(witness(found), A.argmax(axis))
    np.testing.assert_array_equal(witness(Tensor(A).argmin(axis)), A.argmin(axis))


def test_the_first_of_equal_values_and_the_first_nan(witness: Witness) -> None:
    assert witness(Tensor([1, 3, 3, 0, 0]).argmax()) == 1
    assert witness(Tensor([1, 3, 3, 0, 0]).argmin()) == 3
    assert witness(Tensor([1.0, math.nan, 3.0, math.nan]).argmax()) == 1
    assert witness(Tensor([1.0, math.nan, 3.0]).argmin()) == 1


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running(axis: int, witness: Witness) -> None:
    x = Tensor(A)
    close(witness(x.cumsum(axis)), A.cumsum(axis))
    close(witness(x.cumprod(axis)), A.cumprod(axis))
    close(witness(x.cummax(axis)[0]), np.maximum.accumulate(A, axis))
    close(witness(x.cummin(axis)[0]), np.minimum.accumulate(A, axis))
    close(witness(x.logcumsumexp(axis)), np.logaddexp.accumulate(A, axis))


def test_running_over_a_long_axis(witness: Witness) -> None:
    x = Tensor(LONG)
    close(witness(x.cumsum(1)), LONG.cumsum(1), 1e-4)
    close(witness(x.cummax(1)[0]), np.maximum.accumulate(LONG, 1))
    close(witness(x.logcumsumexp(1)), np.logaddexp.accumulate(LONG, 1), 1e-5)


def test_running_maximum_says_where(witness: Witness) -> None:
    values, places = Tensor([1, 3, 3, 2, 5]).cummax(0)
    assert witness(values).tolist() == [1, 3, 3, 3, 5]
    assert witness(places).tolist() == [0, 1, 2, 2, 4]


def test_number_types_of_sums() -> None:
    assert Tensor([True, True]).sum().dtype is dtypes.int32
    assert Tensor(np.array([1], np.int8)).sum().dtype is dtypes.int32
    assert Tensor(np.array([1], np.uint16)).sum().dtype is dtypes.uint32
    assert Tensor(np.array([1], np.int64)).sum().dtype is dtypes.int64
    assert Tensor([1.0]).half().sum().dtype is dtypes.half
    assert Tensor([1.0]).half().sum(dtype=dtypes.float32).dtype is dtypes.float32
    assert Tensor([1, 2]).mean().dtype is dtypes.float32


def test_half_is_added_up_in_float32(witness: Witness) -> None:
    x = Tensor(np.full(4096, 1.0, np.float16))
    assert witness(x.sum()) == 4096
    big = Tensor(np.full(100, 60000, np.float16))
    assert witness(big.mean()) == np.float16(60000)
    assert witness(big.var(correction=0)) == 0


def test_integers_wrap_at_32_bits(witness: Witness) -> None:
    x = Tensor(np.array([2**31 - 1, 1], np.int32))
    assert witness(x.sum()) == -(2**31)


def test_of_nothing(witness: Witness) -> None:
    empty = Tensor.zeros(0, 3)
    close(witness(empty.sum(0)), np.zeros(3))
    close(witness(empty.prod(0)), np.ones(3))
    close(witness(empty.sum()), 0)
    close(witness(empty.prod()), 1)
    assert np.isnan(witness(empty.mean()))
    assert np.isnan(witness(empty.mean(0))).all()
    assert not witness(empty.any())
    assert witness(empty.all())
    assert witness(empty.sum(1)).shape == (0,)
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ShapeError, match="no elements"):
            getattr(empty, name)(0)


def test_softmax(witness: Witness) -> None:
    powers = np.exp(A)
    close(witness(Tensor(A).softmax()), powers / powers.sum(-1, keepdims=True))
    close(witness(Tensor(A).log_softmax(0)), np.log(powers / powers.sum(0)))
    big = Tensor([1000.0, 1000.0])
    close(witness(big.softmax()), [0.5, 0.5])
    close(witness(big.logsumexp()), 1000 + math.log(2))
    assert witness(Tensor([-math.inf, -math.inf]).logsumexp()) == -math.inf


def test_axes_are_checked() -> None:
    with pytest.raises(ShapeError, match="no axis 3"):
        Tensor(A).sum(3)
    with pytest.raises(ShapeError, match="twice"):
        Tensor(A).sum((0, -3))
    close(np.array(Tensor(2.0).sum(0).shape), np.array(()))
