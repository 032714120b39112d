"""Fourier transforms, by matrix products: any length, in factors, large primes by convolution.

There is no complex dtype: a complex value is a pair (real, imaginary) in a last axis of 2, as
`torch.view_as_real` gives it. Functions of complex values count `dim` without that axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeVar

import numpy as np
from tg_uop import dtypes
from tg_uop.errors import ShapeError

from tg_tensor.algorithms.fourier import (
    LONGEST_PRIME,
    Table,
    chirp_tables,
    first_factor,
    transform_table,
    twiddle_table,
)
from tg_tensor.defaults import DTypeLike
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.linalg import LinalgOps

Sizes = Sequence[int] | None
Dims = Sequence[int] | None
F = TypeVar("F", bound="FftOps")


class FftOps(LinalgOps):
    """fft, ifft, rfft, irfft, hfft, ihfft, those of several axes, frequencies and shifts.

    `n` (`s` for several axes) cuts the values, or pads them with zeros, to that length first.
    `norm` says where the factor 1/n stands: "backward" (None too) in the inverse, "forward" in the
    other, "ortho" as 1/sqrt(n) in both. Half-precision values are transformed in float32, integers
    become the default float. All raise `ArgumentError` for another norm or a length below 1,
    `ShapeError` where pairs are needed and the last axis is not of size 2.
    """

    __slots__ = ()

    # *** pairs ***

    def to_pairs(self, imaginary: Self | None = None) -> Self:
        """Complex values as pairs in a last axis of 2: this is the real part."""
        real = self._as_float()
        other = real.const_like(0) if imaginary is None else imaginary
        left, right = real._in_order(other, False)
        return left.stack(right, dim=-1)

    def pairs_mul(self, other: Self) -> Self:
        """The products of complex values, which are pairs in a last axis of 2."""
        (a, b), (c, d) = self._parts_of_pairs("pairs_mul"), other._parts_of_pairs("pairs_mul")
        return (a * c - b * d).stack(a * d + b * c, dim=-1)

    def pairs_abs(self) -> Self:
        """The sizes of complex values, which are pairs in a last axis of 2."""
        self._parts_of_pairs("pairs_abs")
        return self.vector_norm(2, -1)

    def pairs_conj(self) -> Self:
        """Complex values, which are pairs in a last axis of 2, with the imaginary part negated."""
        real, imaginary = self._parts_of_pairs("pairs_conj")
        return real.stack(-imaginary, dim=-1)

    def _parts_of_pairs(self, op: str) -> tuple[Self, Self]:
        if self.ndim == 0 or self.shape[-1] != 2:
            raise ShapeError(
                op=op,
                shapes=(self.shape,),
                reason="complex values are pairs in a last axis of 2",
                hint="rfft takes real values; x.to_pairs() makes pairs of them",
            )
        x = self._as_float()
        last = x.ndim - 1
        return x._part(last, 0, 1).squeeze(-1), x._part(last, 1, 2).squeeze(-1)

    # *** one axis ***

    def fft(self, n: int | None = None, dim: int = -1, norm: str | None = None) -> Self:
        """The discrete Fourier transform of complex values (pairs) along an axis."""
        return self._complex_transform("fft", -1, n, dim, norm)

    def ifft(self, n: int | None = None, dim: int = -1, norm: str | None = None) -> Self:
        """The inverse of `fft`."""
        return self._complex_transform("ifft", 1, n, dim, norm)

    def _complex_transform(
        self, op: str, sign: int, n: int | None, dim: int, norm: str | None
    ) -> Self:
        real, _ = self._parts_of_pairs(op)
        axis = real._axis(dim)
        x = self._as_float()._cut(op, axis, n)
        length = x.shape[axis]
        # (..., 2, length)
        lines = x.transpose(axis, x.ndim - 2).transpose(-2, -1)
        found = lines._as_solvable()._transformed(sign, length)
        scaled = found * _factor(op, norm, length, is_inverse=sign > 0)
        result = scaled.cast(x.dtype).transpose(-2, -1)
        return result.transpose(axis, x.ndim - 2)

    def rfft(self, n: int | None = None, dim: int = -1, norm: str | None = None) -> Self:
        """The first n // 2 + 1 values (pairs) of the transform of real values along an axis."""
        x = self._as_float()
        axis = x._axis(dim)
        pairs = x._cut("rfft", axis, n).to_pairs()
        length = pairs.shape[axis]
        return pairs.fft(None, axis, norm)._part(axis, 0, length // 2 + 1)

    def irfft(self, n: int | None = None, dim: int = -1, norm: str | None = None) -> Self:
        """The inverse of `rfft`: n real values, 2 * (m - 1) unless said, of m values (pairs)."""
        real, _ = self._parts_of_pairs("irfft")
        axis = real._axis(dim)
        length = 2 * (real.shape[axis] - 1) if n is None else n
        whole = self._mirrored_pairs("irfft", axis, length)
        return whole.ifft(None, axis, norm)._parts_of_pairs("irfft")[0]

    def hfft(self, n: int | None = None, dim: int = -1, norm: str | None = None) -> Self:
        """The n real values (2 * (m - 1) unless said) whose inverse transform has a first half of
        these m values (pairs).
        """
        real, _ = self._parts_of_pairs("hfft")
        axis = real._axis(dim)
        length = 2 * (real.shape[axis] - 1) if n is None else n
        whole = self._mirrored_pairs("hfft", axis, length)
        return whole.fft(None, axis, norm)._parts_of_pairs("hfft")[0]

    def ihfft(self, n: int | None = None, dim: int = -1, norm: str | None = None) -> Self:
        """The inverse of `hfft`: n // 2 + 1 values (pairs) of real ones."""
        x = self._as_float()
        axis = x._axis(dim)
        pairs = x._cut("ihfft", axis, n).to_pairs()
        length = pairs.shape[axis]
        return pairs.ifft(None, axis, norm)._part(axis, 0, length // 2 + 1)

    def _mirrored_pairs(self, op: str, axis: int, length: int) -> Self:
        """All values of a spectrum whose second half is the first, mirrored and conjugate."""
        _check_length(op, length)
        half = self._as_float()._cut(op, axis, length // 2 + 1)
        rest = length - (length // 2 + 1)
        if rest == 0:
            return half
        mirrored = half._part(axis, 1, rest + 1).flip(axis).pairs_conj()
        return half.cat(mirrored, dim=axis)

    def _cut(self, op: str, axis: int, n: int | None) -> Self:
        """An axis cut or padded with zeros to `n`."""
        size = self.shape[axis]
        wanted = size if n is None else n
        _check_length(op, wanted)
        if wanted <= size:
            return self._part(axis, 0, wanted)
        return self._pad_zeros(
            [(0, wanted - size) if i == axis else (0, 0) for i in range(self.ndim)]
        )

    # *** the transform ***

    def _transformed(self, sign: int, length: int) -> Self:
        """Of shape (..., 2, length): real and imaginary parts along the last axis but one."""
        if self.numel() == 0:
            return self
        factor = first_factor(length)
        if factor == length:
            if length > LONGEST_PRIME:
                return self._by_convolution(sign, length)
            column = self.reshape((*self.shape[:-2], 2 * length, 1))
            product = self._table(transform_table(length, sign)) @ column
            return product.reshape(self.shape)
        # index n1 * rest + n2 becomes k1 + factor * k2 (Cooley and Tukey, 1965)
        rest = length // factor
        batch = self.shape[:-2]
        if factor > LONGEST_PRIME:
            lines = self.reshape((*batch, 2, factor, rest)).transpose(-2, -1)
            lines = lines.transpose(-3, -2).contiguous()
            first = lines._transformed(sign, factor).transpose(-3, -2).transpose(-2, -1)
        else:
            rows = self.reshape((*batch, 2 * factor, rest))
            product = self._table(transform_table(factor, sign)) @ rows
            first = product.reshape((*batch, 2, factor, rest))
        turned = _complex_product(first, self._table(twiddle_table(factor, rest, sign)), -3)
        lines = turned.transpose(-3, -2).contiguous()
        second = lines._transformed(sign, rest)
        # (..., factor, 2, rest) to (..., 2, rest * factor)
        ordered = second.transpose(-3, -2).transpose(-2, -1)
        return ordered.reshape((*batch, 2, length)).contiguous()

    def _by_convolution(self, sign: int, length: int) -> Self:
        """n k == (n^2 + k^2 - (k - n)^2) / 2 makes a convolution of it (Bluestein, 1970)."""
        chirp, spectrum = chirp_tables(length, sign)
        size = spectrum.shape[1]
        wave = self._table(chirp)
        turned = _complex_product(self, wave, -2)
        keep = [(0, 0)] * (self.ndim - 1)
        padded = turned._pad_zeros([*keep, (0, size - length)]).contiguous()
        product = _complex_product(padded._transformed(-1, size), self._table(spectrum), -2)
        back = product.contiguous()._transformed(1, size)._part(self.ndim - 1, 0, length)
        scaled: Self = back * (1 / size)
        return _complex_product(scaled, wave, -2).contiguous()

    def _table(self, table: Table) -> Self:
        exact = np.float64 if self.dtype is dtypes.float64 else np.float32
        return self._lift(table.astype(exact), self.device)

    # *** several axes ***

    def fftn(self, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Self:
        """`fft` along several axes, all if none are named."""
        return self._over_axes("fftn", s, dim, norm, self._parts_of_pairs("fftn")[0].ndim, "fft")

    def ifftn(self, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Self:
        """`ifft` along several axes, all if none are named."""
        return self._over_axes("ifftn", s, dim, norm, self._parts_of_pairs("ifftn")[0].ndim, "ifft")

    def fft2(self, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Self:
        """`fft` along two axes."""
        return self.fftn(s, dim, norm)

    def ifft2(
        self, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Self:
        """`ifft` along two axes."""
        return self.ifftn(s, dim, norm)

    def rfftn(self, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Self:
        """`rfft` along the last of several axes, then `fft` along the others."""
        axes, sizes = _axes_and_sizes("rfftn", s, dim, self.shape)
        if not axes:
            return self.to_pairs()
        found = self.rfft(sizes[-1], axes[-1], norm)
        for axis, size in zip(axes[:-1], sizes[:-1], strict=True):
            found = found.fft(size, axis, norm)
        return found

    def rfft2(
        self, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Self:
        """`rfftn` along two axes."""
        return self.rfftn(s, dim, norm)

    def irfftn(self, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Self:
        """The inverse of `rfftn`."""
        shape = self._parts_of_pairs("irfftn")[0].shape
        axes, sizes = _axes_and_sizes("irfftn", s, dim, shape)
        found = self
        for axis, size in zip(axes[:-1], sizes[:-1], strict=True):
            found = found.ifft(size, axis, norm)
        return found.irfft(sizes[-1], axes[-1], norm)

    def irfft2(
        self, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Self:
        """The inverse of `rfft2`."""
        return self.irfftn(s, dim, norm)

    def _over_axes(
        self, op: str, s: Sizes, dim: Dims, norm: str | None, ndim: int, one: str
    ) -> Self:
        axes, sizes = _axes_and_sizes(op, s, dim, self.shape[:ndim])
        found = self
        for axis, size in zip(axes, sizes, strict=True):
            found = found.fft(size, axis, norm) if one == "fft" else found.ifft(size, axis, norm)
        return found

    # *** frequencies and shifts ***

    @classmethod
    def fftfreq(
        cls, n: int, d: float = 1.0, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Self:
        """The frequencies of the values of `fft`, for samples `d` apart: 0 up, then negative."""
        _check_length("fftfreq", n)
        line = np.arange(n)
        found = np.where(line < (n + 1) // 2, line, line - n) / (n * d)
        return cls._lift(found, device).cast(dtypes.default_float if dtype is None else dtype)

    @classmethod
    def rfftfreq(
        cls, n: int, d: float = 1.0, *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Self:
        """The frequencies of the values of `rfft`, for samples `d` apart."""
        _check_length("rfftfreq", n)
        found = np.arange(n // 2 + 1) / (n * d)
        return cls._lift(found, device).cast(dtypes.default_float if dtype is None else dtype)

    def fftshift(self, dim: int | Sequence[int] | None = None) -> Self:
        """Frequency 0 in the middle of axes, all if none are named.

        Axes are those of the Tensor: of pairs name all but the last.
        """
        axes = self._axes(dim)
        if not axes:
            return self._itself()
        return self.roll([self.shape[a] // 2 for a in axes], list(axes))

    def ifftshift(self, dim: int | Sequence[int] | None = None) -> Self:
        """The inverse of `fftshift`."""
        axes = self._axes(dim)
        if not axes:
            return self._itself()
        return self.roll([-(self.shape[a] // 2) for a in axes], list(axes))


def _complex_product(values: F, table: F, axis: int) -> F:
    """The products of complex values whose parts lie along one axis."""
    place = values.ndim + axis
    a, b = values._part(place, 0, 1), values._part(place, 1, 2)
    where = table.ndim + axis
    c, d = table._part(where, 0, 1), table._part(where, 1, 2)
    return (a * c - b * d).cat(a * d + b * c, dim=place)


def _factor(op: str, norm: str | None, length: int, *, is_inverse: bool) -> float:
    if norm not in (None, "backward", "forward", "ortho"):
        expected = "'backward', 'forward' or 'ortho'"
        raise ArgumentError(op=op, argument="norm", given=norm, expected=expected)
    if norm == "ortho":
        return 1 / math.sqrt(length)
    return 1 / length if is_inverse == (norm != "forward") else 1.0


def _check_length(op: str, n: int) -> None:
    if n < 1:
        raise ArgumentError(op=op, argument="n", given=n, expected="1 or more")


def _axes_and_sizes(
    op: str, s: Sizes, dim: Dims, shape: tuple[int, ...]
) -> tuple[list[int], list[int | None]]:
    """Which axes, and to which lengths; without names the last ones, as many as lengths."""
    if dim is None:
        count = len(shape) if s is None else len(s)
        dim = range(len(shape) - count, len(shape))
    axes = [axis + len(shape) if axis < 0 else axis for axis in dim]
    if any(not 0 <= axis < len(shape) for axis in axes) or len(set(axes)) < len(axes):
        expected = f"different axes of {len(shape)}"
        raise ArgumentError(op=op, argument="dim", given=tuple(dim), expected=expected)
    if s is None:
        return axes, [None] * len(axes)
    if len(s) != len(axes):
        raise ArgumentError(op=op, argument="s", given=tuple(s), expected=f"{len(axes)} lengths")
    return axes, [None if size == -1 else size for size in s]
