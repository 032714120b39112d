"""Write a kernel as a sequence of steps in nested loops, where each step sees all before it.

Elementwise and reduce kernels say nothing about order; a factorization is all order. A `Loops`
keeps the last write: what is read or written next comes after it, inside of all open loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import final

from tg_uop import AxisType, KernelInfo, Ops, UOp, dtypes
from tg_uop.ir.args import TileProduct

Place = tuple[UOp, *tuple[int | UOp, ...]]
"""Memory, and the indices of an element."""


@final
class Loops:
    """A kernel under construction.

    What is read before a write and used after it must also be an operand of that write: reads have
    no order of their own.
    """

    __slots__ = ("_count", "_effect", "_open")

    def __init__(self) -> None:
        self._open: list[UOp] = []
        self._effect: UOp | None = None
        self._count = 0

    def _range(self, size: int | UOp, kind: AxisType) -> UOp:
        self._count += 1
        return UOp.range(size, self._count - 1, kind)

    @contextmanager
    def loop(self, size: int | UOp) -> Iterator[UOp]:
        """The steps inside are done for each index from 0 to `size` - 1, in order."""
        index = self._range(size, AxisType.LOOP)
        self._open.append(index)
        yield index
        self._open.pop()
        assert self._effect is not None, "a loop writes something"
        self._effect = self._effect.end(index)

    @contextmanager
    def nest(self, *sizes: int) -> Iterator[tuple[UOp, ...]]:
        """Loops in loops."""
        indices = tuple(self._range(size, AxisType.LOOP) for size in sizes)
        self._open.extend(indices)
        yield indices
        for index in reversed(indices):
            self._open.pop()
            assert self._effect is not None, "a loop writes something"
            self._effect = self._effect.end(index)

    @contextmanager
    def threads(self, count: int) -> Iterator[UOp]:
        """The steps inside are done by `count` threads that do not see each other's writes."""
        # nothing waits for a thread, so that it is no loop that is open
        index = self._range(count, AxisType.THREAD)
        yield index
        assert self._effect is not None, "a thread writes something"
        self._effect = self._effect.end(index)

    @contextmanager
    def at_once(self, copies: Sequence[int], lanes: int) -> Iterator[tuple[UOp, ...]]:
        """The steps inside for all these indices at once, those of the last axis as a vector.

        An order there is between steps, none between the copies of one.
        """
        indices = [self._range(size, AxisType.UPCAST) for size in copies]
        self._count += 1
        indices.append(UOp.range(lanes, self._count - 1, AxisType.UPCAST, lanes=True))
        yield tuple(indices)
        assert self._effect is not None, "a step writes something"
        self._effect = self._effect.end(*reversed(indices))

    def read(self, memory: UOp, *indices: int | UOp) -> UOp:
        """An element as it is now."""
        before = [*self._open] if self._effect is None else [self._effect, *self._open]
        return memory.after(*before).index(*indices)

    def write(self, memory: UOp, *indices: int | UOp, value: UOp) -> None:
        """Set an element."""
        place = memory if self._effect is None else memory.after(self._effect)
        self._effect = place.index(*indices).store(value)

    def tile_product(self, record: TileProduct, result: Place, left: Place, right: Place) -> None:
        """A statement of a matrix unit: the product of two blocks in memory, as a third one."""
        before = [*self._open] if self._effect is None else [self._effect, *self._open]
        places = [memory.after(*before).index(*rest) for memory, *rest in (result, left, right)]
        self._effect = UOp(Ops.WMMA, dtypes.void, tuple(places), record)

    def reduce(self, op: Ops, size: int, term: Callable[[UOp], UOp]) -> UOp:
        """The terms for 0 to `size` - 1, combined."""
        index = self._range(size, AxisType.REDUCE)
        self._open.append(index)
        value = term(index)
        self._open.pop()
        return value.reduce(index, arg=op)

    def sum(self, size: int, term: Callable[[UOp], UOp]) -> UOp:
        """The sum of the terms for 0 to `size` - 1."""
        return self.reduce(Ops.ADD, size, term)

    def kernel(self, name: str) -> UOp:
        """The finished kernel; its loops stay as they are."""
        assert self._effect is not None, "a kernel writes something"
        return self._effect.sink(arg=KernelInfo(name=name, opts_to_apply=()))


def as_index(value: UOp) -> UOp:
    """An integer read from memory as an index."""
    return value.cast(dtypes.weakint)
