"""Tensor: the lazy value that users work with, put together from its families of methods."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Self

import numpy as np
from tg_runtime import Device
from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.arguments import methods_name_bad_arguments
from tg_uop.dtype.value import const_value
from tg_uop.ir.args import CallArg

from tg_tensor.autograd.backward import flat_gradients, gradients
from tg_tensor.autograd.checkpoint import checkpoint
from tg_tensor.autograd.history import follow, remember
from tg_tensor.custom.function import with_arguments
from tg_tensor.custom.kernel import GradFunction, KernelFunction, custom_kernel
from tg_tensor.defaults import DeviceName, DTypeLike, device_or_default, to_dtype
from tg_tensor.engine.buffers import buffer_of
from tg_tensor.engine.promises import promise
from tg_tensor.errors import DataError, DataKindError, GradientError
from tg_tensor.interop.arrays import array_of_any
from tg_tensor.interop.files import write_file
from tg_tensor.interop.numpy import node_of_array, node_of_bytes, node_of_list
from tg_tensor.multi.shard import (
    device_names,
    new_memory_like,
    shard_like_uop,
    shard_uop,
    sharded_axis,
)
from tg_tensor.ops.bindings import bindings_of, clash
from tg_tensor.ops.core import TensorCore, fresh_identity, live_tensors
from tg_tensor.ops.exchange import ExchangeOps
from tg_tensor.ops.numbers import check_room, number
from tg_tensor.ops.views import is_in_file, names_place
from tg_tensor.realize import realize, recorders, schedule
from tg_tensor.schedule.errors import BindingError
from tg_tensor.training import Trains, train


# with `dim` the methods `max` and `min` of PyTorch give positions too
@methods_name_bad_arguments(others={"max": ["dim"], "min": ["dim"]}, inner=["ufix", "alu"])
class Tensor(ExchangeOps, metaclass=Trains):
    """A value with shape, dtype and device that is computed when it is needed.

    `data` may be a number, nested lists, bytes, a NumPy array (all copied), another library's array
    (DLPack or `__array__`), a node (of memory after a write: other Tensors of that memory see the
    write too), a path (a Tensor of the file's bytes on DISK), or None (empty).
    Raises `DataError` for anything else.
    """

    __slots__ = ()

    def __init__(
        self,
        data: object = None,
        device: DeviceName | list[str] | None = None,
        dtype: DTypeLike | None = None,
        requires_grad: bool | None = None,
    ) -> None:
        wanted = None if dtype is None else to_dtype(dtype)
        made = _node_of(data, device, wanted)
        if isinstance(data, UOp) and data.op is Ops.AFTER:
            _follow_write(data)
        self._adopt(made, requires_grad)

    @classmethod
    def _lift(cls, value: object, device: DeviceName | None = None) -> Self:
        if value is None:
            # without data a Tensor is made empty, which is the value of nothing
            raise DataKindError(given="None", reason="it is no value")
        return cls(value, device)

    @classmethod
    def _words(cls, values: list[int], device: DeviceName, dtype: DType) -> Self:
        return cls(values, device, dtype)

    # *** running ***

    def realize(self, *lst: Self, do_update_stats: bool = True) -> Self:
        """Compute this Tensor and others now. Gives back this Tensor.

        What is pending in memory that they read is done first; other Tensors keep their values.
        """
        with REALIZING:
            try:
                _compute([self.uop, *(t.uop for t in lst)], do_update_stats)
            except BindingError:
                # a captured step has one value of each variable
                if recorders.active:
                    raise
                for tensor in (self, *lst):
                    _compute_apart(tensor, do_update_stats, alone=not lst)
        return self

    def schedule_linear(self, *lst: Self) -> UOp:
        """The kernels that would compute these Tensors, as a LINEAR of CALLs; they run no more.

        Run it with `run_linear` before the values are used: until then reading them raises
        `NotRealizedError`.
        """
        return self.linear_with_vars(*lst)[0]

    def linear_with_vars(self, *lst: Self) -> tuple[UOp, dict[str, int]]:
        """The same, and the values of the variables that they use."""
        with REALIZING:
            wanted = [self.uop, *(t.uop for t in lst)]
            found = schedule(wanted, _other_uops(wanted))
            promise(found.linear, buffer_of)
            apply_replacements(found.results)
        return found.linear, dict(found.var_vals)

    # *** gradients ***

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let `backward` leave a gradient here, or not."""
        self.requires_grad = requires_grad
        return self

    def gradient(
        self, *targets: Self, gradient: Self | None = None, materialize_grads: bool = False
    ) -> list[Self]:
        """The gradients of this with respect to `targets`, which it depends on.

        `gradient` is what flows in; without it this must be one float. Gradients are Tensors like
        others and can be differentiated again. Raises `GradientError` when there is no path to a
        target, unless `materialize_grads` asks for zeros there; `ElementCountError` without
        `gradient` for several elements.
        """
        seed = self._incoming(gradient)
        found = gradients(self.uop, seed, [t.uop for t in targets])
        found |= flat_gradients(self.uop, [t.uop for t in targets if t.uop not in found])
        results = []
        for position, target in enumerate(targets):
            flowing = found.get(target.uop)
            if flowing is None and materialize_grads:
                flowing = target.zeros_like().uop
            if flowing is None:
                raise GradientError(
                    op="gradient",
                    reason=f"the value does not depend on target {position}",
                    hint="build the value from the target itself, without detach; what was "
                    "computed before keeps its graph only where a Tensor requires a gradient; "
                    "materialize_grads=True gives zeros",
                )
            results.append(self._of(flowing))
        return results

    def _incoming(self, gradient: Self | None) -> UOp:
        if gradient is None:
            self._one_element("gradient without an incoming gradient")
            return number(1, self.dtype)._expand_to(self.shape)
        if gradient.shape != self.shape:
            raise GradientError(
                op="gradient",
                reason=f"the incoming gradient has shape {gradient.shape}, not {self.shape}",
            )
        return gradient.uop.cast(self.dtype)

    def backward(self, gradient: Self | None = None) -> Self:
        """Add the gradients of this to `grad` of every Tensor below that requires them.

        Raises `ElementCountError` without `gradient` for several elements, `GradientError` when
        no Tensor below requires a gradient.
        """
        seed = self._incoming(gradient)
        wanting = [t for t in live_tensors() if t.requires_grad and isinstance(t, Tensor)]
        found = gradients(self.uop, seed, [t.uop for t in wanting])
        found |= flat_gradients(self.uop, [t.uop for t in wanting if t.uop not in found])
        if not found:
            raise GradientError(
                op="backward",
                reason="no Tensor with requires_grad lies below",
                hint="call requires_grad_() on the weights before they are used; a value that was "
                "computed from memory which was overwritten since has no gradient any more, nor "
                "has the result of a captured step (TinyJit): call backward inside of the step",
            )
        for tensor in wanting:
            flowing = found.get(tensor.uop)
            if flowing is not None:
                fresh = tensor._of(flowing)
                known = tensor.grad
                # in place, so that whoever holds the gradient (a captured step) sees the sum
                total = fresh if known is None else known + fresh
                is_placed = known is not None and known.uop._device is not None
                tensor.grad = known.assign(total) if known is not None and is_placed else total
        return self

    checkpoint = staticmethod(checkpoint)

    # *** files ***

    def _write_file(self, place: UOp, value: UOp, where: UOp | None) -> None:
        stored = _off_file(value)
        if where is not None:
            stored = _off_file(where).where(stored, _off_file(place))
        write_file(place, self._of(stored).contiguous().realize().uop)

    # *** devices ***

    def shard(self, devices: tuple[str, ...] | list[str] | str, axis: int | None = None) -> Self:
        """This value over several devices: cut along an axis, or whole on each of them.

        Where the devices do not divide the axis, the first get one element more. On one device it
        is a value like any other. Raises `ShapeError` when there is no such axis, or it has fewer
        elements than there are devices; `ArgumentError` without devices; for a name that is no
        device what opening it raises.
        """
        place = None if axis is None else sharded_axis(axis, self.shape)
        names = device_names(devices)
        if len(names) == 1:
            sharded = self.to(names[0])
            return self._of(sharded.uop) if sharded is self else sharded
        is_there = self.device == names and self.uop.axis == place
        sharded = self._of(self.uop if is_there else shard_uop(self.uop, names, place))
        sharded.requires_grad = self.requires_grad
        return sharded

    def shard_(self, devices: tuple[str, ...] | list[str] | str, axis: int | None = None) -> Self:
        """`shard`, of this Tensor itself, and of its gradient."""
        if self.grad is not None:
            self.grad = self.grad.shard(devices, axis)
        return self._take(self.shard(devices, axis))

    def shard_like(self, y: Self) -> Self:
        """On the devices of `y`, cut as it is."""
        if isinstance(y.device, str):
            return self.to(y.device)
        sharded = self._of(shard_like_uop(self.uop, y.uop))
        sharded.requires_grad = self.requires_grad
        return sharded

    def _replicate(self, devices: tuple[str, ...]) -> Self:
        return self.shard(devices)

    def _cut_like(self, model: Self) -> Self:
        return self if isinstance(model.device, str) else self.shard_like(model)

    def _new_memory_like(self, dtype: DType) -> UOp:
        return new_memory_like(self.uop, dtype)

    def to(self, device: DeviceName | list[str] | None) -> Self:
        """This value on another device; on several, a copy on each."""
        wanted = device_or_default(device)
        if wanted == self.device:
            return self._same_value()
        if isinstance(wanted, tuple):
            return self.shard(wanted)
        moved = self._of(self.uop.copy_to_device(wanted))
        moved.requires_grad = self.requires_grad
        return moved

    def to_(self, device: DeviceName | list[str] | None) -> Self:
        """Move this Tensor, and its gradient, to another device."""
        if self.grad is not None:
            self.grad = self.grad.to(device)
        return self._take(self.to(device))

    # *** functions of one's own ***

    def custom_kernel(
        self, *lst: Self, fxn: KernelFunction, grad_fxn: GradFunction | None = None
    ) -> list[Self]:
        """This and other Tensors after one run of a kernel in kernel form on their memory.

        `fxn` gets a memory node for each Tensor and returns a SINK. `grad_fxn(gradient, call)`
        gives the gradient of each argument, None where there is none. Raises `CustomError` when
        `fxn` returns no kernel.
        """
        return custom_kernel(self, *lst, fxn=fxn, grad_fxn=grad_fxn)

    def call(self, *lst: Self, fxn: Self, grad_fxn: GradFunction | None = None) -> Self:
        """`fxn`, an expression of stand-ins (see `as_param`), with these Tensors in their places.

        `grad_fxn(gradient, call)` replaces its gradient.
        """
        arguments = [self.uop, *(t.uop for t in lst)]
        if grad_fxn is None:
            return self._of(with_arguments(fxn.uop, arguments))
        body = UOp(Ops.TUPLE, src=(fxn.uop,))
        applied = UOp(Ops.FUNCTION, src=(body, *arguments), arg=CallArg("call", grad_fxn))
        return self._of(applied.gettuple(0))

    # *** identity ***

    def replace(self, x: Self) -> Self:
        """Become `x`, whatever this was. Raises `DataError` when the shapes differ."""
        if x.shape != self.shape:
            raise DataError(given="another Tensor", reason=f"shape {x.shape} is not {self.shape}")
        return self._take(x)

    def as_param(self, slot: int) -> Self:
        """A stand-in for this Tensor as argument `slot` of a function."""
        device = self.uop._device
        return self._of(UOp.param(slot, self.dtype, self.shape, device))

    def __repr__(self) -> str:
        """Shape, dtype, device and whether it is computed; runs nothing."""
        gradient = ", requires_grad" if self.requires_grad else ""
        cut = "" if isinstance(self.device, str) else f" axis {self.uop.axis}"
        place = f"{self.device}{cut}"
        return f"<Tensor {self.shape} {self.dtype} on {place}{gradient}, {_state(self.uop)}>"

    # *** data from elsewhere ***

    @classmethod
    def from_url(cls, url: str, gunzip: bool = False, **kwargs: object) -> Self:
        """The bytes of a file from the web, downloaded once and kept."""
        # the network modules of the standard library are loaded by those who need them
        fetch = import_module("tg_tensor.interop.fetch").fetch
        return cls(fetch(url, gunzip=gunzip), **kwargs)  # type: ignore[arg-type]

    # *** modes ***

    train = train


# What one thread computes replaces nodes in the graphs of all threads, so only one does so at a
# time. Kernels run outside of Python, and this waits for none of them.
REALIZING = threading.RLock()


def apply_replacements(replaced: dict[UOp, UOp]) -> None:
    """Put what was computed into every Tensor whose graph has it."""
    if not replaced:
        return
    follow(replaced)
    live = live_tensors()
    tensors = [t for t in live if not _is_settled_memory(t.uop, replaced)]
    before = UOp.sink(*(t.uop for t in tensors))
    after = before.substitute(replaced)
    if after is before:
        return
    computed: list[tuple[UOp, UOp]] = []
    for tensor, old, new in zip(tensors, before.src, after.src, strict=True):
        if new is not old and tensor.uop is old:
            tensor.uop = new
            if not tensor.requires_grad and old.dtype.is_float and old in replaced:
                computed.append((new, old))
    if computed:
        leaves = {t.uop for t in live if t.requires_grad}
        if leaves:
            remember(computed, replaced, leaves)


def _is_settled_memory(node: UOp, replaced: Mapping[UOp, UOp]) -> bool:
    """Whether a node is memory that stays as it is: most Tensors of a program with many weights."""
    if node in replaced:
        return False
    below = node.src[0] if node.op is Ops.RESHAPE else node
    return below.op is Ops.BUFFER and below not in replaced


def _compute(wanted: list[UOp], do_update_stats: bool) -> None:
    apply_replacements(realize(wanted, _other_uops(wanted), do_update_stats=do_update_stats))


def _compute_apart(tensor: Tensor, do_update_stats: bool, *, alone: bool) -> None:
    """Compute a Tensor where others that wait for memory have other values of its variables."""
    try:
        if not alone:
            _compute([tensor.uop], do_update_stats)
            return
    except BindingError:
        pass
    values = bindings_of([tensor.uop])
    waiting = [t.uop for t in live_tensors() if t is not tensor and clash(values, t.uop)]
    for node in dict.fromkeys(waiting):
        # one that has two values of a variable itself is none of those that can be helped
        with suppress(BindingError):
            _compute([node], do_update_stats)
    _compute([tensor.uop], do_update_stats)


def _other_uops(wanted: list[UOp]) -> list[UOp]:
    known = set(wanted)
    return [t.uop for t in live_tensors() if t.uop not in known]


def _follow_write(node: UOp) -> None:
    """Let the Tensors that are some memory see a write to it that a user wrote down in nodes.

    Who gives `uop.after(view.store(value))` to a Tensor writes to the memory of those Tensors,
    which hold no values from before, as views of it and results do.
    """
    before = node.src[0]
    if names_place(before):
        for tensor in live_tensors():
            if tensor.uop is before and tensor._origin is None:
                tensor.uop = node


def _off_file(node: UOp) -> UOp:
    """A value where kernels can read it."""
    return node.copy_to_device(Device.DEFAULT) if is_in_file(node) else node


def _state(node: UOp) -> str:
    while node.op in (Ops.RESHAPE, Ops.PERMUTE, Ops.SHRINK, Ops.FLIP, Ops.EXPAND):
        node = node.src[0]
    if node.op is Ops.MULTI and all(_state(shard) == "in memory" for shard in node.src):
        return "in memory"
    if node.op in (Ops.BUFFER, Ops.BUFFER_VIEW):
        return "in memory"
    return f"= {node.arg}" if node.op is Ops.CONST else f"lazy {node.op.name}"


def _node_of(data: object, device: DeviceName | list[str] | None, dtype: DType | None) -> UOp:
    """The node of a Tensor of `data`."""
    if isinstance(data, TensorCore):
        return _moved(data.uop, device, dtype)
    if isinstance(data, UOp):
        return _moved(data, device, dtype)
    if isinstance(data, os.PathLike):
        return _node_of_file(Path(data), dtype)
    place = device_or_default(device)
    if isinstance(place, tuple):
        return shard_uop(_node_of(data, place[0], dtype), place, None)
    if isinstance(data, int | float) and not isinstance(data, np.generic):
        wanted = dtypes.from_py(data) if dtype is None else dtype
        check_room(data, wanted)
        device_node = UOp(Ops.DEVICE, arg=place)
        value = const_value(data, wanted)
        return UOp(Ops.CONST, wanted, (device_node,), value, fresh_identity())
    if data is None:
        return UOp.new_buffer(place, 0, dtype or dtypes.default_float)
    return _node_of_host_data(data, place, dtype)


def _node_of_host_data(data: object, device: str, dtype: DType | None) -> UOp:
    if isinstance(data, bytes | bytearray | memoryview):
        wanted = dtypes.uint8 if dtype is None else dtype
        raw = memoryview(data).cast("B")
        if raw.nbytes % wanted.itemsize:
            raise DataError(
                given=f"{raw.nbytes} bytes", reason=f"that is no multiple of the size of {wanted}"
            )
        return node_of_bytes(raw, wanted, (raw.nbytes // wanted.itemsize,), device)
    if isinstance(data, list | tuple | range):
        return node_of_list(data, dtype, device)
    # the methods of a class are none of its own
    found = None if isinstance(data, type) else array_of_any(data)
    if found is None:
        raise DataKindError(
            given=f"an object of type {type(data).__name__}",
            reason="it is no number, list, bytes, array, node or path",
        )
    node = node_of_array(found[0], device, found[1])
    return node if dtype is None else node.cast(dtype)


def _moved(node: UOp, device: DeviceName | list[str] | None, dtype: DType | None) -> UOp:
    if dtype is not None:
        node = node.cast(dtype)
    if device is None:
        return node
    wanted = device_or_default(device)
    return node if node._device in (None, wanted) else node.copy_to_device(wanted)


def _node_of_file(path: Path, dtype: DType | None) -> UOp:
    """The bytes of a file, read when they are needed."""
    if not path.is_file():
        raise DataError(given=f"the path {path}", reason="there is no such file")
    wanted = dtypes.uint8 if dtype is None else dtype
    return UOp.new_buffer(f"DISK:{path.resolve()}", path.stat().st_size // wanted.itemsize, wanted)


__all__ = ["Tensor", "apply_replacements", "live_tensors"]
