"""Fourier transforms against NumPy, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor
from tg_tensor.errors import ArgumentError
from tg_uop.errors import ShapeError

Array = np.ndarray[Any, np.dtype[Any]]


def reals(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def pairs(values: Array) -> Array:
    return np.stack([values.real, values.imag], -1)


def complexes(*shape: int) -> Array:
    return reals(*shape) + 1j * reals(*shape[::-1]).T.reshape(shape)


def close(found: Tensor, wanted: Array, tolerance: float = 1e-11) -> None:
    array = found.numpy()
    assert array.shape == wanted.shape
    np.testing.assert_allclose(array, wanted, rtol=0, atol=tolerance * max(abs(wanted).max(), 1))


# short, in factors, factors above the direct length, primes by product and by convolution
LENGTHS = [1, 2, 3, 7, 8, 60, 64, 128, 131, 142, 251, 360, 502, 1024]


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int) -> None:
    z = complexes(2, n)
    close(Tensor(pairs(z)).fft(), pairs(np.fft.fft(z)))
    close(Tensor(pairs(z)).ifft(), pairs(np.fft.ifft(z)))
    close(Tensor(z.real.copy()).rfft(), pairs(np.fft.rfft(z.real)))


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("n", [None, 4, 9])
def test_axes_lengths_and_norms(norm: Any, dim: int, n: int | None) -> None:
    z, x = complexes(3, 7, 5), reals(3, 7, 5)
    given = Tensor(pairs(z))
    close(given.fft(n, dim, norm), pairs(np.fft.fft(z, n, dim, norm)))
    close(given.ifft(n, dim, norm), pairs(np.fft.ifft(z, n, dim, norm)))
    close(given.irfft(n, dim, norm), np.fft.irfft(z, n, dim, norm))
    close(given.hfft(n, dim, norm), np.fft.hfft(z, n, dim, norm))
    close(Tensor(x).rfft(n, dim, norm), pairs(np.fft.rfft(x, n, dim, norm)))
    close(Tensor(x).ihfft(n, dim, norm), pairs(np.fft.ihfft(x, n, dim, norm)))


def test_several_axes() -> None:
    z, x = complexes(3, 7, 5), reals(3, 7, 5)
    given = Tensor(pairs(z))
    close(given.fftn(), pairs(np.fft.fftn(z)))
    close(given.fftn((4, 6), (0, 2)), pairs(np.fft.fftn(z, (4, 6), (0, 2))))
    close(given.ifftn(norm="ortho"), pairs(np.fft.ifftn(z, norm="ortho")))
    close(given.fft2((4, 6)), pairs(np.fft.fft2(z, (4, 6))))
    close(given.ifft2(dim=(0, 1)), pairs(np.fft.ifft2(z, axes=(0, 1))))
    close(Tensor(x).rfftn(), pairs(np.fft.rfftn(x)))
    close(Tensor(x).rfft2(), pairs(np.fft.rfft2(x)))
    close(given.irfftn((3, 7, 8)), np.fft.irfftn(z, (3, 7, 8), (0, 1, 2)))
    close(given.irfft2(), np.fft.irfft2(z))


def test_back_and_forth() -> None:
    for n in (6, 7, 64, 251):
        x = reals(2, n)
        close(Tensor(x).rfft().irfft(n), x)
        close(Tensor(x).to_pairs().fft().ifft(), pairs(x + 0j))


@pytest.mark.parametrize("n", [5, 131, 142])
def test_gradients_are_transforms_of_what_flows_in(n: int) -> None:
    z = Tensor(pairs(complexes(n)), requires_grad=True)
    flowing = reals(n, 2)
    found = (z.fft() * Tensor(flowing)).sum().gradient(z)[0]
    close(found, pairs(np.fft.fft(flowing[:, 0] - 1j * flowing[:, 1]).conj()))


def test_frequencies_and_shifts() -> None:
    for n in (1, 4, 5):
        close(Tensor.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5), 1e-7)
        close(Tensor.rfftfreq(n, 0.5, dtype="float64"), np.fft.rfftfreq(n, 0.5))
    x = reals(3, 4, 5)
    close(Tensor(x).fftshift(), np.fft.fftshift(x))
    close(Tensor(x).ifftshift(2), np.fft.ifftshift(x, 2))
    close(Tensor(x).fftshift((0, 1)), np.fft.fftshift(x, (0, 1)))


def test_arithmetic_of_pairs() -> None:
    a, b = complexes(3, 4), complexes(3, 4)[::-1].copy()
    left, right = Tensor(pairs(a)), Tensor(pairs(b))
    close(left.pairs_mul(right), pairs(a * b))
    close(left.pairs_abs(), abs(a))
    close(left.pairs_conj(), pairs(a.conj()))
    close(Tensor(a.real.copy()).to_pairs(Tensor(a.imag.copy())), pairs(a))


def test_number_types() -> None:
    x = reals(2, 100)
    wanted = pairs(np.fft.rfft(x))
    for dtype, tolerance in (("float32", 1e-6), ("float16", 2e-3), ("bfloat16", 2e-2)):
        found = Tensor(x).cast(dtype).rfft()
        assert found.dtype is Tensor(x).cast(dtype).dtype
        close(found.cast("float64"), wanted, tolerance)
    close(Tensor([1, 2, 3]).rfft(), pairs(np.fft.rfft([1, 2, 3])), 1e-6)
    assert Tensor(np.zeros((0, 8))).rfft().shape == (0, 5, 2)


def test_kernels() -> None:
    for n, most in ((64, 1), (1024, 4)):
        z = Tensor(pairs(complexes(2, n))).realize()
        GlobalCounters.reset()
        z.fft().realize()
        assert most >= GlobalCounters.kernel_count


@pytest.mark.parametrize(
    "call",
    [
        lambda: Tensor([[1.0, 2]]).fft(norm="unit"),
        lambda: Tensor([[1.0, 2]]).fft(0),
        lambda: Tensor([1.0, 2]).rfft(-3),
        lambda: Tensor([[1.0, 2]]).irfft(),
        lambda: Tensor([[1.0, 2]]).fftn((2, 3), (0,)),
        lambda: Tensor([[1.0, 2]]).fftn(dim=(0, 0)),
        lambda: Tensor.fftfreq(0),
    ],
)
def test_bad_arguments(call: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError):
        call()


def test_reals_are_no_pairs() -> None:
    for name in ("fft", "ifft", "irfft", "hfft", "fftn", "irfftn", "pairs_abs"):
        with pytest.raises(ShapeError, match="pairs"):
            getattr(Tensor([1.0, 2, 3]), name)()
