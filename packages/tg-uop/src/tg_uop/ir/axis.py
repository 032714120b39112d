"""The role that a loop plays in a kernel."""

from __future__ import annotations

from enum import Enum, auto


class AxisType(Enum):
    """What becomes of a RANGE.

    GLOBAL, WARP and LOCAL axes turn into device dimensions, THREAD into CPU threads, LOOP stays a
    loop over outputs, REDUCE a loop over reduced elements, GROUP_REDUCE a reduction shared by the
    work-items of a group, UPCAST and UNROLL are replicated inside one thread.
    """

    GLOBAL = auto()
    WARP = auto()
    LOCAL = auto()
    LOOP = auto()
    GROUP_REDUCE = auto()
    REDUCE = auto()
    UPCAST = auto()
    UNROLL = auto()
    THREAD = auto()

    def __repr__(self) -> str:
        return f"AxisType.{self.name}"

    def __lt__(self, other: AxisType) -> bool:
        return self.value < other.value

    @property
    def is_reduce(self) -> bool:
        """Whether the axis runs over elements that a REDUCE combines."""
        return self in REDUCE_AXES

    @property
    def letter(self) -> str:
        """One letter for kernel names and reports."""
        return AXIS_LETTERS[self]


REDUCE_AXES = frozenset((AxisType.GROUP_REDUCE, AxisType.REDUCE, AxisType.UNROLL))

AXIS_LETTERS = {
    AxisType.GLOBAL: "g",
    AxisType.WARP: "w",
    AxisType.LOCAL: "l",
    AxisType.LOOP: "L",
    AxisType.GROUP_REDUCE: "G",
    AxisType.REDUCE: "R",
    AxisType.UPCAST: "u",
    AxisType.UNROLL: "r",
    AxisType.THREAD: "t",
}
