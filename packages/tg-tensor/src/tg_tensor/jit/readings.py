"""Find the constants that a function reads from outside: what its code names, and what that calls.

Global and enclosing variables, attributes of the objects among them and of their classes, in the
function itself, in the functions and methods of users that it names, and in layers. Libraries are
not looked into.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tg_tensor.jit.bound import OfInstance
from tg_tensor.jit.containers import is_tensor
from tg_tensor.jit.settings import (
    CalledFunction,
    ClassPart,
    Place,
    Setting,
    code_of,
    content_of,
    unchanging,
)
from tg_tensor.jit.watch import Cell, global_names

MOST_VISITS = 1000
"""Functions and objects to look at: what lies behind more than this is not watched."""

MOST_LAYERS = 128
"""Objects in one list to look at."""

_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_LIBRARIES = frozenset(sys.stdlib_module_names) | {
    "numpy",
    "tqdm",
    "tg_uop",
    "tg_codegen",
    "tg_runtime",
    "tg_tensor",
    "tg_nn",
    "tg_onnx",
}

Reading = Setting | CalledFunction


def settings_of(
    function: object, objects: Iterable[tuple[str, object]] = ()
) -> list[Setting | CalledFunction]:
    """The settings that the code of a function names, of `objects` it was given too, and the
    functions that it names.
    """
    own, instances = _unwrapped(function)
    if own is None:
        return []
    walk = _Walk()
    walk.todo.append((own, [*instances, *objects]))
    walk.run()
    return list(walk.found.values())


class _Walk:
    """What is found, and what is still to be looked at."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, object], Reading] = {}
        self.todo: list[tuple[types.FunctionType, list[tuple[str, object]]]] = []
        self.seen: set[tuple[int, ...]] = set()
        # an id is that of one object only as long as the object lives
        self.kept: list[object] = []

    def run(self) -> None:
        while self.todo and len(self.seen) < MOST_VISITS:
            function, instances = self.todo.pop()
            key = (id(function.__code__), *(id(owner) for _, owner in instances))
            if key in self.seen:
                continue
            self.seen.add(key)
            self.kept.append((function, instances))
            names = global_names(function.__code__)
            for path, owner in instances:
                self._attributes(path, owner, names)
            for path, holder, name, value in _named_values(function, names):
                self._note(path, holder, name, value, names)

    def _note(
        self, path: str, holder: Place, key: str | None, value: object, names: Sequence[str]
    ) -> None:
        """A value that the code names, in its place."""
        place = (id(holder.cell) if isinstance(holder, Cell) else id(holder), key)
        if isinstance(holder, ClassPart):
            place = (id(holder.owner), key)
        content = content_of(value)
        if content is not None:
            self.found[place] = Setting(path, holder, key, content, unchanging(value))
        elif isinstance(value, _FUNCTIONS):
            self.found[place] = CalledFunction(path, holder, key, value, code_of(value))
            self._call(value, [])
        elif isinstance(value, types.MethodType):
            self._call(value.__func__, [(path, value.__self__)])
        elif isinstance(value, list | tuple):
            for number, member in enumerate(value[:MOST_LAYERS]):
                self._object(f"{path}[{number}]", member, names)
        else:
            self._object(path, value, names)

    def _object(self, path: str, owner: object, names: Sequence[str]) -> None:
        """An object that the code names: its attributes by name, and what calling it does."""
        key = (id(owner), id(names))
        if is_tensor(owner) or key in self.seen or len(self.seen) >= MOST_VISITS:
            return
        self.seen.add(key)
        self.kept.append((owner, names))
        self._attributes(path, owner, names)
        if not isinstance(owner, type | types.ModuleType):
            self._call(_from_class(owner, "__call__"), [(path, owner)])

    def _attributes(self, path: str, owner: object, names: Sequence[str]) -> None:
        values = getattr(owner, "__dict__", None)
        if values is None or is_tensor(owner) or isinstance(owner, types.FunctionType):
            return
        for name in names:
            if name in values:
                holder = ClassPart(owner) if isinstance(owner, type) else values
                self._note(f"{path}.{name}", holder, name, values[name], names)
            elif not isinstance(owner, types.ModuleType):
                self._class_attribute(path, owner, name, names)

    def _class_attribute(self, path: str, owner: object, name: str, names: Sequence[str]) -> None:
        value = _from_class(owner, name)
        if isinstance(value, property):
            self._call(value.fget, [(path, owner)])
        elif isinstance(value, types.FunctionType) and not isinstance(owner, type):
            self._call(value, [(path, owner)])
        elif isinstance(value, staticmethod | classmethod):
            self._call(value.__func__, [])
        elif value is not None and content_of(value) is not None:
            self._note(f"{path}.{name}", ClassPart(owner), name, value, names)

    def _call(self, function: object, instances: list[tuple[str, object]]) -> None:
        """Look at what is called later, if users wrote it or an object of theirs is bound to it."""
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        if isinstance(function, types.FunctionType):
            owners = {type(owner).__module__ for _, owner in instances}
            if not _is_library(function.__module__) or "tg_nn" in {_root(m) for m in owners}:
                self.todo.append((function, instances))


def _root(module: object) -> str:
    return str(module).partition(".")[0]


def _is_library(module: object) -> bool:
    return _root(module) in _LIBRARIES


def _from_class(owner: object, name: str) -> Any:
    """What the class of an object, or a class itself, has under a name, without calling it."""
    kind = owner if isinstance(owner, type) else type(owner)
    if _root(kind.__module__) in _LIBRARIES - {"tg_nn"}:
        return None
    return next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), None)


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
) -> Iterator[tuple[str, Place, str | None, object]]:
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
