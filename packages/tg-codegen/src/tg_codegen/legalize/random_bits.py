"""Write THREEFRY out as additions, rotations and exclusive ors of 32-bit words.

Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as
1, 2, 3", 2011.
"""

from __future__ import annotations

from tg_uop import Ops, UOp, dtypes
from tg_uop.eval.scalar import THREEFRY_PARITY, THREEFRY_ROTATIONS

from tg_codegen.legalize.rebuild import rebuild
from tg_codegen.target.caps import Capabilities

ROUNDS = 20
# the key is added after every so many rounds
INJECTION = 4


def expand_random_bits(root: UOp, caps: Capabilities) -> UOp:
    """The graph without THREEFRY, if the target lacks it."""

    def visit(node: UOp) -> UOp | None:
        return threefry(*node.src)

    return rebuild(root, frozenset((Ops.THREEFRY,)) - caps.ops, visit)


def threefry(counter: UOp, key: UOp) -> UOp:
    """The random bits of a uint64 counter under a uint64 key; the low word is the first."""
    first_key, second_key = _words(key)
    schedule = (first_key, second_key, first_key ^ second_key ^ THREEFRY_PARITY)
    first, second = _words(counter)
    first = first + first_key
    second = second + second_key
    for turn in range(ROUNDS):
        rotation = THREEFRY_ROTATIONS[turn % len(THREEFRY_ROTATIONS)]
        first = first + second
        second = ((second << rotation) | (second >> (32 - rotation))) ^ first
        if turn % INJECTION == INJECTION - 1:
            injection = turn // INJECTION + 1
            first = first + schedule[injection % 3]
            second = second + (schedule[(injection + 1) % 3] + injection)
    return first.cast(dtypes.uint64) | (second.cast(dtypes.uint64) << 32)


def _words(value: UOp) -> tuple[UOp, UOp]:
    """The low and the high 32 bits."""
    return value.cast(dtypes.uint32), (value >> 32).cast(dtypes.uint32)
