"""The kernels that take sources one after the other to the elements that an index names."""

from __future__ import annotations

from typing import final

from tg_uop import Ops, UOp

from tg_tensor.algorithms.loops import Loops, as_index


def shares_of(rows: int, steps: int) -> int:
    """How many threads share the rows: with little to do a second one costs more than it saves."""
    return 2 if rows > 1 and rows * steps >= 1 << 14 else 1


@final
class ScatterKernel:
    """Elements along the second of three axes: what an op makes of the sources, or the last."""

    __slots__ = ("name", "op", "start")

    def __init__(self, name: str, op: Ops | None, start: float = 0.0) -> None:
        self.name = name
        self.op = op
        self.start = start

    def _first(self, element: UOp) -> UOp:
        """What an element holds before its first source."""
        if self.op is Ops.MAX:
            return element.const_like(element.dtype.min)
        return element.const_like(self.start if element.dtype.is_float else 0)

    def __call__(self, out: UOp, index: UOp, source: UOp) -> UOp:
        """out[o, index[o, k, i], i] is made of source[o, k, i], of all k in their order.
        An index outside of the axis names nothing. `out` may have a row more than there are: the
        last one is then done twice, so that threads get equally many.
        """
        all_rows, size, inner = _sizes(out)
        rows, sources, _ = _sizes(index)
        first = self._first(out.index(0, 0, 0))
        loops = Loops()
        shares = shares_of(rows, sources * inner)
        share = loops.threads(shares) if shares > 1 else loops.loop(1)
        with share as thread, loops.loop(all_rows // shares) as rest:
            row = thread * (all_rows // shares) + rest
            given = row.minimum(rows - 1)
            with loops.nest(size, inner) as (place, i):
                loops.write(out, row, place, i, value=first)
            with loops.nest(sources, inner) as (turn, i):
                named = loops.read(index, given, turn, i)
                is_inside = (named >= 0) & (named < size)
                place = as_index(named.maximum(0).minimum(size - 1))
                value = loops.read(source, given, turn, i)
                before = loops.read(out, row, place, i)
                after = value if self.op is None else before.alu(self.op, value)
                loops.write(out, row, place, i, value=is_inside.where(after, before))
        return loops.kernel(self.name)


@final
class RowsKernel:
    """Rows along the second of three axes: the sum of the sources, one index for a whole row."""

    __slots__ = ()

    def __call__(self, out: UOp, index: UOp, source: UOp) -> UOp:
        """out[o, index[k], i] is the sum of source[o, k, i], and 0 where there is none.

        An index outside of the axis names nothing. Threads share the rows, each with all sources,
        so that their order is the same for any number of threads.
        """
        outer, size, inner = _sizes(out)
        sources = index.shape[0]
        assert isinstance(sources, int), "a kernel is made for known sizes"
        zero = out.index(0, 0, 0).const_like(0)
        loops = Loops()
        shares = shares_of(size, outer * inner)
        share = loops.threads(shares) if shares > 1 else loops.loop(1)
        most = -(-size // shares)
        with share as thread, loops.loop(outer) as row:
            start = thread * most
            stop = (start + most).minimum(size)
            with loops.loop(stop - start) as place, loops.loop(inner) as i:
                loops.write(out, row, start + place, i, value=zero)
            with loops.loop(sources) as turn:
                named = as_index(loops.read(index, turn))
                is_own = (named >= start) & (named < stop)
                place = named.maximum(start).minimum(stop - 1)
                with loops.loop(inner) as i:
                    before = loops.read(out, row, place, i)
                    after = before + loops.read(source, row, turn, i)
                    loops.write(out, row, place, i, value=is_own.where(after, before))
        return loops.kernel("scatter_rows")


def _sizes(memory: UOp) -> tuple[int, int, int]:
    return memory.shape  # type: ignore[return-value]


SUM = ScatterKernel("scatter_add", Ops.ADD)
# added to a number, -0.0 leaves it as it is, a zero with its sign, too
SUM_TO_ADD = ScatterKernel("scatter_add", Ops.ADD, start=-0.0)
LARGEST = ScatterKernel("scatter_max", Ops.MAX)
LAST = ScatterKernel("scatter", None)
ROWS = RowsKernel()
