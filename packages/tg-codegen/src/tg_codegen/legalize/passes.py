"""READ FIRST: the steps from expanded form to what the target can do, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tg_uop import UOp
from tg_uop.spec.node import Form

from tg_codegen.legalize.conversions import guard_conversions
from tg_codegen.legalize.dtypes import emulate_dtypes
from tg_codegen.legalize.fuse import fuse_reductions
from tg_codegen.legalize.indexes import lower_indexes
from tg_codegen.legalize.integers import divide_by_constants
from tg_codegen.legalize.memory import add_memory
from tg_codegen.legalize.minima import choose_minima
from tg_codegen.legalize.operations import replace_operations
from tg_codegen.legalize.random_bits import expand_random_bits
from tg_codegen.legalize.scalarize import split_vectors
from tg_codegen.legalize.transcendental import decompose_transcendental
from tg_codegen.target.caps import Capabilities


@dataclass(frozen=True, slots=True)
class Step:
    """One legalization: a graph in form `before` and what the target can do in, `after` out."""

    name: str
    run: Callable[[UOp, Capabilities], UOp]
    before: Form
    after: Form
    place: str = ""


def lower_memory(root: UOp, caps: Capabilities) -> UOp:
    """Explicit loads and stores with indices of a fixed width."""
    return lower_indexes(add_memory(root, caps))


STEPS: tuple[Step, ...] = (
    Step("lower-memory", lower_memory, Form.EXPANDED, Form.LOWERED),
    Step(
        "choose-minima",
        choose_minima,
        Form.LOWERED,
        Form.LOWERED,
        place="before emulate-dtypes: a mirrored narrow float is rounded in between",
    ),
    Step("emulate-dtypes", emulate_dtypes, Form.LOWERED, Form.LOWERED),
    Step(
        "decompose-transcendental",
        decompose_transcendental,
        Form.LOWERED,
        Form.LOWERED,
        place="after emulate-dtypes: narrow floats use the float32 functions",
    ),
    Step(
        "guard-conversions",
        guard_conversions,
        Form.LOWERED,
        Form.LOWERED,
        place="after emulate-dtypes: it sees the floats that are left",
    ),
    Step("expand-random-bits", expand_random_bits, Form.LOWERED, Form.LOWERED),
    Step("divide-by-constants", divide_by_constants, Form.LOWERED, Form.LOWERED),
    Step(
        "replace-operations",
        replace_operations,
        Form.LOWERED,
        Form.LOWERED,
        place="after the steps that use TRUNC, MULACC and CMPEQ",
    ),
    Step("fuse-reductions", fuse_reductions, Form.LOWERED, Form.LOWERED),
    Step(
        "split-vectors",
        split_vectors,
        Form.LOWERED,
        Form.LOWERED,
        place="last: the steps before it work on fewer, wider nodes",
    ),
)
