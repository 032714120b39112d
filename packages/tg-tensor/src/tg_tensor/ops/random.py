"""Random numbers: a counter and a key in device memory, mixed by threefry (Salmon et al., 2011).

The counter is advanced by a store that is part of the graph, so a replayed step draws fresh
numbers, and the same seed gives the same stream with and without capture.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Sequence
from typing import ClassVar, Self, TypeVar

from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.errors import ArgumentKindError
from tg_uop.plain import plain, plain_sequence

from tg_tensor.defaults import DeviceName, DTypeLike, device_or_default, to_dtype
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.create import CreateOps, ShapeArgs, refuse_unknown, shape_of

_MASK32 = 0xFFFFFFFF
# the golden ratio in 64 bits: multiples of it spread over all bits (Knuth, TAOCP 6.4)
_SPREAD = 0x9E3779B97F4A7C15


def _key_words(device: str) -> list[int]:
    """The key of a device: the seed, spread apart for devices of other numbers."""
    _, _, index = device.partition(":")
    number = int(index) if index.isdecimal() else 0
    key = (RandomOps._seed + number * _SPREAD) & 0xFFFFFFFFFFFFFFFF
    return [key & _MASK32, key >> 32]


class RandomState:
    """Key and counter of one device."""

    __slots__ = ("counter", "key")

    def __init__(self, key: RandomOps, counter: RandomOps) -> None:
        self.key = key
        self.counter = counter


class RandomOps(CreateOps):
    """Drawing numbers."""

    __slots__ = ()

    _seed: ClassVar[int] = time.time_ns() & 0xFFFFFFFFFFFFFFFF
    _states: ClassVar[dict[str, RandomState]] = {}

    @classmethod
    def _words(cls, values: list[int], device: DeviceName, dtype: DType) -> Self:
        """Integers in device memory."""
        raise NotImplementedError

    def assign(self, x: object) -> Self:
        """Write `x` here in place."""
        raise NotImplementedError

    # *** the stream ***

    @classmethod
    def manual_seed(cls, seed: int = 0) -> None:
        """Start the streams of all devices anew.

        Captured steps follow, because the state is changed in place.
        """
        RandomOps._seed = operator.index(seed) & 0xFFFFFFFFFFFFFFFF
        for device, state in RandomOps._states.items():
            state.key.assign(cls._words(_key_words(device), device, dtypes.uint32))
            state.counter.assign(cls._words([0], device, dtypes.uint64))
            # now, because a captured step reads the memory whatever is pending
            state.key.realize(state.counter)

    @classmethod
    def _state(cls, device: str) -> RandomState:
        found = RandomOps._states.get(device)
        if found is None:
            key = cls._words(_key_words(device), device, dtypes.uint32)
            found = RandomState(key, cls._words([0], device, dtypes.uint64))
            RandomOps._states[device] = found
        return found

    @classmethod
    def random_bits(cls, key: Self, counter: Self, num: int) -> Self:
        """`num` times 32 random bits; `key` is two uint32 words, `counter` one word."""
        return (cls._random_words(key, counter, num) & _MASK32).cast(dtypes.uint32)

    @classmethod
    def _random_words(cls, key: Self, counter: Self, num: int) -> Self:
        """`num` times 64 random bits."""
        words = key.cast(dtypes.uint64)
        whole_key = words[0] | (words[1] << 32)
        index = cls._iota(num, key.device, dtypes.int32).cast(dtypes.uint64)
        position = index + counter.cast(dtypes.uint64).reshape((1,)).expand((num,))
        return position.alu(Ops.THREEFRY, whole_key.reshape((1,)).expand((num,)))

    @classmethod
    def _draw(cls, shape: Sequence[int], device: DeviceName | None) -> Self:
        """64 random bits an element; the counter moves on.

        Several devices draw the numbers that the first would draw, each for itself: only key and
        counter are sent, and of a value that is cut each draws its part.
        """
        shape = plain_sequence(shape)  # type: ignore[assignment]
        for size in shape:
            # before the counter moves: its memory outlives a failed draw
            if not isinstance(size, UOp) and (not hasattr(size, "__index__") or size < 0):
                expected = "whole numbers of 0 or more"
                is_whole = hasattr(size, "__index__")
                kind = ArgumentError if is_whole else ArgumentKindError
                raise kind(
                    op="drawing numbers", argument="shape", given=tuple(shape), expected=expected
                )
        place = device_or_default(device)
        first = place if isinstance(place, str) else place[0]
        state = cls._state(first)
        count = math.prod(shape)
        state.counter.assign(state.counter + count)
        key, counter = cls._of(state.key.uop), cls._of(state.counter.uop)
        if not isinstance(place, str):
            key, counter = key._replicate(place), counter._replicate(place)
        return cls._random_words(key, counter - count, count).reshape(tuple(shape))

    def _replicate(self, devices: tuple[str, ...]) -> Self:
        raise NotImplementedError

    # *** uniform ***

    @classmethod
    def rand(
        cls,
        *shape: ShapeArgs,
        device: DeviceName | None = None,
        dtype: DTypeLike | None = None,
        contiguous: bool = True,
        requires_grad: bool | None = None,
        **kwargs: object,
    ) -> Self:
        """Numbers in [0, 1), all equally likely that the dtype spaces evenly.

        Raises `ArgumentError` for a dtype that is no float.
        """
        refuse_unknown("rand", kwargs)
        wanted = dtypes.default_float if dtype is None else to_dtype(dtype)
        if not wanted.is_float:
            raise ArgumentError(op="rand", argument="dtype", given=wanted, expected="a float")
        numbers = _unit_interval(cls._draw(shape_of(shape), device), wanted)
        tensor = numbers.contiguous() if contiguous else numbers
        tensor.requires_grad = requires_grad
        return tensor

    def rand_like(self, **kwargs: object) -> Self:
        """`rand` in this shape, dtype and device; of a sharded Tensor cut as that is."""
        like = self._like(kwargs)
        if isinstance(self.device, str) or like["device"] != self.device:
            return self.rand(self.shape, **like)  # type: ignore[arg-type]
        contiguous = like.pop("contiguous", True)
        drawn = self.rand(self.shape, contiguous=False, **like)  # type: ignore[arg-type]
        own = drawn._cut_like(self)
        tensor = own.contiguous() if contiguous else own
        tensor.requires_grad = drawn.requires_grad
        return tensor

    def _like(self, kwargs: dict[str, object]) -> dict[str, object]:
        """The arguments with this dtype and device where they say nothing."""
        like = {"dtype": self.dtype, "device": self.device}
        return {**like, **{name: value for name, value in kwargs.items() if value is not None}}

    @classmethod
    def uniform(
        cls,
        *shape: ShapeArgs,
        low: float = 0.0,
        high: float = 1.0,
        dtype: DTypeLike | None = None,
        requires_grad: bool | None = None,
        **kwargs: object,
    ) -> Self:
        """Numbers in [low, high). Raises `ArgumentError` when low is above high."""
        if low > high:
            raise ArgumentError(
                op="uniform", argument="low, high", given=(low, high), expected="low not above high"
            )
        wanted = dtypes.default_float if dtype is None else to_dtype(dtype)
        sizes = shape_of(shape)
        if not wanted.is_float:
            return cls.randint(sizes, low=int(low), high=int(high), dtype=wanted, **kwargs)  # type: ignore[arg-type]
        unit = cls.rand(sizes, dtype=wanted, **kwargs)  # type: ignore[arg-type]
        tensor = unit * (high - low) + low
        tensor.requires_grad = requires_grad
        return tensor

    @classmethod
    def randint(
        cls,
        *shape: ShapeArgs,
        low: int = 0,
        high: int = 10,
        dtype: DTypeLike = dtypes.int32,
        device: DeviceName | None = None,
        requires_grad: bool | None = None,
        **kwargs: object,
    ) -> Self:
        """Whole numbers in [low, high).

        Raises `ArgumentError` for bounds that are no whole numbers, an empty interval, or a dtype
        that is no integer.
        """
        refuse_unknown("randint", kwargs)
        wanted = to_dtype(dtype)
        if not wanted.is_int:
            raise ArgumentError(op="randint", argument="dtype", given=wanted, expected="an integer")
        low, high = plain(low), plain(high)
        if not isinstance(low, int) or not isinstance(high, int) or low >= high:
            expected = "whole numbers with low < high"
            raise ArgumentError(
                op="randint", argument="low, high", given=(low, high), expected=expected
            )
        words = cls._draw(shape_of(shape), device)
        span = high - low
        # the high half of a 32 by 32 bit product is an even split of the interval
        offset = ((words >> 32) * span) >> 32 if span <= _MASK32 else words % span
        tensor = (offset.cast(dtypes.int64) + low).cast(wanted).contiguous()
        tensor.requires_grad = requires_grad
        return tensor

    # *** normal ***

    @classmethod
    def randn(
        cls,
        *shape: ShapeArgs,
        dtype: DTypeLike | None = None,
        requires_grad: bool | None = None,
        device: DeviceName | None = None,
        **kwargs: object,
    ) -> Self:
        """Numbers of the normal distribution (Box and Muller, 1958)."""
        refuse_unknown("randn", kwargs)
        wanted = dtypes.default_float if dtype is None else to_dtype(dtype)
        tensor = _normal(cls._draw(shape_of(shape), device), wanted).contiguous()
        tensor.requires_grad = requires_grad
        return tensor

    def randn_like(
        self, dtype: DTypeLike | None = None, requires_grad: bool | None = None, **kwargs: object
    ) -> Self:
        """`randn` in this shape, dtype and device; of a sharded Tensor cut as that is."""
        like = self._like({"dtype": dtype, **kwargs})
        if isinstance(self.device, str) or like["device"] != self.device:
            return self.randn(self.shape, requires_grad=requires_grad, **like)  # type: ignore[arg-type]
        words = self._draw(self.shape, self.device)
        tensor = _normal(words._cut_like(self), to_dtype(like["dtype"])).contiguous()  # type: ignore[arg-type]
        tensor.requires_grad = requires_grad
        return tensor

    @classmethod
    def normal(
        cls,
        *shape: ShapeArgs,
        mean: float = 0.0,
        std: float = 1.0,
        requires_grad: bool | None = None,
        **kwargs: object,
    ) -> Self:
        """Numbers of the normal distribution with this mean and standard deviation.

        Raises `ArgumentError` for a negative deviation.
        """
        if std < 0:
            raise ArgumentError(op="normal", argument="std", given=std, expected="0 or more")
        tensor = cls.randn(*shape, **kwargs) * std + mean  # type: ignore[arg-type]
        tensor.requires_grad = requires_grad
        return tensor

    # *** initial weights ***

    @classmethod
    def scaled_uniform(cls, *shape: ShapeArgs, **kwargs: object) -> Self:
        """Uniform in [-1, 1) over the square root of the number of elements."""
        sizes = shape_of(shape)
        scale = math.prod(sizes) ** -0.5 if math.prod(sizes) else 1.0
        return cls.uniform(sizes, low=-scale, high=scale, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def glorot_uniform(cls, *shape: ShapeArgs, **kwargs: object) -> Self:
        """Uniform with the variance of Glorot and Bengio (2010): fan-in and fan-out alike."""
        sizes = shape_of(shape)
        fans = math.prod(sizes[:1]) + math.prod(sizes[1:])
        bound = math.sqrt(6 / max(fans, 1))
        return cls.uniform(sizes, low=-bound, high=bound, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def kaiming_uniform(cls, *shape: ShapeArgs, a: float = 0.01, **kwargs: object) -> Self:
        """Uniform with the variance of He et al. (2015) for a leaky ReLU of slope `a`."""
        sizes = shape_of(shape)
        bound = math.sqrt(6 / (1 + a * a) / max(math.prod(sizes[1:]), 1))
        return cls.uniform(sizes, low=-bound, high=bound, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def kaiming_normal(cls, *shape: ShapeArgs, a: float = 0.01, **kwargs: object) -> Self:
        """Normal with the variance of He et al. (2015) for a leaky ReLU of slope `a`."""
        sizes = shape_of(shape)
        std = math.sqrt(2 / (1 + a * a) / max(math.prod(sizes[1:]), 1))
        return cls.normal(sizes, mean=0.0, std=std, **kwargs)  # type: ignore[arg-type]


T = TypeVar("T", bound=RandomOps)


def _normal(words: T, dtype: DType) -> T:
    """64 random bits as a number of the normal distribution."""
    wide = dtype if dtype.itemsize >= 4 else dtypes.float32
    # 1 - u is never 0, so the logarithm is finite; both halves of a word are independent
    radius = ((1 - _unit_interval(words, wide)).log() * -2).sqrt()
    angle = _unit_interval(words << 32, wide) * (2 * math.pi)
    return (radius * angle.cos()).cast(dtype)


def _unit_interval(words: T, dtype: DType) -> T:
    """The high bits of 64 random ones as a number in [0, 1): as many as the significand holds."""
    bits = dtypes.finfo(dtype).mantissa + 1
    if bits > 24:
        return (words >> (64 - bits)).cast(dtype) * 2.0**-bits
    return (words >> (64 - bits)).cast(dtypes.int32).cast(dtype) * 2.0**-bits
