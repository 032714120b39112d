"""Capture stretches of a graph as steps, and replay them: between the values that the host reads.

What decides shapes or control flow has to be known on the host, so a captured step ends where such
a value is read; it is part of what the next step is captured for. Which values these are is learned
from the runs themselves.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from tg_tensor import Tensor, TinyJit
from tg_tensor.jit.errors import JitError
from tg_uop.ir.ops import GroupOp, Ops

from tg_onnx.execute import HOST_ELEMENTS, Executor
from tg_onnx.habits import Frame, Habits, ReadOnHost
from tg_onnx.host import as_array, is_tensor_dtype
from tg_onnx.model import Graph, Node
from tg_onnx.plan import Plan
from tg_onnx.registry import Value

MOST_SIGNATURES = 16
"""Signatures of one stretch to keep; the one used least recently goes."""
MOST_MISSES = 64
"""Calls that no signature fitted, without as many that one did, until a stretch is left alone."""

Jitted: TypeAlias = "Callable[..., tuple[Value, ...]]"


@dataclass(frozen=True, slots=True)
class Part:
    """Nodes that run together.

    `reads` are taken to the host before; `takes` are the values from before, `gives` those for
    what comes after.
    """

    positions: tuple[int, ...]
    reads: tuple[str, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    on_its_own: bool


def split(graph: Graph, habits: Habits) -> list[Part]:
    """The parts of a graph, in order."""
    groups = _groups(graph, habits)
    needs = [set().union(*(needed(graph.nodes[p]) for p in group)) for group in groups]
    parts = []
    later = set(graph.outputs)
    for group, need in zip(groups[::-1], needs[::-1], strict=True):
        given = {name for p in group for name in graph.nodes[p].outputs if name}
        takes = need - given - graph.constants.keys()
        own = len(group) == 1 and group[0] in habits.nodes
        # a node that reads all of its inputs itself needs them as they are
        reads = () if own and not graph.nodes[group[0]].subgraphs else takes & habits.names
        parts.append(
            Part(
                tuple(group), tuple(reads), tuple(sorted(takes)), tuple(sorted(given & later)), own
            )
        )
        later |= need
    return parts[::-1]


def needed(node: Node) -> set[str]:
    """The values that a node uses, those of graphs inside of it too."""
    names = set(node.inputs)
    for body in node.subgraphs.values():
        names |= body.outer_names()
    return names - {""}


def _groups(graph: Graph, habits: Habits) -> list[list[int]]:
    groups: list[list[int]] = [[]]
    made: set[str] = set()
    for position, node in enumerate(graph.nodes):
        if position in habits.nodes:
            groups += [[position], []]
            made = set()
            continue
        if made & habits.names & needed(node):
            groups.append([])
            made = set()
        groups[-1].append(position)
        made.update(node.outputs)
    return [group for group in groups if group]


@dataclass(slots=True, weakref_slot=True)
class Step:
    """A stretch captured for one signature: which values are the same at each replay, and the
    names of the tensors that are given anew.
    """

    plan: Plan
    part: Part
    fixed: Mapping[str, Value]
    names: tuple[str, ...]
    frame: Frame
    jit: Jitted | None = None


@dataclass(frozen=True, slots=True)
class Arguments:
    """What one call gives to a stretch: values that are part of the key, and tensors."""

    fixed: dict[str, Value]
    names: list[str]
    tensors: list[Tensor]
    key: Hashable


class Stretch:
    """A part of a plan with the steps captured of it."""

    def __init__(self, plan: Plan, part: Part) -> None:
        self.plan = plan
        self.part = part
        used = {name for p in part.positions for name in plan.last_use.get(p, ())}
        # of what is there after a replay, the values that nothing needs any more
        self.ends = tuple(used & {*part.takes, *part.gives})
        self.steps: OrderedDict[Hashable, Step | None] = OrderedDict()
        self.is_given_up = False
        self._misses = 0
        self._hits = 0

    def knows(self, key: Hashable) -> bool:
        """Whether a signature was seen before; it is from now on."""
        if key in self.steps:
            self._hits += 1
            self.steps.move_to_end(key)
            return True
        self._misses += 1
        self.is_given_up = self._misses > max(MOST_MISSES, self._hits)
        while len(self.steps) >= MOST_SIGNATURES:
            self.steps.popitem(last=False)
        self.steps[key] = None
        return False


class SegmentedExecutor(Executor):
    """Runs graphs in stretches that are captured at their second run with one signature."""

    def __init__(self, plan: Plan, device: str | None) -> None:
        super().__init__(plan, device)
        self.run_body = self._run_body
        self.prune = True
        self._stretches: dict[int, tuple[int, list[Stretch]]] = {}

    def train(self) -> None:
        """From now on constants are read at each call, since someone may change them."""
        self.folds = False
        self.prune = False
        self._folded.clear()
        self._stretches.clear()

    def run_segments(self, plan: Plan, values: dict[str, Value], frame: Frame) -> list[Value]:
        """The values of a graph's outputs, by replaying what has been captured."""
        values.update(self.constants_of(plan))
        for stretch in self._stretches_of(plan):
            for name in stretch.part.reads:
                values[name] = _on_host(values[name])
            arguments = None if not _can_capture(stretch) else self._arguments(stretch, values)
            if arguments is None:
                self.run_nodes(plan, stretch.part.positions, values, frame)
            else:
                self._run_stretch(stretch, arguments, values, frame)
        return [values[name] for name in plan.graph.outputs]

    def _run_body(self, plan: Plan, values: dict[str, Value], frame: Frame) -> list[Value]:
        if frame.captures and not frame.is_captured:
            return self.run_segments(plan, values, frame)
        return self.run_plan(plan, values, frame)

    def _stretches_of(self, plan: Plan) -> list[Stretch]:
        known = self._stretches.get(id(plan))
        if known is None or known[0] != plan.habits.count:
            parts = split(plan.graph, plan.habits)
            known = (plan.habits.count, [Stretch(plan, part) for part in parts])
            self._stretches[id(plan)] = known
        return known[1]

    def _arguments(self, stretch: Stretch, values: dict[str, Value]) -> Arguments | None:
        """What a step is captured for, and what it gets; None where it cannot be."""
        graph = stretch.plan.graph
        names: list[str] = []
        tensors: list[Tensor] = []
        fixed: dict[str, Value] = {}
        key: list[Hashable] = []
        for name in stretch.part.takes:
            value = values[name]
            if isinstance(value, list | dict):
                return None
            if value is None or id(value) in self.constants:
                fixed[name] = value
                key.append(id(value))
                continue
            if isinstance(value, np.ndarray):
                if _is_fixed(name, value, graph, stretch.plan.habits):
                    fixed[name] = value
                    key.append((value.dtype.str, value.shape, value.tobytes()))
                    continue
                if not is_tensor_dtype(value):
                    return None
                value = cast(Tensor, self.tensor(value))
            shape = value.shape
            if not all(isinstance(size, int) for size in shape):
                return None
            names.append(name)
            tensors.append(value)
            key.append((shape, value.dtype, value.device))
        return Arguments(fixed, names, tensors, tuple(key)) if tensors else None

    def _run_stretch(
        self, stretch: Stretch, given: Arguments, values: dict[str, Value], frame: Frame
    ) -> None:
        part = stretch.part
        results: tuple[Value, ...] | None = None
        if stretch.knows(given.key):
            step = stretch.steps[given.key]
            if step is None:
                results = self._capture(stretch, given)
            elif step.jit is not None:
                results = step.jit(*given.tensors)
        if results is None:
            self.run_nodes(stretch.plan, part.positions, values, frame)
            return
        values.update(zip(part.gives, results, strict=True))
        for name in stretch.ends:
            values.pop(name, None)

    def _capture(self, stretch: Stretch, given: Arguments) -> tuple[Value, ...] | None:
        """The results, and the step kept; None where the host had to read values."""
        plan = stretch.plan
        frame = Frame(plan.graph, plan.habits, is_captured=True)
        step = Step(plan, stretch.part, given.fixed, tuple(given.names), frame)
        function = _function(weakref.ref(self), weakref.ref(step))
        jit: TinyJit[..., tuple[Value, ...]] = TinyJit(function, prune=self.prune)
        # the uncaptured run before this one stands for the first call
        jit.calls = 1
        try:
            results = jit(*given.tensors)
        except ReadOnHost:
            return None
        except JitError:
            if frame.position < 0:
                stretch.is_given_up = True
            else:
                plan.habits.nodes.add(frame.position)
            return None
        if jit.captured is not None and self.folds:
            # constants are replaced by no one: a look at each of them at each replay is saved
            jit.captured.watch = None
        step.jit = cast(Jitted, jit)
        stretch.steps[given.key] = step
        return results


def _function(executor: weakref.ref[SegmentedExecutor], step: weakref.ref[Step]) -> Jitted:
    """What the JIT runs. It looks through all that a function can reach: references hide the
    model from it.
    """

    def run(*tensors: Tensor) -> tuple[Value, ...]:
        owner, own = executor(), step()
        assert owner is not None, "it lives while it runs"
        assert own is not None, "it lives as long as its captured function"
        values: dict[str, Value] = {"": None, **owner.constants_of(own.plan), **own.fixed}
        values.update(zip(own.names, tensors, strict=True))
        owner.run_nodes(own.plan, own.part.positions, values, own.frame)
        outputs = own.plan.graph.outputs
        return tuple(
            _in_one_piece(values[name]) if name in outputs else values[name]
            for name in own.part.gives
        )

    return run


def _in_one_piece(value: Value) -> Value:
    """A view other than of all elements in their order, as memory of its own: read later, it would
    take a kernel outside of the step each time.
    """
    if not isinstance(value, Tensor):
        return value
    node = value.uop
    while node.op is Ops.RESHAPE:
        node = node.src[0]
    return value.contiguous() if node.op in GroupOp.Movement else value


def _can_capture(stretch: Stretch) -> bool:
    return not stretch.part.on_its_own and not stretch.is_given_up


def _is_fixed(name: str, value: np.ndarray, graph: Graph, habits: Habits) -> bool:
    """Whether an array is known to a step by its value: it may decide shapes."""
    if name in habits.names:
        return True
    return name not in graph.inputs and value.size <= HOST_ELEMENTS and value.dtype.kind in "iub"


def _on_host(value: Value) -> Value:
    return as_array(value) if isinstance(value, Tensor) else value
