"""A captured step that can run again: fill in arguments, launch, hand out fresh results."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast, final

from tg_runtime import Buffer
from tg_uop import Ops, UOp
from tg_uop.context import DEBUG
from tg_uop.ir.args import BufferArg
from tg_uop.ir.infer.symbolic import Condition

from tg_tensor.engine.buffers import attach, buffer_of
from tg_tensor.engine.graph import CallList
from tg_tensor.jit.capture import Step
from tg_tensor.jit.conditions import check_all
from tg_tensor.jit.containers import TensorLike, rebuild
from tg_tensor.jit.guards import Layout
from tg_tensor.jit.memory import StepMemory, memory_of_step
from tg_tensor.jit.outside import finish_writes, spare_readers
from tg_tensor.jit.watch import Watch
from tg_tensor.schedule.memory import buffer_under

MOST_SETS = 4
"""Sets of result buffers to keep for reuse; a loop that keeps no results needs two."""


@final
class OutputSet:
    """One set of result buffers, and whether anyone still uses it.

    The set is handed out again only when no one but this object holds the nodes or the memory:
    counted by references, because Tensors, graphs and NumPy views all hold one of the two.
    """

    __slots__ = ("_held", "_idle", "buffers", "nodes", "views")

    def __init__(self, outputs: Sequence[UOp], views: Callable[[list[UOp]], list[UOp]]) -> None:
        self.nodes = [_like(output) for output in outputs]
        self.buffers = [buffer_of(node).ensure_allocated() for node in self.nodes]
        self.views = views(self.nodes)
        self._held = (*self.nodes, *self.buffers, *self.views)
        self._idle = self._references()

    def _references(self) -> int:
        return sum(map(sys.getrefcount, self._held))

    def is_idle(self) -> bool:
        """Whether the results that were handed out are gone."""
        return sum(map(sys.getrefcount, self._held)) == self._idle


@final
class Captured:
    """One captured step with the values that it returns."""

    def __init__(
        self,
        step: Step,
        result: object,
        result_views: Sequence[UOp],
        make: Callable[[UOp], TensorLike] | None,
    ) -> None:
        """`result_views` are the nodes of the tensors in `result`, in terms of the step's
        buffers; `make` makes a Tensor of a node.
        """
        self.step = step
        self.result = result
        self.result_views = list(result_views)
        self.make = make
        self.conditions: list[Condition] = []
        self.watch: Watch | None = None
        self._calls: CallList | None = None
        self._running = threading.RLock()
        self.is_single = bool(result_views) and result is SINGLE
        written = step.written()
        self.written_state = written & set(step.state)
        self._written_inputs = [i for i, node in enumerate(step.inputs) if node in written]
        self._touches_outside = bool(step.state or self._written_inputs)
        self._own = [v for v in self.result_views if not self._is_shared(v)]
        self._sets: list[OutputSet] = []
        self._turn = 0
        self._bound = _bindings_in(self.result_views)
        self._is_one_output = self.is_single and bool(self._own) and not self._bound

    @property
    def kernel_count(self) -> int:
        """How many calls one replay makes."""
        return len(self.step.calls)

    @property
    def linear(self) -> UOp:
        """The calls of one replay, in order: a LINEAR."""
        return UOp(Ops.LINEAR, src=self.step.calls)

    @property
    def memory(self) -> StepMemory:
        """How much memory one replay works on, known before it runs."""
        return memory_of_step(self.step)

    def is_current(self) -> bool:
        """Whether the Tensors from outside that the step reads are in their places."""
        return self.watch is None or self.watch.is_current()

    def free_intermediates(self) -> None:
        """Give back the memory that only the step uses; the next replay takes it again.

        Results that were handed out keep theirs.
        """
        with self._running:
            self._calls = None
            self._sets.clear()
            scratch = set(self.step.scratch)
            used = dict.fromkeys(a for call in self.step.calls for a in call.call_args)
            views = [a for a in used if a not in scratch and buffer_under(a) in scratch]
            for node in (*views, *self.step.scratch):
                buffer = buffer_of(node)
                if buffer.is_allocated():
                    buffer.deallocate()

    def overwrites_any(self, layouts: Iterable[Layout]) -> bool:
        """Whether the step writes, as state, memory that is given as an argument."""
        written = self.written_state
        return bool(written) and any(p.buffer in written for x in layouts for p in x.places)

    @property
    def calls(self) -> CallList:
        """The calls, ready to be launched."""
        if self._calls is None:
            step = self.step
            self._calls = CallList(step.calls, [*step.inputs, *step.outputs])
        return self._calls

    def _is_shared(self, view: UOp) -> bool:
        """Whether a result is (partly) an argument or state, which no replay makes anew."""
        outputs = set(self.step.outputs)
        return any(n.op is Ops.BUFFER and n not in outputs for n in view.toposort())

    def _views(self, nodes: Sequence[UOp]) -> list[UOp]:
        names = dict(zip(self.step.outputs, nodes, strict=True))
        return [view.substitute(names) for view in self._own]

    def _output_set(self) -> OutputSet:
        sets = self._sets
        for number in range(len(sets)):
            turn = (self._turn + number) % len(sets)
            if sets[turn].is_idle():
                self._turn = turn + 1
                return sets[turn]
        fresh = OutputSet(self.step.outputs, self._views)
        if len(sets) < MOST_SETS:
            sets.append(fresh)
        return fresh

    def replay(
        self, inputs: Sequence[UOp], buffers: Sequence[Buffer], values: Mapping[str, int]
    ) -> object:
        """Run with other arguments. The result is like that of the captured call."""
        if self.conditions:
            check_all(self.conditions, values)
        # one thread at a time, until Tensors hold the results: the set is idle before
        with self._running:
            if self._touches_outside:
                finish_writes(self.step.state)
                written = [inputs[i].base for i in self._written_inputs]
                spare_readers([*self.written_state, *written])
            outputs = self._output_set()
            calls = self._calls or self.calls
            filled = [*buffers, *outputs.buffers]
            if DEBUG.value >= 2:
                calls.run_reported(self._named([*inputs, *outputs.nodes], filled), values)
            else:
                calls.run(filled, values)
            if self._is_one_output:
                return self.make(outputs.views[0])  # type: ignore[misc]
            return self._results(inputs, outputs, values)

    def _named(self, nodes: Sequence[UOp], buffers: Sequence[Buffer]) -> dict[UOp, UOp]:
        """A BUFFER for each slot of the step; parts of buffers get one of their own."""
        slots = [*self.step.inputs, *self.step.outputs]
        return {
            slot: node if node.op is Ops.BUFFER else attach(_like(slot), buffer)
            for slot, node, buffer in zip(slots, nodes, buffers, strict=True)
        }

    def _results(
        self, inputs: Sequence[UOp], outputs: OutputSet, values: Mapping[str, int]
    ) -> object:
        if self.make is None:
            return self.result
        own = iter(outputs.views)
        names = dict(zip(self.step.inputs, inputs, strict=True))
        names.update(zip(self.step.outputs, outputs.nodes, strict=True))
        views = [
            next(own) if view in self._own else view.substitute(names) for view in self.result_views
        ]
        if self._bound:
            bound = {node: node.src[0].bind(values[node.var_name]) for node in self._bound}
            views = [view.substitute(bound) for view in views]
        fresh = iter(views)
        make = self.make
        if self.is_single:
            return make(next(fresh))
        return rebuild(self.result, lambda _: make(next(fresh)))

    # *** pickling ***

    def __getstate__(self) -> dict[str, object]:
        contents = {
            node: (bytes(buffer_of(node).as_memoryview(allow_zero_copy=False)))
            for node in self.step.state
            if buffer_of(node).is_allocated()
        }
        return {
            "step": self.step,
            "result": self.result,
            "views": self.result_views,
            "make": self.make,
            "contents": contents,
            "conditions": self.conditions,
        }

    def __setstate__(self, state: dict[str, object]) -> None:
        step = cast(Step, state["step"])
        fresh: dict[UOp, UOp] = {}
        for node in (*step.state, *step.scratch):
            size = cast(BufferArg, node.arg).size
            fresh[node] = UOp.new_buffer(cast(str, node.device), size, node.dtype)
        for node, raw in cast(dict[UOp, bytes], state["contents"]).items():
            made = fresh[node]
            size = cast(BufferArg, made.arg).size
            attach(made, Buffer(cast(str, made.device), size, made.dtype, initial_value=raw))
        moved = Step(
            tuple(call.substitute(fresh) for call in step.calls),
            step.inputs,
            step.outputs,
            tuple(fresh[node] for node in step.scratch),
            tuple(fresh[node] for node in step.state),
            step.var_vals,
            step.separate_bytes,
        )
        views = [view.substitute(fresh) for view in cast(list[UOp], state["views"])]
        make = cast("Callable[[UOp], TensorLike] | None", state["make"])
        Captured.__init__(self, moved, state["result"], views, make)
        self.conditions = cast(list[Condition], state["conditions"])


def _like(buffer: UOp) -> UOp:
    """Another BUFFER of the same form."""
    size = cast(BufferArg, buffer.arg).size
    return UOp.new_buffer(cast(str, buffer.device), size, buffer.dtype)


def _bindings_in(views: Iterable[UOp]) -> list[UOp]:
    """The variables with values in the shapes of results."""
    found = (node for view in views for node in view.toposort() if node.op is Ops.BIND)
    return list(dict.fromkeys(found))


class _Single:
    """The mark of a result that is just one tensor."""

    def __reduce__(self) -> str:
        return "SINGLE"


SINGLE = _Single()
