"""Order kernels: each after what it needs, and soon after, so that memory is free again early."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar


class Positioned(Protocol):
    """Something with a wish where to stand."""

    @property
    def position(self) -> int:
        """Lower stands earlier, where there is a choice."""


T = TypeVar("T", bound=Positioned)


def in_order(needs: Mapping[T, Mapping[T, None]]) -> tuple[list[T], list[T]]:
    """All keys with each after what it needs, and those that cannot be placed.

    What cannot be placed waits for itself in a ring. Positions come from a walk that finishes the
    operands of a node right before it, so the lowest position first keeps few values alive.
    """
    waiting = {item: len(before) for item, before in needs.items()}
    users: dict[T, list[T]] = {item: [] for item in needs}
    for item, before in needs.items():
        for other in before:
            users[other].append(item)
    number = {item: place for place, item in enumerate(needs)}
    ready = [(i.position, number[i], i) for i in needs if waiting[i] == 0]
    heapq.heapify(ready)
    placed: list[T] = []
    while ready:
        _, _, item = heapq.heappop(ready)
        placed.append(item)
        for user in users[item]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, (user.position, number[user], user))
    return placed, [item for item, count in waiting.items() if count > 0]


def first_ring(stuck: Sequence[T], needs: Mapping[T, Mapping[T, None]]) -> list[T]:
    """Some of the items that wait for each other: each needs the next, the last the first."""
    among = set(stuck)
    steps: dict[T, int] = {}
    walk: list[T] = []
    item = stuck[0]
    while item not in steps:
        steps[item] = len(walk)
        walk.append(item)
        item = next(other for other in needs[item] if other in among)
    return walk[steps[item] :]
