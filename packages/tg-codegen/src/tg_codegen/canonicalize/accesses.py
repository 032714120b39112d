"""Give every memory access one flat index: kernel form in, kernel form out.

Kernels written by hand may index shaped memory with one index an axis, look at it through views
(movement ops over memory), and may load explicitly; here all of these become INDEX(memory, index),
whose value is the element. Functions of values that they call may hide parts from gradients, which
no kernel asks for.
"""

from __future__ import annotations

from collections.abc import Mapping

from tg_uop import GroupOp, Ops, PtrDType, UOp
from tg_uop.ir.args import ParamArg

from tg_codegen.canonicalize.views import Place, below
from tg_codegen.errors import KernelFormError


def flatten_accesses(kernel: UOp) -> UOp:
    """The kernel with flat indices and without views and explicit loads.

    Raises `KernelFormError` when the number of indices is not the number of axes, and when a view
    is used as a value.
    """
    done: dict[UOp, UOp] = {}
    for node in kernel.toposort():
        src = tuple(done[s] for s in node.src)
        done[node] = _rewritten(node, src, done)
    return done[kernel]


def _rewritten(node: UOp, src: tuple[UOp, ...], done: Mapping[UOp, UOp]) -> UOp:
    if node.op in GroupOp.Movement and isinstance(node.dtype, PtrDType):
        return src[0]
    if node.op in (Ops.DETACH, Ops.CONTIGUOUS_BACKWARD):
        return src[0]
    if node.op is Ops.INDEX:
        return node.replace(src=(src[0], _position(node, done)))
    if node.op is Ops.LOAD and src[0].op is Ops.INDEX:
        return _element(src[0])
    if node.op is Ops.STORE and src[0].op is Ops.INDEX:
        return node.replace(src=(_element(src[0]), *src[1:]))
    if node.op is Ops.PARAM and isinstance(node.arg, ParamArg):
        return _plain_param(node, node.arg)
    return node if src == node.src else node.replace(src=src)


def _plain_param(node: UOp, arg: ParamArg) -> UOp:
    """A buffer of a kernel is known by its slot alone."""
    if not isinstance(node.dtype, PtrDType):
        return node
    return node.replace(arg=ParamArg(arg.slot))


def _element(index: UOp) -> UOp:
    """The access as the value of the element."""
    pointer = index.dtype
    return index.replace(dtype=pointer.base) if isinstance(pointer, PtrDType) else index


def _position(node: UOp, done: Mapping[UOp, UOp]) -> UOp:
    """The flat position of an element; it is gated where any of the indices is."""
    memory = node.index_buffer
    indices = tuple(done[s] for s in node.src[1:])
    if not isinstance(memory.dtype, PtrDType) or memory._shape is None:
        if len(indices) == 1:
            return indices[0]
        raise KernelFormError(
            node=f"INDEX of {memory.op} with {len(indices)} indices",
            reason="it has no axes",
            hint="give one flat index",
        )
    shape = memory.shape
    if len(indices) == 1 and len(shape) != 1:
        place = Place.flat(indices[0], shape)
    elif len(indices) == len(shape):
        place = Place.of(indices, shape)
    else:
        raise KernelFormError(
            node=f"INDEX of {memory.op} with {len(indices)} indices",
            reason=f"the memory has shape {shape}",
            hint="give one index for each axis, or one flat index",
        )
    while memory.op is Ops.AFTER or memory.op in GroupOp.Movement:
        if memory.op is not Ops.AFTER:
            place = below(memory, place, done)
        memory = memory.src[0]
    return place.position()
