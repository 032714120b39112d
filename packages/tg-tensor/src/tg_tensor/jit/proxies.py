"""Stand in for the arguments of a function while it is captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast, final

from tg_uop import Ops, UOp

from tg_tensor.jit.containers import TensorLike, rebuild


@final
class Proxies:
    """Tensors that stand for the arguments while a function is captured.

    The function may reach an argument by another way as well (a weight that is passed too): that
    Tensor keeps its node and is state, only the proxy is the argument.
    """

    def __init__(
        self,
        tensors: Sequence[TensorLike],
        nodes: Sequence[UOp],
    ) -> None:
        """`nodes` are what the arguments are in the step."""
        self._proxy_of: dict[int, TensorLike] = {}
        self._original_of: dict[int, TensorLike] = {}
        self._before: list[tuple[TensorLike, TensorLike, UOp]] = []
        for tensor, node in zip(tensors, nodes, strict=True):
            if id(tensor) in self._proxy_of:
                continue
            proxy = type(tensor).from_uop(node)
            if hasattr(tensor, "requires_grad"):
                proxy.requires_grad = tensor.requires_grad  # type: ignore[attr-defined]
            self._proxy_of[id(tensor)] = proxy
            self._original_of[id(proxy)] = tensor
            self._before.append((tensor, proxy, node))

    @property
    def tensors(self) -> list[TensorLike]:
        """The proxies."""
        return list(self._proxy_of.values())

    def arguments(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[list[object], dict[str, object]]:
        """The arguments with proxies in place of Tensors."""
        own_args = [rebuild(value, self._proxy) for value in args]
        return own_args, {name: rebuild(value, self._proxy) for name, value in kwargs.items()}

    def _proxy(self, tensor: TensorLike) -> TensorLike:
        return self._proxy_of[id(tensor)]

    def original(self, tensor: TensorLike) -> TensorLike:
        """The argument that a proxy stands for; any other Tensor itself."""
        return self._original_of.get(id(tensor), tensor)

    def hand_back(self, back: Mapping[UOp, UOp]) -> None:
        """Let what the function did to proxies happen to the arguments."""
        for tensor, proxy, node in self._before:
            if proxy.uop is not node:
                tensor.uop = proxy.uop.substitute(back)


class Placeholder:
    """Stands in a captured result for a tensor."""

    uop = UOp(Ops.NOOP)

    @classmethod
    def from_uop(cls, y: UOp, **kwargs: object) -> Placeholder:
        """A stand-in for any node."""
        return cls()

    @classmethod
    def of(cls, tensor: TensorLike) -> TensorLike:
        """A stand-in for a tensor."""
        return cast(TensorLike, cls())
