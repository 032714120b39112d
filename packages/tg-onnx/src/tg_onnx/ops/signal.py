"""Operators of signals and sequences: Fourier transforms, running products, reversed parts."""

from __future__ import annotations

import numpy as np
from tg_tensor import Tensor, dtypes

from tg_onnx.ops.sampling import working_dtype
from tg_onnx.ops.shape import axis_of
from tg_onnx.proto import DTYPE_OF_ELEMENT, Array
from tg_onnx.registry import operator

# breaks of the mel scale (O'Shaughnessy, 1987)
MEL_FACTOR = 2595.0
MEL_CORNER = 700.0


@operator("DFT", since=17, host=(1,))
def dft_by_attribute(
    x: Tensor, length: Array | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Tensor:
    """Before opset 20 the axis is an attribute."""
    return transformed(x, length, axis_of(axis, x.ndim), bool(inverse), bool(onesided))


@operator("DFT", since=20, host=(1, 2))
def dft(
    x: Tensor,
    length: Array | None = None,
    axis: Array | None = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
) -> Tensor:
    """The discrete Fourier transform of real values (..., 1) or complex ones (..., 2)."""
    chosen = -2 if axis is None else int(np.ravel(axis)[0])
    return transformed(x, length, axis_of(chosen, x.ndim), bool(inverse), bool(onesided))


def transformed(
    x: Tensor, length: Array | None, axis: int, inverse: bool, onesided: bool
) -> Tensor:
    """The transform along one axis; an inverse one-sided one gives real values (..., 1).

    Raises `ValueError` for an axis or a last axis that does not fit.
    """
    parts = int(x.shape[-1])
    if axis == x.ndim - 1:
        raise ValueError("the last axis holds real and imaginary parts")
    if parts not in (1, 2):
        raise ValueError(f"the last axis has 1 or 2 parts, not {parts}")
    size = int(x.shape[axis])
    if length is not None:
        number = int(np.ravel(length)[0])
    else:
        number = 2 * (size - 1) if inverse and onesided else size
    wide = x.cast(working_dtype(x.dtype))
    if parts == 1:
        real = wide.squeeze(-1)
        if onesided and not inverse:
            return real.rfft(number, axis).cast(x.dtype)
        pairs = real.to_pairs()
    else:
        pairs = wide
    if inverse and onesided:
        return pairs.irfft(number, axis).unsqueeze(-1).cast(x.dtype)
    result = pairs.ifft(number, axis) if inverse else pairs.fft(number, axis)
    if onesided:
        half = [slice(None)] * result.ndim
        half[axis] = slice(0, number // 2 + 1)
        result = result[tuple(half)]
    return result.cast(x.dtype)


@operator("STFT", since=17, host=(1, 3))
def stft(
    signal: Tensor,
    frame_step: Array,
    window: Tensor | None = None,
    frame_length: Array | None = None,
    *,
    onesided: int = 1,
) -> Tensor:
    """The transforms of frames of a signal (batch, length, 1 or 2), each times a window:
    (batch, frames, frequencies, 2).
    """
    step = int(np.ravel(frame_step)[0])
    if frame_length is not None:
        length = int(np.ravel(frame_length)[0])
    elif window is not None:
        length = int(window.shape[0])
    else:
        length = int(signal.shape[1])
    real = signal if signal.ndim == 3 else signal.unsqueeze(-1)
    frames = real.unfold(1, length, step).transpose(-1, -2)
    if window is not None:
        short = length - int(window.shape[0])
        # a window that is shorter stands at the start of its frame
        whole = window.pad(((0, short),)) if short else window
        frames = frames * whole.cast(frames.dtype).reshape(length, 1)
    return transformed(frames, None, 2, False, bool(onesided) and int(real.shape[-1]) == 1)


@operator("MelWeightMatrix", since=17, host=(0, 1, 2, 3, 4))
def mel_weight_matrix(
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
    *,
    output_datatype: int = 1,
) -> Tensor:
    """Triangles of equal width on the mel scale, a column each, over the bins of a spectrum."""
    count, length, rate = (int(np.ravel(n)[0]) for n in (num_mel_bins, dft_length, sample_rate))
    edges = (float(np.ravel(edge)[0]) for edge in (lower_edge_hertz, upper_edge_hertz))
    low, high = (MEL_FACTOR * np.log10(1 + hertz / MEL_CORNER) for hertz in edges)
    mels = np.arange(count + 2) * ((high - low) / (count + 2)) + low
    hertz = MEL_CORNER * (10 ** (mels / MEL_FACTOR) - 1)
    bins = ((length + 1) * hertz // rate).astype(np.int64)
    left, center, right = bins[:-2], bins[1:-1], bins[2:]
    at = np.arange(length // 2 + 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = (at - left) / (center - left)
        falling = (right - at) / (right - center)
    matrix = np.where((at >= left) & (at <= center), rising, 0.0)
    matrix = np.where((left == center) & (at == center), 1.0, matrix)
    matrix = np.where((at >= center) & (at < right) & (right > center), falling, matrix)
    return Tensor(matrix).cast(DTYPE_OF_ELEMENT[output_datatype])


@operator("CumProd", since=26, host=(1,))
def cumulative_product(x: Tensor, axis: Array, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    """The product of all elements up to each, with or without itself, from either end."""
    dim = axis_of(int(np.ravel(axis)[0]), x.ndim)
    turned = x.flip(dim) if reverse else x
    if exclusive:
        size = int(x.shape[dim])
        pairs = tuple((1, 0) if i == dim else (0, 0) for i in range(x.ndim))
        shifted = turned.pad(pairs, value=1)
        turned = shifted[(slice(None),) * dim + (slice(0, size),)]
    result = turned.cumprod(dim).cast(x.dtype)
    return result.flip(dim) if reverse else result


@operator("Det", since=11)
def determinant(x: Tensor) -> Tensor:
    """The determinants of square matrices."""
    return x.cast(working_dtype(x.dtype)).det().cast(x.dtype)


@operator("ReverseSequence", since=10)
def reverse_sequence(
    x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0
) -> Tensor:
    """Of each sequence of a batch as many first elements as its length, in reverse."""
    batch, time = axis_of(batch_axis, x.ndim), axis_of(time_axis, x.ndim)
    if batch == time:
        raise ValueError(f"batch_axis and time_axis are both {batch}")
    size = int(x.shape[time])
    step = Tensor.arange(size, device=x.device).reshape(_on_axis(time, size, x.ndim))
    count = lengths.cast(dtypes.int32).reshape(_on_axis(batch, int(x.shape[batch]), x.ndim))
    place = (step < count).where(count - 1 - step, step)
    return x.gather(time, place.expand(*x.shape))


@operator("TensorScatter", since=24)
def tensor_scatter(
    past: Tensor,
    update: Tensor,
    write_indices: Tensor | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
) -> Tensor:
    """A cache with an update written along an axis, in each batch from its index on."""
    dim = axis_of(axis, past.ndim)
    if dim == 0:
        raise ValueError("axis 0 is the batch")
    size, length = int(past.shape[dim]), int(update.shape[dim])
    step = Tensor.arange(size, device=past.device).reshape(_on_axis(dim, size, past.ndim))
    if write_indices is not None:
        first = write_indices.cast(dtypes.int32)
        step = step - first.reshape(_on_axis(0, int(past.shape[0]), past.ndim))
    if mode == "circular":
        step = step % size
    written = (step >= 0) & (step < length)
    if length == 1:
        return written.where(update, past)
    place = step.clip(0, max(length - 1, 0))
    return written.where(update.gather(dim, place.expand(*past.shape)), past)


def _on_axis(axis: int, size: int, rank: int) -> tuple[int, ...]:
    return tuple(size if i == axis else 1 for i in range(rank))
