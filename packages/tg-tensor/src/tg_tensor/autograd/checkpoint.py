"""Compute a part of the graph again for its gradient, so that its inside need not be kept.

What a part takes from outside is kept, and so is what leaves it. In between, the gradient works
on a second copy of the part, which reads the same values, but waits for the gradient that flows
in: else it could be computed right after the first, and be kept instead of it (Chen et al.,
"Training deep nets with sublinear memory cost", 2016).
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import ParamSpec, TypeVar, cast, final

from tg_uop import Ops, UOp
from tg_uop.ir.args import CallArg, ParamArg
from tg_uop.ir.walk import toposort

from tg_tensor.autograd.backward import flat_gradients, gradients
from tg_tensor.autograd.composites import rebuilt
from tg_tensor.autograd.rules import guarded, is_differentiable, is_gated
from tg_tensor.jit.containers import leaves_of
from tg_tensor.ops.core import TensorCore, live_tensors
from tg_tensor.schedule.hazards import memory_of, version_of
from tg_tensor.schedule.roots import OWN_MEMORY

P = ParamSpec("P")
R = TypeVar("R")

_numbers = itertools.count()

_LEAVES = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW, Ops.AFTER, Ops.PARAM))
"""What a part takes from outside even if no Tensor is it: memory, written or not."""
_NUMBERS = frozenset((Ops.CONST, Ops.DEVICE, Ops.DEFINE_VAR, Ops.BIND))


class _Open(threading.local):
    """How many parts this thread is inside of."""

    def __init__(self) -> None:
        self.depth = 0


_open = _Open()


@final
class Checkpoint:
    """A part of the graph that a gradient computes again: all that is built while this is entered.

    Parts inside of parts belong to the outermost, so nothing is computed more than twice. What is
    written in place, or computed by a kernel of one's own, is kept as it is.
    """

    def __init__(self) -> None:
        self._before: list[tuple[TensorCore, UOp]] = []

    def __enter__(self) -> Checkpoint:
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before = self._close()
        if kind is not None or not before:
            return
        nodes = {id(tensor): node for tensor, node in before}
        changed = [t for t in live_tensors() if nodes.get(id(t)) is not t.uop]
        _make_part(changed, {node for _, node in before})

    def applied(self, fxn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The results of a function, which are a part with all that it builds for them."""
        before: list[tuple[TensorCore, UOp]] = []
        self._open()
        try:
            result = fxn(*args, **kwargs)
        finally:
            before = self._close()
        if before:
            tensors = [cast(TensorCore, tensor) for _, tensor in leaves_of(result).tensors]
            _make_part(tensors, {node for _, node in before})
        return result

    def _open(self) -> None:
        if _open.depth == 0:
            self._before = [(tensor, tensor.uop) for tensor in live_tensors()]
        _open.depth += 1

    def _close(self) -> list[tuple[TensorCore, UOp]]:
        """What was there before, of the outermost part."""
        _open.depth -= 1
        before, self._before = self._before, []
        return before


def checkpoint(fxn: Callable[P, R] | None = None, *args: P.args, **kwargs: P.kwargs) -> object:
    """Compute a part of the graph again for its gradient instead of keeping what is inside.

    `with checkpoint():` takes what is built in the block; `checkpoint(f)` and `@checkpoint` make
    a function of which each call is a part, and `checkpoint(f, x, y)` calls it right away, as
    `torch.utils.checkpoint` does (`use_reentrant` and `preserve_rng_state` are taken and mean
    nothing here). Values and gradients are the same as without, those of gradients too; random
    numbers are drawn once, so dropout drops the same elements again.
    """
    if fxn is None:
        return Checkpoint()
    if not (args or kwargs):

        @functools.wraps(fxn)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            return Checkpoint().applied(fxn, *args, **kwargs)

        return checked
    for name in ("use_reentrant", "preserve_rng_state"):
        kwargs.pop(name, None)
    return Checkpoint().applied(fxn, *args, **kwargs)


# *** the part ***


def _make_part(tensors: Iterable[TensorCore], outside: set[UOp]) -> None:
    """Make one function of what was built for some Tensors, and these its results."""
    outputs = [t for t in tensors if t.uop not in outside and is_differentiable(t.dtype)]
    nodes = [node for node in dict.fromkeys(t.uop for t in outputs) if _is_computed(node)]
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


def _is_computed(node: UOp) -> bool:
    """Whether a value is more than memory or a number, seen as it may be."""
    return node.base.op not in _LEAVES and node.base.op not in _NUMBERS


def _arguments(nodes: Sequence[UOp], outside: set[UOp]) -> list[UOp]:
    """What a part takes from outside, in the order of its use.

    Masks and indices that read no memory are computed in place, as often as needed.
    """

    def is_inside(node: UOp) -> bool:
        if node in outside and node._shape is not None and is_differentiable(node.dtype):
            # a number that is nobody's own stands for itself
            return node.op in _NUMBERS and node.tag is None
        return node.op not in _LEAVES and (node not in outside or not _reads_memory(node))

    inside = toposort(nodes, is_inside)
    found: dict[UOp, None] = {}
    for node in inside:
        for operand in node.src:
            if operand not in inside:
                found[operand] = None
    return list(found)


def _reads_memory(node: UOp) -> bool:
    """Whether there is memory below a node."""
    seen = {node}
    waiting = [node]
    while waiting:
        below = waiting.pop()
        if below.op in _LEAVES:
            return True
        waiting += [operand for operand in below.src if operand not in seen]
        seen.update(below.src)
    return False


def _param(slot: int, node: UOp, label: str) -> UOp:
    arg = ParamArg(slot, node.shape, node._device, label)  # type: ignore[arg-type]
    return UOp(Ops.PARAM, node.dtype, (), arg)


# *** the gradient ***


def _again(params: Sequence[UOp], *flowing: object) -> list[UOp | None]:
    """The gradients of a part's arguments, by way of a second copy of the part."""
    *given, node = cast("tuple[UOp | None, ...]", flowing)
    assert node is not None, "the function itself comes last"
    grads = {number: grad for number, grad in enumerate(given) if grad is not None}
    # in terms of stand-ins: below what flows in lies the first copy, which is to stay as it is
    label = f"gradient of {cast(CallArg, node.arg).name}"
    seeds = {number: _param(number, grad, label) for number, grad in grads.items()}
    total = _part_gradients(node.called.src, seeds, grads, params)
    # numbers are there from the start: then there is nothing to wait for, and nothing to save
    waited = [grad for grad in grads.values() if _reads_memory(grad)]
    names = dict(zip(params, (_later(a, waited) for a in node.call_args), strict=True))
    names.update((seed, grads[number]) for number, seed in seeds.items())
    found = rebuilt(list(total.values()), names)
    results = dict(zip(total, found, strict=True))
    return [results.get(param) for param in params]


def _part_gradients(
    bodies: Sequence[UOp],
    seeds: Mapping[int, UOp],
    grads: Mapping[int, UOp],
    params: Sequence[UOp],
) -> dict[UOp, UOp]:
    """The gradients of the parameters when `seeds` flow into the results of these numbers."""
    targets = [param for param in params if is_differentiable(param.dtype)]
    total: dict[UOp, UOp] = {}
    for number, seed in seeds.items():
        gated = guarded(seed, seed) if is_gated(grads[number]) else seed
        for param, part in gradients(bodies[number], gated, targets).items():
            known = total.get(param)
            total[param] = part if known is None else known + part
    flat = [param for param in targets if param not in total]
    for number in seeds:
        total.update(flat_gradients(bodies[number], flat))
    return total


def _later(argument: UOp, waited: Sequence[UOp]) -> UOp:
    """The same value, which nothing is computed from before others are there.

    Of memory that is written now and then (the counter of random numbers) it is a copy, so that
    the next write need not wait.
    """
    if not waited or not _reads_memory(argument):
        return argument
    version = version_of(argument)
    if version.op is Ops.AFTER and memory_of(version).op is Ops.BUFFER:
        argument = UOp(Ops.CONTIGUOUS, argument.dtype, (argument,), OWN_MEMORY)
    return argument.after(*waited)
