"""Say which argument of a call is wrong, by the signature of what was called.

A right call is not looked at: only when one fails with an error of Python's own are its arguments
held against the signature. The first that is of another kind than its annotation says is named,
with what was given and what is expected. Where all fit, the error goes on as it is.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeVar

from tg_uop.errors import (
    ArgumentError,
    ArgumentTypeError,
    OperandError,
    SignatureError,
    TgError,
)
from tg_uop.suggest import closest

F = TypeVar("F", bound=Callable[..., object])
C = TypeVar("C", bound=type)

# what one library calls `axis` another calls `dim`; a method that has one of them takes all
SYNONYMS = (("axis", "dim", "axes", "dims"), ("keepdim", "keepdims"))

# what Python raises where a value is not of the kind that the code expects
_RAW = (TypeError, AttributeError, ValueError, ArithmeticError, LookupError, AssertionError)

_LARGEST = 1 << 63
_SHOWN = 60  # characters of a value in a message


def names_bad_arguments(function: F) -> F:
    """The function, whose failures name the argument that is of a wrong kind.

    It also takes the synonyms of its parameters' names (see `SYNONYMS`). Raises `OperandError` for
    what should be a Tensor, `ArgumentTypeError` for what should be something else,
    `SignatureError` where the arguments do not fit the parameters.
    """
    return typing.cast(F, _named(function, function.__name__, None, ()))


def methods_name_bad_arguments(
    *, others: Mapping[str, Sequence[str]] = MappingProxyType({}), inner: Sequence[str] = ()
) -> Callable[[C], C]:
    """For a class, all of whose public methods become as `names_bad_arguments` makes them.

    So do `__init__` and `__call__`, whose errors bear the name of the class. `others` are names
    that mean something else to a method than its parameters, `inner` the methods that users do not
    call.
    """
    return functools.partial(_name_bad_arguments, others=others, inner=inner)


def _name_bad_arguments(
    owner: C, *, others: Mapping[str, Sequence[str]], inner: Sequence[str]
) -> C:
    attributes: dict[str, object] = {}
    for above in reversed(owner.__mro__):
        attributes |= vars(above)
    for name, found in attributes.items():
        own = name in ("__init__", "__call__")
        if name in inner or (name.startswith("_") and not own):
            continue
        function, kind = found, None
        if isinstance(found, classmethod | staticmethod):
            function, kind = found.__func__, type(found)
        if not isinstance(function, types.FunctionType):
            continue
        # a class above has made its own, whose errors bear its name
        original: Callable[..., object] = getattr(function, "names_arguments_of", function)
        named = _named(original, owner.__name__ if own else name, owner, others.get(name, ()))
        named.__qualname__ = f"{owner.__qualname__}.{name}"
        named.__module__ = owner.__module__
        setattr(owner, name, kind(named) if kind else named)
    return owner


def _named(
    function: Callable[..., object], name: str, owner: type | None, strange: Sequence[str]
) -> Callable[..., object]:
    others = _other_names(function)
    for other in strange:
        del others[other]

    @functools.wraps(function)
    def named(*args: object, **kwargs: object) -> object:
        if kwargs and not kwargs.keys().isdisjoint(others):
            kwargs = _renamed(name, others, kwargs)
        try:
            return function(*args, **kwargs)
        except _RAW as error:
            refusal = _refusal(function, name, owner, args, kwargs, error)
            if refusal is None:
                raise
            raise refusal from None

    named.names_arguments_of = function  # type: ignore[attr-defined]
    return named


def _other_names(function: Callable[..., object]) -> dict[str, str]:
    """Each synonym of a parameter's name, with that name."""
    code = inspect.unwrap(function).__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found: dict[str, str] = {}
    for names in SYNONYMS:
        present = [name for name in names if name in own]
        if len(present) == 1:
            found |= {name: present[0] for name in names if name != present[0]}
    return found


def _renamed(name: str, others: dict[str, str], kwargs: dict[str, object]) -> dict[str, object]:
    renamed: dict[str, object] = {}
    for given, value in kwargs.items():
        own = others.get(given, given)
        if own in renamed:
            both = [key for key in kwargs if others.get(key, key) == own]
            reason = f"got both {both[0]!r} and {both[1]!r}, which are the same argument"
            raise SignatureError(call=name, reason=reason)
        renamed[own] = value
    return renamed


def _refusal(
    function: Callable[..., object],
    name: str,
    owner: type | None,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    error: Exception,
) -> TgError | None:
    """The error that names the wrong argument of a call which failed, if there is one."""
    known = isinstance(error, TgError)
    if known and not isinstance(error, ArgumentTypeError | SignatureError):
        return None
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as misfit:
        return _signature_error(name, signature, kwargs, str(misfit))
    hints = _hints(inspect.unwrap(function))
    subject = bound.arguments.get("self", owner)
    if owner is not None and subject is not owner and not isinstance(subject, owner):
        # a method as a function of the class, on something else
        return _kind_error(name, "what it is called on", subject, typing.Self, owner)
    name += _subject(bound)
    for parameter, value in _each(signature, bound):
        found = _misfit(value, hints.get(parameter.partition("[")[0], object), owner, parameter)
        if found is not None:
            return _kind_error(name, *found, owner)
        if isinstance(error, ZeroDivisionError) and isinstance(value, int | float) and value == 0:
            return ArgumentError(op=name, argument=parameter, given=value, expected="other than 0")
        too_large = isinstance(value, int) and not -_LARGEST <= value < _LARGEST
        if too_large and isinstance(error, OverflowError | ValueError):
            expected = "a number of 64 bits or less"
            return ArgumentError(op=name, argument=parameter, given=value, expected=expected)
    if isinstance(error, ArgumentTypeError):
        _name_operand(error, name, _each(signature, bound))
    return None


def _hints(function: Callable[..., object]) -> dict[str, object]:
    """The annotations of the parameters that can be evaluated."""
    found: dict[str, object] = {}
    names = typing.cast(types.FunctionType, function).__globals__
    for name, annotation in function.__annotations__.items():
        one = types.SimpleNamespace(__annotations__={name: annotation})
        with contextlib.suppress(NameError, TypeError):
            found |= {} if name == "return" else typing.get_type_hints(one, names)
    return found


def _subject(bound: inspect.BoundArguments) -> str:
    """What a method was called on, where that has a shape."""
    subject = bound.arguments.get("self")
    if subject is None or not hasattr(subject, "shape") or not hasattr(subject, "dtype"):
        return ""
    return f" on shape {subject.shape} of {subject.dtype}"


def _each(signature: inspect.Signature, bound: inspect.BoundArguments) -> list[tuple[str, object]]:
    """The arguments, each of `*args` by itself."""
    found: list[tuple[str, object]] = []
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found += [(f"{name}[{place}]", part) for place, part in enumerate(value)]
        elif kind is not inspect.Parameter.VAR_KEYWORD and name not in ("self", "cls"):
            found.append((name, value))
    return found


def _name_operand(error: ArgumentTypeError, name: str, arguments: list[tuple[str, object]]) -> None:
    """Put the method that a user called and its argument into the error of an inner one."""
    for parameter, value in arguments:
        if shown(value) == error.given:
            error.call, error.argument = name, parameter


def _signature_error(
    name: str, signature: inspect.Signature, kwargs: Mapping[str, object], reason: str
) -> SignatureError:
    names = [p for p in signature.parameters if p not in ("self", "cls")]
    unknown = [key for key in kwargs if key not in names]
    hint = f"its parameters are {', '.join(names)}" if names else "it takes no arguments"
    close = _closest(unknown[0], names) if unknown else ""
    if close:
        hint = f"did you mean {close!r}? {hint}"
    reason = reason.replace("argument: 'self'", "argument: what it is called on")
    return SignatureError(call=name, reason=reason, hint=hint)


def _closest(given: str, names: Sequence[str]) -> str:
    """The name that was meant, or an empty text."""
    for group in SYNONYMS:
        if given in group:
            return next((name for name in group if name in names), "")
    return closest(given, names)


# *** kinds ***


def _misfit(
    value: object, kind: object, owner: type | None, where: str
) -> tuple[str, object, object] | None:
    """What of `value` is not of its kind: where, the part, its kind. None where all of it fits."""
    if _fits(value, kind, owner):
        return None
    is_choice = typing.get_origin(kind) in (types.UnionType, typing.Union)
    kinds = typing.get_args(kind) if is_choice else (kind,)
    elements = [element for k in kinds if (element := _element_kind(k)) is not None]
    if len(elements) == 1 and isinstance(value, list | tuple):
        for place, part in enumerate(value):
            if not _fits(part, elements[0], owner):
                return f"{where}[{place}]", part, elements[0]
    return where, value, kind


def _element_kind(kind: object) -> object | None:
    """Of what kind the elements are, where a value of `kind` is a sequence."""
    if typing.get_origin(kind) in (Sequence, list) and typing.get_args(kind):
        return typing.cast(object, typing.get_args(kind)[0])
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is tuple and len(parts) == 2 and parts[1] is Ellipsis:
        return typing.cast(object, parts[0])
    return None


def _fits(value: object, kind: object, owner: type | None) -> bool:
    """Whether a value is of the kind that an annotation says; True where it says nothing."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is None or kind is types.NoneType:
        return value is None
    if kind is typing.Self:
        return owner is None or isinstance(value, owner)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, part, owner) for part in parts)
    if origin is Literal:
        return value in parts
    if origin in (Sequence, list, tuple):
        return _fits_sequence(value, kind, parts, owner)
    if origin is not None and isinstance(origin, type):
        return isinstance(value, origin)
    test = _TESTS.get(kind) if isinstance(kind, type) else None
    if test is not None:
        return test(value)
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        # what has to have some methods is not known by its class
        return True
    return isinstance(value, kind)


def _fits_sequence(
    value: object, kind: object, parts: tuple[object, ...], owner: type | None
) -> bool:
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
        return False
    element = _element_kind(kind)
    if not isinstance(value, list | tuple):
        # of what has a length but is no list, such as an array, the elements are numbers
        is_line = isinstance(value, Sequence) or hasattr(value, "__iter__")
        return is_line and (element is None or _fits(1, element, owner))
    if element is not None:
        return all(_fits(part, element, owner) for part in value)
    return len(value) == len(parts) and all(
        _fits(part, own, owner) for part, own in zip(value, parts, strict=True)
    )


def _is_whole(value: object) -> bool:
    # a symbolic number has bounds
    return hasattr(value, "__index__") or hasattr(value, "vmin")


def _is_number(value: object) -> bool:
    return hasattr(value, "__float__") or _is_whole(value)


_TESTS: dict[type, Callable[[object], bool]] = {
    object: lambda value: True,
    bool: lambda value: hasattr(value, "__bool__"),
    int: _is_whole,
    float: _is_number,
}

_WORDS: dict[object, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    bytes: "bytes",
    Mapping: "a dict",
    types.NoneType: "None",
}


def _is_above(kind: object, owner: type) -> bool:
    """Whether a kind is a class that the owner of a method is made of."""
    return isinstance(kind, type) and kind in owner.__mro__ and kind is not object


def words_of_kind(kind: object, owner: type | None = None) -> str:
    """A kind in words, as messages say it."""
    parts = typing.get_args(kind)
    if owner is not None and (kind is typing.Self or _is_above(kind, owner)):
        return f"a {owner.__name__}"
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        words = [words_of_kind(part, owner) for part in parts]
        distinct = list(dict.fromkeys(words))
        if "a number" in distinct:
            distinct = [word for word in distinct if word != "a whole number"]
        # what is long stands last
        *others, last = sorted(distinct, key=lambda text: text.startswith("a list"))
        return f"{', '.join(others)} or {last}" if others else last
    element = _element_kind(kind)
    if element is not None:
        return f"a list of which each is {words_of_kind(element, owner)}"
    if typing.get_origin(kind) is tuple:
        return f"{len(parts)} values: {', '.join(words_of_kind(p, owner) for p in parts)}"
    if typing.get_origin(kind) is Literal:
        return f"one of {', '.join(map(repr, parts))}"
    origin = typing.get_origin(kind) or kind
    if origin in _WORDS:
        return _WORDS[origin]
    if origin is Callable or getattr(origin, "__name__", "") == "Callable":
        return "a function"
    name = str(getattr(origin, "__name__", origin))
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def shown(value: object) -> str:
    """A value in a message: short, and never one that has to be computed."""
    kind = type(value).__name__
    if value is None or isinstance(value, bool):
        return repr(value)
    shape = getattr(value, "_shape" if hasattr(value, "vmin") else "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        return f"a {kind} of shape {shape}"
    text = repr(value)
    short = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
    return f"{short} (of type {kind})"


def _kind_error(
    name: str, where: str, value: object, kind: object, owner: type | None
) -> ArgumentTypeError:
    expected = words_of_kind(kind, owner)
    given = shown(value)
    if "a Tensor" not in expected:
        return ArgumentTypeError(call=name, argument=where, given=given, expected=expected)
    is_data = isinstance(value, int | float | list | tuple) or hasattr(value, "__array__")
    hint = "Tensor(...) makes one of it" if is_data else ""
    return OperandError(call=name, argument=where, given=given, expected=expected, hint=hint)
