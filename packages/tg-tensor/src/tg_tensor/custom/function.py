"""Functions that are traced once and become part of the graphs of those who call them."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import cast, final

from tg_uop import Ops, UOp
from tg_uop.ir.args import CallArg, ParamArg

from tg_tensor.autograd.composites import rebuilt
from tg_tensor.custom.errors import CustomError
from tg_tensor.custom.trace import Trace, key_of, purge, trace_function
from tg_tensor.jit.containers import TensorLike, leaves, rebuild

MOST_TRACES = 64
"""Calls that differ to remember for one function; the one used least recently goes."""


@final
class Function:
    """A traced function: calls with alike arguments reuse the graph without running Python code.

    Tensors that it reaches by other ways than its arguments and what they hold (the weights of a
    layer) need `allow_implicit`. All that it reaches is looked up at each call. With `precompile`
    its results and arguments have memory of their own, so that the kernels inside are the same at
    every call, whatever stands around it; with `precompile_backward` that holds for gradients.
    """

    def __init__(
        self,
        fxn: Callable[..., object],
        *,
        precompile: bool = False,
        precompile_backward: bool = False,
        allow_implicit: bool = False,
        grad_fxn: Callable[..., object] | None = None,
    ) -> None:
        """Raises `CustomError` for what is no function."""
        if not callable(fxn):
            raise CustomError(
                function=repr(fxn),
                reason=f"{type(fxn).__name__} is no function",
                hint="use function(f) or @function",
            )
        self.fxn = fxn
        self.precompile = precompile
        self.precompile_backward = precompile_backward
        self.allow_implicit = allow_implicit
        self.grad_fxn = grad_fxn
        self._traces: OrderedDict[Hashable, Trace] = OrderedDict()
        functools.update_wrapper(self, fxn)

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., object]:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """The function's result, in terms of the arguments; what it writes to them is written.

        Raises `CustomError` when it uses a tensor that is no argument and `allow_implicit` is off,
        or asks for a value while it is traced.
        """
        found = leaves(args, kwargs)
        tensors = [tensor for _, tensor in found.tensors]
        key = key_of(tensors, found)
        trace = self._traces.get(key)
        if trace is not None and trace.fits():
            self._traces.move_to_end(key)
        else:
            trace = trace_function(self.fxn, self._name, args, kwargs, tensors)
            if not self.allow_implicit:
                trace.refuse_implicit(self._name)
            self._remember(key, trace)
        results = self._applied(trace, tensors, found.variables)
        return self._handed_out(trace, tensors, results)

    def _remember(self, key: Hashable, trace: Trace) -> None:
        self._traces.pop(key, None)
        if not trace.is_reusable:
            return
        purge(self._traces)
        while len(self._traces) >= MOST_TRACES:
            self._traces.popitem(last=False)
        self._traces[key] = trace

    def _applied(
        self, trace: Trace, tensors: Sequence[TensorLike], variables: Sequence[tuple[str, UOp]]
    ) -> list[UOp]:
        """The bodies with arguments in place of the stand-ins."""
        arguments = [self._argument(tensor.uop) for tensor in tensors]
        implicit = dict(zip(trace.implicit_params, trace.implicit_nodes(), strict=True))
        bound = trace.rebinding([*arguments, *(node for _, node in variables)])
        if self.grad_fxn is None:
            names = {**dict(zip(trace.params, arguments, strict=True)), **implicit, **bound}
            return [self._result(body) for body in rebuilt(trace.bodies, names)]
        bodies = tuple(rebuilt(trace.bodies, {**implicit, **bound}))
        arg = CallArg(self._name, self.grad_fxn, self.precompile)
        applied = UOp(Ops.FUNCTION, src=(UOp(Ops.TUPLE, src=bodies), *arguments), arg=arg)
        return [self._result(applied.gettuple(position)) for position in range(len(bodies))]

    def _argument(self, node: UOp) -> UOp:
        if self.precompile_backward:
            node = node.contiguous_backward()
        return node.contiguous() if self.precompile and node.dtype.itemsize else node

    def _result(self, node: UOp) -> UOp:
        if self.precompile_backward:
            node = node.contiguous_backward()
        return node.contiguous() if self.precompile else node

    def _handed_out(
        self, trace: Trace, tensors: Sequence[TensorLike], results: Sequence[UOp]
    ) -> object:
        if trace.kind is None:
            return trace.template
        make = trace.kind.from_uop
        for target, node in zip(trace.targets(tensors), results[trace.count :], strict=True):
            target.assign(make(node))  # type: ignore[attr-defined]
        fresh = iter(results[: trace.count])
        return rebuild(trace.template, lambda _: make(next(fresh)))

    @property
    def _name(self) -> str:
        return getattr(self.fxn, "__name__", "function")


def with_arguments(body: UOp, arguments: Sequence[UOp]) -> UOp:
    """An expression of stand-ins (see `Tensor.as_param`) with arguments in their places.

    Raises `CustomError` for a stand-in without an argument.
    """
    found: dict[UOp, UOp] = {}
    for node in body.toposort(_outside_of_kernels):
        if node.op is not Ops.PARAM or cast(ParamArg, node.arg).name is not None:
            continue
        slot = cast(ParamArg, node.arg).slot
        if slot >= len(arguments):
            raise CustomError(
                function="call",
                reason=f"the expression uses argument {slot}, {len(arguments)} were given",
            )
        found[node] = arguments[slot]
    return rebuilt([body], found)[0]


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
