"""Random numbers of further distributions, and initial weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop import dtypes

from tg_tensor.defaults import to_dtype
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.create import ShapeArgs, shape_of
from tg_tensor.ops.ctc import CtcOps

# up to so many events on average their probabilities are added up, at most so many of them;
# beyond by Hormann, "The transformed rejection method for generating Poisson random variables",
# 1993, of which a round refuses one proposal in eight
_POISSON_RARE = 10
_POISSON_MOST = 64
_POISSON_ROUNDS = 16


class DrawOps(CtcOps):
    """Drawing from distributions; keyword arguments are those of `rand`."""

    __slots__ = ()

    # *** distributions ***

    def bernoulli(self, p: float | None = None) -> Self:
        """1 with the probability that each element is (or `p` is), else 0, in this dtype.

        Raises `ArgumentError` for a p outside of 0..1, and probabilities that are no floats.
        """
        if p is not None and not 0 <= p <= 1:
            raise ArgumentError(op="bernoulli", argument="p", given=p, expected="0 to 1")
        if p is None and not self.dtype.is_float:
            raise ArgumentError(
                op="bernoulli", argument="self", given=self.dtype, expected="probabilities, floats"
            )
        drawn = self.rand(self.shape, device=self.device, dtype=dtypes.float32, contiguous=False)
        return (drawn < (self if p is None else p)).cast(self.dtype).contiguous()

    @classmethod
    def exponential(cls, *shape: ShapeArgs, lambd: float = 1.0, **kwargs: object) -> Self:
        """Waiting times with `lambd` events in a unit of time, by the inverse of their law.

        Raises `ArgumentError` for a lambd that is not above 0.
        """
        if lambd <= 0:
            raise ArgumentError(op="exponential", argument="lambd", given=lambd, expected="above 0")
        unit = cls.rand(*shape, **kwargs)  # type: ignore[arg-type]
        # 1 - u is never 0
        return (1 - unit).log() * (-1 / lambd)

    def poisson(self) -> Self:
        """How many events there are where each element says how many to expect, in this dtype.

        NaN where that is negative. Raises `ArgumentError` for what are no floats.
        """
        if not self.dtype.is_float:
            raise ArgumentError(
                op="poisson", argument="self", given=self.dtype, expected="mean numbers, floats"
            )
        rate = self.detach().cast(dtypes.float64 if self._is_double() else dtypes.float32)
        is_rare = rate < _POISSON_RARE
        rare = is_rare.where(rate, 1)._few_events()
        many = is_rare.where(_POISSON_RARE, rate)._many_events()
        drawn = (rate >= 0).where(is_rare.where(rare, many), math.nan)
        return drawn.cast(self.dtype).contiguous()

    def _few_events(self) -> Self:
        """By the inverse of the law: how many sums of probabilities a number from 0 to 1 passes."""
        unit = self.rand(self.shape, device=self.device, dtype=self.dtype).unsqueeze(-1)
        count = self.arange(_POISSON_MOST, device=self.device, dtype=self.dtype)
        rate = self.unsqueeze(-1)
        law = (count.xlogy(rate) - rate - (count + 1).lgamma()).exp().cumsum(-1)
        return (unit >= law).cast(self.dtype).sum(-1)

    def _many_events(self) -> Self:
        """By transformed rejection: the first of some proposals that is taken."""
        shape = (2, _POISSON_ROUNDS, *self.shape)
        drawn = self.rand(shape, device=self.device, dtype=self.dtype)
        offset, height = drawn[0] - 0.5, drawn[1]
        b = self.sqrt() * 2.53 + 0.931
        a = b * 0.02483 - 0.059
        room = 0.5 - offset.abs()
        events = ((2 * a / room + b) * offset + self + 0.43).floor()
        is_inside = (room >= 0.07) & (height <= 0.9277 - 3.6224 / (b - 2))
        scale = (height * (1.1239 + 1.1328 / (b - 3.4)) / (a / (room * room) + b)).log()
        law = events * self.log() - self - (events.maximum(0) + 1).lgamma()
        is_taken = is_inside | ((events >= 0) & (scale <= law))
        first = is_taken.cast(dtypes.int32).argmax(0).unsqueeze(0)
        return events.gather(0, first).squeeze(0)

    @classmethod
    def trunc_normal(
        cls,
        *shape: ShapeArgs,
        mean: float = 0.0,
        std: float = 1.0,
        a: float = -2.0,
        b: float = 2.0,
        **kwargs: object,
    ) -> Self:
        """Numbers of the normal distribution between a and b, by the inverse of its law.

        Raises `ArgumentError` unless a < b.
        """
        if not a < b:
            raise ArgumentError(op="trunc_normal", argument="a, b", given=(a, b), expected="a < b")
        low, high = (math.erf((bound - mean) / (std * math.sqrt(2))) for bound in (a, b))
        wanted = kwargs.pop("dtype", None)
        dtype = dtypes.default_float if wanted is None else to_dtype(wanted)  # type: ignore[arg-type]
        wide = dtype if dtype.itemsize >= 4 else dtypes.float32
        unit = cls.rand(*shape, dtype=wide, **kwargs)  # type: ignore[arg-type]
        law = (unit * (high - low) + low).erfinv()
        return (law * (std * math.sqrt(2)) + mean).clip(a, b).cast(dtype)

    def randint_like(self, low: int = 0, high: int = 10, **kwargs: object) -> Self:
        """`randint` in this shape, device and (if it is one of integers) dtype."""
        dtype = self.dtype if self.dtype.is_int else dtypes.default_int
        like = {"dtype": dtype, "device": self.device, **kwargs}
        return self.randint(self.shape, low=low, high=high, **like)  # type: ignore[arg-type]

    # *** initial weights: the first axis is that of the outputs ***

    @classmethod
    def xavier_uniform(cls, *shape: ShapeArgs, gain: float = 1.0, **kwargs: object) -> Self:
        """Uniform with the variance of Glorot and Bengio (2010), fans counted as PyTorch does."""
        sizes = shape_of(shape)
        inputs, outputs = _fans("xavier_uniform", sizes)
        bound = gain * math.sqrt(6 / max(inputs + outputs, 1))
        return cls.uniform(sizes, low=-bound, high=bound, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def xavier_normal(cls, *shape: ShapeArgs, gain: float = 1.0, **kwargs: object) -> Self:
        """Normal with the variance of Glorot and Bengio (2010), fans counted as PyTorch does."""
        sizes = shape_of(shape)
        inputs, outputs = _fans("xavier_normal", sizes)
        std = gain * math.sqrt(2 / max(inputs + outputs, 1))
        return cls.normal(sizes, mean=0.0, std=std, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def glorot_normal(cls, *shape: ShapeArgs, **kwargs: object) -> Self:
        """See `xavier_normal`."""
        return cls.xavier_normal(*shape, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def orthogonal(cls, *shape: ShapeArgs, gain: float = 1.0, **kwargs: object) -> Self:
        """Orthonormal rows (or columns, where there are fewer) times `gain` (Saxe et al., 2013).

        Axes after the first count as one. Raises `ArgumentError` for fewer than two axes.
        """
        sizes = shape_of(shape)
        _fans("orthogonal", sizes)
        rows, columns = sizes[0], math.prod(sizes[1:])
        if rows * columns == 0:
            return cls.zeros(sizes, **kwargs)
        drawn = cls.randn(max(rows, columns), min(rows, columns), **kwargs)  # type: ignore[arg-type]
        q, r = drawn.qr()
        # with the signs of R's diagonal all orthogonal matrices are equally likely
        square = r[: min(rows, columns), : min(rows, columns)]
        signs = (square.diagonal() < 0).where(-1.0, 1.0).cast(q.dtype)
        even = q[:, : min(rows, columns)] * signs
        matrix = even if rows >= columns else even.transpose()
        return (matrix * gain).reshape(sizes)


def _fans(op: str, sizes: Sequence[int]) -> tuple[int, int]:
    """Inputs and outputs of a unit: the axes after the second are the kernel's."""
    if len(sizes) < 2:
        raise ArgumentError(
            op=op, argument="shape", given=tuple(sizes), expected="two axes or more"
        )
    kernel = math.prod(sizes[2:])
    return sizes[1] * kernel, sizes[0] * kernel
