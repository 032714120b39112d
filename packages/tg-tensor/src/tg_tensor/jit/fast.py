"""The short way from arguments to a replay: for calls with plain Tensors only.

Replaying a small step costs little more than checking its arguments, so the common case is checked
by a handful of comparisons. Whatever does not pass takes the long way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, final

from tg_uop import DType, Ops, UOp
from tg_uop.ir.args import BufferArg

from tg_tensor.jit.containers import is_tensor
from tg_tensor.jit.replay import Captured

Expected = tuple[object, DType, int, UOp]
"""Shape, dtype, elements of the buffer, and the node of its device."""


@final
class FastPath:
    """A step whose arguments are Tensors that each fill a buffer of their own."""

    __slots__ = ("count", "expected", "kind", "step")

    def __init__(self, step: Captured, kind: type, expected: Sequence[Expected]) -> None:
        self.step = step
        self.kind = kind
        self.expected = tuple(expected)
        self.count = len(expected)

    def inputs(self, args: Sequence[object]) -> list[UOp] | None:
        """The buffers of the arguments, None when they are not what the step expects."""
        if len(args) != self.count:
            return None
        kind = self.kind
        found: list[UOp] = []
        for argument, (shape, dtype, size, place) in zip(args, self.expected, strict=True):
            if type(argument) is not kind:
                return None
            node = cast(UOp, argument.uop)  # type: ignore[attr-defined]
            buffer = node
            if node.op is Ops.RESHAPE:
                if node.arg != shape:
                    return None
                buffer = node.src[0]
            elif shape is not None:
                return None
            if buffer.op is not Ops.BUFFER or buffer.dtype is not dtype:
                return None
            if buffer.src[0] is not place or cast(BufferArg, buffer.arg).size != size:
                return None
            found.append(buffer)
        if self.count > 1 and len(set(found)) != self.count:
            return None
        return found


def fast_path(step: Captured, args: Sequence[object]) -> FastPath | None:
    """The short way for calls like this one, if there is one."""
    if step.written_state or step.step.var_vals:
        return None
    expected: list[Expected] = []
    buffers: set[UOp] = set()
    for argument in args:
        if not is_tensor(argument):
            return None
        node = argument.uop
        buffer = node.src[0] if node.op is Ops.RESHAPE else node
        if buffer.op is not Ops.BUFFER or type(argument) is not type(args[0]):
            return None
        shape = node.arg if node.op is Ops.RESHAPE else None
        size = cast(BufferArg, buffer.arg).size
        expected.append((shape, node.dtype, size, buffer.src[0]))
        buffers.add(buffer)
    if not args or len(buffers) != len(args):
        return None
    return FastPath(step, type(args[0]), expected)
