"""Kernels of Jacobi's rotations: eigenvalues of symmetric matrices, singular values of all.

Golub and Van Loan, Matrix Computations, 8.5 (cyclic by rows) and 8.6.3 (one-sided; Hestenes, 1958).
Memory has the shape (batch, rows, columns). A fixed number of sweeps is done; convergence is
quadratic, and a rotation of what is orthogonal already changes nothing.
"""

from __future__ import annotations

import math
from typing import final

from tg_uop import DType, Ops, UOp, dtypes

from tg_tensor.algorithms.loops import Loops, as_index
from tg_tensor.algorithms.triangular import sizes_of

Place = tuple[UOp, UOp, UOp]
"""A matrix of the batch, and two rows or columns of it."""


# beyond it 1 is lost beside the square, in both widths of floats
_LARGE = 2.0**30
# sizes from here to its inverse have squares that float32 can add up
_SMALL = 2.0**-40


def sweeps_for(size: int, dtype: DType) -> int:
    """How many sweeps make a matrix of this size diagonal to all digits of the dtype."""
    base = 6 if dtype is dtypes.float32 else 7
    return base + math.ceil(math.log2(max(size, 2)) / 2)


@final
class Rotation:
    """The rotation that makes [[first, mixed], [mixed, second]] diagonal; none where `is_done`.

    Applied as a small change (Rutishauser, 1966), so that rounding stays small too.
    """

    __slots__ = ("factor", "sine", "tangent")

    def __init__(self, first: UOp, second: UOp, mixed: UOp, is_done: UOp) -> None:
        ratio = (second - first) / (is_done.where(1.0, mixed) * 2)
        # of a large ratio the square may overflow: its root is the ratio itself then
        is_large = ratio.abs() > _LARGE
        root = is_large.where(ratio.abs(), (is_large.where(0.0, ratio).square() + 1).sqrt())
        size = 1 / (ratio.abs() + root)
        self.tangent = is_done.where(0.0, (ratio < 0).where(-size, size))
        cosine = 1 / (self.tangent.square() + 1).sqrt()
        self.sine = cosine * self.tangent
        self.factor = self.sine / (cosine + 1)

    def left(self, left: UOp, right: UOp) -> UOp:
        """What becomes of the first of a pair."""
        return left - self.sine * (right + self.factor * left)

    def right(self, left: UOp, right: UOp) -> UOp:
        """What becomes of the second of a pair."""
        return right + self.sine * (left - self.factor * right)


def _scale(loops: Loops, a: UOp, b: UOp) -> UOp:
    """1, or the largest size in a matrix where squares of it would leave the range of floats."""
    _, rows, columns = sizes_of(a)

    def in_row(i: UOp) -> UOp:
        return loops.reduce(Ops.MAX, columns, lambda j: loops.read(a, b, i, j).abs())

    largest = loops.reduce(Ops.MAX, rows, in_row)
    is_usual = (largest > _SMALL) & (largest < 1 / _SMALL)
    is_number = (largest > 0.0) & (largest < math.inf)
    return (is_usual | is_number.ne(True)).where(1.0, largest)


def _pair(size: int, turn: UOp, seat: UOp) -> tuple[UOp, UOp]:
    """Who meets in a round-robin tournament: each pair once; who meets no one meets itself."""
    others = size - 1 + size % 2
    one = (turn + seat) % others
    other = seat.eq(0).where(seat.ufix(others), (turn - seat + others) % others)
    if size % 2:
        other = seat.eq(0).where(one, other)
    is_first = one < other
    return is_first.where(one, other), is_first.where(other, one)


def eigh_kernel(values: UOp, vectors: UOp, work: UOp, turned: UOp, a: UOp) -> UOp:
    """Eigenvalues, rising, and the eigenvectors as columns, of the lower half of A.

    `work` and `turned` are room for a matrix each: A on its way to diagonal form, and the vectors
    as rows.
    """
    batch, size, _ = sizes_of(vectors)
    loops = Loops()
    with loops.loop(batch) as b:
        scale = _scale(loops, a, b)
        with loops.nest(size, size) as (i, j):
            lower = (i < j).where(loops.read(a, b, j, i), loops.read(a, b, i, j))
            loops.write(work, b, i, j, value=lower / scale)
            loops.write(turned, b, i, j, value=i.eq(j).where(lower.const_like(1.0), 0.0))
    if size > 1:
        count = sweeps_for(size, values.dtype.base)
        even = size + size % 2
        with loops.nest(batch, count, even - 1, even // 2) as (b, _, turn, seat):
            p, q = _pair(size, turn, seat)
            _rotate_symmetric(loops, work, turned, (b, p, q))
    _store_in_order(loops, (values, vectors), (work, turned), a)
    return loops.kernel("eigh")


def _rotate_symmetric(loops: Loops, work: UOp, turned: UOp, place: Place) -> None:
    b, p, q = place
    _, size, _ = sizes_of(work)
    first, second = loops.read(work, b, p, p), loops.read(work, b, q, q)
    mixed = loops.read(work, b, p, q)
    # too small to change either: done
    sum_of_sizes = first.abs() + second.abs()
    is_done = (sum_of_sizes + mixed.abs() * 0.5).eq(sum_of_sizes) | p.eq(q)
    turn = Rotation(first, second, mixed, is_done)
    with loops.loop(size) as k:
        left, right = loops.read(work, b, k, p), loops.read(work, b, k, q)
        loops.write(work, b, k, p, value=turn.left(left, right))
        loops.write(work, b, k, q, value=turn.right(left, right))
    change = turn.tangent * mixed
    acts = is_done.ne(True)
    with loops.loop(size) as k:
        left, right = loops.read(work, b, p, k), loops.read(work, b, q, k)
        is_p, is_q = acts & k.eq(p), acts & k.eq(q)
        new_left = is_p.where(first - change, is_q.where(0.0, turn.left(left, right)))
        new_right = is_q.where(second + change, is_p.where(0.0, turn.right(left, right)))
        loops.write(work, b, p, k, value=new_left)
        loops.write(work, b, q, k, value=new_right)
        left, right = loops.read(turned, b, p, k), loops.read(turned, b, q, k)
        loops.write(turned, b, p, k, value=turn.left(left, right))
        loops.write(turned, b, q, k, value=turn.right(left, right))


def _store_in_order(loops: Loops, results: tuple[UOp, UOp], found: tuple[UOp, UOp], a: UOp) -> None:
    """Each eigenvalue goes to the place that the number of smaller ones gives."""
    values, vectors = results
    work, turned = found
    batch, size, _ = sizes_of(vectors)
    with loops.nest(batch, size) as (b, i):
        own = loops.read(work, b, i, i)

        def comes_before(j: UOp, b: UOp = b, i: UOp = i, own: UOp = own) -> UOp:
            other = loops.read(work, b, j, j)
            return ((other < own) | (other.eq(own) & (j < i))).where(_one(), 0)

        place = _or_own_place(own, i, loops.sum(size, comes_before))
        loops.write(values, b, place, value=own * _scale(loops, a, b))
        with loops.loop(size) as k:
            loops.write(vectors, b, k, place, value=loops.read(turned, b, i, k))


def _or_own_place(value: UOp, own: UOp, place: UOp) -> UOp:
    """NaN has no order: it stays, and as it is in all values then, none is left out."""
    return value.ne(value).where(own, as_index(place))


def _one() -> UOp:
    return UOp.const(dtypes.int32, 1)


def svd_kernel(
    values: UOp, left: UOp, right: UOp, work: UOp, turned: UOp, lengths: UOp, a: UOp
) -> UOp:
    """Singular values, falling, the left vectors as columns and the right ones as rows, of A.

    A has at least as many rows as columns. Left vectors of values that are zero, up to rounding,
    are zero. `work`, `turned` and `lengths` are room for the columns of A, the right vectors, and
    the values, all in any order.
    """
    batch, columns, rows = sizes_of(work)
    loops = Loops()
    with loops.loop(batch) as b:
        scale = _scale(loops, a, b)
        with loops.loop(columns) as j:
            with loops.loop(rows) as i:
                loops.write(work, b, j, i, value=loops.read(a, b, i, j) / scale)
            with loops.loop(columns) as i:
                one = turned.index(b, j, i).const_like(1.0)
                loops.write(turned, b, j, i, value=i.eq(j).where(one, 0.0))
    if columns > 1:
        count = sweeps_for(columns, values.dtype.base)
        even = columns + columns % 2
        with loops.nest(batch, count, even - 1, even // 2) as (b, _, turn, seat):
            p, q = _pair(columns, turn, seat)
            _rotate_columns(loops, work, turned, (b, p, q))
    _store_falling(loops, (values, left, right), (work, turned, lengths), a)
    return loops.kernel("svd")


def _rotate_columns(loops: Loops, work: UOp, turned: UOp, place: Place) -> None:
    b, p, q = place
    _, columns, rows = sizes_of(work)

    def product(one: UOp, other: UOp) -> UOp:
        return loops.sum(
            rows, lambda k: loops.read(work, b, one, k) * loops.read(work, b, other, k)
        )

    first, second, mixed = product(p, p), product(q, q), product(p, q)
    smallest = smallest_part(work.dtype.base)
    is_small = mixed.abs() <= first.sqrt() * second.sqrt() * smallest
    turn = Rotation(first, second, mixed, is_small | p.eq(q))
    with loops.loop(rows) as k:
        one, other = loops.read(work, b, p, k), loops.read(work, b, q, k)
        loops.write(work, b, p, k, value=turn.left(one, other))
        loops.write(work, b, q, k, value=turn.right(one, other))
    with loops.loop(columns) as k:
        one, other = loops.read(turned, b, p, k), loops.read(turned, b, q, k)
        loops.write(turned, b, p, k, value=turn.left(one, other))
        loops.write(turned, b, q, k, value=turn.right(one, other))


def smallest_part(dtype: DType) -> float:
    """The distance of 1 to the next number."""
    return 2.0**-23 if dtype is dtypes.float32 else 2.0**-52


def _store_falling(
    loops: Loops, results: tuple[UOp, UOp, UOp], found: tuple[UOp, UOp, UOp], a: UOp
) -> None:
    values, left, right = results
    work, turned, lengths = found
    batch, columns, rows = sizes_of(work)
    with loops.nest(batch, columns) as (b, i):
        squares = loops.sum(rows, lambda k: loops.read(work, b, i, k).square())
        loops.write(lengths, b, i, value=squares.sqrt())
    with loops.nest(batch, columns) as (b, i):
        own = loops.read(lengths, b, i)

        def comes_before(j: UOp, b: UOp = b, i: UOp = i, own: UOp = own) -> UOp:
            other = loops.read(lengths, b, j)
            return ((own < other) | (other.eq(own) & (j < i))).where(_one(), 0)

        place = _or_own_place(own, i, loops.sum(columns, comes_before))
        largest = loops.reduce(Ops.MAX, columns, lambda j: loops.read(lengths, b, j))
        is_zero = own <= largest * (smallest_part(values.dtype.base) * rows)
        divisor = is_zero.where(1.0, own)
        loops.write(values, b, place, value=own * _scale(loops, a, b))
        with loops.loop(rows) as k:
            entry = loops.read(work, b, i, k) / divisor
            loops.write(left, b, k, place, value=is_zero.where(0.0, entry))
        with loops.loop(columns) as k:
            loops.write(right, b, place, k, value=loops.read(turned, b, i, k))
