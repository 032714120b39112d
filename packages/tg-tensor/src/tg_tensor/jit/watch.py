"""Notice that a Tensor which a captured step reads from outside was replaced by another.

A step remembers memory, the function names (`weights[0]`, `model.w`). So where the function can
reach Tensors by other ways than its arguments is looked up at capture (closures, globals, default
arguments, attributes of objects), and each replay compares what is there now.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast, final

import numpy as np
from tg_uop import GroupOp, Ops, UOp

from tg_tensor.jit.bound import OfInstance
from tg_tensor.jit.containers import TensorLike, constants_of, is_tensor

MOST_OBJECTS = 20_000
"""Where to stop looking: a function that reaches more than this is not looked at to the end."""

_NUMBERS = (int, float, complex, str, bytes, bytearray, np.generic)
_NO_CONTAINERS = (*_NUMBERS, UOp, np.ndarray)


@final
class Cell:
    """A variable of an enclosing function, as a container."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType) -> None:
        self.cell = cell

    def __getitem__(self, key: object) -> object:
        return self.cell.cell_contents


@final
class Slots:
    """An object whose attributes are not in a dict, as a container."""

    __slots__ = ("owner",)

    def __init__(self, owner: object) -> None:
        self.owner = owner

    def __getitem__(self, key: object) -> object:
        return getattr(self.owner, cast(str, key))


Holder = Mapping[object, object] | Mapping[str, object] | Sequence[object] | Cell | Slots


class Link(NamedTuple):
    """An object on the way to a Tensor: it was found at `holder[key]`, which `up` led to."""

    path: str
    holder: Holder
    key: object
    value: object
    up: Link | None

    def is_there(self) -> bool:
        """Whether the same object is still in its place."""
        try:
            return self.holder[self.key] is self.value  # type: ignore[index, call-overload]
        except (LookupError, AttributeError, TypeError, ValueError):
            return False


class Reached(NamedTuple):
    """A Tensor and where it was found: `holder[key]`, which `up` led to."""

    path: str
    holder: Holder
    key: object
    tensor: TensorLike
    up: Link | None = None

    def is_there(self) -> bool:
        """Whether the same Tensor is still in its place."""
        try:
            return self.value() is self.tensor
        except (LookupError, AttributeError, TypeError, ValueError):
            return False

    def value(self) -> object:
        """What is in its place now."""
        return self.holder[self.key]  # type: ignore[index, call-overload]


def roots_of(
    function: object, args: Iterable[object], kwargs: Mapping[str, object]
) -> list[tuple[str, object]]:
    """From where a function can reach Tensors beside those that are its arguments."""
    objects = roots_of_arguments(args, kwargs)
    if isinstance(function, OfInstance):
        return [*objects, ("self", function.instance()), ("", function.function)]
    return [*objects, ("", function)]


def roots_of_arguments(
    args: Iterable[object], kwargs: Mapping[str, object]
) -> list[tuple[str, object]]:
    """The arguments that are objects with attributes: layers, configurations."""
    given = [(f"argument {number}", value) for number, value in enumerate(args)]
    given += [(f"argument {name}", value) for name, value in kwargs.items()]
    constants = [entry for name, value in given for entry in constants_of(name, value)]
    return [(name, value) for name, value in constants if hasattr(value, "__dict__")]


def reached_tensors(roots: Iterable[tuple[str, object]]) -> list[Reached]:
    """The Tensors that can be reached from functions and objects, with their gradients."""
    found: list[Reached] = []
    seen: set[int] = set()
    kept: list[object] = []
    stack: list[tuple[str, object, Link | None]] = [(path, owner, None) for path, owner in roots]
    while stack and len(seen) < MOST_OBJECTS:
        path, owner, link = stack.pop()
        if id(owner) in seen or isinstance(owner, _NO_CONTAINERS) or owner is None:
            continue
        seen.add(id(owner))
        # an id is that of one object only as long as the object lives
        kept.append(owner)
        for name, holder, key, value in _entries(path, owner):
            if is_tensor(value):
                found.append(Reached(name, holder, key, value, link))
                gradient = getattr(value, "grad", None)
                if is_tensor(gradient):
                    place = Slots(value)
                    found.append(Reached(f"{name}.grad", place, "grad", gradient, link))
            else:
                stack.append((name, value, Link(name, holder, key, value, link)))
    return found


Entry = tuple[str, Holder, object, object]


def _entries(path: str, owner: object) -> Iterator[Entry]:
    """What an object holds: names, where it lies, and the values."""
    if isinstance(owner, types.FunctionType):
        yield from _function_entries(owner)
    elif isinstance(owner, types.MethodType):
        yield from _listed(path, (owner.__func__, owner.__self__))
    elif isinstance(owner, functools.partial):
        yield from _listed(path, (owner.func, *owner.args))
        yield from _named(path, owner.keywords)
    elif isinstance(owner, dict):
        yield from _named(path, owner)
    elif isinstance(owner, list | tuple):
        yield from _listed(path, owner)
    elif isinstance(owner, set | frozenset):
        yield from _listed(path, tuple(owner))
    elif isinstance(owner, type):
        values = vars(owner)
        yield from ((f"{path}.{k}", values, k, v) for k, v in values.items() if is_tensor(v))
    elif not isinstance(owner, types.ModuleType):
        yield from _attributes(path, owner)


def _listed(path: str, values: Sequence[object]) -> Iterator[Entry]:
    if values and isinstance(values[0], _NUMBERS):
        # a list of numbers or words: there may be millions
        return
    for number, value in enumerate(values):
        yield f"{path}[{number}]", values, number, value


def _named(path: str, values: Mapping[object, object] | Mapping[str, object]) -> Iterator[Entry]:
    for key, value in list(values.items()):
        yield f"{path}[{key!r}]", values, key, value


def _attributes(path: str, owner: object) -> Iterator[Entry]:
    values = getattr(owner, "__dict__", None)
    if isinstance(values, dict):
        wrapped = values.get("__wrapped__")
        if wrapped is not None:
            yield path, values, "__wrapped__", wrapped
            return
        for key, value in list(values.items()):
            yield f"{path}.{key}", values, key, value
    for kind in type(owner).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            value = getattr(owner, name, None) if not name.startswith("__") else None
            if value is not None:
                yield f"{path}.{name}", Slots(owner), name, value


def _function_entries(function: types.FunctionType) -> Iterator[Entry]:
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            yield name, Cell(cell), None, cell.cell_contents
        except ValueError:
            # a variable that has no value yet
            continue
    scope = function.__globals__
    names = global_names(function.__code__)
    for name in names:
        value = scope.get(name)
        if isinstance(value, types.ModuleType):
            members = vars(value)
            tensors = (n for n in names if is_tensor(members.get(n)))
            yield from ((f"{name}.{n}", members, n, members[n]) for n in tensors)
        elif value is not None:
            yield name, scope, name, value
    yield from _listed(f"defaults of {function.__name__}", function.__defaults__ or ())
    yield from _named(f"defaults of {function.__name__}", function.__kwdefaults__ or {})


def global_names(code: types.CodeType) -> list[str]:
    """The names that a function and the functions inside of it look up."""
    names: dict[str, None] = {}
    stack = [code]
    while stack:
        current = stack.pop()
        names.update(dict.fromkeys(current.co_names))
        stack.extend(c for c in current.co_consts if isinstance(c, types.CodeType))
    return list(names)


def memory_under(node: UOp) -> frozenset[UOp]:
    """The buffers of a value that is memory; none for a lazy one."""
    while node.op in GroupOp.Movement or node.op in (Ops.AFTER, Ops.BUFFER_VIEW):
        node = node.src[0]
    if node.op is not Ops.MULTI:
        return frozenset((node,)) if node.op is Ops.BUFFER else frozenset()
    shards = [memory_under(shard) for shard in node.src]
    return frozenset().union(*shards) if all(shards) else frozenset()


class Constant(Protocol):
    """A number or word from outside; in words it says what became of it."""

    @property
    def holder(self) -> Any:
        """Where it lies."""

    @property
    def key(self) -> object:
        """Under which key."""

    @property
    def same(self) -> object:
        """The object that was there, None where its content may change."""

    def is_there(self) -> bool:
        """Whether it has its value still."""


@final
class Watch:
    """The Tensors and constants from outside that a step depends on, in their places."""

    __slots__ = (
        "_constants",
        "_fixed",
        "_holders",
        "_lazy",
        "_lengths",
        "_links",
        "_memory",
        "_places",
        "_reached",
        "_varying",
    )

    def __init__(
        self,
        reached: Iterable[Reached],
        tensors: Iterable[TensorLike],
        state: Collection[UOp],
        constants: Sequence[Constant] = (),
    ) -> None:
        """`reached` and `tensors` (all that exist) as they were before the capture, `state` the
        buffers from outside that the step uses.
        """
        self._constants = tuple(constants)
        self._fixed = [(c.holder, c.key, c.same) for c in constants if c.same is not None]
        self._varying = [c for c in constants if c.same is None]
        used = frozenset(state)
        self._reached: list[tuple[Reached, UOp]] = []
        self._lazy: list[Reached] = []
        self._memory: list[frozenset[UOp]] = []
        seen: set[UOp] = set()
        for entry in reached:
            node = entry.tensor.uop
            memory = memory_under(node)
            if memory:
                if memory & used:
                    self._reached.append((entry, node))
                    self._memory.append(memory)
                    seen |= memory
            elif entry.key != "grad" and _reads(node) & used:
                self._lazy.append(entry)
        self._holders = _holders_of(used - seen, tensors)
        places = [*(entry for entry, _ in self._reached), *self._lazy]
        lists = {id(e.holder): (e.path, e.holder) for e in places if isinstance(e.holder, list)}
        # a step over all weights of a list is another one when there are more or fewer
        self._lengths = [(path, held, len(held)) for path, held in lists.values()]
        self._links = _links_to(places)
        # the same once more, for a glance at each replay
        self._places: list[tuple[Any, object, TensorLike, UOp]] = [
            (e.holder, e.key, e.tensor, node) for e, node in self._reached
        ]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to watch."""
        return not (self._reached or self._lazy or self._holders or self._constants)

    def is_current(self) -> bool:
        """Whether all is as it was."""
        if self._constants and not self._has_same_constants():
            return False
        if not self._lazy and not self._holders:
            try:
                for holder, key, tensor, node in self._places:
                    if holder[key] is not tensor or tensor.uop is not node:
                        break
                else:
                    return self._moved_link() is None and all(
                        len(held) == count for _, held, count in self._lengths
                    )
            except (LookupError, AttributeError, TypeError, ValueError):
                return False
        return self.replaced() is None

    def _has_same_constants(self) -> bool:
        """Whether numbers and words are what they were, by a glance at most of them."""
        try:
            for holder, key, value in self._fixed:
                if holder[key] is not value:
                    break
            else:
                return all(constant.is_there() for constant in self._varying)
        except (LookupError, ValueError, StopIteration):
            return False
        return all(constant.is_there() for constant in self._constants)

    def _moved_link(self) -> str | None:
        """Where another object is now on the way to a Tensor, None when all are in place."""
        return next((link.path for link in self._links if not link.is_there()), None)

    def changed_constants(self) -> list[str]:
        """In words, which constants are others now."""
        return [str(constant) for constant in self._constants if not constant.is_there()]

    def replaced(self) -> str | None:
        """Where another Tensor is now, or one with other memory, or more or fewer of them; None
        when all is as it was.
        """
        moved = self._moved_link()
        if moved is not None:
            return moved
        for number, (entry, node) in enumerate(self._reached):
            if not entry.is_there():
                return entry.path
            now = entry.tensor.uop
            if now is not node and memory_under(now) != self._memory[number]:
                return entry.path
        for entry in self._lazy:
            if not entry.is_there():
                return entry.path
        for path, held, count in self._lengths:
            if len(held) != count:
                return path
        for holders in self._holders:
            if not any(_still_holds(reference, node) for reference, node in holders):
                return "a Tensor that is reached in another way"
        return None


def _links_to(places: Iterable[Reached]) -> list[Link]:
    """The objects on the way to Tensors, each once, that the captured call left in their places."""
    found: dict[int, Link] = {}
    for entry in places:
        link = entry.up
        while link is not None and id(link) not in found:
            found[id(link)] = link
            link = link.up
    return [link for link in found.values() if link.is_there()]


def moved_meanwhile(reached: Iterable[Reached], state: Collection[UOp]) -> str | None:
    """Which Tensor from outside, whose memory the step uses, the function itself has replaced."""
    used = frozenset(state)
    for entry in reached:
        memory = memory_under(entry.tensor.uop)
        if memory & used and not entry.is_there():
            try:
                now = entry.value()
            except (LookupError, AttributeError, TypeError, ValueError):
                continue
            if is_tensor(now) and memory_under(now.uop) != memory:
                return entry.path
    return None


def _reads(node: UOp) -> frozenset[UOp]:
    return frozenset(below for below in node.toposort() if below.op is Ops.BUFFER)


Holders = list[tuple["weakref.ref[TensorLike]", UOp]]


def _holders_of(buffers: Collection[UOp], tensors: Iterable[TensorLike]) -> list[Holders]:
    """For each buffer that no known place leads to, the Tensors that are it."""
    if not buffers:
        return []
    found: dict[UOp, Holders] = {}
    for tensor in tensors:
        for buffer in memory_under(tensor.uop):
            if buffer in buffers:
                found.setdefault(buffer, []).append((weakref.ref(tensor), buffer))
    return list(found.values())


def _still_holds(reference: weakref.ref[TensorLike], buffer: UOp) -> bool:
    tensor = reference()
    return tensor is not None and buffer in memory_under(tensor.uop)
