"""Reductions of whole axes in terms of one hook."""

from __future__ import annotations


class ReduceMixin:
    """Reductions: needs `shape`, `dtype` and a hook that builds a REDUCE."""

    __slots__ = ()
