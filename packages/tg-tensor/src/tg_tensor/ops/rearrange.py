"""The notation of einops for movement: split, order and merge axes by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import TypeVar

from tg_uop.methods.movement import MovementMixin

from tg_tensor.errors import ArgumentError

V = TypeVar("V", bound=MovementMixin)

Group = list[str]
_APART, _MERGED = ["..."], "(...)"
"""All axes that are not named: each for itself, or merged with what stands in the same brackets."""
_TOKEN = re.compile(r"\(|\)|\.\.\.|[A-Za-z_]\w*|1|\S")


def rearrange(value: V, formula: str, sizes: Mapping[str, int]) -> V:
    """`value` under "left -> right"; `sizes` names lengths that the shape does not tell."""
    left_text, arrow, right_text = formula.partition("->")
    if not arrow:
        raise _error(formula, "two sides with '->' between them")
    count = value.ndim
    left = _with_dots(_groups(left_text, formula), count, formula)
    dots = [g[0] for g in left if len(g) == 1 and g[0].startswith("...")]
    right = _spread_dots(_groups(right_text, formula), dots)
    if len(left) != count:
        raise _error(formula, f"{count} groups on the left, for shape {value.shape}")
    lengths = _lengths(left, value.shape, sizes, formula)
    names = [name for group in left for name in group]
    unused = sorted(sizes.keys() - set(names))
    if unused:
        raise _error(formula, f"one that names {', '.join(unused)}, of which a length is given")
    wanted = [name for group in right for name in group]
    if sorted(names) != sorted(wanted) or len(set(names)) != len(names):
        raise _error(formula, "the same names, each once, on both sides")
    split = value.reshape(tuple(lengths[name] for name in names))
    ordered = split.permute([names.index(name) for name in wanted])
    return ordered.reshape(tuple(prod(lengths[name] for name in group) for group in right))


def _error(formula: str, expected: str) -> ArgumentError:
    return ArgumentError(op="rearrange", argument="formula", given=formula, expected=expected)


def _groups(text: str, formula: str) -> list[Group]:
    """Names, the bracketed ones together; 1 is a group without names."""
    groups: list[Group] = []
    inside: Group | None = None
    for token in _TOKEN.findall(text):
        if token == "(" and inside is None:
            inside = []
        elif token == ")" and inside is not None:
            groups.append(inside)
            inside = None
        elif token == "...":
            (groups.append(_APART) if inside is None else inside.append(_MERGED))
        elif token.isidentifier():
            (groups.append([token]) if inside is None else inside.append(token))
        elif token == "1":
            if inside is None:
                groups.append([])
        else:
            raise _error(formula, f"names, brackets, 1 and '...', without {token!r}")
    if inside is not None:
        raise _error(formula, "every bracket closed")
    return groups


def _with_dots(groups: list[Group], count: int, formula: str) -> list[Group]:
    """`...` on the left as one name for each axis that it stands for."""
    if any(_MERGED in group for group in groups):
        raise _error(formula, "'...' on the left outside of brackets")
    if _APART not in groups:
        return groups
    at = groups.index(_APART)
    covered = count - len(groups) + 1
    if covered < 0 or groups.count(_APART) > 1:
        raise _error(formula, f"one '...' and at most {count} other groups")
    return [*groups[:at], *([f"...{i}"] for i in range(covered)), *groups[at + 1 :]]


def _spread_dots(groups: list[Group], dots: list[str]) -> list[Group]:
    spread: list[Group] = []
    for group in groups:
        if group == _APART:
            spread.extend([name] for name in dots)
            continue
        names: Group = []
        for name in group:
            names.extend(dots if name == _MERGED else [name])
        spread.append(names)
    return spread


def _lengths(
    left: list[Group], shape: tuple[object, ...], sizes: Mapping[str, int], formula: str
) -> dict[str, int]:
    lengths = dict(sizes)
    for group, size in zip(left, shape, strict=True):
        assert isinstance(size, int), "rearranged axes have known lengths"
        unknown = [name for name in group if name not in lengths]
        known = prod(lengths[name] for name in group if name in lengths)
        if len(unknown) > 1:
            raise _error(formula, f"at most one unknown length in ({' '.join(group)})")
        if unknown and known and size % known == 0:
            lengths[unknown[0]] = size // known
        elif unknown or known != size:
            raise _error(formula, f"lengths of ({' '.join(group)}) that multiply to {size}")
    return lengths
