"""Further writes in place by PyTorch's names: what a method without the underscore gives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from tg_tensor.ops.inplace import InplaceOps

S = TypeVar("S", bound=InplaceOps)
P = ParamSpec("P")
Method = Callable[Concatenate[S, P], S]


def in_place(method: Method[S, P]) -> Method[S, P]:
    """A method whose result is written to the Tensor that it is called on, in its dtype."""

    @functools.wraps(method)
    def write(self: S, /, *args: P.args, **kwargs: P.kwargs) -> S:
        return self.assign(method(self, *args, **kwargs))

    return _named(write, method)


def in_place_as_number(method: Method[S, P]) -> Method[S, P]:
    """The same of a method that gives bools, written as 1 and 0 where the Tensor holds numbers."""

    @functools.wraps(method)
    def write(self: S, /, *args: P.args, **kwargs: P.kwargs) -> S:
        return self.assign(method(self, *args, **kwargs).cast(self.dtype))

    return _named(write, method)


def _named(write: Method[S, P], method: Method[S, P]) -> Method[S, P]:
    name = method.__name__
    write.__name__ = f"{name}_"
    write.__qualname__ = f"InplaceNameOps.{name}_"
    write.__doc__ = f"See `{name}`."
    return write


class InplaceNameOps(InplaceOps):
    """All raise `AssignError` where the result has another dtype, or another shape."""

    __slots__ = ()

    # *** functions of one value ***

    absolute_ = in_place(InplaceOps.absolute)
    negative_ = in_place(InplaceOps.negative)
    sign_ = in_place(InplaceOps.sign)
    fix_ = in_place(InplaceOps.fix)
    frac_ = in_place(InplaceOps.frac)
    exp2_ = in_place(InplaceOps.exp2)
    expm1_ = in_place(InplaceOps.expm1)
    log2_ = in_place(InplaceOps.log2)
    log10_ = in_place(InplaceOps.log10)
    log1p_ = in_place(InplaceOps.log1p)
    logit_ = in_place(InplaceOps.logit)
    tan_ = in_place(InplaceOps.tan)
    asin_ = in_place(InplaceOps.asin)
    acos_ = in_place(InplaceOps.acos)
    atan_ = in_place(InplaceOps.atan)
    sinh_ = in_place(InplaceOps.sinh)
    cosh_ = in_place(InplaceOps.cosh)
    asinh_ = in_place(InplaceOps.asinh)
    acosh_ = in_place(InplaceOps.acosh)
    atanh_ = in_place(InplaceOps.atanh)
    erf_ = in_place(InplaceOps.erf)
    erfc_ = in_place(InplaceOps.erfc)
    erfinv_ = in_place(InplaceOps.erfinv)
    lgamma_ = in_place(InplaceOps.lgamma)
    digamma_ = in_place(InplaceOps.digamma)
    nan_to_num_ = in_place(InplaceOps.nan_to_num)
    clip_ = in_place(InplaceOps.clip)
    clamp_min_ = in_place(InplaceOps.clamp_min)
    clamp_max_ = in_place(InplaceOps.clamp_max)

    # *** arithmetic ***

    subtract_ = in_place(InplaceOps.subtract)
    multiply_ = in_place(InplaceOps.multiply)
    divide_ = in_place(InplaceOps.divide)
    true_divide_ = in_place(InplaceOps.true_divide)
    floor_divide_ = in_place(InplaceOps.floor_divide)
    remainder_ = in_place(InplaceOps.remainder)
    fmod_ = in_place(InplaceOps.fmod)
    copysign_ = in_place(InplaceOps.copysign)
    hypot_ = in_place(InplaceOps.hypot)
    atan2_ = in_place(InplaceOps.atan2)
    xlogy_ = in_place(InplaceOps.xlogy)

    # *** bits and logic ***

    bitwise_and_ = in_place(InplaceOps.bitwise_and)
    bitwise_or_ = in_place(InplaceOps.bitwise_or)
    bitwise_xor_ = in_place(InplaceOps.bitwise_xor)
    bitwise_not_ = in_place(InplaceOps.bitwise_not)
    logical_and_ = in_place_as_number(InplaceOps.logical_and)
    logical_or_ = in_place_as_number(InplaceOps.logical_or)
    logical_xor_ = in_place_as_number(InplaceOps.logical_xor)
    logical_not_ = in_place_as_number(InplaceOps.logical_not)
    eq_ = in_place_as_number(InplaceOps.eq)
    ne_ = in_place_as_number(InplaceOps.ne)
    lt_ = in_place_as_number(InplaceOps.lt)
    le_ = in_place_as_number(InplaceOps.le)
    gt_ = in_place_as_number(InplaceOps.gt)
    ge_ = in_place_as_number(InplaceOps.ge)

    # *** axes ***

    cumsum_ = in_place(InplaceOps.cumsum)
    cumprod_ = in_place(InplaceOps.cumprod)
    addmm_ = in_place(InplaceOps.addmm)
    baddbmm_ = in_place(InplaceOps.baddbmm)
    renorm_ = in_place(InplaceOps.renorm)
    scatter_reduce_ = in_place(InplaceOps.scatter_reduce)
