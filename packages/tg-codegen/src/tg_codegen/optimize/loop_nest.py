"""The loops and memory accesses of a kernel, and the ways to change them: split, pad, lap."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Protocol

from tg_uop import AxisType, KernelInfo, Ops, UOp, dtypes, sint

from tg_codegen.linear_index import LinearForm, is_single_index, linear_form, split_gate
from tg_codegen.optimize.loop_rewrite import LoopReplacement, replace_loops
from tg_codegen.target.caps import Capabilities

# where axes of each role stand in the numbering that Opts use
ROLE_ORDER = {
    AxisType.THREAD: 0,
    AxisType.GLOBAL: 0,
    AxisType.LOOP: 0,
    AxisType.WARP: 1,
    AxisType.LOCAL: 2,
    AxisType.GROUP_REDUCE: 3,
    AxisType.UPCAST: 4,
    AxisType.REDUCE: 5,
    AxisType.UNROLL: 6,
}
OUTPUT_LOOPS = frozenset((AxisType.GLOBAL, AxisType.LOOP))
SPLITTABLE_OUTPUTS = frozenset((AxisType.GLOBAL, AxisType.LOCAL, AxisType.LOOP))
SPLITTABLE_REDUCES = frozenset((AxisType.GROUP_REDUCE, AxisType.REDUCE))


class HasCapabilities(Protocol):
    """All that optimizing needs to know of a renderer."""

    @property
    def caps(self) -> Capabilities:
        """What the target can do."""


class LoopNest:
    """A kernel (`ast`, kernel form) seen as numbered axes and memory accesses."""

    def __init__(self, ast: UOp, renderer: HasCapabilities) -> None:
        assert ast.op is Ops.SINK, f"a kernel is a SINK, not {ast.op}"
        self.ast = ast
        self.renderer = renderer
        self._rngs: list[UOp] | None = None
        self._main: dict[UOp, None] | None = None

    @property
    def caps(self) -> Capabilities:
        """What the target can do."""
        return self.renderer.caps

    @property
    def info(self) -> KernelInfo:
        """What the kernel says of itself."""
        return self.ast.arg if isinstance(self.ast.arg, KernelInfo) else KernelInfo()

    def set_ast(self, ast: UOp) -> None:
        """Go on with another graph."""
        self.ast = ast
        self._rngs = None
        self._main = None

    # *** nodes ***

    @property
    def main_nodes(self) -> dict[UOp, None]:
        """Nodes that compute the outputs, operands first.

        What an AFTER waits for (staging copies, a user's own ordered effects) is left out.
        """
        if self._main is None:
            self._main = _without_effects(self.ast)
        return self._main

    @property
    def rngs(self) -> list[UOp]:
        """The axes, in the order in which Opts number them; loops of one step do not count."""
        if self._rngs is None:
            closed: dict[UOp, None] = {}
            for node in self.main_nodes:
                if node.op is Ops.END:
                    closed.update(dict.fromkeys(node.ended_ranges))
                elif node.op is Ops.REDUCE:
                    closed.update(dict.fromkeys(node.reduce_ranges))
            axes = [r for r in closed if r.op is Ops.RANGE and r.vmax > 0]
            self._rngs = sorted(axes, key=_axis_order)
        return self._rngs

    @property
    def bufs(self) -> list[UOp]:
        """Every INDEX of the kernel: where it stores, then its loads as they are computed."""
        found = dict.fromkeys(store.stored_target for store in self.stores)
        found.update(dict.fromkeys(n for n in self.main_nodes if n.op is Ops.INDEX))
        return list(found)

    @property
    def stores(self) -> list[UOp]:
        """The STOREs that write the outputs."""
        return [node for node in self.main_nodes if node.op is Ops.STORE]

    @property
    def only_end(self) -> UOp | None:
        """The END of a kernel that does nothing but store in one loop nest, None for others."""
        root = self.ast.src[0]
        if len(self.ast.src) != 1 or root.op is not Ops.END:
            return None
        effect = root.ended_effect
        parts = effect.src if effect.op is Ops.GROUP else (effect,)
        return root if all(part.op is Ops.STORE for part in parts) else None

    @property
    def reduces(self) -> list[UOp]:
        """The REDUCEs, the ones computed first in front."""
        return [node for node in self.main_nodes if node.op is Ops.REDUCE]

    @property
    def reduceop(self) -> UOp | None:
        """The last REDUCE, None in an elementwise kernel."""
        found = self.reduces
        return found[-1] if found else None

    @property
    def reads_what_it_writes(self) -> bool:
        """Whether a load may see what a store of the kernel has left."""
        written = {store.stored_target.index_buffer for store in self.stores}
        for node in self.main_nodes:
            # the place that is stored to is an INDEX, too, and may be the one that is read
            values = (node.stored_value,) if node.op is Ops.STORE else node.src
            if any(v.op is Ops.INDEX and v.index_buffer in written for v in values):
                return True
        return False

    @property
    def has_ordered_effects(self) -> bool:
        """Whether the kernel orders effects of its own, which splitting loops could break."""
        return any(node.op is Ops.AFTER and not is_staging_copy(node) for node in self.main_nodes)

    # *** axes ***

    @property
    def full_shape(self) -> list[sint]:
        """The number of steps of each axis."""
        return [r.size for r in self.rngs]

    @property
    def shape_len(self) -> int:
        """The number of axes."""
        return len(self.rngs)

    @property
    def axis_types(self) -> list[AxisType]:
        """The role of each axis."""
        return [r.axis_type for r in self.rngs]

    def axes_of(self, *roles: AxisType) -> list[int]:
        """The numbers of the axes with one of these roles."""
        return [i for i, r in enumerate(self.rngs) if r.axis_type in roles]

    @property
    def reduce_loops(self) -> dict[UOp, None]:
        """Every loop that a REDUCE closes."""
        return {loop: None for node in self.reduces for loop in node.reduce_ranges}

    @property
    def output_axes(self) -> list[int]:
        """The axes over elements of the outputs."""
        reduced = self.reduce_loops
        return [i for i, r in enumerate(self.rngs) if r not in reduced]

    @property
    def reduce_axes(self) -> list[int]:
        """The axes over elements that are reduced."""
        reduced = self.reduce_loops
        return [i for i, r in enumerate(self.rngs) if r in reduced]

    @property
    def upcastable_dims(self) -> list[int]:
        """Output axes that are still loops, of known size above 1."""
        return [
            i
            for i in self.output_axes
            if self.rngs[i].axis_type in SPLITTABLE_OUTPUTS and isinstance(self.rngs[i].size, int)
        ]

    @property
    def unrollable_dims(self) -> list[int]:
        """Reduce axes that are still loops, of known size above 1; UNROLL counts among these."""
        return [
            i
            for i, r in enumerate(self.rngs)
            if r.axis_type in SPLITTABLE_REDUCES and isinstance(r.size, int)
        ]

    @property
    def shared_output_loops(self) -> list[UOp]:
        """Output loops that enclose every store: only these may be split over threads or grid."""
        ends = [root for root in self.ast.src if root.op is Ops.END]
        if not ends or len(ends) != len(self.ast.src):
            return []
        common = set(ends[0].ended_ranges)
        for other in ends[1:]:
            common &= set(other.ended_ranges)
        return [r for r in self.rngs if r in common]

    def upcast_size(self) -> int:
        """How many copies of an innermost statement there will be, lanes counted."""
        replicated = self.axes_of(AxisType.UPCAST, AxisType.UNROLL)
        return prod(int(self.rngs[i].size) for i in replicated)

    # *** addresses ***

    def access(self, index: UOp) -> LinearForm | None:
        """The address of an INDEX as a linear form, None where it has several expressions."""
        if not is_single_index(index):
            return None
        return linear_form(split_gate(index.index_expr)[1])

    def strides(self, index: UOp) -> list[int | None]:
        """Elements that one step of each axis moves in an INDEX; None where it is irregular."""
        form = self.access(index)
        if form is None:
            return [None] * self.shape_len
        return [form.stride(r) for r in self.rngs]

    # *** changes ***

    def split(
        self, loop: UOp, amount: int, role: AxisType, *, top: bool = False, lanes: bool = False
    ) -> UOp:
        """Split `loop` into one of `amount` steps with a role of its own, and the rest.

        r becomes rest * amount + part, or with `top` part * (size / amount) + rest.
        `amount` must divide the size. Returns the part.
        """
        size = loop.size
        assert isinstance(size, int), "only loops of known size can be split"
        assert size % amount == 0, f"{amount} does not divide {size}"
        arg = loop.range_arg
        remaining = size // amount
        if remaining == 1:
            part = UOp.range(size, arg.axis_id, role, lanes=lanes)
            self._replace(loop, LoopReplacement(part, (part,)))
            return part
        first, second = (*arg.axis_id, 0), (*arg.axis_id, 1)
        part = UOp.range(amount, first if top else second, role, lanes=lanes)
        rest = UOp.range(remaining, second if top else first, arg.axis_type, lanes=arg.lanes)
        value = part * remaining + rest if top else rest * amount + part
        loops = (part, rest) if top else (rest, part)
        self._replace(loop, LoopReplacement(value, loops))
        return part

    def pad(self, loop: UOp, size: int) -> UOp:
        """Let `loop` run for `size` steps, of which those past its end do nothing.

        Accesses are gated, and a reduction takes its identity there.
        """
        arg = loop.range_arg
        wide = UOp(Ops.RANGE, loop.dtype, (loop.range_size.const_like(size),), arg)
        inside = wide < loop.range_size
        ast = replace_loops(self.ast, {loop: LoopReplacement(wide, (wide,))})
        self.set_ast(_guarded(ast, wide, inside))
        return wide

    def lap(self, loop: UOp, amount: int, *, lanes: bool = False) -> UOp:
        """Split `loop` into tiles of `amount` steps, which do not divide it; returns the part.

        The first two tiles overlap: what both compute is stored twice, the same value, so nothing
        needs a condition.
        """
        size = loop.size
        assert isinstance(size, int), "only loops of known size can be split"
        assert size > amount, "a tile is only a part"
        arg = loop.range_arg
        tiles = -(-size // amount)
        rest = UOp.range(tiles, (*arg.axis_id, 0), arg.axis_type)
        part = UOp.range(amount, (*arg.axis_id, 1), AxisType.UPCAST, lanes=lanes)
        first = (rest * amount - (tiles * amount - size)).maximum(0)
        self._replace(loop, LoopReplacement(first + part, (rest, part)))
        return part

    def lap_threads(self, loop: UOp, threads: int) -> UOp:
        """Split `loop` over threads whose number does not divide it; returns their axis.

        The shares of the last two overlap: what both compute is stored twice, the same value.
        """
        size = loop.size
        assert isinstance(size, int), "only loops of known size can be split"
        arg = loop.range_arg
        share = -(-size // threads)
        part = UOp.range(threads, (*arg.axis_id, 0), AxisType.THREAD)
        rest = UOp.range(share, (*arg.axis_id, 1), arg.axis_type, lanes=arg.lanes)
        first = part * (size - share) if threads == 2 else (part * share).minimum(size - share)
        self._replace(loop, LoopReplacement(first + rest, (part, rest)))
        return part

    def swap(self, left: UOp, right: UOp) -> None:
        """Exchange the places of two loops in the nest."""
        first, second = left.range_arg, right.range_arg
        moved_left = left.replace(arg=type(first)(second.axis_id, first.axis_type, first.lanes))
        moved_right = right.replace(arg=type(second)(first.axis_id, second.axis_type, second.lanes))
        self.set_ast(
            replace_loops(
                self.ast,
                {
                    left: LoopReplacement(moved_left, (moved_left,)),
                    right: LoopReplacement(moved_right, (moved_right,)),
                },
            )
        )

    def _replace(self, loop: UOp, new: LoopReplacement) -> None:
        self.set_ast(replace_loops(self.ast, {loop: new}))


def is_staging_copy(after: UOp) -> bool:
    """Whether an AFTER gives scratch memory that a copy has filled."""
    return after.op is Ops.AFTER and after.src[0].op is Ops.DEFINE_LOCAL


def _without_effects(root: UOp) -> dict[UOp, None]:
    order: dict[UOp, None] = {}
    stack = [(root, False)]
    while stack:
        node, visited = stack.pop()
        if node in order:
            continue
        if visited:
            order[node] = None
            continue
        stack.append((node, True))
        operands: Iterable[UOp] = node.src[:1] if node.op is Ops.AFTER else reversed(node.src)
        stack.extend((operand, False) for operand in operands if operand not in order)
    return order


def _axis_order(loop: UOp) -> tuple[int, tuple[int, ...]]:
    return ROLE_ORDER[loop.axis_type], loop.range_arg.axis_id


def identity_element(op: Ops, like: UOp) -> UOp:
    """The value that changes nothing under a reduction."""
    if op is Ops.ADD:
        return like.const_like(0)
    if op is Ops.MUL:
        return like.const_like(1)
    return like.const_like(dtypes.min(like.dtype.scalar()))


def _guarded(ast: UOp, loop: UOp, inside: UOp) -> UOp:
    """`ast` with every access that moves with `loop`, and every reduction over it, guarded."""
    done: dict[UOp, UOp] = {}
    for node in ast.toposort():
        src = tuple(done[s] for s in node.src)
        fresh = node if src == node.src else node.replace(src=src)
        if node.op is Ops.INDEX and loop in node.ranges:
            gate, address = split_gate(fresh.index_expr)
            condition = inside if gate is None else inside & gate
            fresh = fresh.replace(src=(fresh.index_buffer, address.valid(condition)))
        elif node.op is Ops.REDUCE and loop in node.reduce_ranges:
            value = fresh.reduced_value
            if not _is_zero_outside(node, loop):
                value = inside.where(value, identity_element(fresh.reduce_op, value))
            fresh = fresh.replace(src=(value, *fresh.reduce_ranges))
        done[node] = fresh
    return done[ast]


def _is_zero_outside(reduce: UOp, loop: UOp) -> bool:
    """Whether a sum adds nothing where its loads are gated off: they are all of each product."""
    if reduce.reduce_op is not Ops.ADD:
        return False
    for factor in reduce.reduced_value.split_uop(Ops.MUL):
        load = factor.src[0] if factor.op is Ops.CAST else factor
        if load.op is not Ops.INDEX or loop not in load.ranges:
            return False
    return True
