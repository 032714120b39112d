"""Kernels that users write in kernel form, as part of the lazy graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from tg_uop import GroupOp, KernelInfo, Ops, UOp
from tg_uop.ir.args import ParamArg

from tg_tensor.custom.errors import CustomError
from tg_tensor.jit.containers import TensorLike
from tg_tensor.multi.shard import axis_of, parts_of
from tg_tensor.ops.company import is_number, moved
from tg_tensor.ops.views import in_memory
from tg_tensor.schedule.hazards import written_slots

KernelFunction = Callable[..., UOp]
GradFunction = Callable[..., Sequence["UOp | None"]]


class KernelTensor(TensorLike, Protocol):
    """What a kernel needs of a Tensor."""

    @property
    def requires_grad(self) -> bool | None:
        """Whether it is a value that training sets."""

    def _place_in_view(self) -> UOp | None:
        """Where this lies in the memory that it is a view of, if that is in one piece."""

    def _become_written(self, place: UOp, result: UOp) -> None:
        """Have the value that a kernel left in `place`."""


T = TypeVar("T", bound=KernelTensor)


def custom_kernel(
    *tensors: T, fxn: KernelFunction, grad_fxn: GradFunction | None = None
) -> list[T]:
    """The tensors after one run of a kernel on them.

    `fxn` gets a memory node (PARAM) for each tensor, to be indexed with one index an axis, and
    returns the kernel: a SINK over closed loops of stores, or a PROGRAM with source or binary of
    one's own. A tensor that the kernel writes to has the new value from then on, as after
    `assign`; one that requires a gradient keeps its value, the kernel writes to a copy.
    `grad_fxn(gradient, call)` gives the gradient of each argument, None where there is none; with
    several results it gets a gradient (or None) for each of them first.
    Raises `CustomError` when `fxn` returns no kernel, or there are no tensors.
    """
    if not tensors:
        raise CustomError(function="custom_kernel", reason="a kernel needs a tensor to write to")
    kernels = Kernels(fxn)
    slots = _slots_written([tensor.uop for tensor in tensors], kernels)
    places = tuple(
        _place_of(tensor) if slot in slots else in_own_memory(tensor.uop)
        for slot, tensor in enumerate(tensors)
    )
    places = in_one_place(places, slots, kernels.name)
    run = run_on_shards if isinstance(places[0]._device, tuple) else run_on
    results = run(places, kernels, grad_fxn)
    for slot, tensor in enumerate(tensors):
        if slot in slots and not tensor.requires_grad:
            tensor._become_written(places[slot], results[slot])
    return [
        type(tensor).from_uop(results[slot] if slot in slots else tensor.uop)
        for slot, tensor in enumerate(tensors)
    ]


class Kernels:
    """What a function makes for memory of some shapes: asked once for each."""

    def __init__(self, fxn: KernelFunction) -> None:
        self.fxn = fxn
        self.name = str(getattr(fxn, "__name__", "custom kernel"))
        self.built: dict[object, UOp] = {}

    def on(self, nodes: Sequence[UOp]) -> UOp:
        """The kernel for memory like these nodes."""
        key = tuple((node.shape, node.dtype) for node in nodes)
        if key not in self.built:
            self.built[key] = built_kernel(nodes, self.fxn, self.name)
        return self.built[key]


def _slots_written(nodes: Sequence[UOp], kernels: Kernels) -> frozenset[int]:
    """Which arguments the kernel writes to."""
    shards = [parts_of(n)[0] if isinstance(n._device, tuple) else n for n in nodes]
    return written_slots(kernels.on(shards))


def _place_of(tensor: KernelTensor) -> UOp:
    """The memory of a tensor that is written to, its own where it has some in one piece."""
    node = tensor.uop
    inside = None if tensor.requires_grad else tensor._place_in_view()
    if inside is not None:
        return inside
    shards = parts_of(node) if isinstance(node._device, tuple) else [node]
    if not tensor.requires_grad and all(map(_is_whole_memory, shards)):
        return node
    if isinstance(node._device, tuple):
        return in_own_memory(node)
    return in_memory(node) if _has_known_shape(node) else in_own_memory(node)


def _is_whole_memory(node: UOp) -> bool:
    """Whether a node is all of some memory, in order."""
    while node.op in (Ops.RESHAPE, Ops.AFTER):
        node = node.src[0]
    return node.op is Ops.BUFFER


def _has_known_shape(node: UOp) -> bool:
    return all(isinstance(dim, int) for dim in node.shape)


def run_on(nodes: Sequence[UOp], kernels: Kernels, grad_fxn: GradFunction | None) -> list[UOp]:
    """The nodes after a run of the kernel on them."""
    call = kernels.on(nodes).call(*nodes, grad_fxn=grad_fxn, name=kernels.name)
    return [node.after(call) for node in nodes]


def run_on_shards(
    nodes: Sequence[UOp], kernels: Kernels, grad_fxn: GradFunction | None
) -> list[UOp]:
    """The same on each device for itself: the kernel sees the shards that are there."""
    rows = zip(*(parts_of(node) for node in nodes), strict=True)
    done = [run_on(row, kernels, grad_fxn) for row in rows]
    shards = zip(*done, strict=True)
    return [
        first.multi(*others, axis=axis_of(node))
        for node, (first, *others) in zip(nodes, shards, strict=True)
    ]


def in_one_place(nodes: Sequence[UOp], slots: Collection[int], name: str) -> tuple[UOp, ...]:
    """The arguments of a kernel, numbers that it reads moved to where the others are.

    Raises `CustomError` when the others are not all on the same devices.
    """
    places = {n._device for slot, n in enumerate(nodes) if slot in slots or not is_number(n)}
    places.discard(None)
    if len(places) > 1:
        found = " and ".join(sorted(map(str, places)))
        raise CustomError(
            function=name,
            reason=f"its arguments are on {found}",
            hint="move or shard all of them to the same devices",
        )
    place = next(iter(places), nodes[0]._device)
    assert isinstance(place, str | tuple), "memory is on a device"
    return tuple(
        node if node._device == place else in_own_memory(moved(node, place)) for node in nodes
    )


def built_kernel(nodes: Sequence[UOp], fxn: KernelFunction, name: str = "kernel") -> UOp:
    """The SINK or PROGRAM that `fxn` makes for memory like these nodes.

    Dimensions that depend on variables are the variables without their values.
    """
    places = []
    for slot, node in enumerate(nodes):
        shape = tuple(dim if isinstance(dim, int) else _unbound(dim) for dim in node.shape)
        places.append(UOp.placeholder(shape, node.dtype, slot))
    kernel = fxn(*places)
    if not isinstance(kernel, UOp) or kernel.op not in (Ops.SINK, Ops.PROGRAM):
        raise CustomError(
            function=name,
            reason=f"it returned {kernel!r}",
            hint="return store.end(*ranges).sink(arg=KernelInfo(name=...))",
        )
    _check_arguments(kernel, len(nodes), name)
    if kernel.op is Ops.PROGRAM or isinstance(kernel.arg, KernelInfo):
        return kernel
    return kernel.replace(arg=KernelInfo())


def _unbound(dim: object) -> UOp:
    assert isinstance(dim, UOp), "a dimension is a number or a node"
    bound = {node: node.src[0] for node in dim.toposort() if node.op is Ops.BIND}
    return dim.substitute(bound)


_OF_TENSORS = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW, Ops.COPY, Ops.CONTIGUOUS, Ops.MULTI))


def _check_arguments(kernel: UOp, count: int, name: str) -> None:
    """Refuse a kernel that uses what it was not given."""
    for node in kernel.toposort():
        if node.op in _OF_TENSORS:
            raise CustomError(
                function=name,
                reason=f"the kernel uses a Tensor's node ({node.op.name}) that is no argument",
                hint="pass the Tensor to custom_kernel and index the memory that stands for it",
            )
        if node.op is Ops.PARAM and isinstance(node.arg, ParamArg) and node.arg.slot >= count:
            raise CustomError(
                function=name,
                reason=f"it uses memory in slot {node.arg.slot}, but has {count} arguments",
                hint="use the memory that the function is called with",
            )


def in_own_memory(node: UOp) -> UOp:
    """The node where it is memory that a kernel can read; else a value in memory of its own."""
    base = node
    while base.op in (Ops.RESHAPE, Ops.AFTER, Ops.MULTI):
        base = base.src[0]
    if base.op in GroupOp.Movement or base.op not in (Ops.BUFFER, Ops.CONTIGUOUS):
        return node.contiguous()
    return node
