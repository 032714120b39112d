"""Which function implements which operator from which opset version on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from typing import TypeVar

from tg_tensor import Tensor

from tg_onnx.errors import UnsupportedOperatorError
from tg_onnx.model import Node

Result = Tensor | tuple[Tensor, ...]
Implementation = Callable[..., Result]
F = TypeVar("F", bound=Implementation)


@dataclass(frozen=True, slots=True)
class Operator:
    """An implementation: positional tensors for inputs, keywords for attributes.

    Inputs whose position is in `host` are passed as NumPy arrays, since their values decide the
    shape of the result.
    """

    name: str
    since: int
    run: Implementation
    host: frozenset[int] = frozenset()

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
    name: str, since: int = 1, host: tuple[int, ...] = (), domain: str = ""
) -> Callable[[F], F]:
    """Register the decorated function for `name` from opset `since` on."""

    def register(function: F) -> F:
        versions = OPERATORS.setdefault((domain, name), [])
        versions.append(Operator(name, since, function, frozenset(host)))
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
