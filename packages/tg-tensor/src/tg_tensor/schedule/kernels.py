"""Write a group of roots as one kernel: kernel form with loops, loads, and stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from tg_codegen.linear_index import is_step_condition
from tg_uop import GroupOp, KernelInfo, Ops, UOp
from tg_uop.origin import Line

from tg_tensor.schedule.fusion import Plan, Root
from tg_tensor.schedule.groups import Group, maker_of, named_reduce_loop
from tg_tensor.schedule.indexing import (
    FIRST_REDUCE_ID,
    MOVEMENTS,
    Access,
    conjunction,
    gate_index,
    new_gates,
)
from tg_tensor.schedule.origins import begin_at_origins

Place = tuple[UOp, Access]
"""An element of a node that the kernel computes."""


@final
class KernelBuilder:
    """Builds the SINK of one group and collects its arguments."""

    def __init__(
        self,
        plan: Plan,
        group: Group,
        memory: Mapping[UOp, UOp],
        copies: Mapping[UOp, UOp],
    ) -> None:
        """`memory` names the buffer of each materialized node; `copies` names, for a node whose
        contents are overwritten too early for this kernel, the copy to read instead.
        """
        self.plan = plan
        self.indexer = plan.indexer
        self.group = group
        self.memory = memory
        self.copies = copies
        self.members = set(group.roots)
        self.slots: dict[UOp, int] = {}
        self.values: dict[Place, UOp] = {}
        # for a value, the conditions outside of which it is zero by itself
        self.zero_outside: dict[UOp, frozenset[UOp]] = {}

    def build(self) -> tuple[UOp, tuple[UOp, ...]]:
        """The kernel and the buffers for its slots, outputs first."""
        targets = [self._target(root) for root in self.group.roots]
        target_of = dict(zip(self.group.roots, targets, strict=True))
        ends = [
            self._statement(roots, number, target_of)
            for number, roots in enumerate(self.group.statements or [self.group.roots])
        ]
        sink, arguments = begin_at_origins(_renumbered(UOp.sink(*ends)), tuple(self.slots))
        kernel = sink.replace(arg=KernelInfo())
        kernel.source_line = _line_of(self.group.roots[0].node)
        return kernel, arguments

    def _statement(self, roots: list[Root], number: int, targets: Mapping[Root, UOp]) -> UOp:
        """One loop nest: the stores of roots that run over the same elements."""
        stores = []
        for root in roots:
            value = self._value(*self._written_place(root))
            stores.append(targets[root].store(self._with_common_loops(root, value)))
        loops = roots[0].loops
        end = stores[0].group(*stores[1:]).end(*loops)
        if not number:
            return end
        own = {
            loop: UOp.range(loop.range_size, (number, *loop.range_arg.axis_id)) for loop in loops
        }
        return end.substitute(own)

    def _with_common_loops(self, root: Root, value: UOp) -> UOp:
        """Roots of one kernel that reduce do so in the same loops."""
        group = self.group
        if len(group.roots) == 1 or not group.shares_loops or not root.reduce_loops:
            return value
        loops = enumerate(root.reduce_loops)
        return value.substitute({loop: named_reduce_loop(loop, place) for place, loop in loops})

    # *** memory ***

    def _target(self, root: Root) -> UOp:
        if root.node.op is Ops.STORE:
            base, access = self.indexer.in_memory(root.node.stored_target, root.access)
            return self._element(base, access)
        return self._element(root.node, root.access)

    def _element(self, base: UOp, access: Access) -> UOp:
        """An element of memory: a value where it is read, a place where it is stored to."""
        buffer = self.memory.get(base, base)
        slot = self.slots.setdefault(buffer, len(self.slots))
        size = buffer.arg[0] if buffer.op is Ops.BUFFER_VIEW else buffer.arg.size  # type: ignore[index, attr-defined]
        pointer = UOp.param(slot, buffer.dtype.ptr(size))
        index = self.indexer.flat(base, access)
        if not access.gates:
            return pointer.index(index)
        low, high = self.indexer.affine.node_bounds(index)
        if low >= 0 and high < size:
            # whoever wants zero outside of the conditions picks it; reading here does no harm
            return pointer.index(index)
        element = pointer.index(gate_index(index, access.gates))
        self.zero_outside[element] = frozenset(access.gates)
        return element

    # *** values ***

    def _written_place(self, root: Root) -> Place:
        node = root.node
        if node.op is Ops.STORE:
            value = node.stored_value
            return value, self.indexer.elementwise(value, root.access)
        return node, root.access

    def _value(self, node: UOp, access: Access) -> UOp:
        """The node's element as an expression; iterative, operands first."""
        stack: list[Place] = [(node, access)]
        while stack:
            place = stack[-1]
            if place in self.values:
                stack.pop()
                continue
            operands = self._operands(*place)
            pending = [other for other in operands if other not in self.values]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            self.values[place] = self._combine(*place, [self.values[o] for o in operands])
        return self.values[(node, access)]

    def _operands(self, node: UOp, access: Access) -> list[Place]:
        maker = maker_of(self.plan, node)
        if maker is not None and maker in self.members:
            if node is not maker.node:
                return [self._written_place(maker)]
        elif self._is_loaded(node) or self._copy_of(node, access) is not None:
            return []
        if node.op in (Ops.CONST, Ops.DEFINE_VAR):
            return []
        if node.op in MOVEMENTS:
            return [(node.src[0], self.indexer.operand(node, access))]
        if node.op is Ops.REDUCE:
            return [(node.src[0], self.indexer.reduced(node, access)[0])]
        return [(operand, self.indexer.elementwise(operand, access)) for operand in node.src]

    def _is_loaded(self, node: UOp) -> bool:
        return node.op in LOADED or node in self.memory

    def _combine(self, node: UOp, access: Access, operands: list[UOp]) -> UOp:
        maker = maker_of(self.plan, node)
        inside = maker is not None and maker in self.members
        copied = self._copy_of(node, access)
        if copied is not None:
            element = self._element(*copied)
            self.zero_outside[element] = frozenset(access.gates)
            return element
        if not inside and self._is_loaded(node):
            return self._load(node, access)
        if node.op is Ops.CONST:
            return UOp.const(node.dtype, node.arg)
        if node.op is Ops.DEFINE_VAR:
            return node
        if node.op is Ops.PAD:
            return self._padded(node, access, operands[0])
        if node.op is Ops.REDUCE:
            return _reduced(node, operands[0], self.indexer.reduced(node, access)[1])
        if node.op in GroupOp.Elementwise:
            value = UOp(node.op, node.dtype, tuple(operands), node.arg)
            return self._term_of_sum(value, access) if node.op is Ops.MUL else value
        assert len(operands) == 1, f"{node.op} stands for its operand"
        return operands[0]

    def _load(self, node: UOp, access: Access) -> UOp:
        copy = self.copies.get(node)
        if copy is not None:
            return self._element(copy, access)
        if node in self.memory:
            return self._element(node, access)
        base, inner = self.indexer.in_memory(node, access)
        return self._element(base, inner)

    def _padded(self, node: UOp, access: Access, value: UOp) -> UOp:
        gates = new_gates(access, self.indexer.operand(node, access))
        if self.zero_outside.get(value, frozenset()).issuperset(gates):
            return value
        padded = conjunction(gates).where(value, UOp.const(value.dtype, 0))
        # of the conditions outside, only those that the value inside keeps hold for the choice too
        self.zero_outside[padded] = self.zero_outside.get(value, frozenset()) | set(gates)
        return padded

    def _term_of_sum(self, product: UOp, access: Access) -> UOp:
        """Products under a sum are zero where a factor is.

        Strictly an infinite factor makes NaN of a padding zero; in a sum over a window that factor
        makes the neighbouring results infinite or NaN as well. Not so between the elements that
        lie some steps apart (a transposed convolution): there is no product to be summed, and a
        kernel that knows the phase of its element skips it.
        """
        if not any(loop.axis_type.is_reduce for loop in access.loops):
            return product
        found = [self.zero_outside.get(factor, frozenset()) for factor in product.src]
        zeros = found[0] | found[1]
        apart = sorted((gate for gate in zeros if is_step_condition(gate)), key=lambda g: g.key)
        term = conjunction(apart).where(product, UOp.const(product.dtype, 0)) if apart else product
        if zeros:
            self.zero_outside[term] = zeros
        return term

    def _copy_of(self, node: UOp, access: Access) -> Place | None:
        if not self.plan.copied:
            return None
        for root in self.group.roots:
            found = self.plan.copied.get((root, node, access))
            if found is not None:
                return found
        return None


FAR = 256
"""So many nodes further down there is no line that says where a root comes from."""

LOADED = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW, Ops.AFTER))


def _reduced(node: UOp, value: UOp, loops: tuple[UOp, ...]) -> UOp:
    """Combine over the loops; a reduction of a like reduction is one."""
    if not loops:
        return value
    if value.op is Ops.REDUCE and value.arg is node.reduce_op:
        return value.reduced_value.reduce(*loops, *value.reduce_ranges, arg=node.reduce_op)
    return value.reduce(*loops, arg=node.reduce_op)


def _line_of(node: UOp) -> Line | None:
    """The user's line that a root comes from: its own, or that of the nearest value below it.

    None where the nearest that has one is far: each root of a long chain would look through all.
    """
    for _ in range(FAR):
        if node.source_line is not None or not node.src:
            break
        node = node.stored_value if node.op is Ops.STORE else node.src[0]
    return node.source_line


def _renumbered(sink: UOp) -> UOp:
    """The kernel with its loops numbered without gaps: outputs, then reductions as they occur."""
    loops = [node for node in sink.toposort() if node.op is Ops.RANGE]
    loops.sort(key=_role)
    fresh: dict[UOp, UOp] = {}
    for number, loop in enumerate(loops):
        arg = loop.range_arg
        renamed = UOp.range(loop.range_size, number, arg.axis_type)
        if renamed is not loop:
            fresh[loop] = renamed
    return sink.substitute(fresh) if fresh else sink


def _role(loop: UOp) -> tuple[int, ...]:
    axis_id = loop.range_arg.axis_id
    return axis_id if axis_id[0] < FIRST_REDUCE_ID else (FIRST_REDUCE_ID,)
