"""The expression that the tour follows: ((a + b).relu()).sum(axis=1)."""

from __future__ import annotations

from tg_codegen.render.registry import renderer_for
from tg_tensor import Tensor
from tg_uop import Target, UOp

# one fixed target, so that the tour prints the same on every machine
TARGET = Target.parse("CPU:LLVM:x86_64,haswell")
RENDERER = renderer_for(TARGET)


def inputs() -> tuple[Tensor, Tensor]:
    """Two 4 by 8 tensors in memory."""
    a = Tensor([[i * 8 + j for j in range(8)] for i in range(4)]).float().realize()
    b = Tensor([[-10.0] * 8] * 4).realize()
    return a, b


def expression() -> Tensor:
    """The lazy value: nothing has been computed for it."""
    a, b = inputs()
    return (a + b).relu().sum(axis=1)


def kernel() -> UOp:
    """The one kernel that its schedule holds."""
    linear = expression().schedule_linear()
    (call,) = linear.src
    return call.called
