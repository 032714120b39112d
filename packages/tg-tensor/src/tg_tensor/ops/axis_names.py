"""The names that PyTorch and NumPy give to the arguments of reductions: `dim`, `keepdims`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tg_tensor.ops.exchange import ExchangeOps

P = ParamSpec("P")
R = TypeVar("R")

OTHER_NAMES = {"dim": "axis", "keepdims": "keepdim"}


def by_other_names(method: Callable[P, R]) -> Callable[P, R]:
    """The method, which takes `dim` for `axis` and `keepdims` for `keepdim` too."""

    @functools.wraps(method)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs.keys().isdisjoint(OTHER_NAMES):
            for name in [name for name in OTHER_NAMES if name in kwargs]:
                own = OTHER_NAMES[name]
                if own in kwargs:
                    text = f"{method.__name__}() got both {own!r} and {name!r}, which are the same"
                    raise TypeError(text)
                kwargs[own] = kwargs.pop(name)
        return method(*args, **kwargs)

    return named


class AxisNameOps(ExchangeOps):
    """Reductions by other names of their arguments.

    `max` and `min` are left out: with `dim` those of PyTorch give positions too.
    """

    __slots__ = ()

    sum = by_other_names(ExchangeOps.sum)
    prod = by_other_names(ExchangeOps.prod)
    mean = by_other_names(ExchangeOps.mean)
    any = by_other_names(ExchangeOps.any)
    all = by_other_names(ExchangeOps.all)
    var = by_other_names(ExchangeOps.var)
    std = by_other_names(ExchangeOps.std)
    var_mean = by_other_names(ExchangeOps.var_mean)
    std_mean = by_other_names(ExchangeOps.std_mean)
    argmax = by_other_names(ExchangeOps.argmax)
    argmin = by_other_names(ExchangeOps.argmin)
    softmax = by_other_names(ExchangeOps.softmax)
    log_softmax = by_other_names(ExchangeOps.log_softmax)
    logsumexp = by_other_names(ExchangeOps.logsumexp)
    cumsum = by_other_names(ExchangeOps.cumsum)
    cumprod = by_other_names(ExchangeOps.cumprod)
    cummax = by_other_names(ExchangeOps.cummax)
    cummin = by_other_names(ExchangeOps.cummin)
    logcumsumexp = by_other_names(ExchangeOps.logcumsumexp)
