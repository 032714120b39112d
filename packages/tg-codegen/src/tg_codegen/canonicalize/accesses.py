"""Give every memory access one flat index: kernel form in, kernel form out.

Kernels written by hand may index shaped memory with one index an axis, and may load explicitly;
here both become INDEX(memory, index), whose value is the element. Functions of values that they
call may hide parts from gradients, which no kernel asks for.
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import Invalid, Ops, PtrDType, UOp, dtypes
from tg_uop.ir.args import ParamArg

from tg_codegen.errors import KernelFormError

Dims = tuple[object, ...]


def flatten_accesses(kernel: UOp) -> UOp:
    """The kernel with flat indices and without explicit loads.

    Raises `KernelFormError` when the number of indices is not the number of axes.
    """
    done: dict[UOp, UOp] = {}
    for node in kernel.toposort():
        src = tuple(done[s] for s in node.src)
        done[node] = _rewritten(node, src)
    return done[kernel]


def _rewritten(node: UOp, src: tuple[UOp, ...]) -> UOp:
    if node.op is Ops.RESHAPE and isinstance(node.dtype, PtrDType):
        return src[0]
    if node.op in (Ops.DETACH, Ops.CONTIGUOUS_BACKWARD):
        return src[0]
    if node.op is Ops.INDEX:
        return _flat_index(node, src)
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


def _flat_index(node: UOp, src: tuple[UOp, ...]) -> UOp:
    indices = src[1:]
    if len(indices) > 1:
        indices = (_flattened(node, indices),)
    return node.replace(src=(src[0], *indices))


def _flattened(node: UOp, indices: Sequence[UOp]) -> UOp:
    """Row-major position of an element; it is gated where any of the indices is."""
    dims = shape_of_memory(node.index_buffer)
    if dims is None or len(dims) != len(indices):
        raise KernelFormError(
            node=f"INDEX of {node.index_buffer.op} with {len(indices)} indices",
            reason=f"the memory has shape {dims}",
            hint="give one index for each axis, or one flat index",
        )
    position: UOp | None = None
    gate: UOp | None = None
    stride: object = 1
    for index, dim in zip(reversed(indices), reversed(dims), strict=True):
        place, condition = split_gate(index)
        term = place if stride == 1 else place * stride
        position = term if position is None else term + position
        if condition is not None:
            gate = condition if gate is None else gate & condition
        stride = stride * dim  # type: ignore[operator]
    assert position is not None, "memory with several axes has indices"
    return position if gate is None else position.valid(gate)


def shape_of_memory(node: UOp) -> Dims | None:
    """The axes that a PARAM was declared with, or that a RESHAPE gives to other memory."""
    while node.op is Ops.AFTER:
        node = node.src[0]
    if node.op is Ops.RESHAPE:
        return node.movement_arg
    if node.op is Ops.PARAM and isinstance(node.arg, ParamArg):
        return node.arg.shape
    return None


def split_gate(index: UOp) -> tuple[UOp, UOp | None]:
    """An index expression as the address and the condition under which it is used."""
    if index.op is Ops.WHERE and index.dtype.scalar() == dtypes.weakint:
        condition, address, otherwise = index.src
        if otherwise.op is Ops.CONST and otherwise.arg is Invalid:
            return address, condition
    return index, None
