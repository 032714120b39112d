"""Tables of discrete Fourier transforms, and how a length is taken apart.

All tables are computed in float64 on the host from exact integer angles, so they are right to the
last digit for any length.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]

LONGEST_DIRECT = 64
"""Lengths up to this are one product with a matrix."""
LONGEST_PRIME = 160
"""Prime factors above this are turned into a convolution (Bluestein, 1970)."""


def first_factor(length: int) -> int:
    """The largest factor of a length, up to `LONGEST_DIRECT`; the least factor where all exceed it;
    the length itself where it is prime or short.
    """
    if length <= LONGEST_DIRECT:
        return length
    for factor in range(LONGEST_DIRECT, 1, -1):
        if length % factor == 0:
            return factor
    for factor in range(LONGEST_DIRECT + 1, math.isqrt(length) + 1):
        if length % factor == 0:
            return factor
    return length


def turns(numerators: npt.NDArray[np.int64], whole: int, sign: int) -> tuple[Table, Table]:
    """Cosine and sine of sign * 2 pi * n / whole, the angle brought within a turn exactly."""
    angle = (numerators % whole) * (2 * np.pi / whole)
    return np.cos(angle), sign * np.sin(angle)


@lru_cache(maxsize=64)
def transform_table(length: int, sign: int) -> Table:
    """The real matrix that takes (real; imaginary) parts to those of the transform."""
    line = np.arange(length, dtype=np.int64)
    cosine, sine = turns(np.outer(line, line), length, sign)
    return np.block([[cosine, -sine], [sine, cosine]])


@lru_cache(maxsize=64)
def twiddle_table(rows: int, columns: int, sign: int) -> Table:
    """exp(sign * 2 pi i * r * c / (rows * columns)): shape (2, rows, columns)."""
    products = np.outer(np.arange(rows, dtype=np.int64), np.arange(columns, dtype=np.int64))
    return np.stack(turns(products, rows * columns, sign))


@lru_cache(maxsize=16)
def chirp_tables(length: int, sign: int) -> tuple[Table, Table]:
    """exp(sign * pi i n^2 / length) for the input and output, and the transform of its inverse.

    Shapes (2, length) and (2, size), where size is the power of two in which the convolution runs.
    """
    line = np.arange(length, dtype=np.int64)
    cosine, sine = turns(line * line, 2 * length, sign)
    size = 1 << (2 * length - 2).bit_length()
    around = np.zeros(size, np.complex128)
    around[:length] = cosine - 1j * sine
    around[size - length + 1 :] = around[1:length][::-1]
    spectrum = np.fft.fft(around)
    return np.stack([cosine, sine]), np.stack([spectrum.real, spectrum.imag])
