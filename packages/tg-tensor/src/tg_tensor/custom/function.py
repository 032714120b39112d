"""Functions that are traced once and become part of the graphs of those who call them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import cast, final

from tg_uop import Ops, UOp
from tg_uop.ir.args import CallArg, ParamArg

from tg_tensor.custom.errors import CustomError
from tg_tensor.jit.containers import Found, TensorLike, leaves, leaves_of, rebuild

Trace = tuple[tuple[UOp, ...], object, "type[TensorLike] | None"]
"""The bodies in terms of PARAMs, the result with stand-ins for tensors, the class of tensors."""


@final
class Function:
    """A traced function: calls with alike arguments reuse the graph without running Python code."""

    def __init__(
        self,
        fxn: Callable[..., object],
        *,
        precompile: bool = False,
        precompile_backward: bool = False,
        allow_implicit: bool = False,
        grad_fxn: Callable[..., object] | None = None,
    ) -> None:
        self.fxn = fxn
        self.precompile = precompile
        self.precompile_backward = precompile_backward
        self.allow_implicit = allow_implicit
        self.grad_fxn = grad_fxn
        self._traces: dict[Hashable, Trace] = {}
        functools.update_wrapper(self, fxn)

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., object]:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """The function's result, in terms of the arguments.

        Raises `CustomError` when it uses a tensor that is no argument and `allow_implicit` is off.
        """
        found = leaves(args, kwargs)
        tensors = [tensor for _, tensor in found.tensors]
        if not tensors:
            return self.fxn(*args, **kwargs)
        key = _key(tensors, found)
        trace = self._traces.get(key)
        if trace is None:
            trace = self._traced(args, kwargs, tensors)
            self._traces[key] = trace
        bodies, template, kind = trace
        results = iter(self._applied(bodies, [tensor.uop for tensor in tensors]))
        if kind is None:
            return template
        make = kind.from_uop
        return rebuild(template, lambda _: make(next(results)))

    def _traced(
        self, args: Sequence[object], kwargs: Mapping[str, object], tensors: Sequence[TensorLike]
    ) -> Trace:
        params = [
            UOp.param(slot, t.uop.dtype, t.uop.shape, t.uop._device)  # type: ignore[arg-type]
            for slot, t in enumerate(tensors)
        ]
        before = [tensor.uop for tensor in tensors]
        for tensor, param in zip(tensors, params, strict=True):
            tensor.uop = param
        try:
            result = self.fxn(*args, **kwargs)
            produced = [tensor for _, tensor in leaves_of(result).tensors]
            bodies = tuple(tensor.uop for tensor in produced)
        finally:
            for tensor, node in zip(tensors, before, strict=True):
                tensor.uop = node
        if not self.allow_implicit:
            self._check_closed(bodies)
        kind = type(produced[0]) if produced else None
        return bodies, rebuild(result, _Stand.of), kind

    def _check_closed(self, bodies: Sequence[UOp]) -> None:
        for body in bodies:
            for node in body.toposort():
                if node.op is Ops.BUFFER:
                    raise CustomError(
                        function=self._name,
                        reason=f"it reads a tensor of shape {node.shape} that is no argument",
                        hint="pass it as an argument, or allow it with allow_implicit=True",
                    )

    def _applied(self, bodies: Sequence[UOp], arguments: Sequence[UOp]) -> list[UOp]:
        if self.grad_fxn is None:
            return [with_arguments(body, arguments) for body in bodies]
        results = UOp(Ops.TUPLE, src=tuple(bodies))
        arg = CallArg(self._name, self.grad_fxn, self.precompile)
        applied = UOp(Ops.FUNCTION, src=(results, *arguments), arg=arg)
        return [applied.gettuple(position) for position in range(len(bodies))]

    @property
    def _name(self) -> str:
        return getattr(self.fxn, "__name__", "function")


def with_arguments(body: UOp, arguments: Sequence[UOp]) -> UOp:
    """A body with its PARAMs replaced by arguments."""
    found = {
        node: arguments[cast(ParamArg, node.arg).slot]
        for node in body.toposort(_outside_of_kernels)
        if node.op is Ops.PARAM
    }
    return body.substitute(found)


def _outside_of_kernels(node: UOp) -> bool:
    return node.op not in (Ops.SINK, Ops.PROGRAM)


def function(
    fxn: Callable[..., object] | None = None,
    *,
    precompile: bool = False,
    precompile_backward: bool = False,
    allow_implicit: bool = False,
    grad_fxn: Callable[..., object] | None = None,
) -> Function | Callable[[Callable[..., object]], Function]:
    """Make a function of Tensors into one that is traced once; with and without parentheses."""
    make = functools.partial(
        Function,
        precompile=precompile,
        precompile_backward=precompile_backward,
        allow_implicit=allow_implicit,
        grad_fxn=grad_fxn,
    )
    return make if fxn is None else make(fxn)


class _Stand:
    """Stands in a result for a tensor."""

    uop = UOp(Ops.NOOP)

    @classmethod
    def from_uop(cls, y: UOp, **kwargs: object) -> _Stand:
        """A stand-in for any node."""
        return cls()

    @classmethod
    def of(cls, tensor: TensorLike) -> TensorLike:
        """A stand-in for a tensor."""
        return cast(TensorLike, cls())


def _key(tensors: Sequence[TensorLike], found: Found) -> Hashable:
    shapes = tuple((t.uop.shape, t.uop.dtype, t.uop._device) for t in tensors)
    same: dict[int, int] = {}
    aliases = tuple(same.setdefault(id(t), len(same)) for t in tensors)
    constants = tuple(_hashable(value) for _, value in found.constants)
    return shapes, aliases, constants, tuple(variable for _, variable in found.variables)


def _hashable(value: object) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    return (type(value), value)
