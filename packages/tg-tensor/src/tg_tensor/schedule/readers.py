"""Which versions of memory values read, found for many values in one walk over their graphs."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple, final

from tg_uop import Ops, UOp

from tg_tensor.schedule.waits import only_waits

KERNELS = frozenset((Ops.SINK, Ops.PROGRAM))
"""What is called: the writes inside are to its arguments, which the call names."""


class Reading(NamedTuple):
    """What a value reads of what is overwritten, and whether effects are pending below it."""

    versions: dict[UOp, None]
    has_effects: bool


NOTHING = Reading({}, False)


@final
class Readers:
    """What each value reads; what was found for one value is kept for those above it."""

    def __init__(self, executed: Container[UOp], overwritten: Container[UOp]) -> None:
        """What happens at an AFTER among `executed` is no reading of what is below."""
        self.executed = executed
        self.overwritten = overwritten
        self._found: dict[UOp, Reading] = {}

    def reading(self, value: UOp) -> Reading:
        """The versions among `overwritten` that a value reads."""
        found = self._found
        stack = [value]
        while stack:
            node = stack[-1]
            if node in found:
                stack.pop()
                continue
            operands = () if self._is_end(node) else node.src
            pending = [operand for operand in operands if operand not in found]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            found[node] = self._combined(node, operands)
        return found[value]

    def _is_end(self, node: UOp) -> bool:
        if node.op is Ops.AFTER:
            return node in self.executed and not only_waits(node)
        return node.op in KERNELS or (node.op is Ops.MULTI and node in self.overwritten)

    def _combined(self, node: UOp, operands: tuple[UOp, ...]) -> Reading:
        is_version = node in self.overwritten
        versions = {node: None} if is_version else NOTHING.versions
        is_pending = node.op is Ops.AFTER and node not in self.executed
        has_effects = is_pending and not only_waits(node)
        for operand in operands:
            below = self._found[operand]
            has_effects = has_effects or below.has_effects
            if not versions:
                versions = below.versions
            elif not below.versions.keys() <= versions.keys():
                versions = {**versions, **below.versions}
        if not versions and not has_effects:
            return NOTHING
        return Reading(versions, has_effects)
