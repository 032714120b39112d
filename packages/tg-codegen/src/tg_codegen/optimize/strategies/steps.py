"""Apply Opts by naming loops instead of numbers, and follow what is left of a loop."""

from __future__ import annotations

from tg_uop import AxisType, Opt, OptOps, UOp

from tg_codegen.optimize.kernel_view import Scheduler

_OPEN = (AxisType.LOOP, AxisType.GLOBAL, AxisType.REDUCE)


class Planner:
    """A Scheduler driven by the loops of the kernel as it was at the start."""

    def __init__(self, view: Scheduler) -> None:
        self.view = view
        self._moved: dict[UOp, UOp] = {}

    def rest(self, loop: UOp) -> UOp | None:
        """What remains of `loop` as a loop, None when all of it has another role."""
        if loop in self._moved:
            return self._moved[loop]
        reducing = loop.axis_type.is_reduce
        for candidate in self.view.rngs:
            same = _is_part(candidate, loop) and candidate.axis_type.is_reduce == reducing
            if same and candidate.axis_type in _OPEN:
                return candidate
        return None

    def number(self, loop: UOp) -> int:
        """The axis number of what remains of `loop`."""
        found = self.rest(loop)
        assert found is not None, "the loop has been used up"
        return self.view.rngs.index(found)

    def size(self, loop: UOp) -> int:
        """Steps that remain of `loop`; 1 when it has been used up."""
        found = self.rest(loop)
        return 1 if found is None else int(found.vmax) + 1

    def is_known(self, loop: UOp) -> bool:
        """Whether something remains of `loop`, and its number of steps is known."""
        found = self.rest(loop)
        return found is not None and isinstance(found.size, int)

    def pad(self, loop: UOp, multiple: int) -> None:
        """Pad to a multiple, if it is none yet."""
        if self.is_known(loop) and self.size(loop) % multiple:
            self.view.apply_opt(Opt(OptOps.PADTO, self.number(loop), multiple))

    def lap(self, loop: UOp, amount: int, *, lanes: bool = False) -> None:
        """Several output steps at once, or lanes, in tiles of which the first two overlap."""
        if self.is_known(loop):
            self.view.apply_opt(Opt(OptOps.LAP, self.number(loop), (amount, int(lanes))))

    def upcast(self, loop: UOp, amount: int) -> None:
        """Several output steps at once."""
        if amount > 1 and self.is_known(loop):
            self.view.apply_opt(Opt(OptOps.UPCAST, self.number(loop), amount))

    def lanes(self, loop: UOp, amount: int) -> None:
        """Make vector lanes."""
        if amount > 1 and self.is_known(loop):
            self.view.apply_opt(Opt(OptOps.LANES, self.number(loop), amount))

    def unroll(self, loop: UOp, amount: int) -> None:
        """Several steps of a reduction at once."""
        if amount > 1 and self.is_known(loop):
            number = self.view.unrollable_dims.index(self.number(loop))
            self.view.apply_opt(Opt(OptOps.UNROLL, number, amount))

    def thread(self, loop: UOp, amount: int) -> None:
        """Split over threads."""
        if amount > 1 and self.is_known(loop):
            self.view.apply_opt(Opt(OptOps.THREAD, self.number(loop), amount))

    def order(self, loops: list[UOp]) -> None:
        """Put the remains of these loops in this order, in the places that they have.

        After it nothing but staging can follow: parts are no longer where their whole stood.
        """
        named = [loop for loop in loops if self.rest(loop) is not None]
        current = [rest for loop in named if (rest := self.rest(loop)) is not None]
        places = sorted(loop.range_arg.axis_id for loop in current)
        for position, place in enumerate(places):
            wanted = current[position]
            if wanted.range_arg.axis_id == place:
                continue
            holder = next(loop for loop in current if loop.range_arg.axis_id == place)
            numbers = (self.view.rngs.index(wanted), self.view.rngs.index(holder))
            self.view.apply_opt(Opt(OptOps.SWAP, min(numbers), max(numbers)))
            swapped = {wanted: _moved(wanted, holder), holder: _moved(holder, wanted)}
            current = [swapped.get(loop, loop) for loop in current]
        self._moved = dict(zip(named, current, strict=True))

    def block(self, loop: UOp, blocks: int, outside: int, operands: tuple[int, ...]) -> None:
        """Run a reduce loop outside of the output loops but the first `outside` ones.

        The operands are staged in each block.
        """
        number = self.view.axes_of(AxisType.REDUCE).index(self.number(loop))
        self.view.apply_opt(Opt(OptOps.BLOCK, number, (blocks, outside, *operands)))

    def stage(self, index: UOp, level: UOp | None) -> None:
        """Stage the operand whose load is `index` now, inside the loop `level`."""
        number = None if level is None else self.view.rngs.index(level)
        operand = self.view.bufs.index(index)
        self.view.apply_opt(Opt(OptOps.STAGE, number, (operand,)))


def _is_part(loop: UOp, whole: UOp) -> bool:
    """Whether a loop is `whole`, or what an Opt has split off from it."""
    path = whole.range_arg.axis_id
    return loop.range_arg.axis_id[: len(path)] == path


def _moved(loop: UOp, place: UOp) -> UOp:
    """The loop that `swap` makes of `loop` in the place of another."""
    arg = loop.range_arg
    return loop.replace(arg=type(arg)(place.range_arg.axis_id, arg.axis_type, arg.lanes))
