"""Writes in place by PyTorch's names, which end in an underscore: each is an `assign`."""

from __future__ import annotations

import math
from typing import Self

from tg_uop import DType, dtypes
from tg_uop.plain import plain

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.draw import DrawOps


class InplaceOps(DrawOps):
    """Each computes what the name without the underscore does and writes it here.

    The dtype stays: all raise `AssignError` where the result has another one, or another shape.
    """

    __slots__ = ()

    # *** values ***

    def fill_(self, value: Self | int | float) -> Self:
        """One value into every element."""
        value = plain(value)
        filled = value if isinstance(value, int | float) else value.cast(self.dtype)
        return self.assign(filled)

    def zero_(self) -> Self:
        """0 into every element."""
        return self.assign(0)

    def copy_(self, src: Self) -> Self:
        """The values of `src`, broadcast and converted."""
        moved = self._lift(src, self.device)
        return self.assign(moved.cast(self.dtype)._expand_to(self.shape))

    def masked_fill_(self, mask: Self, value: Self | int | float) -> Self:
        """See `masked_fill`."""
        return self.assign(self.masked_fill(mask, value))

    def masked_scatter_(self, mask: Self, source: Self) -> Self:
        """See `masked_scatter`."""
        return self.assign(self.masked_scatter(mask, source))

    # *** arithmetic ***

    def add_(self, other: object, *, alpha: float = 1) -> Self:
        """`alpha` times `other` added."""
        return self.assign(self + (other if alpha == 1 else self.ufix(other) * alpha))

    def sub_(self, other: object, *, alpha: float = 1) -> Self:
        """`alpha` times `other` taken away."""
        return self.assign(self - (other if alpha == 1 else self.ufix(other) * alpha))

    def mul_(self, other: object) -> Self:
        """Times `other`."""
        return self.assign(self * other)

    def div_(self, other: object, rounding_mode: str | None = None) -> Self:
        """Divided by `other`."""
        return self.assign(self.div(other, rounding_mode=rounding_mode))

    def pow_(self, exponent: object) -> Self:
        """To a power."""
        return self.assign(self.pow(exponent))

    def lerp_(self, end: Self, weight: Self | float) -> Self:
        """See `lerp`."""
        return self.assign(self.lerp(end, weight))

    def addcmul_(self, tensor1: Self, tensor2: Self, *, value: float = 1) -> Self:
        """See `addcmul`."""
        return self.assign(self.addcmul(tensor1, tensor2, value=value))

    def addcdiv_(self, tensor1: Self, tensor2: Self, *, value: float = 1) -> Self:
        """See `addcdiv`."""
        return self.assign(self.addcdiv(tensor1, tensor2, value=value))

    def clamp_(self, min: object | None = None, max: object | None = None) -> Self:
        """See `clamp`."""
        return self.assign(self.clamp(min, max))

    # *** functions ***

    def neg_(self) -> Self:
        """The other sign."""
        return self.assign(self.neg())

    def abs_(self) -> Self:
        """The distance from 0."""
        return self.assign(self.abs())

    def exp_(self) -> Self:
        """e to this power."""
        return self.assign(self.exp())

    def sqrt_(self) -> Self:
        """The square root."""
        return self.assign(self.sqrt())

    def relu_(self) -> Self:
        """0 in place of what is below."""
        return self.assign(self.relu())

    def log_(self) -> Self:
        """The natural logarithm."""
        return self.assign(self.log())

    def sigmoid_(self) -> Self:
        """1 / (1 + exp(-x))."""
        return self.assign(self.sigmoid())

    def tanh_(self) -> Self:
        """The hyperbolic tangent."""
        return self.assign(self.tanh())

    def sin_(self) -> Self:
        """The sine."""
        return self.assign(self.sin())

    def cos_(self) -> Self:
        """The cosine."""
        return self.assign(self.cos())

    def square_(self) -> Self:
        """Times itself."""
        return self.assign(self.square())

    def rsqrt_(self) -> Self:
        """One over the square root."""
        return self.assign(self.rsqrt())

    def reciprocal_(self) -> Self:
        """One over the value."""
        return self.assign(self.reciprocal())

    def floor_(self) -> Self:
        """Rounded down."""
        return self.assign(self.floor())

    def ceil_(self) -> Self:
        """Rounded up."""
        return self.assign(self.ceil())

    def round_(self) -> Self:
        """Rounded to the nearest whole number, halves to the even one."""
        return self.assign(self.round())

    def trunc_(self) -> Self:
        """Rounded toward zero."""
        return self.assign(self.trunc())

    def tril_(self, diagonal: int = 0) -> Self:
        """Zeros above a diagonal."""
        return self.assign(self.tril(diagonal))

    def triu_(self, diagonal: int = 0) -> Self:
        """Zeros below a diagonal."""
        return self.assign(self.triu(diagonal))

    # *** positions ***

    def index_add_(self, dim: int, index: Self, source: Self, *, alpha: float = 1) -> Self:
        """See `index_add`."""
        return self.assign(self.index_add(dim, index, source, alpha=alpha))

    def index_copy_(self, dim: int, index: Self, source: Self) -> Self:
        """See `index_copy`."""
        return self.assign(self.index_copy(dim, index, source))

    def index_fill_(self, dim: int, index: Self, value: Self | int | float) -> Self:
        """See `index_fill`."""
        return self.assign(self.index_fill(dim, index, value))

    def put_(self, index: Self, source: Self, accumulate: bool = False) -> Self:
        """See `put`."""
        return self.assign(self.put(index, source, accumulate))

    def scatter_(
        self, dim: int, index: Self, src: Self | int | float, reduce: str | None = None
    ) -> Self:
        """See `scatter`."""
        return self.assign(self.scatter(dim, index, src, reduce))

    def scatter_add_(self, dim: int, index: Self, src: Self) -> Self:
        """See `scatter_add`."""
        return self.assign(self.scatter_add(dim, index, src))

    # *** random numbers ***

    def uniform_(self, low: float = 0.0, high: float = 1.0) -> Self:
        """Numbers in [low, high)."""
        return self.assign(
            self.uniform(self.shape, low=low, high=high, dtype=self.dtype, device=self.device)
        )

    def normal_(self, mean: float = 0.0, std: float = 1.0) -> Self:
        """Numbers of the normal distribution."""
        return self.assign(
            self.normal(self.shape, mean=mean, std=std, dtype=self.dtype, device=self.device)
        )

    def bernoulli_(self, p: float = 0.5) -> Self:
        """1 with probability p, else 0."""
        return self.assign(self.bernoulli(p))

    def exponential_(self, lambd: float = 1.0) -> Self:
        """Waiting times with `lambd` events in a unit of time."""
        return self.assign(
            self.exponential(self.shape, lambd=lambd, dtype=self.dtype, device=self.device)
        )

    def log_normal_(self, mean: float = 1.0, std: float = 2.0) -> Self:
        """Numbers whose logarithms are of the normal distribution."""
        drawn = self.normal(
            self.shape, mean=mean, std=std, dtype=self._drawn_dtype(), device=self.device
        )
        return self.assign(drawn.exp().cast(self.dtype))

    def cauchy_(self, median: float = 0.0, sigma: float = 1.0) -> Self:
        """Numbers of the Cauchy distribution, by the inverse of its law."""
        unit = self.rand(self.shape, dtype=self._drawn_dtype(), device=self.device)
        return self.assign((((unit - 0.5) * math.pi).tan() * sigma + median).cast(self.dtype))

    def geometric_(self, p: float) -> Self:
        """How many trials the first success takes, each with probability `p`: 1 or more.

        Raises `ArgumentError` for a p outside of 0 to 1.
        """
        if not 0 < p < 1:
            raise ArgumentError(op="geometric_", argument="p", given=p, expected="between 0 and 1")
        unit = self.rand(self.shape, dtype=self._drawn_dtype(), device=self.device)
        trials = ((1 - unit).log() * (1 / math.log1p(-p))).ceil().maximum(1)
        return self.assign(trials.cast(self.dtype))

    def random_(self, from_: int = 0, to: int | None = None) -> Self:
        """Whole numbers from `from_` to below `to`; of one argument it is `to`.

        Without any, all that are not negative and that the dtype holds without rounding.
        """
        if to is None:
            from_, to = 0, from_ or self._whole_numbers()
        wide = dtypes.int32 if dtypes.int32.min <= from_ <= to <= dtypes.int32.max else dtypes.int64
        drawn = self.randint(self.shape, low=from_, high=to, dtype=wide, device=self.device)
        return self.assign(drawn.cast(self.dtype))

    def _whole_numbers(self) -> int:
        """How many whole numbers from 0 on the dtype holds without rounding (2**62 at most)."""
        if self.dtype.is_float:
            return int(2 ** (dtypes.finfo(self.dtype).mantissa + 1))
        return min(int(self.dtype.max) + 1, 2**62)

    def _drawn_dtype(self) -> DType:
        """The float in which numbers are drawn that end up in this dtype."""
        return dtypes.float64 if self.dtype.itemsize == 8 else dtypes.float32
