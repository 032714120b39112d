"""Compute a part of the graph again for its gradient, so that its inside need not be kept.

Around a part the values that were there before and those that leave it are kept. In between, the
gradient works on a second copy of the part: its nodes are tagged, so that they are not the same
values as those of the first (Chen et al., "Training deep nets with sublinear memory cost", 2016).
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import ParamSpec, TypeVar, cast, final

from tg_uop import Ops, UOp
from tg_uop.ir.args import CallArg, ParamArg
from tg_uop.ir.walk import toposort

from tg_tensor.autograd.backward import gradients
from tg_tensor.autograd.composites import rebuilt
from tg_tensor.autograd.rules import is_differentiable
from tg_tensor.ops.core import TensorCore, live_tensors

P = ParamSpec("P")
R = TypeVar("R")

_numbers = itertools.count()

_NEVER_ARGUMENTS = frozenset((Ops.CONST, Ops.DEVICE, Ops.DEFINE_VAR, Ops.BIND))
_LEAVES = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW, Ops.AFTER, Ops.PARAM))
"""What a part takes from outside even if no Tensor is it: memory, written or not."""


class _Open(threading.local):
    """How many parts this thread is inside of."""

    def __init__(self) -> None:
        self.depth = 0


_open = _Open()


@final
class Checkpoint:
    """A part of the graph that `backward` computes again: all that is built while this is entered.

    Parts inside of parts belong to the outermost.
    """

    def __init__(self) -> None:
        self._before: dict[int, tuple[TensorCore, UOp]] = {}

    def __enter__(self) -> Checkpoint:
        if _open.depth == 0:
            self._before = {id(t): (t, t.uop) for t in live_tensors()}
        _open.depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _open.depth -= 1
        if _open.depth == 0:
            before, self._before = self._before, {}
            if kind is None:
                _close(before)


def checkpoint(fxn: Callable[P, R] | None = None) -> Checkpoint | Callable[P, R]:
    """Compute a part of the graph again for its gradient instead of keeping what is inside.

    `with checkpoint():` takes what is built in the block, `checkpoint(f)(x)` and `@checkpoint`
    what the function builds. Values and gradients are the same as without, random numbers too.
    """
    if fxn is None:
        return Checkpoint()
    inner = fxn

    @functools.wraps(inner)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        with Checkpoint():
            return inner(*args, **kwargs)

    return checked


def _close(before: dict[int, tuple[TensorCore, UOp]]) -> None:
    """Make one function of what was built: the Tensors that are left are its results."""
    outside = {node for _, node in before.values()}
    outputs = [
        t
        for t in live_tensors()
        if id(t) not in before and t.uop not in outside and is_differentiable(t.dtype)
    ]
    nodes = [node for node in dict.fromkeys(t.uop for t in outputs) if _is_worth_it(node)]
    if not nodes:
        return
    arguments = _arguments(nodes, outside)
    if not any(is_differentiable(node.dtype) for node in arguments):
        return
    label = f"checkpoint#{next(_numbers)}"
    params = {node: _param(slot, node, label) for slot, node in enumerate(arguments)}
    bodies = UOp(Ops.TUPLE, src=tuple(rebuilt(nodes, params)))
    arg = CallArg(label, functools.partial(_again, tuple(params.values())))
    applied = UOp(Ops.FUNCTION, src=(bodies, *arguments), arg=arg)
    results = {node: applied.gettuple(number) for number, node in enumerate(nodes)}
    for tensor in outputs:
        tensor.uop = results.get(tensor.uop, tensor.uop)


def _is_worth_it(node: UOp) -> bool:
    return node.op not in _LEAVES and node.op not in _NEVER_ARGUMENTS and node._shape is not None


def _arguments(nodes: Sequence[UOp], outside: set[UOp]) -> list[UOp]:
    """What a part takes from outside, in the order of its use."""

    def is_inside(node: UOp) -> bool:
        return not (node in outside and _may_be_argument(node)) and node.op not in _LEAVES

    inside = toposort(nodes, is_inside)
    found: dict[UOp, None] = {}
    for node in inside:
        for operand in node.src:
            if operand not in inside:
                found[operand] = None
    return list(found)


def _may_be_argument(node: UOp) -> bool:
    return node.op not in _NEVER_ARGUMENTS and node._shape is not None


def _param(slot: int, node: UOp, label: str) -> UOp:
    arg = ParamArg(slot, node.shape, node._device, label)  # type: ignore[arg-type]
    return UOp(Ops.PARAM, node.dtype, (), arg)


def _again(params: Sequence[UOp], *flowing: object) -> list[UOp | None]:
    """The gradients of a part's arguments, by way of a second copy of the part."""
    grads = [grad.contiguous() if isinstance(grad, UOp) else None for grad in flowing[:-1]]
    node = cast(UOp, flowing[-1])
    bodies = node.called.src
    tag = ("again", next(_numbers))
    first = _first_layer(bodies, params)
    copies = rebuilt(bodies, {}, lambda n: tag if n in first else None)
    targets = [param for param in params if is_differentiable(param.dtype)]
    total: dict[UOp, UOp] = {}
    for copy, grad in zip(copies, grads, strict=True):
        if grad is None:
            continue
        for param, part in gradients(copy, grad, targets).items():
            known = total.get(param)
            total[param] = part if known is None else known + part
    arguments = _held_back(node.call_args, next(grad for grad in grads if grad is not None))
    found = rebuilt(list(total.values()), dict(zip(params, arguments, strict=True)))
    given = dict(zip(total, found, strict=True))
    return [given.get(param) for param in params]


def _held_back(arguments: Sequence[UOp], grad: UOp) -> list[UOp]:
    """The same values, which nothing can be computed from before the gradient is there.

    Else the second copy could be computed right after the first, and be kept instead of it. A mark
    that is read from memory, and never set, decides between the value and zero. Arguments that
    are in memory anyway (weights) are held back only if there are no others.
    """
    if not isinstance(grad._device, str) or 0 in grad.shape:
        return list(arguments)
    one = grad.reshape((-1,)).shrink([(0, 1)])
    mark = (one < -math.inf).contiguous()
    lazy = [node for node in arguments if not _is_memory(node)]
    return [_chosen(mark, node) if node in lazy or not lazy else node for node in arguments]


def _chosen(mark: UOp, node: UOp) -> UOp:
    spread = mark.reshape((1,) * node.ndim)._expand_to(node.shape)
    return spread.where(node.const_like(0), node)


def _is_memory(node: UOp) -> bool:
    return node.base.op in (Ops.BUFFER, Ops.BUFFER_VIEW)


def _first_layer(bodies: Sequence[UOp], params: Sequence[UOp]) -> set[UOp]:
    """The nodes that work on arguments themselves: when they are others, so is all above."""
    arguments = set(params)
    return {node for node in toposort(bodies) if not arguments.isdisjoint(node.src)}
