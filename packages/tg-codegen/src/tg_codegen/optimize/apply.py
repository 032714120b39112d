"""Apply one Opt to a loop nest, or say why it cannot be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from tg_uop import AxisType, Ops, Opt, OptOps, UOp

from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.blocking import block_reduction, check_blocking, is_blocked
from tg_codegen.optimize.keeping import keep_value
from tg_codegen.optimize.loop_nest import (
    OUTPUT_LOOPS,
    SPLITTABLE_OUTPUTS,
    SPLITTABLE_REDUCES,
    LoopNest,
    is_staging_copy,
)
from tg_codegen.optimize.loop_rewrite import LoopReplacement, replace_loops, replace_nodes
from tg_codegen.optimize.opts import MAX_LANES, MAX_UNROLL, MAX_UPCAST
from tg_codegen.optimize.staging import StagingRefusal, fixed_loops, stage_operand
from tg_codegen.optimize.tensor_core import (
    TensorCoreRefusal,
    apply_tensor_core,
    find_product,
    needs_padding,
)
from tg_codegen.running import RUNNING, is_scan, running_loop


def apply_to(nest: LoopNest, opt: Opt) -> None:
    """Change `nest` as `opt` says; on `KernelOptError` it is unchanged."""
    if opt.op is not OptOps.NOLOCALS and nest.has_ordered_effects:
        raise refusal(
            nest,
            opt,
            "the kernel orders effects of its own (AFTER), which splitting loops could break",
            "give such a kernel opts_to_apply=() and write its loops with their roles",
        )
    if is_scan(nest.ast):
        raise refusal(
            nest,
            opt,
            "a reduction of the kernel is carried along a loop, which must stay as it is",
            "let SCAN be the last Opt",
        )
    if any(node.op is Ops.WMMA for node in nest.ast.toposort()):
        raise refusal(
            nest,
            opt,
            "a tensor core computes the kernel's sum already",
            "let TC be the last Opt",
        )
    if is_blocked(nest.ast):
        raise refusal(
            nest,
            opt,
            "a reduction of the kernel runs in blocks already",
            "let BLOCK be the last Opt",
        )
    before = nest.ast
    APPLIERS[opt.op](nest, opt)
    if replicates_copies(nest.ast):
        nest.set_ast(before)
        raise refusal(
            nest,
            opt,
            "an operand is staged inside of this axis, each copy of it would fill the same memory",
            "replicate the axis first and stage afterwards",
        )


def replicates_copies(ast: UOp) -> bool:
    """Whether the filling of scratch memory stands inside of a replicated axis."""
    replicated = (AxisType.UPCAST, AxisType.UNROLL)
    return any(
        loop.axis_type in replicated
        for node in ast.toposort()
        if is_staging_copy(node)
        for effect in node.effects
        for loop in effect.ranges
    )


def refusal(nest: LoopNest, opt: Opt, reason: str, hint: str = "") -> KernelOptError:
    """The error for `opt` on this kernel."""
    return KernelOptError(opt=opt, kernel=nest.info.name, reason=reason, hint=hint)


# *** the axis and the amount that an Opt names ***


def _pick(nest: LoopNest, opt: Opt, among: list[int], what: str) -> UOp:
    """The loop that `opt.axis` names, counting within `among`."""
    if opt.axis is None or not 0 <= opt.axis < len(among):
        count = len(among)
        hint = f"axes 0 to {count - 1} exist" if count else f"the kernel has no {what}"
        raise refusal(nest, opt, f"there is no {what} number {opt.axis}", hint)
    return nest.rngs[among[opt.axis]]


def _any_axis(nest: LoopNest, opt: Opt) -> UOp:
    return _pick(nest, opt, list(range(nest.shape_len)), "axis")


def _amount(nest: LoopNest, opt: Opt, loop: UOp) -> int:
    """How many steps `opt` takes from `loop`; 0 stands for all."""
    size = loop.size
    if not isinstance(size, int):
        raise refusal(
            nest,
            opt,
            f"the axis has {size.render(simplify=False)} steps, known only when it runs",
            "take an axis of known size",
        )
    if not isinstance(opt.arg, int):
        raise refusal(nest, opt, f"{opt.arg!r} is no number of steps", "give an int, 0 for all")
    amount = size if opt.arg == 0 else opt.arg
    if amount < 2:
        raise refusal(nest, opt, f"{amount} steps are nothing to split", "take 2 or more")
    if size % amount:
        fitting = [d for d in range(2, min(size, MAX_LANES) + 1) if size % d == 0]
        reason = f"the axis has {size} steps, which {amount} does not divide"
        hint = f"pad it first with Opt(OptOps.PADTO, axis, {amount})"
        if fitting:
            hint += f", or split by one of {fitting[:12]}"
        raise refusal(nest, opt, reason, hint)
    return amount


def _at_most(nest: LoopNest, opt: Opt, amount: int, limit: int, what: str) -> None:
    if amount > limit:
        raise refusal(nest, opt, f"{amount} {what} are more than {limit}", f"take at most {limit}")


def _role(nest: LoopNest, opt: Opt, loop: UOp, wanted: frozenset[AxisType], hint: str) -> None:
    if loop.axis_type not in wanted:
        names = ", ".join(sorted(role.name for role in wanted))
        raise refusal(nest, opt, f"a {loop.axis_type.name} axis is none of {names}", hint)


# *** one function an OptOps ***


def _upcast(nest: LoopNest, opt: Opt) -> None:
    loop = _any_axis(nest, opt)
    amount = _amount(nest, opt, loop)
    _role(nest, opt, loop, SPLITTABLE_OUTPUTS, "UNROLL is for reduce axes")
    _at_most(nest, opt, amount, MAX_UPCAST, "copies")
    nest.split(loop, amount, AxisType.UPCAST)


def _unroll(nest: LoopNest, opt: Opt) -> None:
    loop = _pick(nest, opt, nest.unrollable_dims, "reduce axis to unroll")
    amount = _amount(nest, opt, loop)
    _at_most(nest, opt, amount, MAX_UNROLL, "copies")
    if loop.axis_type is AxisType.GROUP_REDUCE:
        _role(nest, opt, loop, frozenset((AxisType.REDUCE,)), "unroll before grouping")
    nest.split(loop, amount, AxisType.UNROLL)


def _lanes(nest: LoopNest, opt: Opt) -> None:
    loop = _any_axis(nest, opt)
    amount = _amount(nest, opt, loop)
    _at_most(nest, opt, amount, MAX_LANES, "lanes")
    reducing = loop in nest.reduce_loops
    wanted = SPLITTABLE_OUTPUTS | SPLITTABLE_REDUCES | {AxisType.UPCAST, AxisType.UNROLL}
    _role(nest, opt, loop, wanted, "lanes come from a loop of one thread")
    before = nest.ast
    nest.split(loop, amount, AxisType.UNROLL if reducing else AxisType.UPCAST, lanes=True)
    _check_lanes(nest, opt, amount, before)


def _check_lanes(nest: LoopNest, opt: Opt, amount: int, before: UOp) -> None:
    """Go back to the kernel `before` where the target or another axis refuses the lanes."""
    if nest.caps.vector_bits and not nest.caps.vector_any_width and amount & (amount - 1):
        nest.set_ast(before)
        raise refusal(
            nest,
            opt,
            f"a vector of this target cannot have {amount} lanes",
            "take a power of two and UPCAST the rest, or pad the axis",
        )
    for node in nest.ast.toposort():
        if sum(r.range_arg.lanes for r in node.ranges) > 1:
            nest.set_ast(before)
            raise refusal(
                nest,
                opt,
                "one value would depend on two axes of lanes",
                "keep one axis of lanes among the axes of each value",
            )


def _local(nest: LoopNest, opt: Opt) -> None:
    if not nest.caps.has_local:
        raise refusal(nest, opt, "the target has no work-groups", "on a CPU take THREAD or LANES")
    if nest.info.dont_use_locals:
        raise refusal(nest, opt, "the kernel uses no work-groups (NOLOCALS)", "leave NOLOCALS out")
    loop = _any_axis(nest, opt)
    amount = _amount(nest, opt, loop)
    _role(nest, opt, loop, OUTPUT_LOOPS, "GROUP is for reduce axes")
    if loop not in nest.shared_output_loops:
        raise refusal(nest, opt, "not every output moves with this axis", "take a shared axis")
    _check_group_size(nest, opt, amount)
    nest.split(loop, amount, AxisType.LOCAL)


def _check_group_size(nest: LoopNest, opt: Opt, amount: int) -> None:
    members = nest.axes_of(AxisType.LOCAL, AxisType.WARP, AxisType.GROUP_REDUCE)
    total = amount * prod(int(nest.rngs[i].size) for i in members)
    limit = nest.caps.max_workgroup
    if limit > 1:
        _at_most(nest, opt, total, limit, "work-items of a group")


def _group(nest: LoopNest, opt: Opt) -> None:
    top = opt.op is OptOps.GROUPTOP
    if not (nest.caps.has_local and nest.caps.has_shared):
        raise refusal(
            nest, opt, "the target has no memory that a group shares", "UNROLL the axis instead"
        )
    if nest.info.dont_use_locals:
        raise refusal(nest, opt, "the kernel uses no work-groups (NOLOCALS)", "leave NOLOCALS out")
    loop = _pick(nest, opt, nest.axes_of(AxisType.REDUCE), "reduce axis to group")
    amount = _amount(nest, opt, loop)
    _check_group_size(nest, opt, amount)
    closing = [node for node in nest.reduces if loop in node.reduce_ranges]
    nested = any(
        len(node.reduced_value.ranges.keys() & nest.reduce_loops.keys()) > len(node.reduce_ranges)
        for node in closing
    )
    if nested:
        raise refusal(nest, opt, "the reduction runs inside another one", "group the outer one")
    width = prod(int(nest.rngs[i].size) for i in nest.axes_of(AxisType.UPCAST, AxisType.LOCAL))
    needed = amount * width * max(node.dtype.itemsize for node in closing)
    if nest.caps.shared_bytes and needed > nest.caps.shared_bytes:
        raise refusal(
            nest,
            opt,
            f"it needs {needed} bytes of shared memory, the target has {nest.caps.shared_bytes}",
            "group by less or upcast less",
        )
    nest.split(loop, amount, AxisType.GROUP_REDUCE, top=top)


def _thread(nest: LoopNest, opt: Opt) -> None:
    if not nest.caps.has_threads:
        raise refusal(nest, opt, "the target starts no threads", "LOCAL is for GPUs")
    if nest.axes_of(AxisType.THREAD):
        raise refusal(nest, opt, "the kernel has a THREAD axis already", "one is the limit")
    loop = _any_axis(nest, opt)
    lapping = 0 if nest.reads_what_it_writes else _lapping_threads(loop.size, opt.arg)
    amount = lapping or _amount(nest, opt, loop)
    _role(nest, opt, loop, OUTPUT_LOOPS, "only loops over outputs may be split over threads")
    _at_most(nest, opt, amount, nest.caps.max_threads, "threads")
    if loop not in nest.shared_output_loops:
        raise refusal(nest, opt, "not every output moves with this axis", "take a shared axis")
    if lapping:
        nest.lap_threads(loop, amount)
    else:
        nest.split(loop, amount, AxisType.THREAD, top=True)


def _lapping_threads(size: object, amount: object) -> int:
    """The number of threads if the last two of their shares of a loop overlap, otherwise 0."""
    if not isinstance(size, int) or not isinstance(amount, int) or amount < 2:
        return 0
    needed = -(-size // -(-size // amount))
    return amount if size % amount and needed == amount else 0


def _swap(nest: LoopNest, opt: Opt) -> None:
    loop = _any_axis(nest, opt)
    if not isinstance(opt.arg, int) or not 0 <= opt.arg < nest.shape_len:
        raise refusal(nest, opt, f"there is no axis number {opt.arg}", "arg names the other axis")
    other = nest.rngs[opt.arg]
    if other is loop:
        raise refusal(nest, opt, "an axis swapped with itself stays", "name two axes")
    for part in (loop, other):
        _role(nest, opt, part, OUTPUT_LOOPS, "only loops over outputs can change places")
    if loop.axis_type is not other.axis_type:
        raise refusal(nest, opt, "the axes have different roles", "swap axes of one role")
    nest.swap(loop, other)


def _padto(nest: LoopNest, opt: Opt) -> None:
    loop = _any_axis(nest, opt)
    size, multiple = loop.size, opt.arg
    if not isinstance(size, int):
        raise refusal(nest, opt, "the axis has a size known only when it runs", "take another")
    if not isinstance(multiple, int) or multiple < 2:
        raise refusal(nest, opt, f"{multiple!r} is no multiple to pad to", "give 2 or more")
    _role(
        nest,
        opt,
        loop,
        SPLITTABLE_OUTPUTS | SPLITTABLE_REDUCES,
        "pad before the axis is replicated or split over threads",
    )
    padded = -(-size // multiple) * multiple
    if padded == size:
        raise refusal(nest, opt, f"{size} is a multiple of {multiple} already", "leave it out")
    if padded > 4 * size:
        raise refusal(
            nest,
            opt,
            f"{size} steps padded to {padded} are mostly padding",
            f"pad to {size * 4} or less",
        )
    nest.pad(loop, padded)


def _lap(nest: LoopNest, opt: Opt) -> None:
    """The arg is how many steps a tile has, and whether they become lanes (1) or copies (0)."""
    loop = _any_axis(nest, opt)
    size = loop.size
    if not isinstance(size, int):
        raise refusal(nest, opt, "the axis has a size known only when it runs", "take another")
    if not isinstance(opt.arg, tuple) or len(opt.arg) != 2 or opt.arg[0] < 2:
        raise refusal(nest, opt, f"{opt.arg!r} is no tile", "give (steps, 1 for lanes or 0)")
    amount, lanes = opt.arg[0], bool(opt.arg[1])
    _role(nest, opt, loop, OUTPUT_LOOPS, "pad other axes")
    if loop in nest.reduce_loops:
        raise refusal(nest, opt, "tiles of a sum would count steps twice", "pad the axis")
    if size <= amount or size % amount == 0:
        reason = f"tiles of {amount} steps do not overlap in {size}"
        raise refusal(nest, opt, reason, "take UPCAST or LANES where they divide, PADTO else")
    if nest.reads_what_it_writes:
        reason = "the kernel reads what it writes, and would read it again after the first write"
        raise refusal(nest, opt, reason, "pad the axis")
    _at_most(nest, opt, amount, MAX_LANES if lanes else MAX_UPCAST, "steps")
    if not lanes:
        nest.lap(loop, amount)
        return
    before = nest.ast
    nest.lap(loop, amount, lanes=True)
    _check_lanes(nest, opt, amount, before)


def _nolocals(nest: LoopNest, opt: Opt) -> None:
    if nest.axes_of(AxisType.LOCAL, AxisType.WARP, AxisType.GROUP_REDUCE):
        raise refusal(nest, opt, "the kernel has axes of a work-group already", "put it first")
    nest.set_ast(nest.ast.replace(arg=replace(nest.info, dont_use_locals=True)))


def _stage(nest: LoopNest, opt: Opt) -> None:
    if not isinstance(opt.arg, tuple) or len(opt.arg) != 1:
        raise refusal(nest, opt, f"{opt.arg!r} names no operand", "give (number in bufs,)")
    bufs = nest.bufs
    number = opt.arg[0]
    if not 0 <= number < len(bufs):
        raise refusal(nest, opt, f"there is no operand {number}", f"there are {len(bufs)}")
    if opt.axis is not None:
        _any_axis(nest, opt)
    try:
        nest.set_ast(stage_operand(nest, bufs[number], fixed_loops(nest, opt.axis)))
    except StagingRefusal as error:
        raise refusal(nest, opt, error.reason, error.hint) from None


def _keep(nest: LoopNest, opt: Opt) -> None:
    """The arg is the number of the reduction, in the order in which they are computed."""
    reduces = nest.reduces
    if not isinstance(opt.arg, int) or not 0 <= opt.arg < len(reduces):
        count = len(reduces)
        raise refusal(nest, opt, f"there is no reduction {opt.arg}", f"there are {count}")
    try:
        nest.set_ast(keep_value(nest, reduces[opt.arg]))
    except StagingRefusal as error:
        raise refusal(nest, opt, error.reason, error.hint) from None


def _block(nest: LoopNest, opt: Opt) -> None:
    """The arg is the number of blocks, or a tuple: that, how many output loops stay outside of the
    blocks (the first ones), and the operands to stage once a block.
    """
    loop = _pick(nest, opt, nest.axes_of(AxisType.REDUCE), "reduce axis to block")
    parts = opt.arg if isinstance(opt.arg, tuple) else (opt.arg, 0)
    if len(parts) < 2:
        raise refusal(nest, opt, f"{parts} is too short", "give (blocks, loops outside, *operands)")
    wanted, count, *operands = parts
    amount = _amount(nest, Opt(opt.op, opt.axis, wanted), loop)
    loops = [nest.rngs[i] for i in nest.output_axes if nest.rngs[i].axis_type is AxisType.LOOP]
    if not isinstance(count, int) or not 0 <= count <= len(loops):
        raise refusal(nest, opt, f"there are no {count} output loops", f"there are {len(loops)}")
    outside = loops[:count]
    before, bufs = nest.ast, len(nest.bufs)
    try:
        check_blocking(nest, loop, outside)
        part = nest.split(loop, amount, AxisType.REDUCE, top=True)
        for number in operands:
            if not 0 <= number < bufs:
                raise StagingRefusal(f"there is no operand {number}", f"there are {bufs}")
            around = fixed_loops(nest, None) | {part, *outside}
            nest.set_ast(stage_operand(nest, nest.bufs[number], around))
        nest.set_ast(block_reduction(nest, part, outside))
    except StagingRefusal as error:
        nest.set_ast(before)
        raise refusal(nest, opt, error.reason, error.hint) from None


def _tensor_core(nest: LoopNest, opt: Opt) -> None:
    if not nest.caps.tensor_cores:
        raise refusal(nest, opt, "the target has no tensor cores", _WITHOUT_CORES)
    select = opt.arg[0] if isinstance(opt.arg, tuple) and opt.arg else -1
    effort = opt.arg[1] if isinstance(opt.arg, tuple) and len(opt.arg) > 1 else 2
    before = nest.ast
    try:
        product = find_product(nest, select)
        if effort < 2 and needs_padding(product):
            raise TensorCoreRefusal("its axes are no multiples of a tile", "let it be padded: 2")
        nest.set_ast(apply_tensor_core(nest, product))
    except TensorCoreRefusal as error:
        nest.set_ast(before)
        raise refusal(nest, opt, error.reason, error.hint or _WITHOUT_CORES) from None


_WITHOUT_CORES = "UPCAST and LANES tile a matmul without them"


def _scan(nest: LoopNest, opt: Opt) -> None:
    """The axis is that of the output loop along which the kernel's one reduction runs."""
    loop = _any_axis(nest, opt)
    running = [node for node in nest.reduces if running_loop(node) is loop]
    if not running:
        raise refusal(
            nest, opt, "no reduction runs along this axis", "name an axis of windows that end at it"
        )
    marked = {node: node.replace(tag=RUNNING) for node in running}
    nest.set_ast(replace_nodes(nest.ast, marked))
    # what is carried must not be taken up anew in a loop inside
    inside = loop.replace(
        arg=replace(loop.range_arg, axis_id=(_INNERMOST, *loop.range_arg.axis_id))
    )
    nest.set_ast(replace_loops(nest.ast, {loop: LoopReplacement(inside, (inside,))}))


_INNERMOST = 1 << 19


APPLIERS: dict[OptOps, Callable[[LoopNest, Opt], None]] = {
    OptOps.UPCAST: _upcast,
    OptOps.UNROLL: _unroll,
    OptOps.LANES: _lanes,
    OptOps.LOCAL: _local,
    OptOps.GROUP: _group,
    OptOps.GROUPTOP: _group,
    OptOps.THREAD: _thread,
    OptOps.SWAP: _swap,
    OptOps.PADTO: _padto,
    OptOps.NOLOCALS: _nolocals,
    OptOps.STAGE: _stage,
    OptOps.BLOCK: _block,
    OptOps.TC: _tensor_core,
    OptOps.SCAN: _scan,
    OptOps.LAP: _lap,
    OptOps.KEEP: _keep,
}
