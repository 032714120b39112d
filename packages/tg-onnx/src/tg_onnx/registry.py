"""Which function implements which operator from which opset version on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from inspect import Parameter, signature
from typing import TypeAlias, TypeVar

from tg_tensor import Tensor

from tg_onnx.errors import UnsupportedOperatorError
from tg_onnx.model import Node
from tg_onnx.proto import Array

Map: TypeAlias = "dict[object, object]"
Value: TypeAlias = "Tensor | Array | Map | list[Value] | None"
Result: TypeAlias = "Value | tuple[Value, ...]"
Implementation = Callable[..., Result]
F = TypeVar("F", bound=Implementation)


class Takes(Enum):
    """What an implementation gets for its inputs."""

    TENSORS = "tensors"
    ARRAYS = "arrays"
    VALUES = "values"


@dataclass(frozen=True, slots=True)
class Operator:
    """An implementation: positional tensors for inputs, keywords for attributes.

    Inputs whose position is in `host` are passed as NumPy arrays, since their values decide the
    shape of the result. Those of an operator that `reads_data` are no shapes but data, other ones
    at each call: it runs between two captured steps. What takes arrays does so too; what takes
    values gets sequences and maps, tensors and arrays as they are.
    """

    name: str
    since: int
    run: Implementation
    host: frozenset[int] = frozenset()
    takes: Takes = Takes.TENSORS
    reads_data: bool = False

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that it takes."""
        return keywords_of(self.run) - {"n_outputs"}


@cache
def keywords_of(run: Implementation) -> frozenset[str]:
    """What an implementation takes by keyword: its attributes, and `n_outputs` if it asks."""
    parameters = signature(run).parameters.values()
    return frozenset(p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY)


OPERATORS: dict[tuple[str, str], list[Operator]] = {}


def operator(
    name: str,
    since: int = 1,
    host: tuple[int, ...] = (),
    domain: str = "",
    reads_data: bool = False,
) -> Callable[[F], F]:
    """Register the decorated function on tensors for `name` from opset `since` on."""
    return _register(domain, name, since, frozenset(host), Takes.TENSORS, reads_data)


def host_operator(name: str, since: int = 1, domain: str = "") -> Callable[[F], F]:
    """Register the decorated function on NumPy arrays."""
    return _register(domain, name, since, frozenset(), Takes.ARRAYS, True)


def value_operator(name: str, since: int = 1, host: tuple[int, ...] = ()) -> Callable[[F], F]:
    """Register the decorated function on values of any kind, which it hands on as they are."""
    return _register("", name, since, frozenset(host), Takes.VALUES, False)


def _register(
    domain: str, name: str, since: int, host: frozenset[int], takes: Takes, reads_data: bool
) -> Callable[[F], F]:
    def register(function: F) -> F:
        versions = OPERATORS.setdefault((domain, name), [])
        versions.append(Operator(name, since, function, host, takes, reads_data))
        versions.sort(key=lambda version: version.since)
        return function

    return register


def find_operator(node: Node) -> Operator:
    """The newest implementation that the node's opset admits.

    Raises `UnsupportedOperatorError` naming operator, domain, opset and node.
    """
    versions = OPERATORS.get((node.domain, node.operator), [])
    fitting = [version for version in versions if version.since <= node.opset]
    if not fitting:
        reason = f"there is one from opset {versions[0].since} on" if versions else ""
        raise UnsupportedOperatorError(
            operator=node.operator,
            domain=node.domain,
            opset=node.opset,
            node=node.name,
            reason=reason,
        )
    return fitting[-1]
