"""Kernels of triangular matrices: factors of others, and systems with one of them.

Memory has the shape (batch, rows, columns). Formulas: Golub and Van Loan, Matrix Computations,
3.1 (substitution), 3.4 (pivoting), 4.2 (Cholesky).
"""

from __future__ import annotations

import math
from typing import final

from tg_uop import Ops, UOp, dtypes

from tg_tensor.algorithms.loops import Loops, as_index


def sizes_of(memory: UOp) -> tuple[int, ...]:
    """The dimensions, which are integers in a kernel."""
    return memory.shape  # type: ignore[return-value]


def cholesky_kernel(out: UOp, a: UOp) -> UOp:
    """The lower triangular L with L L^T = A of the lower half of A: NaN where there is none."""
    batch, size, _ = sizes_of(out)
    loops = Loops()
    with loops.nest(batch, size) as (b, j):
        squares = loops.sum(size, lambda k: (k < j).where(loops.read(out, b, j, k).square(), 0.0))
        rest = loops.read(a, b, j, j) - squares
        # not positive definite: NaN from here on
        diagonal = (rest > 0).where(rest, math.nan).sqrt()
        with loops.loop(size) as i:

            def term(k: UOp, b: UOp = b, i: UOp = i, j: UOp = j) -> UOp:
                product = loops.read(out, b, i, k) * loops.read(out, b, j, k)
                return (k < j).where(product, 0.0)

            below = (loops.read(a, b, i, j) - loops.sum(size, term)) / diagonal
            value = (i < j).where(diagonal.ufix(0.0), i.eq(j).where(diagonal, below))
            loops.write(out, b, i, j, value=value)
    return loops.kernel("cholesky")


def lu_kernel(lu: UOp, order: UOp, a: UOp) -> UOp:
    """L (below the diagonal, which is 1) and U in one matrix, and which row of A each row was."""
    batch, rows, columns = sizes_of(lu)
    loops = Loops()
    with loops.nest(batch, rows) as (b, i):
        loops.write(order, b, i, value=i.cast(dtypes.int32))
        with loops.loop(columns) as j:
            loops.write(lu, b, i, j, value=loops.read(a, b, i, j))
    with loops.nest(batch, min(rows, columns)) as (b, k):
        pivot = _pivot(loops, lu, b, k, rows)
        with loops.loop(columns) as j:
            _swap(loops, lu, (b, k, j), (b, pivot, j), pivot.eq(k))
        _swap(loops, order, (b, k), (b, pivot), pivot.eq(k))
        head = loops.read(lu, b, k, k)
        with loops.loop(rows) as i:
            known = loops.read(lu, b, i, k)
            factor = ((k < i) & head.ne(0.0)).where(known / head, 0.0)
            with loops.loop(columns) as j:
                old = loops.read(lu, b, i, j)
                new = old - factor * loops.read(lu, b, k, j)
                value = (k < j).where(new, ((k < i) & j.eq(k)).where(factor, old))
                loops.write(lu, b, i, j, value=value)
    return loops.kernel("lu")


def _pivot(loops: Loops, lu: UOp, b: UOp, k: UOp, rows: int) -> UOp:
    """The first row from k on with the largest number in column k."""
    largest = loops.reduce(
        Ops.MAX, rows, lambda i: (i < k).where(-1.0, loops.read(lu, b, i, k).abs())
    )

    def distance(i: UOp) -> UOp:
        is_largest = loops.read(lu, b, i, k).abs().eq(largest)
        return ((i < k).ne(True) & is_largest).where((rows - i).cast(dtypes.int32), 0)

    found = loops.reduce(Ops.MAX, rows, distance)
    # 0 where NaN is among them
    return as_index((found > 0).where(rows - found, k.cast(dtypes.int32)))


def _swap(
    loops: Loops, memory: UOp, first: tuple[UOp, ...], second: tuple[UOp, ...], is_same: UOp
) -> None:
    left, right = loops.read(memory, *first), loops.read(memory, *second)
    loops.write(memory, *first, value=is_same.where(left, right))
    loops.write(memory, *second, value=left)


@final
class SubstitutionKernel:
    """Forward or back substitution; the other half of A is not looked at."""

    __slots__ = ("unit", "upper")

    def __init__(self, upper: bool, unit: bool) -> None:
        self.upper = upper
        self.unit = unit

    def __call__(self, out: UOp, a: UOp, right: UOp) -> UOp:
        """The loops: row after row, for all right sides."""
        batch, size, columns = sizes_of(out)
        loops = Loops()
        with loops.nest(batch, size) as (b, step):
            i = size - 1 - step if self.upper else step
            with loops.loop(columns) as c:

                def term(k: UOp, b: UOp = b, i: UOp = i, c: UOp = c) -> UOp:
                    product = loops.read(a, b, i, k) * loops.read(out, b, k, c)
                    return ((i < k) if self.upper else (k < i)).where(product, 0.0)

                rest = loops.read(right, b, i, c) - loops.sum(size, term)
                value = rest if self.unit else rest / loops.read(a, b, i, i)
                loops.write(out, b, i, c, value=value)
        return loops.kernel("substitution")


def lu_solve_kernel(out: UOp, lu: UOp, order: UOp, right: UOp) -> UOp:
    """X with A X = B, from the factors that `lu_kernel` makes of A: NaN where A is singular."""
    batch, size, columns = sizes_of(out)
    loops = Loops()
    with loops.nest(batch, size) as (b, i):
        row = as_index(loops.read(order, b, i))
        with loops.loop(columns) as c:

            def before(k: UOp, b: UOp = b, i: UOp = i, c: UOp = c) -> UOp:
                product = loops.read(lu, b, i, k) * loops.read(out, b, k, c)
                return (k < i).where(product, 0.0)

            value = loops.read(right, b, row, c) - loops.sum(size, before)
            loops.write(out, b, i, c, value=value)
    with loops.loop(batch) as b:
        zeros = loops.sum(
            size, lambda i: loops.read(lu, b, i, i).eq(0.0).where(UOp.const(dtypes.int32, 1), 0)
        )
        with loops.nest(size, columns) as (step, c):
            i = size - 1 - step

            def after(k: UOp, b: UOp = b, i: UOp = i, c: UOp = c) -> UOp:
                product = loops.read(lu, b, i, k) * loops.read(out, b, k, c)
                return (i < k).where(product, 0.0)

            rest = loops.read(out, b, i, c) - loops.sum(size, after)
            value = (zeros > 0).where(math.nan, rest / loops.read(lu, b, i, i))
            loops.write(out, b, i, c, value=value)
    return loops.kernel("lu_solve")
