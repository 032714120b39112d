"""Run a function once on stand-ins and keep what it builds: the trace of a `function`."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import cast, final

from tg_uop import Ops, UOp
from tg_uop.ir.args import ParamArg

from tg_tensor.custom.errors import CustomError
from tg_tensor.custom.tracing import tracers
from tg_tensor.jit.containers import (
    Found,
    Identity,
    TensorLike,
    frozen,
    is_tensor,
    leaves_of,
    rebuild,
)
from tg_tensor.jit.guards import without_values
from tg_tensor.jit.modes import current_modes
from tg_tensor.jit.proxies import Placeholder
from tg_tensor.jit.readings import settings_of
from tg_tensor.jit.settings import CalledFunction, Setting
from tg_tensor.jit.watch import Reached, reached_tensors, roots_of, roots_of_arguments
from tg_tensor.ops.random import RandomOps

_trace_numbers = itertools.count()


@final
@dataclass(slots=True)
class Trace:
    """What a function builds, in terms of PARAMs.

    `bodies` are its results, `count` of them, and then what it writes to the tensors numbered in
    `written`: first come the arguments, then the `implicit` ones, which it reaches from outside.
    Those of them that are attributes of arguments, as the weights of a layer, are
    numbered in `passed_along`.
    """

    bodies: tuple[UOp, ...]
    count: int
    template: object
    kind: type[TensorLike] | None
    params: tuple[UOp, ...]
    implicit: tuple[Reached, ...]
    implicit_params: tuple[UOp, ...]
    passed_along: frozenset[int]
    written: tuple[int, ...]
    foreign: tuple[UOp, ...]
    is_reusable: bool
    settings: tuple[Setting | CalledFunction, ...] = ()

    def fits(self) -> bool:
        """Whether what it reaches from outside is there, in the shape that it had, and the
        constants that it names are what they were.
        """
        if not all(setting.is_there() for setting in self.settings):
            return False
        for entry, param in zip(self.implicit, self.implicit_params, strict=True):
            tensor = _tensor_in(entry)
            if tensor is None or _kind_of(tensor.uop) != _kind_of(param):
                return False
        return True

    def implicit_nodes(self) -> list[UOp]:
        """What it reaches from outside, as it is now."""
        return [cast(TensorLike, entry.value()).uop for entry in self.implicit]

    def targets(self, tensors: Sequence[TensorLike]) -> list[TensorLike]:
        """The tensors that it writes to."""
        count = len(tensors)
        return [
            tensors[i] if i < count else cast(TensorLike, self.implicit[i - count].value())
            for i in self.written
        ]

    def rebinding(self, nodes: Sequence[UOp]) -> dict[UOp, UOp]:
        """For each variable with a value in the bodies, the one that it has in `nodes`."""
        old = {n for body in self.bodies for n in body.toposort() if n.op is Ops.BIND}
        if not old:
            return {}
        now = {n.src[0]: n for node in nodes for n in node.toposort() if n.op is Ops.BIND}
        return {node: now[node.src[0]] for node in old if node.src[0] in now}

    def refuse_implicit(self, name: str) -> None:
        """Raise `CustomError` when a tensor is used that is neither an argument nor in one."""
        for number, entry in enumerate(self.implicit):
            if number in self.passed_along:
                continue
            node = cast(TensorLike, entry.value()).uop
            if any(below.op is Ops.BUFFER for below in node.toposort()):
                raise _not_an_argument(name, f"{entry.path}, a tensor of shape {node.shape},")
        for node in self.foreign:
            raise _not_an_argument(name, f"a tensor of shape {node.shape}")


def _not_an_argument(name: str, what: str) -> CustomError:
    return CustomError(
        function=name,
        reason=f"it reads {what} that is no argument",
        hint="pass it as an argument, or allow it with allow_implicit=True",
    )


def trace_function(
    fxn: Callable[..., object],
    name: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    tensors: Sequence[TensorLike],
) -> Trace:
    """The trace of one call. The tensors are what they were afterwards, whatever happens.

    Raises `CustomError` when the function asks for a value that depends on its arguments.
    """
    label = f"{name}#{next(_trace_numbers)}"
    first_slot = _slot(UOp.new_buffer("CPU", 0, tensors[0].uop.dtype)) if tensors else 0
    given = {id(tensor): tensor for tensor in tensors}
    outside: dict[int, Reached] = {}
    roots = roots_of(fxn, args, kwargs)
    settings = settings_of(fxn, [root for root in roots if root[0]])
    for entry in reached_tensors(roots):
        if id(entry.tensor) not in given and entry.key != "grad":
            outside.setdefault(id(entry.tensor), entry)
    attributes = {id(e.tensor) for e in reached_tensors(roots_of_arguments(args, kwargs))}
    everything = [*given.values(), *(entry.tensor for entry in outside.values())]
    before = [tensor.uop for tensor in everything]
    params = [_param(number, node, label) for number, node in enumerate(before)]
    tracers.active.append(name)
    try:
        for tensor, param in zip(everything, params, strict=True):
            tensor.uop = param
        result = fxn(*args, **kwargs)
        produced = [tensor for _, tensor in leaves_of(result).tensors]
        bodies = [tensor.uop for tensor in produced]
        changed = [tensor.uop for tensor in everything]
    finally:
        tracers.active.pop()
        for tensor, node in zip(everything, before, strict=True):
            tensor.uop = node
    written = [n for n, node in enumerate(changed) if node is not params[n]]
    bodies += [changed[n] for n in written]
    found = list(outside.values())
    trace = _finished(
        result,
        produced,
        bodies,
        written,
        tensors,
        given,
        found,
        attributes,
        params,
        first_slot,
    )
    # what the function itself changes says nothing about the next call
    trace.settings = tuple(setting for setting in settings if setting.is_there())
    return trace


def _finished(
    result: object,
    produced: Sequence[TensorLike],
    bodies: Sequence[UOp],
    written: Sequence[int],
    tensors: Sequence[TensorLike],
    given: Mapping[int, TensorLike],
    outside: Sequence[Reached],
    attributes: set[int],
    params: Sequence[UOp],
    first_slot: int,
) -> Trace:
    """Number what is used: one parameter an argument, then those from outside that occur."""
    below = {node for body in bodies for node in body.toposort()}
    number_of = {key: number for number, key in enumerate(given)}
    count = len(given)
    used = [n for n in range(count, len(params)) if params[n] in below or n in written]
    own = [params[number_of[id(tensor)]] for tensor in tensors]
    position = {number_of[id(tensor)]: at for at, tensor in enumerate(tensors)}
    position.update((n, len(tensors) + at) for at, n in enumerate(used))
    buffers = [node for node in below if node.op is Ops.BUFFER]
    random = _random_buffers()
    kinds = [*produced, *(tensors or [entry.tensor for entry in outside])]
    implicit = tuple(outside[n - count] for n in used)
    return Trace(
        bodies=tuple(bodies),
        count=len(produced),
        template=rebuild(result, Placeholder.of),
        kind=type(kinds[0]) if produced or written else None,
        params=tuple(own),
        implicit=implicit,
        implicit_params=tuple(params[n] for n in used),
        passed_along=frozenset(i for i, e in enumerate(implicit) if id(e.tensor) in attributes),
        written=tuple(position[n] for n in written),
        foreign=tuple(b for b in buffers if _slot(b) < first_slot and b not in random),
        is_reusable=not buffers,
    )


def _slot(buffer: UOp) -> int:
    return buffer.arg.slot  # type: ignore[attr-defined, no-any-return]


def _param(number: int, node: UOp, label: str) -> UOp:
    """The stand-in for a tensor; the label tells apart those of functions in functions."""
    arg = ParamArg(number, node.shape, node._device, label)  # type: ignore[arg-type]
    return UOp(Ops.PARAM, node.dtype, (), arg)


def _random_buffers() -> set[UOp]:
    """The memory of the random state: drawing numbers is no use of a tensor from outside."""
    states = list(RandomOps._states.values())
    nodes = [node for state in states for node in (state.key.uop, state.counter.uop)]
    return {below for node in nodes for below in node.toposort() if below.op is Ops.BUFFER}


def _tensor_in(entry: Reached) -> TensorLike | None:
    try:
        found = entry.value()
    except (LookupError, AttributeError, TypeError, ValueError):
        return None
    return found if is_tensor(found) else None


def _kind_of(node: UOp) -> Hashable:
    """Shape (in terms of variables), dtype and device."""
    sizes = tuple(without_values(size) if isinstance(size, UOp) else size for size in node.shape)
    return sizes, node.dtype, node._device


def key_of(tensors: Sequence[TensorLike], found: Found) -> Hashable:
    """What must be the same for a trace to be used again."""
    kinds = tuple(_kind_of(tensor.uop) for tensor in tensors)
    same: dict[int, int] = {}
    aliases = tuple(same.setdefault(id(tensor), len(same)) for tensor in tensors)
    constants = tuple(_held(value) for _, value in found.constants)
    variables = tuple(without_values(node) for _, node in found.variables)
    return kinds, aliases, constants, variables, found.names, current_modes()


def _held(value: object) -> Hashable:
    """A constant as part of a key; an object with attributes is not kept alive by it."""
    key = frozen(value)
    if not hasattr(value, "__dict__") or isinstance(value, type):
        return key
    if isinstance(key, tuple) and isinstance(key[-1], Identity):
        return key
    try:
        return type(value), weakref.ref(value)
    except TypeError:
        return key


def purge(traces: MutableMapping[Hashable, Trace]) -> None:
    """Forget traces for objects that are gone."""
    for key in list(traces):
        constants = cast(tuple[object, object, tuple[tuple[object, ...], ...]], key)[2]
        references = [c[-1] for c in constants if isinstance(c[-1], weakref.ref)]
        if any(reference() is None for reference in references):
            del traces[key]
