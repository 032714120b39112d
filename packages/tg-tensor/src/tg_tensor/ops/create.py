"""Tensors out of nothing: constants, counters, masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Self

import numpy as np
from tg_uop import DType, Invalid, Ops, UOp, dtypes
from tg_uop.dtype.promote import least_upper_dtype
from tg_uop.dtype.value import const_value
from tg_uop.errors import ArgumentKindError, ShapeError, SignatureError
from tg_uop.methods.windows import Window, slide
from tg_uop.plain import plain, plain_sequence

from tg_tensor.defaults import DeviceName, DTypeLike, device_or_default, to_dtype
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.core import fresh_identity
from tg_tensor.ops.numbers import check_room
from tg_tensor.ops.operands import OperandOps
from tg_tensor.schedule.affine import max_dim

Shape = tuple[int, ...]
ShapeArgs = int | Sequence[int]


TOO_MANY = 1 << 31
"""Elements that 32 bits cannot count."""


def position_dtype(count: object) -> DType:
    """What positions among `count` elements are: the default integer, 64 bits among too many."""
    if isinstance(count, int) and count >= TOO_MANY:
        return dtypes.int64
    return dtypes.default_int


def _count(count: int, device: DeviceName, dtype: DType, tag: object) -> UOp:
    """0, 1, ... count - 1 as one sum that collapses to the index.

    Window i over `count` zeros and `count - 1` ones holds i ones.
    """
    place = (UOp(Ops.DEVICE, arg=device),)
    if count <= 1:
        return UOp(Ops.CONST, dtype, place, 0, tag)._expand_to((count,))
    one = UOp(Ops.CONST, dtype, place, 1, tag)
    line = one._expand_to((count - 1,))._pad_zeros([(count, 0)])
    return slide(line, [Window(count)])._reduce(Ops.ADD, (1,)).reshape((count,))


@lru_cache(maxsize=256)
def _line(count: int, device: DeviceName, dtype: DType) -> UOp:
    """A count without an identity: the same for everyone, and wanted by each index."""
    return _count(count, device, dtype, None)


class CreateOps(OperandOps):
    """Creation. Constants that a user makes have an identity, so that gradients keep them apart."""

    __slots__ = ()

    # *** one value everywhere ***

    @classmethod
    def full(
        cls,
        shape: ShapeArgs,
        fill_value: int | float | UOp,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceName | None = None,
        requires_grad: bool | None = None,
        **kwargs: object,
    ) -> Self:
        """`fill_value` in every element; its kind gives the dtype where none is given."""
        refuse_unknown("full", kwargs)
        fill_value = plain(fill_value)
        if isinstance(fill_value, UOp):
            wanted = dtypes.default_int if dtype is None else to_dtype(dtype)
            filled = cls._of(fill_value.cast(wanted))._expand_to(_checked_shape("full", shape))
            if device is not None:
                filled = cls._of(filled.uop.copy_to_device(device_or_default(device)))
            filled.requires_grad = requires_grad
            return filled
        wanted = dtypes.from_py(fill_value) if dtype is None else to_dtype(dtype)
        check_room(fill_value, wanted)
        node = UOp(
            Ops.CONST,
            wanted,
            (UOp(Ops.DEVICE, arg=device_or_default(device)),),
            const_value(fill_value, wanted),
            fresh_identity(),
        )
        tensor = cls._of(node)._expand_to(_checked_shape("full", shape))
        tensor.requires_grad = requires_grad
        return tensor

    @classmethod
    def zeros(cls, *shape: ShapeArgs, **kwargs: object) -> Self:
        """Zeros of the default float, or of `dtype`."""
        kwargs.setdefault("dtype", dtypes.default_float)
        return cls.full(shape_of(shape), 0, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def ones(cls, *shape: ShapeArgs, **kwargs: object) -> Self:
        """Ones of the default float, or of `dtype`."""
        kwargs.setdefault("dtype", dtypes.default_float)
        return cls.full(shape_of(shape), 1, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def invalids(cls, *shape: ShapeArgs, **kwargs: object) -> Self:
        """Elements that no one may read: reading gives 0, they take part in no store."""
        dtype = to_dtype(kwargs.get("dtype", dtypes.default_float))  # type: ignore[arg-type]
        device = device_or_default(kwargs.get("device"))  # type: ignore[arg-type]
        node = UOp(Ops.CONST, dtype, (UOp(Ops.DEVICE, arg=device),), Invalid, fresh_identity())
        return cls._of(node)._expand_to(shape_of(shape))

    @classmethod
    def empty(
        cls,
        *shape: ShapeArgs,
        device: DeviceName | None = None,
        dtype: DTypeLike | None = None,
        requires_grad: bool | None = None,
        **kwargs: object,
    ) -> Self:
        """Memory of its own with whatever is in it."""
        refuse_unknown("empty", kwargs)
        sizes = _checked_shape("empty", shape_of(shape))
        wanted = dtypes.default_float if dtype is None else to_dtype(dtype)
        place = device_or_default(device)
        # memory for the most elements that there can be
        most = math.prod(d if isinstance(d, int) else int(d.vmax) for d in sizes)
        if isinstance(place, tuple):
            shards = [UOp.new_buffer(name, most, wanted) for name in place]
            node = shards[0].multi(*shards[1:])
        else:
            node = UOp.new_buffer(place, most, wanted)
        tensor = cls._of(node).shrink([(0, math.prod(sizes))]).reshape(sizes)
        tensor.requires_grad = requires_grad
        return tensor

    # *** as another Tensor ***

    def full_like(
        self,
        fill_value: int | float,
        dtype: DTypeLike | None = None,
        device: DeviceName | None = None,
        requires_grad: bool | None = None,
        **kwargs: object,
    ) -> Self:
        """`fill_value` in this shape, dtype and device, where nothing else is asked for.

        Of a sharded Tensor it is cut as that is.
        """
        refuse_unknown("full_like", kwargs)
        filled = self.full(
            self.shape,
            fill_value,
            dtype=self.dtype if dtype is None else dtype,
            device=self.device if device is None else device,
        )
        made = filled._cut_like(self) if device is None else filled
        made.requires_grad = requires_grad
        return made

    def _cut_like(self, model: Self) -> Self:
        """Of copies on the devices of `model`, the part of each where that is sharded."""
        raise NotImplementedError

    def _new_memory_like(self, dtype: DType) -> UOp:
        """Memory for a value on several devices, cut as this is."""
        raise NotImplementedError

    def zeros_like(self, **kwargs: object) -> Self:
        """Zeros in this shape, dtype and device."""
        return self.full_like(0, **kwargs)  # type: ignore[arg-type]

    def ones_like(self, **kwargs: object) -> Self:
        """Ones in this shape, dtype and device."""
        return self.full_like(1, **kwargs)  # type: ignore[arg-type]

    def empty_like(
        self, dtype: DTypeLike | None = None, device: DeviceName | None = None, **kwargs: object
    ) -> Self:
        """Memory of this shape with whatever is in it; of a sharded Tensor cut as that is."""
        wanted = self.dtype if dtype is None else to_dtype(dtype)
        if device is None and not isinstance(self.device, str) and not kwargs:
            return self._of(self._new_memory_like(wanted))
        return self.empty(
            self.shape,
            dtype=wanted,
            device=self.device if device is None else device,
            **kwargs,  # type: ignore[arg-type]
        )

    # *** counters ***

    @classmethod
    def _iota(cls, count: int, device: DeviceName | None, dtype: DType, tag: object = None) -> Self:
        """0, 1, ... count - 1. Of 32 bits it gets 64 where 32 cannot hold them."""
        if dtype is dtypes.int32 and isinstance(count, int) and count >= TOO_MANY:
            dtype = dtypes.int64
        if isinstance(count, UOp):
            return cls._iota(int(count.vmax), device, dtype, tag).shrink([(0, count)])
        place = device_or_default(device)
        return cls._of(
            _line(count, place, dtype) if tag is None else _count(count, place, dtype, tag)
        )

    @classmethod
    def arange(
        cls,
        start: int | float,
        stop: int | float | None = None,
        step: int | float = 1,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceName | None = None,
        requires_grad: bool | None = None,
        **kwargs: object,
    ) -> Self:
        """start, start + step, ... before stop; with one number, from 0 to it.

        Whole numbers give the default integer, others the default float. Raises `ArgumentError`
        for a step of 0.
        """
        refuse_unknown("arange", kwargs)
        if stop is None:
            start, stop = 0, start
        start, stop, step = plain(start), plain(stop), plain(step)
        if step == 0:
            raise ArgumentError(op="arange", argument="step", given=step, expected="other than 0")
        numbers = (start, stop, step)
        kinds = [0 if isinstance(n, UOp) else n for n in numbers]
        wanted = dtypes.from_py(kinds) if dtype is None else to_dtype(dtype)
        count = _steps_between(start, stop, step)
        counting = dtypes.int64 if max_dim(count) > dtypes.int32.max else dtypes.int32
        whole = all(isinstance(n, int | UOp) for n in numbers)
        if whole and not wanted.is_float:
            counting = least_upper_dtype(counting, wanted)
        indices = cls._iota(count, device, counting, fresh_identity())
        if not whole or wanted.is_float:
            wide = least_upper_dtype(dtypes.float32, wanted) if wanted.is_float else dtypes.float64
            indices = indices.cast(wide)
        if step != 1:
            indices = indices * step
        if isinstance(start, UOp) or start != 0:
            indices = indices + start
        tensor = indices.cast(wanted)
        tensor.requires_grad = requires_grad
        return tensor

    @classmethod
    def linspace(
        cls,
        start: int | float,
        stop: int | float,
        steps: int,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceName | None = None,
        requires_grad: bool | None = None,
        **kwargs: object,
    ) -> Self:
        """`steps` numbers from start to stop, both included, at equal distances.

        Raises `ArgumentError` for a negative number of steps, and for bools.
        """
        refuse_unknown("linspace", kwargs)
        start, stop, steps = plain(start), plain(stop), plain(steps)
        if steps < 0:
            raise ArgumentError(op="linspace", argument="steps", given=steps, expected="0 or more")
        wanted = dtypes.default_float if dtype is None else to_dtype(dtype)
        if wanted.is_bool:
            raise ArgumentError(op="linspace", argument="dtype", given=wanted, expected="a number")
        wide = wanted if wanted.is_float and wanted.itemsize >= 4 else dtypes.float32
        if steps == 1:
            one = cls.full((1,), start, dtype=wanted, device=device)
            one.requires_grad = requires_grad
            return one
        index = cls._iota(steps, device, dtypes.int32, fresh_identity()).cast(wide)
        step = (stop - start) / max(steps - 1, 1)
        # from both ends, so that the last number is `stop` itself
        rising = index * step + start
        falling = (index - (steps - 1)) * step + stop
        tensor = (index < steps / 2).where(rising, falling).cast(wanted)
        tensor.requires_grad = requires_grad
        return tensor

    @classmethod
    def eye(
        cls,
        n: int,
        m: int | None = None,
        dtype: DTypeLike | None = None,
        device: DeviceName | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Ones on the diagonal of an n by m matrix, else zeros."""
        n = plain(n)
        columns = n if m is None else plain(m)
        if n < 0 or columns < 0:
            raise ArgumentError(op="eye", argument="size", given=(n, m), expected="0 or more")
        rows = cls._iota(n, device, dtypes.int32, fresh_identity()).reshape((n, 1))
        diagonal = rows.eq(cls._iota(columns, device, dtypes.int32).reshape((1, columns)))
        tensor = diagonal.cast(dtypes.default_float if dtype is None else dtype)
        tensor.requires_grad = requires_grad
        return tensor

    # *** masks ***

    def _below_diagonal(self, diagonal: int) -> Self:
        """A mask of the last two axes: True on the diagonal and below."""
        if self.ndim < 2:
            raise ArgumentError(
                op="tril and triu", argument="self", given=self.shape, expected="of two axes"
            )
        rows, columns = self.shape[-2:]
        row = self._iota(rows, self.device, dtypes.int32).reshape((rows, 1))
        column = self._iota(columns, self.device, dtypes.int32).reshape((1, columns))
        return column <= row + diagonal

    def tril(self, diagonal: int = 0) -> Self:
        """Zeros above a diagonal of the last two axes."""
        return self._below_diagonal(index(diagonal)).where(self, False)

    def triu(self, diagonal: int = 0) -> Self:
        """Zeros below a diagonal of the last two axes."""
        return self._below_diagonal(index(diagonal) - 1).where(False, self)

    def meshgrid(self, *args: Self, indexing: str = "ij") -> tuple[Self, ...]:
        """Vectors as coordinates of a grid: as many Tensors, each of the shape of the grid.

        Raises `ArgumentError` unless `indexing` is "ij" or "xy", `ShapeError` for matrices.
        """
        if indexing not in ("ij", "xy"):
            raise ArgumentError(
                op="meshgrid", argument="indexing", given=indexing, expected="'ij' or 'xy'"
            )
        vectors = (self, *args)
        if any(vector.ndim > 1 for vector in vectors):
            raise ShapeError(
                op="meshgrid",
                shapes=[vector.shape for vector in vectors],
                reason="coordinates are vectors or numbers",
                hint="flatten() first",
            )
        if len(vectors) == 1:
            return (self._itself(),)
        count = len(vectors)
        places = list(range(count))
        if indexing == "xy":
            places[0], places[1] = 1, 0
        sizes = [1] * count
        for vector, place in zip(vectors, places, strict=True):
            sizes[place] = vector.numel()
        shaped = []
        for vector, place in zip(vectors, places, strict=True):
            line = [vector.numel() if i == place else 1 for i in range(count)]
            shaped.append(vector.reshape(line).expand(sizes))
        return tuple(shaped)


def _steps_between(start: int | float, stop: int | float, step: int | float) -> int:
    """How many steps lead from `start` to before `stop`; a node where a bound is one."""
    if isinstance(start, UOp) or isinstance(stop, UOp):
        if not isinstance(step, int):
            raise ArgumentError(
                op="arange", argument="step", given=step, expected="a whole number beside Variables"
            )
        distance = (stop - start) if step > 0 else (start - stop)
        return (distance + (abs(step) - 1)) // abs(step)  # type: ignore[return-value]
    steps = (stop - start) / step
    if not math.isfinite(steps):
        given = (start, stop, step)
        expected = "finite numbers"
        raise ArgumentError(
            op="arange", argument="start, stop, step", given=given, expected=expected
        )
    return max(math.ceil(steps), 0)


def shape_of(shape: tuple[ShapeArgs, ...]) -> Shape:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    first = shape[0] if shape else ()
    if len(shape) == 1 and not isinstance(first, int | float | UOp | np.integer):
        return _sizes_of(first)
    return _sizes_of(shape)


def _sizes_of(given: object) -> Shape:
    sizes = plain_sequence(given)
    # an element of a Tensor counts as the number that it is
    return tuple(index(size) if isinstance(size, OperandOps) else size for size in sizes)


def _checked_shape(op: str, shape: ShapeArgs) -> Shape:
    sizes = (shape,) if isinstance(shape, int | UOp) else _sizes_of(shape)
    for size in sizes:
        if isinstance(size, UOp):
            continue
        is_whole = hasattr(size, "__index__")
        if not is_whole or size < 0:
            kind = ArgumentError if is_whole else ArgumentKindError
            raise kind(op=op, argument="shape", given=sizes, expected="whole numbers of 0 or more")
    return tuple(size if isinstance(size, UOp) else int(size) for size in sizes)


def refuse_unknown(op: str, kwargs: dict[str, object]) -> None:
    if kwargs:
        raise SignatureError(call=op, reason=f"it takes no argument {', '.join(sorted(kwargs))}")
