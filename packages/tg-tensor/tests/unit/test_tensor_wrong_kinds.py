"""Every argument of every method by a value of a wrong kind: taken, or refused by a named error."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable

import pytest
from tg_tensor import Tensor
from tg_uop.errors import TgError

# they run what they are given, or change what other tests use
LEFT_OUT = {
    "alu",
    "call",
    "checkpoint",
    "custom_kernel",
    "from_blob",
    "from_url",
    "manual_seed",
    "train",
    "ufix",
}

WRONG = ["a", object(), (), Tensor([1.0, 2.0, 3.0, 4.0, 5.0])]


def methods() -> list[str]:
    """The public methods of Tensor."""
    found = [name for name in dir(Tensor) if not name.startswith("_") and name not in LEFT_OUT]
    return [name for name in found if callable(getattr(Tensor, name))]


def fitting(kind: object) -> object:
    """A value of a kind that a method requires."""
    text = str(kind)
    if "Self" in text or "Mixin" in text:
        return Tensor([[0.25, 0.5, 0.75], [0.5, 0.25, 1.0]])
    if "bool" in text:
        return False
    if "int" in text or "Sizes" in text:
        return 1
    return 0.5 if "float" in text else "mean"


def calls(name: str) -> list[tuple[str, Callable[[], object]]]:
    """The method with each of its arguments wrong in turn, the others as required."""
    static = inspect.getattr_static(Tensor, name)
    is_bound = isinstance(static, classmethod | staticmethod)
    function = getattr(Tensor, name)
    kinds = typing.get_type_hints(inspect.unwrap(static.__func__ if is_bound else static))
    parameters = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in ("self", "cls") and parameter.kind is not parameter.VAR_KEYWORD
    ]
    made = []
    for wrong in parameters:
        for value in WRONG:
            given = {
                p.name: fitting(kinds.get(p.name))
                for p in parameters
                if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
            }
            if wrong.kind is wrong.VAR_POSITIONAL:
                line = [*given.values(), value]
                given = {}
            else:
                line, given[wrong.name] = [], value
            if not is_bound:
                line.insert(0, Tensor([[0.25, 0.5, 0.75], [0.5, 0.25, 1.0]]))
            made.append((f"{name}({wrong.name}={value!r})", bind(function, line, given)))
    return made


def bind(
    function: Callable[..., object], line: list[object], given: dict[str, object]
) -> Callable[[], object]:
    return lambda: function(*line, **given)


@pytest.mark.parametrize("first", "abcdefghijklmnopqrstuvwxyz")
def test_a_value_of_a_wrong_kind(first: str) -> None:
    for name in methods():
        if not name.startswith(first):
            continue
        for text, call in calls(name):
            raised = raised_by(call)
            assert raised is None or isinstance(raised, TgError), f"{text}: {raised!r}"
            assert raised is None or raised.location is not None, text


def raised_by(call: Callable[[], object]) -> Exception | None:
    """The error that a call raises."""
    try:
        call()
    except Exception as error:
        return error
    return None
