"""Einstein summation: align the axes by letter, multiply, sum what the result does not name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Self, TypeVar

from tg_uop.dtype.promote import least_upper_dtype, sum_acc_dtype
from tg_uop.errors import ShapeError

from tg_tensor.defaults import DTypeLike, to_dtype
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.search import SearchOps
from tg_tensor.schedule.affine import is_one

_SYMBOLIC = 1 << 10
"""For how long an axis of symbolic size is taken when the order of products is chosen."""


class EinsumOps(SearchOps):
    """`Tensor.einsum`."""

    __slots__ = ()

    @classmethod
    def einsum(
        cls, formula: str, *operands: Self | Sequence[Self], dtype: DTypeLike | None = None
    ) -> Self:
        """The sum that `formula` ("ij,jk->ik") describes, with ... for axes without a letter.

        Of more than two operands those are multiplied first whose product takes the least work.
        Raises `ArgumentError` for a malformed formula, `ShapeError` for axes of one letter and
        different lengths.
        """
        tensors: list[Self] = []
        for operand in operands:
            tensors.extend([operand] if isinstance(operand, cls) else operand)  # type: ignore[arg-type]
        inputs, output = _parse(formula.replace(" ", ""), [t.ndim for t in tensors])
        pairs = [
            _without_repeats(tensor, letters)
            for tensor, letters in zip(tensors, inputs, strict=True)
        ]
        sizes = _sizes(formula, pairs)
        common = pairs[0][0]._common_dtype(*(tensor for tensor, _ in pairs))
        wanted = common if dtype is None else to_dtype(dtype)
        # what is rounded between the products is rounded as sums are
        inner = sum_acc_dtype(least_upper_dtype(common, wanted)) if len(pairs) > 2 else wanted
        while len(pairs) > 2:
            first, second, kept = _cheapest(pairs, output, sizes)
            product = _product([pairs[first], pairs[second]], kept, sizes, inner)
            rest = [pair for at, pair in enumerate(pairs) if at not in (first, second)]
            pairs = [*rest, (product, kept)]
        return _product(pairs, output, sizes, wanted)


E = TypeVar("E", bound=EinsumOps)


def _error(formula: str, expected: str) -> ArgumentError:
    return ArgumentError(op="einsum", argument="formula", given=formula, expected=expected)


def _parse(formula: str, ranks: list[int]) -> tuple[list[str], str]:
    """Letters of each operand and of the result, with digits for the axes of `...`."""
    left, arrow, right = formula.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise _error(formula, f"{len(ranks)} terms, one an operand")
    widths = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    dots = max([w for w, term in zip(widths, terms, strict=True) if "..." in term], default=0)
    inputs = []
    for term, width in zip(terms, widths, strict=True):
        if width < 0 or (width and "..." not in term):
            raise _error(formula, f"as many letters as axes in {term!r}")
        digits = "".join(chr(ord("0") + i) for i in range(dots - width, dots))
        inputs.append(term.replace("...", digits))
    every = "".join(inputs)
    if not all(x.isalpha() for term in terms for x in term.replace("...", "")):
        raise _error(formula, "letters, commas, '...' and one '->'")
    all_dots = "".join(chr(ord("0") + i) for i in range(dots))
    if arrow:
        output = right.replace("...", all_dots)
    else:
        once = sorted(x for x in set(every) if every.count(x) == 1 and x.isalpha())
        output = all_dots + "".join(once)
    if len(set(output)) != len(output) or not set(output) <= set(every):
        raise _error(formula, "each letter of the result once, and in an operand")
    return inputs, output


def _without_repeats(tensor: E, letters: str) -> tuple[E, str]:
    """A letter that an operand has twice takes the diagonal."""
    for letter in sorted(set(letters)):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise ShapeError(
                    op="einsum",
                    shapes=(tensor.shape,),
                    reason=f"axes {first} and {second}, both {letter}, differ in length",
                )
            tensor = tensor.diagonal(0, first, second)
            letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    return tensor, letters


def _sizes(formula: str, pairs: Sequence[tuple[EinsumOps, str]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for tensor, letters in pairs:
        for letter, size in zip(letters, tensor.shape, strict=True):
            known = sizes.get(letter, 1)
            if known != size and not (is_one(known) or is_one(size)):
                raise ShapeError(
                    op="einsum",
                    shapes=[t.shape for t, _ in pairs],
                    reason=f"axis {letter} of {formula!r} has lengths {known} and {size}",
                )
            sizes[letter] = known if is_one(size) else size
    return sizes


def _aligned(tensor: E, own: str, letters: list[str]) -> E:
    """The operand with one axis a letter, of size 1 where it has none."""
    order = sorted(range(len(own)), key=lambda i: letters.index(own[i]))
    moved = tensor.permute(order)
    sizes = dict(zip((own[i] for i in order), moved.shape, strict=True))
    return moved.reshape(tuple(sizes.get(x, 1) for x in letters))


def _cheapest(
    pairs: Sequence[tuple[EinsumOps, str]], output: str, sizes: dict[str, int]
) -> tuple[int, int, str]:
    """The two operands whose product takes the least work, and the letters that are left of it."""
    best: tuple[tuple[int, int], int, int, str] | None = None
    for first, second in combinations(range(len(pairs)), 2):
        both = dict.fromkeys(pairs[first][1] + pairs[second][1])
        others = "".join(own for at, (_, own) in enumerate(pairs) if at not in (first, second))
        kept = "".join(letter for letter in both if letter in output or letter in others)
        work = _count(both, sizes), _count(kept, sizes)
        if best is None or work < best[0]:
            best = (work, first, second, kept)
    assert best is not None, "there are two operands at least"
    return best[1], best[2], best[3]


def _count(letters: Iterable[str], sizes: dict[str, int]) -> int:
    """How many elements axes with these letters have; those of symbolic size count as long."""
    return math.prod(
        size if isinstance(size, int) else _SYMBOLIC for size in (sizes[x] for x in letters)
    )


def _product(
    pairs: Sequence[tuple[E, str]], output: str, sizes: dict[str, int], dtype: DTypeLike | None
) -> E:
    """The operands multiplied, and summed over the letters that are not wanted."""
    used = {letter for _, own in pairs for letter in own}
    letters = sorted(used, key=lambda x: (x not in output, output.find(x), x))
    aligned = [_aligned(tensor, own, letters) for tensor, own in pairs]
    summed = tuple(range(len(output), len(letters)))
    result = aligned[0]
    for other in aligned[1:-1]:
        result = result * other
    if len(aligned) > 1:
        if summed:
            return result._summed_product(aligned[-1], summed, dtype)
        result = result * aligned[-1]
    elif summed:
        given = result.dtype
        total = result.sum(summed)
        result = total if given.is_float else total.cast(given)
    shape = tuple(sizes[x] for x in output)
    result = result._expand_to(shape)
    return result if dtype is None else result.cast(dtype)
