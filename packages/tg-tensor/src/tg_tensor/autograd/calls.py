"""The gradient of kernels and functions that bring their own."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import Ops, UOp
from tg_uop.ir.args import CallArg

from tg_tensor.autograd.rules import Gradients
from tg_tensor.errors import GradientError
from tg_tensor.schedule.hazards import written_slots


def custom_call(node: UOp) -> UOp | None:
    """Of an AFTER: the kernel call that makes its value, None where it is made by stores."""
    for effect in node.effects:
        if effect.op is Ops.CALL:
            return effect
    return None


def results_of(call: UOp) -> tuple[UOp, ...]:
    """The arguments that a kernel call writes to."""
    slots = written_slots(call.called)
    return tuple(arg for slot, arg in enumerate(call.call_args) if slot in slots)


def call_gradients(call: UOp, grad: UOp) -> Gradients:
    """What the call's own gradient function gives for each argument.

    Raises `GradientError` when it has none, or gives another number of gradients.
    """
    return _asked(call, call.call_args, (grad,))


def function_gradients(function: UOp, grads: Sequence[UOp | None]) -> Gradients:
    """What the own gradient of a function, or of a kernel with several results, gives for each
    argument, from those of its results.

    Results to which nothing flows have None.
    """
    return _asked(function, function.call_args, grads)


def _asked(node: UOp, operands: Sequence[UOp], grads: Sequence[UOp | None]) -> Gradients:
    arg = node.arg
    assert isinstance(arg, CallArg), f"{node.op} carries a CallArg"
    name = arg.name or node.op.name
    if arg.grad_fxn is None:
        raise GradientError(
            op=name,
            reason="this kernel has no gradient function",
            hint="pass grad_fxn, or detach its arguments",
        )
    found = arg.grad_fxn(*grads, node)
    given = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    if len(given) != len(operands):
        raise GradientError(
            op=name,
            reason=f"its grad_fxn gave {len(given)} gradients for {len(operands)} arguments",
            hint="give one for each argument, None where there is none",
        )
    return tuple(_node(part, name) for part in given)


def _node(part: object, name: str) -> UOp | None:
    """A gradient as a node; a Tensor is taken for its node."""
    node = getattr(part, "uop", part)
    if node is None or isinstance(node, UOp):
        return node
    raise GradientError(op=name, reason=f"its grad_fxn gave {part!r}, which is no node")
