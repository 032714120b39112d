"""Walk a graph from a value to the targets and let the gradient flow, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tg_uop import Ops, UOp

from tg_tensor.autograd.calls import (
    call_gradients,
    custom_call,
    function_gradients,
    results_of,
)
from tg_tensor.autograd.composites import slid_gradient, slid_source
from tg_tensor.autograd.effects import written_gradients, written_values
from tg_tensor.autograd.history import graph_behind
from tg_tensor.autograd.rules import RULES, Gradients, is_differentiable, same
from tg_tensor.autograd.slopes import slope_gradients, slopes_of
from tg_tensor.errors import GradientError


@dataclass(frozen=True, slots=True)
class Step:
    """How the gradient passes one node: to which values, and by which rule."""

    inputs: tuple[UOp, ...]
    rule: Callable[[UOp, UOp], Gradients]


def gradients(root: UOp, seed: UOp, targets: Sequence[UOp]) -> dict[UOp, UOp]:
    """The gradient of `root` for each target that it depends on, when `seed` flows in.

    Raises `GradientError` for an op on the way that has no gradient.
    """
    wanted = set(targets)
    steps = _steps_to(root, wanted)
    flowing: dict[UOp, UOp] = {root: seed} if root in steps or root in wanted else {}
    results: dict[UOp, list[UOp | None]] = {}
    for node in reversed(steps):
        if node in results:
            _add(
                flowing, node.call_args, function_gradients(node, results.pop(node)), wanted, steps
            )
            continue
        grad = flowing.get(node)
        if grad is None:
            continue
        if node not in wanted:
            # nothing asks for it again: let go of it
            del flowing[node]
        if node.op is Ops.GETTUPLE:
            _collect(results, node, grad)
            continue
        step = steps[node]
        if step.rule is _to_call:
            _collect_of_kernel(results, node, step.inputs[0], grad)
            continue
        _add(flowing, step.inputs, step.rule(node, grad), wanted, steps)
    return {node: grad for node, grad in flowing.items() if node in wanted}


def flat_gradients(root: UOp, targets: Sequence[UOp]) -> dict[UOp, UOp]:
    """Zeros for the targets that `root` depends on only through steps, such as rounding.

    What lies behind DETACH or an integer is no dependence, nor what a gradient function of a user
    gives no gradient for. Values that were computed before depend on what they were computed from.
    """
    if not targets:
        return {}
    below: set[UOp] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if node in below or not _leads_on(node):
            continue
        below.add(node)
        graph = graph_behind(node)
        pending += node.src if graph is None else (graph,)
    return {target: target.const_like(0) for target in targets if target in below}


def _leads_on(node: UOp) -> bool:
    if node.op is Ops.DETACH or node.dtype.is_int:
        return False
    if node.op is Ops.AFTER:
        return custom_call(node) is None
    return node.op is not Ops.FUNCTION


def _add(
    flowing: dict[UOp, UOp],
    operands: Sequence[UOp],
    parts: Gradients,
    wanted: set[UOp],
    steps: dict[UOp, Step],
) -> None:
    """Let gradients flow to the operands that lead to a target."""
    for operand, part in zip(operands, parts, strict=True):
        if part is None or not (operand in steps or operand in wanted):
            continue
        fitted = _fit(part, operand)
        known = flowing.get(operand)
        flowing[operand] = fitted if known is None else known + fitted


def _collect(results: dict[UOp, list[UOp | None]], node: UOp, grad: UOp) -> None:
    """Keep the gradient of one result of a function until all of them are there."""
    function = node.src[0]
    count = len(function.called.src)
    assert isinstance(node.arg, int), "a GETTUPLE carries a position"
    results.setdefault(function, [None] * count)[node.arg] = grad


def _collect_of_kernel(
    results: dict[UOp, list[UOp | None]], node: UOp, call: UOp, grad: UOp
) -> None:
    """Keep the gradient of one of the arguments that a kernel writes to."""
    written = results_of(call)
    results.setdefault(call, [None] * len(written))[written.index(node.src[0])] = grad


def _steps_to(root: UOp, wanted: set[UOp]) -> dict[UOp, Step]:
    """How the gradient passes each node between `root` and the targets, operands first."""
    order: dict[UOp, Step | None] = {}
    stack: list[tuple[UOp, Step | None]] = [(root, None)]
    while stack:
        node, step = stack.pop()
        if node in order:
            continue
        if step is None:
            step = _step_of(node)
            stack.append((node, step))
            stack.extend((operand, None) for operand in step.inputs if operand not in order)
            continue
        order[node] = step
    useful: dict[UOp, Step] = {}
    for node, step in order.items():
        assert step is not None, "every visited node has its step"
        if any(operand in wanted or operand in useful for operand in step.inputs):
            useful[node] = step
    return useful


def _step_of(node: UOp) -> Step:
    """The values below through which a gradient flows, and the rule."""
    slid = slid_source(node)
    if slid is not None:
        return Step((slid.source,), lambda _, grad: (slid_gradient(slid, grad),))
    sloped = slopes_of(node)
    if sloped is not None:
        return Step(sloped.operands, lambda of, grad: slope_gradients(sloped, of, grad))
    graph = graph_behind(node)
    if graph is not None:
        return Step((graph,), same)
    if node.op in (Ops.FUNCTION, Ops.CALL):
        return Step(node.call_args, _no_rule)
    if node.op is Ops.GETTUPLE and node.src[0].op is Ops.FUNCTION:
        return Step((node.src[0],), _no_rule)
    call = custom_call(node) if node.op is Ops.AFTER else None
    if call is not None and len(results_of(call)) > 1:
        return Step((call,), _to_call)
    if call is not None:
        return Step(call.call_args, lambda _, grad: call_gradients(call, grad))
    if node.op is Ops.AFTER:
        return Step((node.src[0], *written_values(node)), written_gradients)
    if node.op is Ops.DETACH or not is_differentiable(node.dtype):
        return _END
    rule = RULES.get(node.op)
    if rule is None:
        return Step(tuple(s for s in node.src if is_differentiable(s.dtype)), _no_rule)
    return Step(node.src, rule)


def _no_rule(node: UOp, grad: UOp) -> Gradients:
    raise GradientError(
        op=node.op.name,
        reason="this operation has no gradient rule",
        hint="detach its operands, or give the function a gradient of its own",
    )


def _to_call(node: UOp, grad: UOp) -> Gradients:
    raise AssertionError("gradients of the results of a kernel are collected")


_END = Step((), lambda node, grad: ())


def _fit(grad: UOp, operand: UOp) -> UOp:
    """The gradient in the shape of the operand: a number stands next to any shape."""
    if grad.shape == operand.shape:
        return grad
    if operand.shape == ():
        return grad.sum()
    return grad._expand_to(operand.shape)
