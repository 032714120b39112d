"""What a rule's function takes, read from its code object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import cast

VARARGS_KEYWORDS = 0x08  # CO_VARKEYWORDS of CPython's code flags


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters of a rule's function, `ctx` apart.

    `positional` in order, `keyword_only`, and those of both that have no default as `required`.
    `takes_any` when it has a ** parameter or cannot be read: then it gets every capture by name.
    """

    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    required: frozenset[str]
    takes_any: bool
    takes_ctx: bool
    location: str

    def accepted(self, captured: frozenset[str]) -> tuple[str, ...]:
        """The captures to hand over, in the order of the parameters."""
        if self.takes_any:
            return tuple(sorted(captured))
        return tuple(n for n in self.positional + self.keyword_only if n in captured)


def read_signature(fn: Callable[..., object]) -> Signature:
    """The signature of a function, method, partial, or object with `__call__`."""
    bound: set[str] = set()
    skip = 0
    while isinstance(fn, partial | MethodType):
        if isinstance(fn, partial):
            bound |= set(fn.keywords)
            skip += len(fn.args)
            fn = fn.func
        else:
            skip += 1
            fn = fn.__func__
    if not isinstance(fn, FunctionType):
        fn = type(fn).__call__
        skip += 1
    code = getattr(fn, "__code__", None)
    if code is None:
        return Signature((), (), frozenset(), True, False, repr(fn))
    return _from_code(cast(FunctionType, fn), code, skip, bound)


def _from_code(fn: FunctionType, code: CodeType, skip: int, bound: set[str]) -> Signature:
    names = code.co_varnames
    positional = names[skip : code.co_argcount]
    keyword_only = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults = len(fn.__defaults__ or ())
    optional = set(names[code.co_argcount - defaults : code.co_argcount])
    optional |= set(fn.__kwdefaults__ or ()) | bound | {"ctx"}
    every = positional + keyword_only
    return Signature(
        positional=tuple(n for n in positional if n != "ctx"),
        keyword_only=tuple(n for n in keyword_only if n != "ctx"),
        required=frozenset(every) - optional,
        takes_any=bool(code.co_flags & VARARGS_KEYWORDS),
        takes_ctx="ctx" in every,
        location=f"{code.co_filename}:{code.co_firstlineno}",
    )
