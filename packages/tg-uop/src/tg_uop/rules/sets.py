"""The named unions of rules that passes apply."""

from __future__ import annotations

from tg_uop.rules.algebra import ALGEBRA
from tg_uop.rules.bounds import BOUNDS
from tg_uop.rules.casts import CASTS
from tg_uop.rules.fold import FOLD
from tg_uop.rules.gates import CORE
from tg_uop.rules.invalid import INVALID_INDEX
from tg_uop.rules.logic import LOGIC
from tg_uop.rules.movement import MOVEMENT
from tg_uop.rules.simplify import SIMPLIFY

# Local laws that only drop operations: cheap, on any form, leaves the spelling of sums alone.
SYMBOLIC_SIMPLE = FOLD + INVALID_INDEX + ALGEBRA + LOGIC + CASTS + BOUNDS

# Everything on numbers: also one spelling for sums, products and comparisons, division by way of
# sums of terms.
SYMBOLIC = CORE

# SYMBOLIC, and gates: conditions simplify each other and the index that they guard.
INDEX_MATH = SIMPLIFY

__all__ = ["INDEX_MATH", "MOVEMENT", "SYMBOLIC", "SYMBOLIC_SIMPLE"]
