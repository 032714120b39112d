"""Kernels that users write in kernel form, as part of the lazy graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from tg_uop import GroupOp, KernelInfo, Ops, UOp

from tg_tensor.custom.errors import CustomError
from tg_tensor.jit.containers import TensorLike
from tg_tensor.multi.shard import axis_of, parts_of

T = TypeVar("T", bound=TensorLike)
KernelFunction = Callable[..., UOp]
GradFunction = Callable[..., Sequence["UOp | None"]]


def custom_kernel(
    *tensors: T, fxn: KernelFunction, grad_fxn: GradFunction | None = None
) -> list[T]:
    """The tensors after one run of a kernel on them.

    `fxn` gets a memory node (PARAM) for each tensor, to be indexed with one index an axis, and
    returns the kernel: a SINK over closed loops of stores. `grad_fxn(gradient, call)` gives the
    gradient of each argument, None where there is none.
    Raises `CustomError` when `fxn` returns no kernel, or there are no tensors.
    """
    if not tensors:
        raise CustomError(function=_name(fxn), reason="a kernel needs a tensor to write to")
    nodes = tuple(in_own_memory(tensor.uop) for tensor in tensors)
    if any(isinstance(node._device, tuple) for node in nodes):
        results = run_on_shards(nodes, fxn, grad_fxn)
    else:
        results = run_on(nodes, fxn, grad_fxn)
    return [type(t).from_uop(result) for t, result in zip(tensors, results, strict=True)]


def run_on(nodes: Sequence[UOp], fxn: KernelFunction, grad_fxn: GradFunction | None) -> list[UOp]:
    """The nodes after a run of the kernel on them."""
    kernel = built_kernel(nodes, fxn)
    call = kernel.call(*nodes, grad_fxn=grad_fxn, name=_name(fxn))
    return [node.after(call) for node in nodes]


def run_on_shards(
    nodes: Sequence[UOp], fxn: KernelFunction, grad_fxn: GradFunction | None
) -> list[UOp]:
    """The same on each device for itself: the kernel sees the shards that are there.

    Raises `CustomError` when the nodes are not all on the same devices.
    """
    places = {node._device for node in nodes}
    if len(places) > 1:
        raise CustomError(
            function=_name(fxn),
            reason=f"its arguments are on {' and '.join(map(str, places))}",
            hint="shard all of them over the same devices",
        )
    rows = zip(*(parts_of(node) for node in nodes), strict=True)
    done = [run_on(row, fxn, grad_fxn) for row in rows]
    shards = zip(*done, strict=True)
    return [
        first.multi(*others, axis=axis_of(node))
        for node, (first, *others) in zip(nodes, shards, strict=True)
    ]


def built_kernel(nodes: Sequence[UOp], fxn: KernelFunction) -> UOp:
    """The SINK that `fxn` makes for memory like these nodes."""
    places = []
    for slot, node in enumerate(nodes):
        shape = node.shape
        if not all(isinstance(dim, int) for dim in shape):
            raise CustomError(
                function=_name(fxn),
                reason=f"argument {slot} has the shape {shape}, which depends on a variable",
            )
        places.append(UOp.placeholder(cast(tuple[int, ...], shape), node.dtype, slot))
    kernel = fxn(*places)
    if not isinstance(kernel, UOp) or kernel.op is not Ops.SINK:
        raise CustomError(
            function=_name(fxn),
            reason=f"it returned {kernel!r}",
            hint="return store.end(*ranges).sink(arg=KernelInfo(name=...))",
        )
    return kernel if isinstance(kernel.arg, KernelInfo) else kernel.replace(arg=KernelInfo())


def in_own_memory(node: UOp) -> UOp:
    """The node where it is memory that a kernel can write to; else a value in memory of its own."""
    base = node
    while base.op in (Ops.RESHAPE, Ops.AFTER, Ops.MULTI):
        base = base.src[0]
    if base.op in GroupOp.Movement or base.op not in (Ops.BUFFER, Ops.CONTIGUOUS):
        return node.contiguous()
    return node


def _name(fxn: object) -> str:
    return getattr(fxn, "__name__", "custom kernel")
