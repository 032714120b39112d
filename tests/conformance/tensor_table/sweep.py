"""Which dtypes, shapes and memory layouts a case is tried on: a sample, or all of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tensor_table.cases import Case
from tensor_table.inputs import Array, Shape, array_dtype

_INTEGER_LIMITS = (0, 1, 2, 3, 7)


@dataclass(frozen=True, slots=True)
class Variation:
    """One point of the sweep."""

    dtype: str
    shapes: tuple[Shape, ...]
    layout: str

    def __str__(self) -> str:
        shapes = " ".join(str(shape) for shape in self.shapes)
        return f"{self.dtype} {shapes} {self.layout}".replace("  ", " ")


def variations(case: Case, full: bool) -> list[Variation]:
    """The sweep of a case; without `full` a sample, always the same."""
    found = list(_everything(case) if full else _sample(case))
    return list(dict.fromkeys(found))


def _everything(case: Case) -> Iterator[Variation]:
    for dtype in case.dtypes:
        for shapes in case.shapes:
            yield Variation(dtype, shapes, "plain")
    for layout in case.layouts:
        yield Variation(case.dtypes[0], _with_axes(case), layout)
    yield from _special(case, len(case.dtypes))


def _sample(case: Case) -> Iterator[Variation]:
    turn = zlib.crc32(case.ours.encode())
    first = case.dtypes[0]
    yield Variation(first, case.shapes[0], "plain")
    others = case.dtypes[1:]
    for step in range(min(2, len(others))):
        dtype = others[(turn + step * (len(others) // 2 or 1)) % len(others)]
        yield Variation(dtype, case.shapes[(turn + step) % len(case.shapes)], "plain")
    for step in range(min(2, len(case.shapes) - 1)):
        place = 1 + (turn + step * 3) % (len(case.shapes) - 1)
        yield Variation(first, case.shapes[place], "plain")
    if len(case.layouts) > 1:
        layout = case.layouts[1 + turn % (len(case.layouts) - 1)]
        yield Variation(first, _with_axes(case), layout)
    yield from _special(case, 1)


def _special(case: Case, most: int) -> Iterator[Variation]:
    if not case.special:
        return
    for dtype in [d for d in case.dtypes if "float" in d][:most]:
        yield Variation(dtype, (), "special")


def _with_axes(case: Case) -> tuple[Shape, ...]:
    """Shapes of several axes, where layouts differ."""
    for shapes in case.shapes:
        if shapes and all(len(shape) > 1 for shape in shapes[:1]):
            return shapes
    return case.shapes[0]


def arguments(case: Case, variation: Variation) -> dict[str, Array]:
    """The values of the inputs at a point of the sweep."""
    if variation.layout == "special":
        return _special_arguments(case, variation.dtype)
    found = {}
    shapes = list(variation.shapes)
    for seed, (name, given) in enumerate(case.inputs.items(), 1):
        shape = None
        if given.shape is None and given.kind != "values":
            shape = shapes.pop(0)
        array = given.make(variation.dtype, shape, seed)
        if variation.layout == "expanded" and array.ndim and array.shape[0] > 1:
            array = np.ascontiguousarray(np.broadcast_to(array[:1], array.shape))
        found[name] = array
    return found


def _special_arguments(case: Case, dtype: str) -> dict[str, Array]:
    """Every special number, and every pair of them where there are two inputs."""
    limits = _limits(dtype)
    line = np.array([0.0, -0.0, 1, -1, 2.5, -3.5, np.inf, -np.inf, np.nan, *limits], np.float64)
    names = list(case.inputs)
    if len(names) == 1:
        return {names[0]: line.astype(array_dtype(dtype))}
    left, right, *rest = (line.repeat(len(line)), np.tile(line, len(line)))
    made = [left, right, *rest]
    while len(made) < len(names):
        made.append(np.roll(left, 7 * len(made)))
    with np.errstate(over="ignore"):
        return {n: a.astype(array_dtype(dtype)) for n, a in zip(names, made, strict=True)}


def _limits(dtype: str) -> list[float]:
    if dtype == "bfloat16":
        return [2.0**-126, 3e38, -3e38]
    info = np.finfo(dtype)
    return [float(info.tiny), float(info.max), float(info.min)]
