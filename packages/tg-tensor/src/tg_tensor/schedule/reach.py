"""Tell quickly whether two items may become one: an order of items that is kept while they join.

Two items that wait for each other through a third cannot be one. To see that nothing lies between
them, only items whose rank lies between theirs need a look; joining two moves just those (after
Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar, final

from tg_tensor.schedule.order import Positioned, in_order

T = TypeVar("T", bound=Positioned)
Links = Mapping[T, Mapping[T, None]]

SEARCHED = 2000
"""Items to look at for a way between two; beyond that they count as far apart."""


@final
class Ranks(Generic[T]):
    """The ranks of items that wait for each other: whoever waits has the higher rank."""

    def __init__(self, needs: Links[T], needed_by: Links[T]) -> None:
        """The links change as items are joined. Where items wait in a ring, none has a rank."""
        self.needs = needs
        self.needed_by = needed_by
        order, stuck = in_order(needs)
        self.rank = {} if stuck else {item: place for place, item in enumerate(order)}

    def can_join(self, left: T, right: T) -> bool:
        """Whether no third item lies between two."""
        if self.rank and self.rank[left] > self.rank[right]:
            left, right = right, left
        if self._lies_between(left, right):
            return False
        return bool(self.rank) or not self._lies_between(right, left)

    def _lies_between(self, before: T, after: T) -> bool:
        """Whether `after` waits for `before` by way of a third: looks from where fewer links go."""
        if len(self.needs[after]) < len(self.needed_by[before]):
            return self._between(after, before, self.needs, -1) is None
        return self._between(before, after, self.needed_by, 1) is None

    def join(self, left: T, right: T) -> None:
        """Let `left` stand for both; to be called before the links change."""
        rank = self.rank
        if not rank:
            return
        low, high = (left, right) if rank[left] < rank[right] else (right, left)
        # what the second waits for comes before the first anyway: the first one's place serves both
        before = self._moved(high, low, self.needs, -1)
        if not before:
            place = rank[low]
            del rank[right]
            rank[left] = place
            return
        after = self._moved(low, high, self.needed_by, 1)
        earlier = sorted(before, key=rank.__getitem__)
        later = sorted(after, key=rank.__getitem__)
        places = sorted(rank[item] for item in (*earlier, low, high, *later))
        del rank[right]
        # one place is left over
        for place, item in zip(places, (*earlier, left, *later), strict=False):
            rank[item] = place

    def _moved(self, start: T, end: T, links: Links[T], sign: int) -> set[T]:
        found = self._between(start, end, links, sign, searched=len(self.rank))
        assert found is not None, "something lies between the two"
        return found

    def _between(
        self, start: T, end: T, links: Links[T], sign: int, searched: int = SEARCHED
    ) -> set[T] | None:
        """What is reached from `start` on this side of `end`; None when `end` is, by way of it."""
        rank = self.rank
        limit = rank[end] * sign if rank else 0
        seen: set[T] = set()
        stack = [item for item in links[start] if item is not end]
        while stack:
            item = stack.pop()
            if item is end:
                return None
            if item in seen or (rank and rank[item] * sign > limit):
                continue
            if len(seen) >= searched:
                return None
            seen.add(item)
            stack.extend(links[item])
        return seen
