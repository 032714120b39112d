"""Movement methods in terms of one hook."""

from __future__ import annotations

from typing import Self


class MovementMixin:
    """Views of a value: needs `shape` and a hook that builds a movement op."""

    __slots__ = ()

    def __getitem__(self, index: object) -> Self:
        raise NotImplementedError
