"""The kernel of the QR factorization by Householder reflections.

Golub and Van Loan, Matrix Computations, 5.2. Memory has the shape (batch, rows, columns).
"""

from __future__ import annotations

from tg_uop import Ops, UOp

from tg_tensor.algorithms.loops import Loops
from tg_tensor.algorithms.triangular import sizes_of


def qr_kernel(q: UOp, r: UOp, reflector: UOp, a: UOp) -> UOp:
    """Q, square, and R with Q R = A; `reflector` is room for one vector a matrix.

    Each reflection is away from cancellation, so the diagonal of R has the opposite sign of the
    column's head, as LAPACK's has.
    """
    batch, rows, columns = sizes_of(r)
    loops = Loops()
    with loops.nest(batch, rows) as (b, i):
        with loops.loop(columns) as j:
            loops.write(r, b, i, j, value=loops.read(a, b, i, j))
        with loops.loop(rows) as j:
            one = q.index(b, i, j).const_like(1.0)
            loops.write(q, b, i, j, value=i.eq(j).where(one, 0.0))
    steps = min(rows - 1, columns)
    if steps > 0:
        with loops.nest(batch, steps) as (b, k):
            _reflect(loops, (q, r, reflector), b, k)
    return loops.kernel("qr")


def _reflect(loops: Loops, memory: tuple[UOp, UOp, UOp], b: UOp, k: UOp) -> None:
    """Make column k of R zero below the diagonal."""
    q, r, reflector = memory
    _, rows, columns = sizes_of(r)
    # scaled by the largest: squares of huge and tiny numbers stay in range
    largest = loops.reduce(
        Ops.MAX, rows, lambda i: (k <= i).where(loops.read(r, b, i, k).abs(), 0.0)
    )
    scale = largest.eq(0.0).where(1.0, largest)
    below = loops.sum(rows, lambda i: (k < i).where((loops.read(r, b, i, k) / scale).square(), 0.0))
    head = loops.read(r, b, k, k) / scale
    length = (head.square() + below).sqrt()
    nothing = below.eq(0.0)
    pivot = (head < 0).where(head - length, head + length)
    # of v v^T * 2 / |v|^2 with v_k = 1: LAPACK's tau
    factor = nothing.where(0.0, (head < 0).where(-pivot, pivot) / length)
    divisor = nothing.where(1.0, pivot)
    with loops.loop(rows) as i:
        entry = loops.read(r, b, i, k) / scale / divisor
        value = (k < i).where(entry, i.eq(k).where(entry.const_like(1.0), 0.0))
        # the column is read before it is changed, so the factor takes part in what is kept
        loops.write(reflector, b, i, value=value)
    with loops.loop(columns) as j:
        product = loops.sum(rows, lambda i: loops.read(reflector, b, i) * loops.read(r, b, i, j))
        amount = product * factor
        with loops.loop(rows) as i:
            old = loops.read(r, b, i, j)
            new = old - amount * loops.read(reflector, b, i)
            value = ((k < i) & j.eq(k)).where(0.0, (j < k).where(old, new))
            loops.write(r, b, i, j, value=value)
    with loops.loop(rows) as i:
        product = loops.sum(rows, lambda j: loops.read(q, b, i, j) * loops.read(reflector, b, j))
        amount = product * factor
        with loops.loop(rows) as j:
            old = loops.read(q, b, i, j)
            loops.write(q, b, i, j, value=old - amount * loops.read(reflector, b, j))
