"""Numbers and words that a function reads from outside by name: `factor`, `self.factor`."""

from __future__ import annotations

import functools
import types
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tg_tensor.jit.bound import OfInstance
from tg_tensor.jit.containers import frozen, is_tensor
from tg_tensor.jit.watch import Cell, global_names

_KINDS = (int, float, bool, str, bytes, type(None))


class Setting(NamedTuple):
    """A constant in its place: `holder[key]`, and the value that it had."""

    path: str
    holder: Cell | Mapping[str, object]
    key: str | None
    value: Hashable

    def now(self) -> Hashable:
        """What is in its place now, None when nothing is."""
        try:
            return frozen(self.holder[self.key])  # type: ignore[index]
        except (LookupError, ValueError):
            return None

    def is_there(self) -> bool:
        """Whether it has its value still."""
        return self.now() == self.value

    def __str__(self) -> str:
        return f"{self.path} was {_shown(self.value)}, now it is {_shown(self.now())}"


class CalledFunction(NamedTuple):
    """A function in its place: `holder[key]`, with the code and the defaults that it had."""

    path: str
    holder: Cell | Mapping[str, object]
    key: str | None
    function: object
    content: tuple[object, ...]

    def is_there(self) -> bool:
        """Whether it is the same function still."""
        try:
            now = self.holder[self.key]  # type: ignore[index]
        except (LookupError, ValueError):
            return False
        same = zip(_content(now), self.content, strict=True)
        return now is self.function and all(new is old for new, old in same)

    def __str__(self) -> str:
        return f"{self.path} was another function, or had other defaults"


_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


def _content(function: object) -> tuple[object, ...]:
    return tuple(getattr(function, name, None) for name in ("__code__", "__defaults__"))


def settings_of(
    function: object, objects: Iterable[tuple[str, object]] = ()
) -> list[Setting | CalledFunction]:
    """The settings that the code of a function names itself, of `objects` it was given too, and
    the functions that it names.

    What it calls is not looked into.
    """
    found: dict[tuple[int, str | None], Setting | CalledFunction] = {}
    own, instances = _unwrapped(function)
    if own is None:
        return []
    names = global_names(own.__code__)
    for path, value in (*instances, *objects):
        _note_attributes(path, value, names, found)
    for path, holder, key, value in _named_values(own, names):
        place = id(holder.cell) if isinstance(holder, Cell) else id(holder)
        if isinstance(value, _KINDS):
            found[place, key] = Setting(path, holder, key, frozen(value))
        elif isinstance(value, _FUNCTIONS):
            found[place, key] = CalledFunction(path, holder, key, value, _content(value))
        else:
            _note_attributes(path, value, names, found)
    return list(found.values())


def _shown(value: Hashable) -> str:
    if not isinstance(value, tuple):
        return "gone"
    kind, content = value
    return repr(float.fromhex(content)) if kind is float else repr(content)


def _unwrapped(
    function: object,
) -> tuple[types.FunctionType | None, list[tuple[str, object]]]:
    """The function in Python, and what it is bound to."""
    instances: list[tuple[str, object]] = []
    while not isinstance(function, types.FunctionType):
        if isinstance(function, OfInstance):
            instances.append(("self", function.instance()))
            function = function.function
        elif isinstance(function, types.MethodType):
            instances.append(("self", function.__self__))
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        else:
            return None, []
    return function, instances


def _named_values(
    function: types.FunctionType, names: Sequence[str]
) -> Iterator[tuple[str, Cell | Mapping[str, object], str | None, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, Cell(cell), None, cell.cell_contents
        except ValueError:
            # a variable that has no value yet
            continue
    scope = function.__globals__
    for name in names:
        if name in scope:
            yield name, scope, name, scope[name]


def _note_attributes(
    path: str,
    owner: object,
    names: Sequence[str],
    found: dict[tuple[int, str | None], Setting | CalledFunction],
) -> None:
    values = getattr(owner, "__dict__", None)
    no_record = isinstance(owner, type | types.ModuleType | types.FunctionType) or is_tensor(owner)
    if no_record or not isinstance(values, dict):
        return
    for name in names:
        value = values.get(name, found)
        if isinstance(value, _KINDS):
            found[id(values), name] = Setting(f"{path}.{name}", values, name, frozen(value))
