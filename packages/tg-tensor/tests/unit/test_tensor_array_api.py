"""The array API standard beyond elementwise functions, against NumPy's own namespace."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.interop import array_api as xp
from tg_uop.errors import DTypeError

# the names of the standard are NumPy's own from 2.1 on
pytest.importorskip("numpy", minversion="2.1")

Array = npt.NDArray[np.generic]
_NAMES = """
abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh
bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool
broadcast_arrays broadcast_to can_cast ceil clip concat conj copysign cos cosh count_nonzero
cumulative_prod cumulative_sum diff divide e empty empty_like equal exp expand_dims expm1 eye
finfo flip float32 float64 floor floor_divide from_dlpack full full_like greater greater_equal
hypot iinfo imag inf int16 int32 int64 int8 isdtype isfinite isinf isnan less less_equal linspace
log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul
matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis
nextafter nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal
remainder repeat reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt
square squeeze stack std subtract sum take take_along_axis tan tanh tensordot tile tril triu trunc
uint16 uint32 uint64 uint8 unique_all unique_counts unique_inverse unique_values unstack var
vecdot where zeros zeros_like
"""
NAMES = _NAMES.split()
_LINALG = """
cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
"""
LINALG = _LINALG.split()
_FFT = """
fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn
"""
FFT = _FFT.split()

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 7 - 3
SMALL = np.array([[1, 2, 3], [4, 5, 6]], np.int8)


def same(got: object, expected: object, *, dtype: object = None) -> None:
    assert isinstance(got, Tensor)
    wanted = np.asarray(expected)
    found = got.numpy()
    assert found.shape == wanted.shape
    assert found.dtype == (wanted.dtype if dtype is None else dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_every_name_is_there() -> None:
    assert set(xp.__all__) == {*NAMES, "__array_api_version__", "__array_namespace_info__"} | {
        "fft",
        "linalg",
    }
    for space, names in ((xp, NAMES), (xp.linalg, LINALG), (xp.fft, FFT)):
        assert [name for name in names if not hasattr(space, name)] == []
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)


def test_the_namespace_of_a_tensor() -> None:
    x = Tensor([1.0])
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="no version"):
        x.__array_namespace__(api_version="1999.01")
    assert x.to_device(x.device).tolist() == [1]
    with pytest.raises(ValueError, match="no stream"):
        x.to_device(x.device, stream=1)
    assert Tensor([[1, 2], [3, 4]]).mT.tolist() == [[1, 3], [2, 4]]


# *** creation ***


def test_creation() -> None:
    same(xp.arange(5), np.arange(5), dtype=np.int32)
    same(xp.arange(1, 2, 0.25), np.arange(1, 2, 0.25), dtype=np.float32)
    same(xp.arange(5, 0, -2, dtype=xp.int64), np.arange(5, 0, -2))
    same(xp.linspace(0, 1, 5), np.linspace(0, 1, 5), dtype=np.float32)
    same(xp.linspace(0, 1, 4, endpoint=False, dtype=xp.float64), np.arange(4) / 4)
    same(xp.linspace(0, 1, 0), np.zeros(0), dtype=np.float32)
    for k in (-3, -1, 0, 2):
        same(xp.eye(3, 4, k=k), np.eye(3, 4, k=k, dtype=np.float32))
        same(xp.tril(Tensor(A), k=k), np.tril(A, k))
        same(xp.triu(Tensor(A), k=k), np.triu(A, k))
    same(xp.zeros(3), np.zeros(3, np.float32))
    same(xp.ones((2, 0), dtype=xp.bool), np.ones((2, 0), bool))
    same(xp.full((2,), True), [True, True])
    same(xp.full(2, 3), np.array([3, 3]), dtype=np.int32)
    same(xp.full_like(Tensor(SMALL), 2), np.full_like(SMALL, 2))
    same(xp.zeros_like(Tensor(A)), np.zeros_like(A))
    same(xp.ones_like(Tensor(A), dtype=xp.uint8), np.ones_like(A, dtype=np.uint8))
    assert xp.empty((2, 3), dtype=xp.int16).shape == (2, 3)
    assert xp.empty_like(Tensor(A)).dtype is dtypes.float32
    for indexing in ("xy", "ij"):
        made = xp.meshgrid(Tensor([1, 2]), Tensor([3, 4, 5]), indexing=indexing)
        for got, expected in zip(
            made, np.meshgrid([1, 2], [3, 4, 5], indexing=indexing), strict=True
        ):
            same(got, expected, dtype=np.int32)


def test_asarray_copies_as_asked() -> None:
    source = np.array([1.0, 2.0])
    shared, copied = xp.asarray(source, copy=False), xp.asarray(source, copy=True)
    source[0] = 9
    assert shared.tolist() == [9, 2]
    assert copied.tolist() == [1, 2]
    x = xp.asarray([[1, 2], [3, 4]], dtype=xp.int16)
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True) is not x
    assert xp.asarray(x, dtype=xp.float64).dtype is dtypes.float64
    for refused in ([1, 2], x):
        with pytest.raises(ValueError, match="without a copy"):
            xp.asarray(refused, copy=False, dtype=xp.float64)
    assert xp.from_dlpack(np.array([1, 2])).tolist() == [1, 2]
    assert xp.asarray(True).dtype is dtypes.bool


# *** dtypes ***


def test_dtype_functions() -> None:
    assert xp.isdtype(xp.int8, "signed integer")
    assert xp.isdtype(xp.float32, ("bool", "real floating"))
    assert xp.isdtype(xp.float64, xp.float64)
    assert not xp.isdtype(xp.bool, "numeric")
    assert not xp.isdtype(xp.float32, "complex floating")
    with pytest.raises(ValueError, match="one of"):
        xp.isdtype(xp.int8, "whole")
    assert xp.can_cast(xp.int8, xp.int16)
    assert not xp.can_cast(xp.float64, xp.float32)
    assert xp.result_type(xp.int8, xp.uint8) is xp.int16
    assert xp.result_type(Tensor(SMALL), 1) is xp.int8
    assert xp.result_type(1.0, xp.float64, True) is xp.float64
    for name in ("float32", "float64"):
        got, expected = xp.finfo(getattr(xp, name)), np.finfo(name)
        for field in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(got, field) == getattr(expected, field)
        assert got.dtype is getattr(xp, name)
    assert xp.iinfo(xp.int16).max == 32767
    assert xp.iinfo(Tensor(SMALL)).min == -128
    for ask, wrong in ((xp.finfo, xp.int8), (xp.iinfo, xp.float32)):
        with pytest.raises(DTypeError):
            ask(wrong)
    same(xp.astype(Tensor(SMALL), xp.float64), SMALL.astype(np.float64))
    x = Tensor(SMALL)
    assert xp.astype(x, xp.int8, copy=False) is x
    assert xp.astype(x, xp.int8) is not x


def test_what_the_namespace_says_of_itself() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"]
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["integral"] is dtypes.default_int
    assert info.default_dtypes()["complex floating"] is None
    assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
    assert len(info.dtypes()) == 11
    assert info.dtypes(kind="complex floating") == {}


# *** manipulation ***


def test_manipulation() -> None:
    x = Tensor(A)
    same(xp.concat([x, x], axis=-1), np.concat([A, A], axis=-1))
    same(xp.concat([x, Tensor(SMALL)], axis=None), np.concat([A, SMALL], axis=None))
    same(xp.stack([x, x], axis=-1), np.stack([A, A], axis=-1))
    same(xp.expand_dims(x, axis=(0, -1)), np.expand_dims(A, (0, -1)))
    same(xp.expand_dims(x, axis=-2), np.expand_dims(A, -2))
    for axis in (None, 0, (-1, 0)):
        same(xp.flip(x, axis=axis), np.flip(A, axis))
    same(xp.moveaxis(x, 0, -1), np.moveaxis(A, 0, -1))
    same(xp.moveaxis(x, (0, 1), (2, 0)), np.moveaxis(A, (0, 1), (2, 0)))
    same(xp.permute_dims(x, (2, 0, 1)), A.transpose(2, 0, 1))
    same(xp.matrix_transpose(x), A.mT)
    same(xp.repeat(x, 2), np.repeat(A, 2))
    same(xp.repeat(x, 2, axis=1), np.repeat(A, 2, 1))
    same(xp.repeat(x, Tensor([0, 1, 2]), axis=1), np.repeat(A, [0, 1, 2], 1))
    same(xp.reshape(x, (4, -1)), A.reshape(4, -1))
    same(xp.reshape(x, (-1,), copy=True), A.reshape(-1))
    same(xp.roll(x, 5), np.roll(A, 5))
    same(xp.roll(x, (1, -2), axis=(0, 2)), np.roll(A, (1, -2), (0, 2)))
    same(xp.roll(x, 1, axis=(0, 2)), np.roll(A, 1, (0, 2)))
    same(xp.squeeze(Tensor(A[:, :1]), 1), A[:, 0])
    same(xp.tile(x, (2,)), np.tile(A, (2,)))
    same(xp.tile(x, (2, 1, 1, 2)), np.tile(A, (2, 1, 1, 2)))
    same(xp.broadcast_to(Tensor(SMALL), (2, 2, 3)), np.broadcast_to(SMALL, (2, 2, 3)))
    for got, part in zip(xp.unstack(x, axis=1), np.unstack(A, axis=1), strict=True):
        same(got, part)
    both = xp.broadcast_arrays(Tensor(SMALL), Tensor([[1], [2]]))
    assert [b.shape for b in both] == [(2, 3), (2, 3)]
    with pytest.raises(ValueError, match="size 1"):
        xp.squeeze(x, 0)
    with pytest.raises(ValueError, match="places"):
        xp.expand_dims(x, axis=7)
    with pytest.raises(ValueError, match="two axes"):
        xp.matrix_transpose(Tensor([1]))


def test_taking() -> None:
    x = Tensor(A)
    index = np.array([2, 0, -1])
    same(xp.take(x, Tensor(index), axis=1), np.take(A, index, 1))
    same(xp.take(Tensor([5, 6, 7]), Tensor(index)), np.array([7, 5, 7]), dtype=np.int32)
    with pytest.raises(ValueError, match="an axis"):
        xp.take(x, Tensor(index))
    order = np.argsort(A, axis=1, stable=True)
    same(xp.take_along_axis(x, Tensor(order), axis=1), np.take_along_axis(A, order, 1))
    one = np.array([[[-1, 0]]])
    same(xp.take_along_axis(x, Tensor(one)), np.take_along_axis(A, np.array([[[-1, 0]]]), -1))


# *** reductions ***


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis: object, keepdims: bool) -> None:
    x = Tensor(A)
    for name in ("max", "mean", "min", "prod", "sum", "std", "var", "all", "any"):
        same(
            getattr(xp, name)(x, axis=axis, keepdims=keepdims),
            getattr(np, name)(A, axis=axis, keepdims=keepdims),
        )
    same(
        xp.count_nonzero(x, axis=axis, keepdims=keepdims),
        np.count_nonzero(A, axis=axis, keepdims=keepdims),
        dtype=np.int32,
    )
    same(
        xp.var(x, axis=axis, correction=1, keepdims=keepdims),
        np.var(A, axis=axis, correction=1, keepdims=keepdims),
    )


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_sums_of_integers_have_at_least_32_bits(name: str) -> None:
    values = np.ones((2, 200), name)
    wide = {"bool": "int32", "int8": "int32", "uint8": "uint32"}.get(name, name)
    same(xp.sum(Tensor(values), axis=1), np.array([200, 200], wide))
    same(xp.prod(Tensor(values), axis=1), np.array([1, 1], wide))
    same(xp.cumulative_sum(Tensor(values), axis=0), np.cumsum(values, 0).astype(wide))
    same(xp.sum(Tensor(values), dtype=xp.float64), np.float64(400))


def test_running_reductions_and_differences() -> None:
    x, line = Tensor(A), np.array([3.0, 1.0, 2.0])
    for name in ("cumulative_sum", "cumulative_prod"):
        for initial in (False, True):
            same(
                getattr(xp, name)(x, axis=1, include_initial=initial),
                getattr(np, name)(A, axis=1, include_initial=initial),
            )
        same(getattr(xp, name)(Tensor(line)), getattr(np, name)(line))
        with pytest.raises(ValueError, match="an axis"):
            getattr(xp, name)(x)
    same(xp.diff(x), np.diff(A))
    same(xp.diff(x, axis=0, n=2), np.diff(A, axis=0, n=2))
    added = xp.diff(Tensor(line), prepend=Tensor([0.0]), append=Tensor([4.0, 5.0]))
    same(added, np.diff(line, prepend=[0], append=[4, 5]))


def test_reductions_of_nothing() -> None:
    empty = Tensor.zeros(0, 3)
    same(xp.sum(empty, axis=0), np.zeros(3, np.float32))
    same(xp.prod(empty, axis=0), np.ones(3, np.float32))
    assert xp.all(empty).item() is True
    assert xp.any(empty).item() is False
    with pytest.raises(ValueError, match=r"\S"):
        xp.max(empty, axis=0)


# *** searching, sorting, sets ***


def test_searching() -> None:
    x = Tensor(A)
    for name in ("argmax", "argmin"):
        for axis in (None, 0, -1):
            for keepdims in (False, True):
                same(
                    getattr(xp, name)(x, axis=axis, keepdims=keepdims),
                    getattr(np, name)(A, axis=axis, keepdims=keepdims),
                    dtype=np.int32,
                )
    for got, expected in zip(xp.nonzero(x), np.nonzero(A), strict=True):
        same(got, expected, dtype=np.int32)
    with pytest.raises(ValueError, match="one axis"):
        xp.nonzero(Tensor(1))
    ordered, wanted = np.array([1.0, 2.0, 2.0, 4.0]), np.array([[0.0, 2.0], [3.0, 9.0]])
    for side in ("left", "right"):
        same(
            xp.searchsorted(Tensor(ordered), Tensor(wanted), side=side),
            np.searchsorted(ordered, wanted, side=side),  # type: ignore[call-overload]
            dtype=np.int32,
        )
    same(xp.where(Tensor(A > 0), x, 0.0), np.where(A > 0, A, np.float32(0)))


@pytest.mark.parametrize("descending", [False, True])
def test_sorting(descending: bool) -> None:
    values = np.array([[3, 1, 2, 1], [0, 5, 0, 5]], np.int32)
    sign = -1 if descending else 1
    order = np.argsort(sign * values, axis=1, stable=True)
    same(xp.argsort(Tensor(values), axis=1, descending=descending), order, dtype=np.int32)
    same(
        xp.sort(Tensor(values), axis=1, descending=descending),
        np.take_along_axis(values, order, 1),
    )


def test_sets() -> None:
    values = np.array([[3, 1, 3], [0, 1, 3]], np.int16)
    got, expected = xp.unique_all(Tensor(values)), np.unique_all(values)
    same(got.values, expected.values)
    for field in ("indices", "inverse_indices", "counts"):
        same(getattr(got, field), getattr(expected, field), dtype=np.int32)
    same(xp.unique_values(Tensor(values)), np.unique_values(values))
    assert xp.unique_counts(Tensor(values)).counts.tolist() == [1, 2, 3]
    assert xp.unique_inverse(Tensor(values)).inverse_indices.shape == (2, 3)
    assert xp.unique_values(Tensor([math.nan, 1.0, math.nan])).shape == (3,)


# *** linear algebra ***


def test_products() -> None:
    left, right = A, A.mT
    same(xp.matmul(Tensor(left), Tensor(right)), left @ right)
    same(xp.vecdot(Tensor(A), Tensor(A[0])), np.vecdot(A, A[0]))
    same(xp.vecdot(Tensor(A), Tensor(A), axis=-2), np.vecdot(A, A, axis=-2))
    same(xp.tensordot(Tensor(A), Tensor(A), axes=3), np.tensordot(A, A, 3))
    same(
        xp.tensordot(Tensor(A), Tensor(A), axes=((0, 2), (0, 2))),
        np.tensordot(A, A, ((0, 2), (0, 2))),
    )
    for axis in (0, -4):
        with pytest.raises(ValueError, match="from -"):
            xp.vecdot(Tensor(A), Tensor(A), axis=axis)
    with pytest.raises(ValueError, match="equal sizes"):
        xp.vecdot(Tensor([1.0]), Tensor([1.0, 2.0]))


def test_linear_algebra() -> None:
    la, rng = xp.linalg, np.random.default_rng(0)
    square = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
    wide, symmetric = square[..., :2, :], square @ square.mT
    s, y = Tensor(square), Tensor(symmetric)
    same(la.cholesky(y), np.linalg.cholesky(symmetric))
    same(la.cholesky(y, upper=True), np.linalg.cholesky(symmetric).mT)
    same(la.det(s), np.linalg.det(square))
    same(la.inv(s), np.linalg.inv(square))
    same(la.eigvalsh(y), np.linalg.eigvalsh(symmetric))
    values, vectors = la.eigh(y)
    same(vectors @ (values.unsqueeze(-1) * vectors.mT), symmetric)
    same(la.matrix_norm(s), np.linalg.norm(square, axis=(-2, -1)))
    same(
        la.matrix_norm(s, ord=1, keepdims=True), np.linalg.matrix_norm(square, ord=1, keepdims=True)
    )
    same(la.matrix_power(s, 3), np.linalg.matrix_power(square, 3))
    same(la.matrix_power(s, -1), np.linalg.inv(square))
    same(la.matrix_rank(s), np.linalg.matrix_rank(square), dtype=np.int32)
    same(la.pinv(Tensor(wide)), np.linalg.pinv(wide))
    left, upper = la.qr(s)
    same(left @ upper, square)
    assert la.qr(Tensor(wide.mT), mode="reduced").Q.shape == (2, 3, 2)
    assert la.qr(Tensor(wide.mT), mode="complete").Q.shape == (2, 3, 3)
    sign, size = la.slogdet(s)
    same(sign * size.exp(), np.linalg.det(square))
    same(la.solve(s, s @ s), square)
    same(la.solve(s, Tensor(square[0, 0])), np.linalg.solve(square, square[0, 0]))
    u, sizes, vh = la.svd(Tensor(wide), full_matrices=False)
    same((u * sizes.unsqueeze(-2)) @ vh, wide)
    same(la.svdvals(Tensor(wide)), np.linalg.svdvals(wide))
    same(la.diagonal(s, offset=1), np.linalg.diagonal(square, offset=1))
    same(la.trace(s), np.linalg.trace(square))
    same(la.trace(Tensor(SMALL)), np.int32(6))
    same(la.outer(Tensor(A[0, 0]), Tensor(A[0, 1])), np.linalg.outer(A[0, 0], A[0, 1]))
    same(la.cross(s, s.flip(-1)), np.linalg.cross(square, square[..., ::-1]))
    for ord in (1, 2, 3, math.inf, -math.inf, 0):
        same(
            la.vector_norm(s, axis=(0, 1), ord=ord, keepdims=True),
            np.linalg.vector_norm(square, axis=(0, 1), ord=ord, keepdims=True),
        )


# *** Fourier transforms: complex values are pairs ***


def pairs(values: Array) -> Array:
    return np.stack([values.real, values.imag], -1)


def test_transforms() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4, 6)) + 1j * rng.normal(size=(4, 6))
    p, real = Tensor(pairs(z)), rng.normal(size=(4, 6))
    for norm in ("backward", "ortho", "forward"):
        same(xp.fft.fft(p, norm=norm), pairs(np.fft.fft(z, norm=norm)))  # type: ignore[arg-type]
        same(xp.fft.ifft(p, norm=norm), pairs(np.fft.ifft(z, norm=norm)))  # type: ignore[arg-type]
    same(xp.fft.fft(p, n=5, axis=0), pairs(np.fft.fft(z, 5, 0)))
    same(xp.fft.fftn(p), pairs(np.fft.fftn(z)))
    same(xp.fft.ifftn(p, axes=(0,)), pairs(np.fft.ifftn(z, axes=(0,))))
    same(xp.fft.rfft(Tensor(real)), pairs(np.fft.rfft(real)))
    same(xp.fft.rfftn(Tensor(real)), pairs(np.fft.rfftn(real)))
    same(xp.fft.irfft(xp.fft.rfft(Tensor(real))), real)
    same(xp.fft.irfftn(xp.fft.rfftn(Tensor(real))), real)
    same(xp.fft.hfft(p), np.fft.hfft(z))
    same(xp.fft.ihfft(Tensor(real)), pairs(np.fft.ihfft(real)))
    same(xp.fft.fftfreq(5, d=0.5), np.fft.fftfreq(5, 0.5), dtype=np.float32)
    same(xp.fft.rfftfreq(6), np.fft.rfftfreq(6), dtype=np.float32)
    same(xp.fft.fftshift(Tensor(real), axes=1), np.fft.fftshift(real, axes=1))
    same(xp.fft.ifftshift(Tensor(real)), np.fft.ifftshift(real))
