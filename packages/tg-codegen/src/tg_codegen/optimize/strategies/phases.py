"""Find what a strided window looks like from what it was laid on: outputs of several phases.

The gradient of a strided convolution and a transposed convolution sum over all places of the
window, but for an output only every n-th place has an element: which ones depends on the phase of
the output, its place modulo n. A tile that holds outputs of all phases, with the places written
out, knows for each output which places count, and leaves the others out.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tg_uop import Ops, UOp

from tg_codegen.linear_index import is_step_condition, linear_form
from tg_codegen.optimize.strategies.facts import ReduceFacts

# with more places written out, the body of the innermost loop leaves the instruction cache
_MOST_PLACES = 64


@dataclass(frozen=True, slots=True)
class Phases:
    """`steps` is the number of phases along each output loop that has some.

    `places` are the reduce loops over the window. `share` of all products is summed.
    """

    steps: dict[UOp, int]
    places: tuple[UOp, ...]
    share: float

    def whole(self, loop: UOp) -> int:
        """Elements along an output loop with the last of them padded to all phases."""
        step = self.steps.get(loop, 1)
        return -(-int(loop.size) // step) * step


NO_PHASES = Phases({}, (), 1.0)


def phases_of(facts: ReduceFacts) -> Phases:
    """The phases of a sum, `NO_PHASES` where it has none or they cannot be written out."""
    value = facts.node.reduced_value
    if value.op is not Ops.WHERE:
        return NO_PHASES
    steps: dict[UOp, int] = {}
    places: dict[UOp, None] = {}
    share = Fraction(1)
    for condition in value.src[0].split_uop(Ops.AND):
        if not is_step_condition(condition):
            continue
        total, count = condition.src[0].src
        loops = linear_form(total).terms
        outputs = [loop for loop in loops if loop in facts.outputs]
        window = [loop for loop in loops if loop in facts.reduced]
        if len(outputs) != 1 or len(window) != 1 or len(loops) != 2 or outputs[0] in steps:
            return NO_PHASES
        steps[outputs[0]] = count.const_value
        places[window[0]] = None
        share /= count.const_value
    return Phases(steps, tuple(places), float(share)) if _fits(steps, places) else NO_PHASES


def _fits(steps: dict[UOp, int], places: dict[UOp, None]) -> bool:
    """Whether all sizes are known, and the places are few enough to write out."""
    written = 1
    for loop in places:
        if not isinstance(loop.size, int):
            return False
        written *= loop.size
    known = all(isinstance(loop.size, int) for loop in steps)
    return known and 1 < written <= _MOST_PLACES
