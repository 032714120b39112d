"""Let a matrix unit of a processor compute a sum of products, tile by tile.

    for m: for n: out[m, n] = f(sum over k of a[m, k] * b[k, n])
becomes
    for panels of n:  pack b's panel
      for blocks of m:  pack a's block, unless its rows lie in memory as the unit reads them
        for blocks of the panel:  c = WMMA(a's block, b's block);  out = f(c)

Products with other numbers of axes have the rest of them outside. Packed operands are padded with
zeros and hold as many neighbouring depths in 32 bits as fit, which is the order that AMX wants of
the right operand (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 18.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tg_uop import AxisType, DType, Ops, UOp, dtypes
from tg_uop.ir.args import TileProduct

from tg_codegen.linear_index import is_single_index, linear_form, split_gate
from tg_codegen.optimize.loop_nest import LoopNest
from tg_codegen.optimize.loop_rewrite import LoopReplacement, replace_loops, replace_nodes
from tg_codegen.optimize.staging import free_slot
from tg_codegen.target.tensor_cores import TensorCore

# tiles of the unit that one statement computes: two by two keep eight registers busy
ROWS = 32
COLUMNS = 32
WORD = dtypes.uint32
# words behind each packed row of the left operand, so that rows do not share a cache set
_ROW_GAP = 16
# a packed panel stays in the second level cache beside what streams through it
_PANEL_BYTES = 512 * 1024
_PACK_LANES = 16
# loops that pack have numbers of their own, behind every loop of the kernel
_PACK_AXIS = 1 << 22


class TensorCoreRefusal(Exception):
    """Why a unit cannot compute a kernel; `apply` turns it into a KernelOptError."""

    def __init__(self, reason: str, hint: str = "") -> None:
        self.reason = reason
        self.hint = hint
        super().__init__(reason, hint)


@dataclass(frozen=True, slots=True)
class Product:
    """A kernel as a product of matrices: what the unit needs to know of it.

    `rows` and `columns` are the output loops of which only `left`, only `right` moves; `depths` are
    the reduce loops, the last one fastest.
    """

    unit: TensorCore
    reduce: UOp
    left: UOp
    right: UOp
    rows: UOp
    columns: UOp
    depths: tuple[UOp, ...]

    @property
    def depth(self) -> int:
        """How many products each sum has."""
        return prod(int(loop.size) for loop in self.depths)


# *** finding a product ***


def find_product(nest: LoopNest, select: int = -1) -> Product:
    """The product that a kernel computes. Raises `TensorCoreRefusal`."""
    if nest.only_end is None:
        raise TensorCoreRefusal("the kernel has results with loops of their own")
    if len(nest.reduces) != 1 or nest.reduces[0].reduce_op is not Ops.ADD:
        raise TensorCoreRefusal("the kernel has not one sum")
    node = nest.reduces[0]
    unit, factors = _unit_for(nest, node, select)
    depths = tuple(r for r in nest.rngs if r in node.reduce_ranges)
    if any(not isinstance(r.size, int) or r.axis_type is not AxisType.REDUCE for r in depths):
        raise TensorCoreRefusal("a reduce loop has no known size, or a role already")
    target = nest.stores[0].stored_target
    movers = _movers(nest, node, factors)
    columns = _pick_columns(movers, target)
    right = movers[columns]
    left = factors[1] if right is factors[0] else factors[0]
    others = [loop for loop, moved in movers.items() if moved is left]
    if not others:
        raise TensorCoreRefusal("no output loop moves one operand only: it is no product")
    rows = max(others, key=lambda loop: int(loop.size))
    return Product(unit, node, left, right, rows, columns, depths)


def _unit_for(nest: LoopNest, node: UOp, select: int) -> tuple[TensorCore, tuple[UOp, UOp]]:
    value = node.reduced_value
    if value.op is not Ops.MUL:
        raise TensorCoreRefusal("the sum is not one of products")
    factors = []
    for factor in value.src:
        load = factor.src[0] if factor.op is Ops.CAST else factor
        if load.op is not Ops.INDEX or not is_single_index(load):
            raise TensorCoreRefusal(
                "an operand is computed, not loaded", "store it first, or leave TC out"
            )
        factors.append(load)
    units = nest.caps.tensor_cores
    chosen = units[select : select + 1] if select >= 0 else units
    for unit in chosen:
        narrow = all(load.dtype is unit.dtype_in for load in factors)
        if narrow and node.dtype is unit.dtype_out and unit.threads == 1:
            return unit, (factors[0], factors[1])
    names = ", ".join(f"{u.name} ({u.dtype_in} to {u.dtype_out})" for u in chosen)
    found = " and ".join(str(load.dtype) for load in factors)
    raise TensorCoreRefusal(f"it multiplies {found} to {node.dtype}, the units are {names}")


def _movers(nest: LoopNest, node: UOp, factors: tuple[UOp, UOp]) -> dict[UOp, UOp]:
    """The output loops that move exactly one of two loads, and which."""
    found = {}
    for loop in nest.rngs:
        if loop in node.reduce_ranges or loop.axis_type is not AxisType.LOOP:
            continue
        moved = [load for load in factors if loop in load.index_expr.ranges]
        if len(moved) == 1 and isinstance(loop.size, int):
            found[loop] = moved[0]
    return found


def _pick_columns(movers: dict[UOp, UOp], target: UOp) -> UOp:
    """The loop along which results are neighbours in memory, else the longest one."""
    if not movers:
        raise TensorCoreRefusal("no output loop moves one operand only: it is no product")
    form = linear_form(split_gate(target.index_expr)[1])
    contiguous = [loop for loop in movers if form.stride(loop) == 1]
    return max(contiguous or movers, key=lambda loop: int(loop.size))


def needs_padding(product: Product) -> bool:
    """Whether an axis is no multiple of what one statement computes."""
    sizes = (int(product.rows.size), ROWS), (int(product.columns.size), COLUMNS)
    return product.depth % product.unit.dims[2] > 0 or any(size % n for size, n in sizes)


# *** the rewriting ***


def apply_tensor_core(nest: LoopNest, product: Product) -> UOp:
    """The kernel with its sum computed by a unit. Raises `TensorCoreRefusal`."""
    return _Rewriting(nest, product).run()


def panel_columns(product: Product, columns: int) -> int:
    """The columns of a packed panel: as many as fit the cache, alike in all panels."""
    depth = _rounded(product.depth, product.unit.dims[2])
    most = max(1, _PANEL_BYTES // (depth * product.unit.dtype_in.itemsize * COLUMNS))
    blocks = -(-columns // COLUMNS)
    panels = -(-blocks // most)
    return -(-blocks // panels) * COLUMNS


def _rounded(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


@dataclass(slots=True)
class _Loops:
    """The loops over blocks and inside of them; None where there is one step."""

    panel: UOp | None
    row_block: UOp | None
    column_block: UOp | None
    row: UOp
    column: UOp


class _Rewriting:
    def __init__(self, nest: LoopNest, product: Product) -> None:
        self.nest = nest
        self.unit = product.unit
        self.itemsize = product.unit.dtype_in.itemsize
        self.packed = WORD.itemsize // self.itemsize
        self.depth = product.depth
        self.padded_depth = _rounded(product.depth, product.unit.dims[2])
        self.words = self.padded_depth // self.packed
        self.depths = product.depths
        self.panel = panel_columns(product, int(product.columns.size))
        if self.panel * self.words * WORD.itemsize > _PANEL_BYTES * 4:
            raise TensorCoreRefusal("a panel of the right operand is too large to pack")
        self.slot = free_slot(nest.ast)
        self.axis = 1 + max(n.range_arg.axis_id[0] for n in nest.rngs)
        self.loops = self._block_loops(product)
        left, right = self._operands(product)
        self.left, self.right = left, right

    def _operands(self, product: Product) -> tuple[UOp, UOp]:
        """The two loads in terms of the loops over blocks."""
        (reduce,) = self.nest.reduces
        loads = [f.src[0] if f.op is Ops.CAST else f for f in reduce.reduced_value.src]
        if loads[0] is loads[1]:
            raise TensorCoreRefusal("both operands are one load")
        is_left = self.loops.row in loads[0].index_expr.ranges
        return (loads[0], loads[1]) if is_left else (loads[1], loads[0])

    def _block_loops(self, product: Product) -> _Loops:
        """Split rows and columns, padded to whole blocks."""
        nest = self.nest
        rows, columns = int(product.rows.size), int(product.columns.size)
        row_blocks = -(-rows // ROWS)
        panels = -(-columns // self.panel)
        target = nest.stores[0].stored_target
        form = linear_form(split_gate(target.index_expr)[1])
        wide_rows = form.stride(product.rows) == 1 and form.stride(product.columns) != 1
        loops = _Loops(
            panel=self._loop(0, panels),
            row_block=self._loop(1, row_blocks),
            column_block=self._loop(2, self.panel // COLUMNS),
            row=self._lanes(3, ROWS, wide_rows),
            column=self._lanes(4, COLUMNS, form.stride(product.columns) == 1),
        )
        replacements = {
            self._padded(product.rows, row_blocks * ROWS): _split(
                (loops.row_block, ROWS), (loops.row, 1)
            ),
            self._padded(product.columns, panels * self.panel): _split(
                (loops.panel, self.panel), (loops.column_block, COLUMNS), (loops.column, 1)
            ),
        }
        nest.set_ast(replace_loops(nest.ast, replacements))
        return loops

    def _padded(self, loop: UOp, size: int) -> UOp:
        return loop if int(loop.size) == size else self.nest.pad(loop, size)

    def _loop(self, position: int, steps: int) -> UOp | None:
        return UOp.range(steps, (self.axis, position)) if steps > 1 else None

    def _lanes(self, position: int, steps: int, wide: bool) -> UOp:
        if wide:
            return UOp.range(steps, (self.axis, position), AxisType.UPCAST, lanes=True)
        return UOp.range(steps, (self.axis, position))

    def run(self) -> UOp:
        """The kernel with the statement and what it needs."""
        (reduce,) = self.nest.reduces
        result = UOp.define_local(self.slot, self.unit.dtype_out, ROWS * COLUMNS)
        left, stride_a = self._left_rows() or self._packed_rows()
        right = self._packed_panel()
        record = TileProduct(
            unit=self.unit.name,
            dims=self.unit.dims,
            steps=self.padded_depth // self.unit.dims[2],
            rows=ROWS,
            columns=COLUMNS,
            stride_a=stride_a,
            stride_b=COLUMNS * WORD.itemsize,
        )
        zero = UOp.const(dtypes.weakint, 0)
        product = UOp(Ops.WMMA, dtypes.void, (result.index(zero), left, right), record)
        loops = self.loops
        total = result.after(product).index(loops.row * COLUMNS + loops.column)
        return replace_nodes(self.nest.ast, {reduce: total})

    # *** operands ***

    def _left_rows(self) -> tuple[UOp, int] | None:
        """Where the rows of a block lie, if the unit can read them in place, and their distance."""
        gate, address = split_gate(self.left.index_expr)
        if gate is not None or self.depth != self.padded_depth:
            return None
        form = linear_form(address)
        expected = 1
        for loop in reversed(self.depths):
            if form.stride(loop) != expected:
                return None
            expected *= int(loop.size)
        stride = form.stride(self.loops.row)
        if stride is None or stride < 0:
            return None
        start = {self.loops.row: _ZERO, **dict.fromkeys(self.depths, _ZERO)}
        place = self.left.index_buffer.index(address.substitute(start))
        return place, stride * self.itemsize

    def _packed_rows(self) -> tuple[UOp, int]:
        """A block of the left operand in scratch memory."""
        width = self.words + _ROW_GAP
        row, word, end = self._pack_loops(self.left, self.loops.row, ROWS)
        scratch = self._scratch(width * ROWS)
        value = self._word(self.left, {self.loops.row: row}, word)
        copy = scratch.index(row * width + word).store(value).end(*end)
        return scratch.after(copy).index(_ZERO), width * WORD.itemsize

    def _packed_panel(self) -> UOp:
        """The block of a panel of the right operand in scratch memory."""
        blocks = self.panel // COLUMNS
        column, word, end = self._pack_loops(self.right, self.loops.column, COLUMNS)
        places = {self.loops.column: column}
        block = _ZERO
        if self.loops.column_block is not None:
            block = UOp.range(blocks, (_PACK_AXIS + self.slot, 0))
            places[self.loops.column_block] = block
            end = (block, *end)
        scratch = self._scratch(blocks * self.words * COLUMNS)
        value = self._word(self.right, places, word)
        place = (block * self.words + word) * COLUMNS + column
        copy = scratch.index(place).store(value).end(*end)
        chosen = self.loops.column_block
        start = _ZERO if chosen is None else chosen * (self.words * COLUMNS)
        return scratch.after(copy).index(start)

    def _scratch(self, size: int) -> UOp:
        self.slot += 1
        return UOp.define_local(self.slot, WORD, size)

    def _pack_loops(self, load: UOp, along: UOp, count: int) -> tuple[UOp, UOp, tuple[UOp, ...]]:
        """Where a copy is across the depths and along them, and the loops of the copy.

        The lanes follow whichever is contiguous in memory.
        """
        axis = _PACK_AXIS + self.slot
        form = linear_form(split_gate(load.index_expr)[1])
        if form.stride(self.depths[-1]) == 1 and form.stride(along) != 1:
            place = UOp.range(count, (axis, 1))
            step = UOp.range(self.words // _PACK_LANES, (axis, 2))
            lane = UOp.range(_PACK_LANES, (axis, 3), AxisType.UPCAST, lanes=True)
            return place, step * _PACK_LANES + lane, (place, step, lane)
        word = UOp.range(self.words, (axis, 1))
        lane = UOp.range(count, (axis, 2), AxisType.UPCAST, lanes=True)
        return lane, word, (word, lane)

    def _word(self, load: UOp, places: dict[UOp, UOp], word: UOp) -> UOp:
        """The neighbouring depths of an operand that one word holds, the first one lowest."""
        value: UOp | None = None
        for part in range(self.packed):
            depth = word * self.packed + part
            element = self._element(load, places, depth)
            bits = element.bitcast(_BITS[self.itemsize]).cast(WORD)
            if part:
                bits = bits << UOp.const(WORD, part * 8 * self.itemsize)
            value = bits if value is None else value | bits
        assert value is not None, "a word holds at least one element"
        return value

    def _element(self, load: UOp, places: dict[UOp, UOp], depth: UOp) -> UOp:
        """The load at a depth; zero behind the last one."""
        moved = {**places, **_depth_positions(self.depths, depth)}
        gate, address = split_gate(load.index_expr)
        address = address.substitute(moved)
        gate = None if gate is None else gate.substitute(moved)
        if self.depth != self.padded_depth:
            inside = depth < self.depth
            gate = inside if gate is None else gate & inside
        return load.index_buffer.index(address if gate is None else address.valid(gate))


_ZERO = UOp.const(dtypes.weakint, 0)
_BITS: dict[int, DType] = {1: dtypes.uint8, 2: dtypes.uint16}


def _split(*parts: tuple[UOp | None, int]) -> LoopReplacement:
    """A loop as several: each with how far one of its steps moves."""
    value = _ZERO
    for loop, stride in parts:
        if loop is not None:
            value = value + (loop * stride if stride > 1 else loop)
    return LoopReplacement(value, tuple(loop for loop, _ in parts if loop is not None))


def _depth_positions(depths: Sequence[UOp], depth: UOp) -> dict[UOp, UOp]:
    """Each reduce loop in terms of the number of the product in its sum."""
    found = {}
    rest = depth
    for loop in reversed(depths[1:]):
        found[loop] = rest.alu(Ops.MOD, loop.range_size)
        rest = rest.alu(Ops.IDIV, loop.range_size)
    found[depths[0]] = rest
    return found
