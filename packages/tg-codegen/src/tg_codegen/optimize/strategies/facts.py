"""What a strategy needs to know of a reduction: its loops, and how each load moves with them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tg_uop import GroupOp, Ops, UOp

from tg_codegen.linear_index import linear_form, split_gate
from tg_codegen.optimize.loop_nest import LoopNest


@dataclass(frozen=True, slots=True, eq=False)
class LoadFacts:
    """One load inside of a reduction.

    `strides` holds elements a step of each loop moves, None where it is irregular; loops that it
    does not depend on are absent. `gate_loops` are those that decide whether it happens.
    """

    index: UOp
    strides: dict[UOp, int | None]
    gate_loops: frozenset[UOp]
    itemsize: int

    def moves_with(self, loop: UOp) -> bool:
        """Whether another step of `loop` loads another element."""
        return loop in self.strides or loop in self.gate_loops

    def is_contiguous(self, loop: UOp) -> bool:
        """Whether a step of `loop` goes to the next element."""
        return self.strides.get(loop) == 1


@dataclass(frozen=True, slots=True, eq=False)
class ReduceFacts:
    """One REDUCE: the loops of its outputs and of its elements, its loads, its arithmetic.

    `steps` elements are reduced to each of `results` results.
    """

    node: UOp
    outputs: tuple[UOp, ...]
    reduced: tuple[UOp, ...]
    loads: tuple[LoadFacts, ...]
    arithmetic: tuple[UOp, ...]
    steps: int
    results: int

    @property
    def work(self) -> int:
        """Elements combined in all."""
        return self.steps * self.results


def reduce_facts(nest: LoopNest, node: UOp) -> ReduceFacts:
    """The facts of one REDUCE of the kernel."""
    inner = value_nodes(node.reduced_value)
    loads = tuple(load_facts(n) for n in inner if n.op is Ops.INDEX)
    arithmetic = tuple(n for n in inner if n.op in GroupOp.Elementwise)
    outputs = tuple(r for r in nest.rngs if r in node.ranges)
    reduced = tuple(r for r in nest.rngs if r in node.reduce_ranges)
    return ReduceFacts(
        node,
        outputs,
        reduced,
        loads,
        arithmetic,
        steps=prod(int(r.vmax) + 1 for r in reduced),
        results=prod(int(r.vmax) + 1 for r in outputs),
    )


def load_facts(index: UOp) -> LoadFacts:
    """How one load moves with the loops around it."""
    gate, address = split_gate(index.index_expr)
    form = linear_form(address)
    strides = {loop: form.stride(loop) for loop in address.ranges}
    return LoadFacts(
        index,
        {loop: stride for loop, stride in strides.items() if stride != 0},
        frozenset(gate.ranges) if gate is not None else frozenset(),
        index.dtype.itemsize,
    )


def value_nodes(root: UOp) -> list[UOp]:
    """The nodes that compute a value at each step: not addresses, nor inner reductions."""
    closed = (Ops.INDEX, Ops.REDUCE, Ops.RANGE)
    order: dict[UOp, None] = {}
    stack = [(root, False)]
    while stack:
        node, visited = stack.pop()
        if node in order:
            continue
        if visited or node.op in closed:
            order[node] = None
            continue
        stack.append((node, True))
        stack.extend((operand, False) for operand in reversed(node.src))
    return list(order)


def main_reduce(nest: LoopNest) -> ReduceFacts | None:
    """The REDUCE with the most work."""
    found = [reduce_facts(nest, node) for node in nest.reduces]
    return max(found, key=lambda facts: facts.work) if found else None
