"""Einstein summation: align the axes by letter, multiply, sum what the result does not name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar

from tg_uop.errors import ShapeError

from tg_tensor.defaults import DTypeLike
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.search import SearchOps
from tg_tensor.schedule.affine import is_one


class EinsumOps(SearchOps):
    """`Tensor.einsum`."""

    __slots__ = ()

    @classmethod
    def einsum(
        cls, formula: str, *operands: Self | Sequence[Self], dtype: DTypeLike | None = None
    ) -> Self:
        """The sum that `formula` ("ij,jk->ik") describes, with ... for axes without a letter.

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
        letters = sorted(sizes, key=lambda x: (x not in output, output.find(x), x))
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
    if not all(x.isalnum() for x in every):
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
