"""The kernel that takes sources one after the other to the elements that an index names."""

from __future__ import annotations

from typing import final

from tg_uop import UOp

from tg_tensor.algorithms.loops import Loops, as_index


def shares_of(rows: int, steps: int) -> int:
    """How many threads share the rows: with little to do a second one costs more than it saves."""
    return 2 if rows > 1 and rows * steps >= 1 << 14 else 1


@final
class ScatterKernel:
    """Elements along the second of three axes: the sum of the sources, or the last of them."""

    __slots__ = ("adds",)

    def __init__(self, adds: bool) -> None:
        self.adds = adds

    def __call__(self, out: UOp, index: UOp, source: UOp) -> UOp:
        """out[o, index[o, k, i], i] is the sum or the last of source[o, k, i], else 0.

        Of floats it is -0.0: added to a number that leaves it as it is, a zero with its sign, too.
        An index outside of the axis names nothing. `out` may have a row more than there are: the
        last one is then done twice, so that threads get equally many.
        """
        all_rows, size, inner = _sizes(out)
        rows, sources, _ = _sizes(index)
        first = out.index(0, 0, 0)
        zero = first.const_like(-0.0 if first.dtype.is_float else 0)
        loops = Loops()
        shares = shares_of(rows, sources * inner)
        share = loops.threads(shares) if shares > 1 else loops.loop(1)
        with share as thread, loops.loop(all_rows // shares) as rest:
            row = thread * (all_rows // shares) + rest
            given = row.minimum(rows - 1)
            with loops.nest(size, inner) as (place, i):
                loops.write(out, row, place, i, value=zero)
            with loops.nest(sources, inner) as (turn, i):
                named = loops.read(index, given, turn, i)
                is_inside = (named >= 0) & (named < size)
                place = as_index(named.maximum(0).minimum(size - 1))
                value = loops.read(source, given, turn, i)
                before = loops.read(out, row, place, i)
                after = before + value if self.adds else value
                loops.write(out, row, place, i, value=is_inside.where(after, before))
        return loops.kernel("scatter_add" if self.adds else "scatter")


def _sizes(memory: UOp) -> tuple[int, int, int]:
    return memory.shape  # type: ignore[return-value]


SUM = ScatterKernel(adds=True)
LAST = ScatterKernel(adds=False)
