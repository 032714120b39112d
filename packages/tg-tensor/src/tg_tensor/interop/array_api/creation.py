"""Functions of the array API standard that make Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tg_tensor.defaults import DeviceName, DTypeLike, to_dtype
from tg_tensor.errors import ArgumentError, ExchangeError
from tg_tensor.interop.dlpack import Exporter
from tg_tensor.tensor import Tensor
from tg_uop import dtypes

Shape = int | Sequence[int]
Scalar = int | float


def _sizes(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _of_scalar(value: Scalar, dtype: DTypeLike | None) -> DTypeLike:
    """The dtype that is asked for, or that of the number."""
    return dtypes.from_py(value) if dtype is None else dtype


def arange(
    start: Scalar,
    /,
    stop: Scalar | None = None,
    step: Scalar = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceName | None = None,
) -> Tensor:
    """The numbers from `start` up to `stop`, `step` apart."""
    if dtype is None:
        given = (start, step) if stop is None else (start, stop, step)
        is_float = any(isinstance(value, float) for value in given)
        dtype = dtypes.default_float if is_float else dtypes.default_int
    return Tensor.arange(start, stop, step, dtype=dtype, device=device)


def asarray(
    obj: object,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceName | None = None,
    copy: bool | None = None,
) -> Tensor:
    """A Tensor of numbers, nested sequences, or another library's array.

    `copy=False` shares memory. Raises `ExchangeError`, a `ValueError`, where that cannot be had.
    """
    if isinstance(obj, Tensor):
        made = obj if device is None else obj.to(device)
        made = made if dtype is None else made.cast(dtype)
        if copy is False and made.uop is not obj.uop:
            raise ExchangeError(protocol="asarray without a copy", reason="it takes a conversion")
        if copy:
            return made.clone()
        return obj if made.uop is obj.uop else made
    if copy is not False:
        return Tensor(obj, device=device, dtype=dtype)
    if not hasattr(obj, "__dlpack__"):
        raise ExchangeError(
            protocol="asarray without a copy", reason=f"{type(obj).__name__} shares no memory"
        )
    lender = cast(Exporter, obj)
    shared = Tensor.from_dlpack(lender, device if isinstance(device, str) else None, copy=False)
    if dtype is not None and to_dtype(dtype) is not shared.dtype:
        raise ExchangeError(protocol="asarray without a copy", reason="it takes a conversion")
    return shared


def empty(
    shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceName | None = None
) -> Tensor:
    """Memory with any values."""
    return Tensor.empty(*_sizes(shape), dtype=dtype, device=device)


def empty_like(
    x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceName | None = None
) -> Tensor:
    """Memory with any values, of the shape of `x`."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: DeviceName | None = None,
) -> Tensor:
    """A matrix with ones on diagonal `k`, zeros elsewhere."""
    width = n_rows if n_cols is None else n_cols
    rows = Tensor.arange(n_rows, dtype=dtypes.int32, device=device).reshape(n_rows, 1)
    columns = Tensor.arange(width, dtype=dtypes.int32, device=device).reshape(1, width)
    return (columns - rows).eq(k).cast(dtype or dtypes.default_float)


def from_dlpack(
    x: Exporter, /, *, device: DeviceName | None = None, copy: bool | None = None
) -> Tensor:
    """The memory of another library's array, shared where it can be.

    Raises `ExchangeError`, a `BufferError`, where it cannot be had so.
    """
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    if device is not None and not isinstance(device, str):
        raise ArgumentError(
            op="from_dlpack", argument="device", given=device, expected="one device"
        )
    return Tensor.from_dlpack(x, device, copy)


def full(
    shape: Shape,
    fill_value: Scalar,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceName | None = None,
) -> Tensor:
    """One number everywhere; its dtype is the default one of its kind."""
    wanted = _of_scalar(fill_value, dtype)
    return Tensor.full(_sizes(shape), fill_value, dtype=wanted, device=device)


def full_like(
    x: Tensor,
    /,
    fill_value: Scalar,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceName | None = None,
) -> Tensor:
    """One number everywhere, in the shape of `x`."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceName | None = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, which `endpoint` includes."""
    wanted = to_dtype(dtype or dtypes.default_float)
    if endpoint:
        return Tensor.linspace(start, stop, num, dtype=wanted, device=device)
    whole = Tensor.linspace(start, stop, num + 1, dtype=wanted, device=device)
    return whole[:num]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of the points of a grid; "xy" has the first array along columns."""
    if not arrays:
        return []
    return list(arrays[0].meshgrid(*arrays[1:], indexing=indexing))


def ones(
    shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceName | None = None
) -> Tensor:
    """Ones."""
    return full(shape, 1, dtype=dtype or dtypes.default_float, device=device)


def ones_like(
    x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceName | None = None
) -> Tensor:
    """Ones in the shape of `x`."""
    return full_like(x, 1, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices below and on diagonal `k`, zeros above."""
    return x.tril(k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices above and on diagonal `k`, zeros below."""
    return x.triu(k)


def zeros(
    shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceName | None = None
) -> Tensor:
    """Zeros."""
    return full(shape, 0, dtype=dtype or dtypes.default_float, device=device)


def zeros_like(
    x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceName | None = None
) -> Tensor:
    """Zeros in the shape of `x`."""
    return full_like(x, 0, dtype=dtype, device=device)
