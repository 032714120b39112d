"""The Fourier transform extension of the array API standard.

There are no complex dtypes: where the standard has complex arrays, these functions take and give
real ones with one more axis, the last, of size 2, for the real and the imaginary part. `axis` and
`axes` do not count it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor.defaults import DeviceName, DTypeLike
from tg_tensor.tensor import Tensor

Sizes = Sequence[int] | None


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The discrete Fourier transform of pairs along an axis."""
    return x.fft(n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `fft`."""
    return x.ifft(n, axis, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The first half of the transform of real values along an axis, as pairs."""
    return x.rfft(n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `rfft`: real values."""
    return x.irfft(n, axis, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The real transform of the first half of values with conjugate symmetry, which are pairs."""
    return x.hfft(n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `hfft`: pairs."""
    return x.ihfft(n, axis, norm)


def fftn(
    x: Tensor,
    /,
    *,
    s: Sizes = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """`fft` along several axes."""
    return x.fftn(s, axes, norm)


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sizes = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The inverse of `fftn`."""
    return x.ifftn(s, axes, norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sizes = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """`rfft` along the last of several axes, then `fft` along the others."""
    return x.rfftn(s, axes, norm)


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sizes = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The inverse of `rfftn`: real values."""
    return x.irfftn(s, axes, norm)


def fftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceName | None = None,
) -> Tensor:
    """The frequencies of the values of `fft`, for samples `d` apart: 0 up, then negative."""
    return Tensor.fftfreq(n, d, dtype=dtype, device=_one(device))


def rfftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceName | None = None,
) -> Tensor:
    """The frequencies of the values of `rfft`, for samples `d` apart."""
    return Tensor.rfftfreq(n, d, dtype=dtype, device=_one(device))


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Frequency 0 in the middle of axes; of pairs, name the axes but the last."""
    return x.fftshift(axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return x.ifftshift(axes)


def _one(device: DeviceName | None) -> str | None:
    return device if device is None or isinstance(device, str) else device[0]
