"""Remember which values of a graph the host reads: where a captured step has to end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tg_onnx.model import Graph


class ReadOnHost(Exception):
    """A value is needed on the host while a step is captured; the step ends before that node."""


@dataclass(slots=True)
class Habits:
    """What runs of one graph have read: values by name, and nodes that read more than that."""

    names: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)

    @property
    def count(self) -> int:
        """A number that grows whenever something new is learned."""
        return len(self.names) + len(self.nodes)


@dataclass(slots=True)
class Frame:
    """A graph that runs now, inside of a node of `outside` where it is a body.

    `is_captured` says that reading is no way to go on.
    """

    graph: Graph
    habits: Habits
    outside: Frame | None = None
    is_captured: bool = False
    captures: bool = False
    position: int = -1

    def read(self, name: str) -> None:
        """Note that the host reads a named value. Raises `ReadOnHost` in a captured step."""
        frame: Frame | None = self
        known: str | None = name
        while frame is not None:
            if known is None:
                frame.habits.nodes.add(frame.position)
            else:
                frame.habits.names.add(known)
                known = None if _is_own(frame.graph, known) else known
            frame = frame.outside
        self._refuse()

    def read_inside(self) -> None:
        """Note that the node which runs now reads values that have no name here."""
        frame: Frame | None = self
        while frame is not None:
            frame.habits.nodes.add(frame.position)
            frame = frame.outside
        self._refuse()

    def _refuse(self) -> None:
        if self.is_captured:
            raise ReadOnHost


def _is_own(graph: Graph, name: str) -> bool:
    """Whether a graph itself gives a value, rather than what is around it."""
    if name in graph.inputs or name in graph.constants:
        return True
    return any(name in node.outputs for node in graph.nodes)


def reading_inputs(operator: str, names: Collection[str]) -> list[str]:
    """The inputs by whose values the host decides how a node of control flow goes on."""
    first = {"If": 1, "Loop": 2}.get(operator, 0)
    return [name for name in list(names)[:first] if name]
