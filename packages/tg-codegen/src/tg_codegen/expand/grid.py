"""Give GLOBAL, WARP and LOCAL axes a place in the launch grid: kernel form in, kernel form out.

A device offers up to three dimensions with limits, the first one fastest. Axes that are more than
that share the last dimension, and an axis above a limit is split over two dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tg_uop import AxisType, Ops, UOp, dtypes

from tg_codegen.errors import UnsupportedError
from tg_codegen.expand.loops import axis_order
from tg_codegen.target.caps import Capabilities

GROUP_AXES = frozenset((AxisType.LOCAL, AxisType.WARP))
DIMENSIONS = 3


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a launch: the axes in it, innermost first."""

    axes: tuple[UOp, ...]

    @property
    def size(self) -> UOp:
        """The number of steps."""
        total = self.axes[0].range_size
        for axis in self.axes[1:]:
            total = _product(total, axis.range_size)
        return total


def place_on_grid(kernel: UOp, caps: Capabilities) -> UOp:
    """The kernel with launch indices in place of its GLOBAL, WARP and LOCAL ranges.

    Raises `UnsupportedError` for an axis that is too long for the device.
    """
    ranges = sorted((n for n in kernel.toposort() if n.op is Ops.RANGE), key=axis_order)
    grid = [r for r in ranges if r.axis_type is AxisType.GLOBAL]
    group = [r for r in ranges if r.axis_type in GROUP_AXES]
    if not grid and not group:
        return kernel
    replacements = launch_indices("gidx", grid, caps.global_max)
    replacements.update(launch_indices("lidx", group, caps.local_max))
    return keep_only_ranges_closed(kernel.substitute(replacements))


def keep_only_ranges_closed(kernel: UOp) -> UOp:
    """The kernel with ENDs that close nothing but RANGEs."""
    done: dict[UOp, UOp] = {}
    for node in kernel.toposort():
        src = tuple(done[s] for s in node.src)
        if node.op is Ops.END:
            done[node] = src[0].end(*(r for r in src[1:] if r.op is Ops.RANGE))
        else:
            done[node] = node if src == node.src else node.replace(src=src)
    return done[kernel]


def launch_indices(prefix: str, axes: Sequence[UOp], limits: Sequence[int]) -> dict[UOp, UOp]:
    """For each axis (outermost first), its index in terms of launch indices."""
    found: dict[UOp, UOp] = {}
    number = 0
    for dimension in dimensions(axes):
        parts = split_to_limits(dimension.size, limits[number:], prefix)
        index: UOp | None = None
        scale = UOp.const(dtypes.weakint, 1)
        for part in parts:
            special = UOp.special(part, f"{prefix}{number}")
            number += 1
            scaled = _product(special, scale)
            index = scaled if index is None else index + scaled
            scale = _product(scale, part)
        assert index is not None, "a dimension has at least one part"
        found.update(_digits(dimension, index))
    return found


def dimensions(axes: Sequence[UOp]) -> list[Dimension]:
    """The axes, innermost first, the outer ones together where they are more than three."""
    inner_first = list(reversed(axes))
    own, shared = inner_first[: DIMENSIONS - 1], inner_first[DIMENSIONS - 1 :]
    found = [Dimension((axis,)) for axis in own]
    if shared:
        found.append(Dimension(tuple(shared)))
    return found


def split_to_limits(size: UOp, limits: Sequence[int], prefix: str) -> list[UOp]:
    """Factors of `size` that fit into consecutive dimensions.

    Raises `UnsupportedError` when there are none.
    """
    limit = limits[0] if limits else None
    if size.op is not Ops.CONST or limit is None or size.const_value <= limit:
        return [size]
    whole = size.const_value
    for factor in range(limit, 1, -1):
        if whole % factor == 0 and len(limits) > 1:
            rest = UOp.const(size.dtype, whole // factor)
            return [UOp.const(size.dtype, factor), *split_to_limits(rest, limits[1:], prefix)]
    raise UnsupportedError(
        what=f"a launch dimension of {whole} steps",
        target=prefix,
        reason=f"the limits are {tuple(limits)} and no factor fits",
        hint="split the axis with an Opt, or pad it to a multiple of a power of two",
    )


def _digits(dimension: Dimension, index: UOp) -> dict[UOp, UOp]:
    """The index of each axis that shares a dimension."""
    found: dict[UOp, UOp] = {}
    rest = index
    for axis in dimension.axes[:-1]:
        found[axis] = rest.alu(Ops.MOD, axis.range_size)
        rest = rest.alu(Ops.IDIV, axis.range_size)
    found[dimension.axes[-1]] = rest
    return found


def _product(left: UOp, right: UOp) -> UOp:
    if left.op is Ops.CONST and right.op is Ops.CONST:
        return UOp.const(left.dtype, left.const_value * right.const_value)
    if left.op is Ops.CONST and left.const_value == 1:
        return right
    if right.op is Ops.CONST and right.const_value == 1:
        return left
    return left * right
