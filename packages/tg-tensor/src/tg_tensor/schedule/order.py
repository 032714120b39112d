"""Order kernels: each after what it needs, and soon after, so that memory is free again early."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tg_uop import UOp


class Positioned(Protocol):
    """Something with a wish where to stand."""

    @property
    def position(self) -> int:
        """Lower stands earlier, where there is a choice."""


T = TypeVar("T", bound=Positioned)


@dataclass(slots=True)
class Uses(Generic[T]):
    """What items take up and let go: intermediates that they make and read, with their bytes."""

    nbytes: dict[UOp, int] = field(default_factory=dict)
    made: dict[T, int] = field(default_factory=dict)
    read: dict[T, dict[UOp, None]] = field(default_factory=dict)

    def readers(self) -> dict[UOp, dict[T, None]]:
        """Who reads each intermediate."""
        found: dict[UOp, dict[T, None]] = {}
        for item, values in self.read.items():
            for value in values:
                found.setdefault(value, {})[item] = None
        return found


def in_order(
    needs: Mapping[T, Mapping[T, None]], uses: Uses[T] | None = None
) -> tuple[list[T], list[T]]:
    """All keys with each after what it needs, and those that cannot be placed.

    What cannot be placed waits for itself in a ring. Positions come from a walk that finishes the
    operands of a node right before it, so the lowest position first keeps few values alive. With
    `uses`, what lets go of more memory than it takes up goes first: the gradient of a weight is
    far behind in the walk, but what it is computed from need not be kept until then.
    """
    waiting = {item: len(before) for item, before in needs.items()}
    users: dict[T, list[T]] = {item: [] for item in needs}
    for item, before in needs.items():
        for other in before:
            users[other].append(item)
    number = {item: place for place, item in enumerate(needs)}
    ready = [(i.position, number[i], i) for i in needs if waiting[i] == 0]
    heapq.heapify(ready)
    gains = _Gains(uses or Uses())
    placed: dict[T, None] = {}
    while ready:
        item = gains.best(waiting, placed) or heapq.heappop(ready)[2]
        if item in placed:
            continue
        placed[item] = None
        gains.note(item)
        for user in users[item]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, (user.position, number[user], user))
                gains.consider(user)
    return list(placed), [item for item, count in waiting.items() if count > 0]


class _Gains(Generic[T]):
    """Which items would let go of memory if they were next."""

    def __init__(self, uses: Uses[T]) -> None:
        self.uses = uses
        self.left = uses.readers()
        self.candidates: list[T] = []

    def best(self, waiting: Mapping[T, int], placed: Mapping[T, None]) -> T | None:
        """An item that can be next and lets go of more than it takes up, None if there is none."""
        while self.candidates:
            item = self.candidates.pop()
            if item not in placed and waiting[item] == 0:
                return item
        return None

    def consider(self, item: T) -> None:
        """Note an item if it lets go of more than it takes up."""
        freed = 0
        for value in self.uses.read.get(item, ()):
            if len(self.left[value]) == 1:
                freed += self.uses.nbytes[value]
        if freed > self.uses.made.get(item, 0):
            self.candidates.append(item)

    def note(self, item: T) -> None:
        """What an item has read has one reader less."""
        for value in self.uses.read.get(item, ()):
            left = self.left[value]
            del left[item]
            if len(left) == 1:
                self.consider(next(iter(left)))


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
