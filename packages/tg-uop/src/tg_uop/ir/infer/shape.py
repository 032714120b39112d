"""Infer the shape of a node from its operands; raise when they do not fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Protocol

from tg_uop.dtype.dtype import DType, PtrDType
from tg_uop.errors import ShapeError
from tg_uop.ir.args import BufferArg, ParamArg, ReduceArg
from tg_uop.ir.infer.symbolic import check_symbolic
from tg_uop.ir.ops import GroupOp, Ops

# An int, or a node that stands for one. The node's class is built on this module, so it has no
# name here; arithmetic on both is the same.
Dim = Any


class Shaped(Protocol):
    """What shape inference reads of a node."""

    op: Ops
    dtype: DType
    src: tuple[Shaped, ...]
    arg: object
    _shape: tuple[Dim, ...] | None


Shape = tuple[Dim, ...] | None
ShapeRule = Callable[[Ops, tuple[Shaped, ...], object], Shape]


def infer_shape(op: Ops, dtype: DType, src: tuple[Shaped, ...], arg: object) -> Shape:
    """The shape of a node with this op, operands and arg; None for nodes that have none.

    Raises `ShapeError` naming the op and the shapes when the operands do not fit.
    """
    if op in _BY_DTYPE:
        if op is Ops.BITCAST:
            return _bitcast(dtype, src[0])
        if not isinstance(getattr(arg, "shape", None), tuple):
            return (dtype.size,) if isinstance(dtype, PtrDType) and dtype.size >= 0 else None
    return SHAPE_RULES[op](op, src, arg)


_BY_DTYPE = GroupOp.Defines | {Ops.BITCAST}


def merge_symbolic(arg: Sequence[Dim], dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """`arg` with each None, also inside pairs, replaced by the next of `dims`."""
    remaining = iter(dims)
    return tuple(_filled(entry, remaining) for entry in arg)


def _filled(entry: Dim, remaining: Iterator[Dim]) -> Dim:
    # no function inside `merge_symbolic`: one that names itself is a cycle, which would hold nodes
    if entry is None:
        return next(remaining)
    if isinstance(entry, tuple):
        return tuple(_filled(part, remaining) for part in entry)
    return entry


def settled(dim: Dim) -> Dim:
    """A dimension in its simplest spelling: an int where it is one for every value of variables."""
    if isinstance(dim, int):
        return dim
    plain = dim.simplify()
    return plain.arg if plain.op is Ops.CONST and isinstance(plain.arg, int) else plain


def _no_shape(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    return None


def _scalar(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    return ()


def _first_source(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    return src[0]._shape if src else None


def _elementwise(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    shape: Shape = ()
    for operand in src:
        other = operand._shape
        if other is None:
            return None
        if other == shape or not other:
            continue
        if shape:
            raise ShapeError(
                op=op.name,
                shapes=tuple(s._shape for s in src),
                reason="the operands of an elementwise op must have one shape",
                hint="expand the smaller operand first; Tensor operators broadcast by themselves",
            )
        shape = other
    return shape


def _buffer(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    return (arg.size,) if isinstance(arg, BufferArg) else None


def _buffer_view(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    return (arg[0],) if isinstance(arg, tuple) else None


def _param(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    return arg.shape if isinstance(arg, ParamArg) else None


def _movement_arg(src: tuple[Shaped, ...], arg: object) -> tuple[Dim, ...]:
    assert isinstance(arg, tuple), f"a movement op carries a tuple, not {arg!r}"
    return merge_symbolic(arg, src[1:]) if len(src) > 1 else arg


def _reshape(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    old, new = src[0]._shape, _movement_arg(src, arg)
    if old is None:
        return None
    known = _is_known(new)
    if known and not _is_known(old):
        check_symbolic(op, old, new)
    elif known and prod(old) != prod(new):
        raise ShapeError(
            op=op.name,
            shapes=(old, new),
            reason=f"{prod(old)} elements cannot become {prod(new)}",
            hint="the product of the dimensions must stay the same",
        )
    for size in new:
        if isinstance(size, int) and size < 0:
            raise ShapeError(
                op=op.name,
                shapes=(old, new),
                reason="a dimension is negative",
                hint="use sizes >= 0",
            )
    return new


def _is_known(shape: tuple[Dim, ...]) -> bool:
    # a loop, not all(): it is on the way of every node, and a generator costs more than the rest
    for size in shape:  # noqa: SIM110
        if not isinstance(size, int):
            return False
    return True


def _permute(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    old = src[0]._shape
    if old is None:
        return None
    assert isinstance(arg, tuple), f"PERMUTE carries a tuple, not {arg!r}"
    if sorted(arg) != list(range(len(old))):
        raise ShapeError(
            op=op.name,
            shapes=(old,),
            reason=f"{arg} is not an order of {len(old)} axes",
            hint="name each axis once",
        )
    return tuple(old[axis] for axis in arg)


def _expand(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    old, new = src[0]._shape, _movement_arg(src, arg)
    if old is None:
        return None
    if len(old) != len(new) or not _can_expand(old, new):
        raise ShapeError(
            op=op.name,
            shapes=(old, new),
            reason="only dimensions of size 1 can expand, and the number of axes must match",
            hint="reshape to add axes of size 1 first",
        )
    return new


def _can_expand(old: tuple[Dim, ...], new: tuple[Dim, ...]) -> bool:
    for before, after in zip(old, new, strict=True):
        if before is not after and before != 1 and before != after:
            return False
    return True


def _pad(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    old, pads = src[0]._shape, _movement_arg(src, arg)
    if old is None:
        return None
    if len(old) != len(pads):
        raise ShapeError(
            op=op.name,
            shapes=(old,),
            reason=f"{len(pads)} pairs of padding for {len(old)} axes",
            hint="give one (before, after) pair an axis",
        )
    sizes = []
    for size, (before, after) in zip(old, pads, strict=True):
        if (isinstance(before, int) and before < 0) or (isinstance(after, int) and after < 0):
            raise ShapeError(
                op=op.name,
                shapes=(old,),
                reason=f"padding {pads} is negative",
                hint="shrink to take elements away",
            )
        sizes.append(settled(size + before + after))
    return tuple(sizes)


def _shrink(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    old, bounds = src[0]._shape, _movement_arg(src, arg)
    if old is None:
        return None
    if len(old) != len(bounds):
        raise ShapeError(
            op=op.name,
            shapes=(old,),
            reason=f"{len(bounds)} pairs of bounds for {len(old)} axes",
            hint="give one (start, end) pair an axis",
        )
    sizes = []
    for size, (start, end) in zip(old, bounds, strict=True):
        known = isinstance(size, int) and isinstance(start, int) and isinstance(end, int)
        if known and not 0 <= start <= end <= size:
            raise ShapeError(
                op=op.name,
                shapes=(old,),
                reason=f"bounds ({start}, {end}) leave the axis of size {size}",
                hint="bounds must satisfy 0 <= start <= end <= size",
            )
        sizes.append(end - start if known else _length(start, end))
    return tuple(sizes)


def _length(start: object, end: object) -> object:
    """end - start; a window of known length at a symbolic start has a known size."""
    if isinstance(start, int) and start == 0:
        return end
    if getattr(end, "op", None) is Ops.ADD:
        left, right = end.src  # type: ignore[attr-defined]
        if left is start and right.op is Ops.CONST and isinstance(right.arg, int):
            return right.arg
    return settled(end - start)  # type: ignore[operator]


def _flip(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    old = src[0]._shape
    if old is None:
        return None
    assert isinstance(arg, tuple), f"FLIP carries a tuple of axes, not {arg!r}"
    if not all(isinstance(a, int) and 0 <= a < len(old) for a in arg) or len(set(arg)) < len(arg):
        raise ShapeError(
            op=op.name,
            shapes=(old,),
            reason=f"{arg} are not distinct axes of {len(old)}",
            hint="name axes from 0 on, each once",
        )
    return old


def _reduce(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    old = src[0]._shape
    if old is None or not isinstance(arg, ReduceArg):
        return None
    new = list(old)
    for axis in arg.axes:
        if not 0 <= axis < len(old):
            raise ShapeError(
                op=op.name,
                shapes=(old,),
                reason=f"axes {arg.axes} are not all axes of {len(old)}",
                hint="axes count from 0",
            )
        new[axis] = 1
    return tuple(new)


def _bitcast(dtype: DType, source: Shaped) -> Shape:
    old = source._shape
    if not old or dtype.itemsize == source.dtype.itemsize:
        return old
    last = old[-1]
    assert isinstance(last, int), "only a known last dimension can change its item size"
    size_bytes = last * source.dtype.itemsize
    if size_bytes % dtype.itemsize != 0:
        raise ShapeError(
            op=Ops.BITCAST.name,
            shapes=(old,),
            reason=f"{size_bytes} bytes in the last axis are no multiple of {dtype.itemsize}",
            hint=f"make the last axis a multiple of {dtype.itemsize} bytes long",
        )
    return (*old[:-1], size_bytes // dtype.itemsize)


def _multi(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    first = src[0]._shape
    if first is None or arg is None:
        return first
    assert isinstance(arg, int), f"MULTI carries an axis or None, not {arg!r}"
    rest = [s._shape for s in src]
    for shape in rest:
        same_rank = shape is not None and len(shape) == len(first)
        if not same_rank or any(
            a != b for i, (a, b) in enumerate(zip(first, shape or (), strict=True)) if i != arg
        ):
            raise ShapeError(
                op=op.name,
                shapes=tuple(rest),
                reason=f"shards must agree in all axes but {arg}",
                hint="shard along one axis",
            )
    total = sum(shape[arg] for shape in rest if shape is not None)
    return tuple(settled(total) if i == arg else size for i, size in enumerate(first))


def _get_tuple(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    source = src[0]
    while source.op in (Ops.AFTER, Ops.FUNCTION, Ops.CALL):
        source = source.src[0]
    if source.op is Ops.TUPLE and isinstance(arg, int):
        return source.src[arg]._shape
    return source._shape


def _mselect(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    if src[0].op in (Ops.MULTI, Ops.MSTACK) and isinstance(arg, int):
        return src[0].src[arg]._shape
    return src[0]._shape


def _function(op: Ops, src: tuple[Shaped, ...], arg: object) -> Shape:
    return src[0]._shape if src[0].op is not Ops.TUPLE else None


SHAPE_RULES: dict[Ops, ShapeRule] = dict.fromkeys(Ops, _no_shape)
SHAPE_RULES.update(dict.fromkeys(GroupOp.ALU, _elementwise))
SHAPE_RULES.update(
    dict.fromkeys(
        (
            Ops.CAST,
            Ops.AFTER,
            Ops.CONTIGUOUS,
            Ops.CONTIGUOUS_BACKWARD,
            Ops.DETACH,
            Ops.COPY,
            Ops.ALLREDUCE,
            Ops.MSTACK,
        ),
        _first_source,
    )
)
SHAPE_RULES.update(
    {
        Ops.CONST: _scalar,
        Ops.DEFINE_VAR: _scalar,
        Ops.BIND: _scalar,
        Ops.BUFFER: _buffer,
        Ops.BUFFER_VIEW: _buffer_view,
        Ops.PARAM: _param,
        Ops.RESHAPE: _reshape,
        Ops.PERMUTE: _permute,
        Ops.EXPAND: _expand,
        Ops.PAD: _pad,
        Ops.SHRINK: _shrink,
        Ops.FLIP: _flip,
        Ops.REDUCE: _reduce,
        Ops.MULTI: _multi,
        Ops.MSELECT: _mselect,
        Ops.GETTUPLE: _get_tuple,
        Ops.FUNCTION: _function,
    }
)
