"""The interned node: five fields, and what is derived from them once and kept.

Interning is dense for speed: building a node is the most frequent act of the whole compiler.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import ClassVar, Self

from tg_uop.arguments import shown
from tg_uop.dtype.dtype import ConstFloat, DType, Invalid, InvalidType, dtypes, wrap_int
from tg_uop.dtype.value import convert
from tg_uop.errors import ArgumentError, ArgumentTypeError, NodeKindError
from tg_uop.ir.infer.bounds import Interval, infer_bounds
from tg_uop.ir.infer.place import Place, infer_device
from tg_uop.ir.infer.ranges import infer_ranges
from tg_uop.ir.infer.shape import SHAPE_RULES, Shape, infer_shape
from tg_uop.ir.key import node_key
from tg_uop.ir.ops import Ops

NodeFields = tuple[Ops, DType, "tuple[Node, ...]", object, object]


class _InternedRef(weakref.ref["Node"]):
    """A weak reference that knows under which fields its node is interned."""

    __slots__ = ("fields",)
    fields: NodeFields


class Node:
    """An operation applied to operands: immutable, and the same object for the same fields."""

    __slots__ = (
        "__weakref__",
        "_bounds",
        "_device",
        "_key",
        "_ranges",
        "_shape",
        "arg",
        "dtype",
        "op",
        "source_line",
        "src",
        "tag",
    )

    op: Ops
    dtype: DType
    src: tuple[Self, ...]
    arg: object
    tag: object
    source_line: tuple[str, int] | None
    _shape: Shape
    _device: Place
    _bounds: Interval | None
    _ranges: dict[Self, None] | None
    _key: bytes | None

    _interned: ClassVar[dict[NodeFields, _InternedRef]] = {}

    def __new__(
        cls,
        op: Ops,
        dtype: DType = dtypes.void,
        src: tuple[Self, ...] = (),
        arg: object = None,
        tag: object = None,
    ) -> Self:
        """The node with these fields: an existing one where there is one.

        Raises `ShapeError` or `DeviceMismatchError` when the operands do not fit together.
        """
        if op is Ops.CONST:
            arg = normalize_constant(arg, dtype)
        elif op is Ops.VCONST:
            arg = tuple(normalize_constant(part, dtype) for part in arg)  # type: ignore[attr-defined]
        fields = (op, dtype, src, arg, tag)
        found = Node._interned.get(fields)
        if found is not None:
            node = found()
            if node is not None:
                return node  # type: ignore[return-value]
        node = object.__new__(cls)
        node.op = op
        node.dtype = dtype
        node.src = src
        node.arg = arg
        node.tag = tag
        node.source_line = None
        node._shape = infer_shape(op, dtype, src, arg)  # type: ignore[arg-type]
        node._device = infer_device(op, src, arg)  # type: ignore[arg-type]
        node._bounds = None
        node._ranges = None
        node._key = None
        reference = _InternedRef(node, _forget)
        reference.fields = fields
        # another thread may have interned the same node meanwhile: the first one stays
        while True:
            kept = Node._interned.setdefault(fields, reference)
            if kept is reference:
                return node  # type: ignore[return-value]
            other = kept()
            if other is not None:
                return other  # type: ignore[return-value]
            Node._interned[fields] = reference

    def __setstate__(self, state: object) -> None:
        """Nothing to restore: `rebuild_graph` has made the node whole."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return rebuild_graph, (type(self), flatten_graph(self))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def shape(self) -> tuple[object, ...]:
        """The shape; raises `NodeKindError` for a node that has none (kernel-level nodes)."""
        if self._shape is None:
            reason = "only nodes in tensor form have one"
            raise NodeKindError(node=self.op.name, attempted="shape", reason=reason)
        return self._shape

    @property
    def bounds(self) -> Interval:
        """Lowest and highest possible value."""
        if self._bounds is None:
            for node in _missing(self, lambda n: n._bounds is None):
                operands = [s._bounds for s in node.src]
                node._bounds = infer_bounds(node, operands)  # type: ignore[arg-type]
        return self._bounds  # type: ignore[return-value]

    @property
    def vmin(self) -> int | float | bool:
        """The lowest value that the node can have."""
        return self.bounds[0]

    @property
    def vmax(self) -> int | float | bool:
        """The highest value that the node can have."""
        return self.bounds[1]

    @property
    def ranges(self) -> dict[Self, None]:
        """The RANGEs that are live here, in order of first use; not to be changed."""
        if self._ranges is None:
            for node in _missing(self, lambda n: n._ranges is None):
                known = {s: s._ranges for s in node.src}
                node._ranges = infer_ranges(node, known)  # type: ignore[type-var, arg-type]
        return self._ranges  # type: ignore[return-value]

    @property
    def key(self) -> bytes:
        """A content hash that is the same in every process."""
        if self._key is None:
            for node in _missing(self, lambda n: n._key is None):
                operands = [s._key for s in node.src]
                node._key = node_key(node.op, node.dtype, node.arg, node.tag, operands)  # type: ignore[arg-type]
        return self._key  # type: ignore[return-value]


def normalize_constant(value: object, dtype: DType) -> object:
    """The constant in the exact Python type and with the value that its dtype holds, so that equal
    means same: 0.1 is the nearest float16 in float16, 256 is 0 in uint8.

    Raises `ArgumentTypeError` when the value is no number and `ArgumentError` when an integer dtype
    gets infinity, NaN or a fraction.
    """
    if isinstance(value, InvalidType):
        return Invalid
    if dtype.is_float:
        number = value if isinstance(value, int | float) else float(value)  # type: ignore[arg-type]
        return ConstFloat(convert(number, dtype))
    if dtype.is_bool:
        return bool(value)
    if not isinstance(value, int | float):
        expected = "what must be a number"
        raise ArgumentTypeError(
            call=f"a constant of {dtype}",
            argument="its value",
            given=shown(value),
            expected=expected,
        )
    whole = int(value)
    if whole != value:
        raise ArgumentError(
            op=f"a constant of {dtype}",
            argument="its value",
            given=value,
            expected="a whole number (cast it explicitly)",
        )
    return wrap_int(whole, dtype) if dtype.is_int else whole


def _forget(
    reference: weakref.ref[Node],
    interned: dict[NodeFields, _InternedRef] = Node._interned,
) -> None:
    """Take a dead node out of the table, which is an argument to be there when Python exits."""
    fields: NodeFields = reference.fields  # type: ignore[attr-defined]
    if interned.get(fields) is reference:
        del interned[fields]


def _missing(root: Node, lacks: Callable[[Node], bool]) -> Iterator[Node]:
    """Nodes under `root` that still lack a fact, operands first, without recursion."""
    stack = [root]
    while stack:
        node = stack[-1]
        if not lacks(node):
            stack.pop()
            continue
        pending = [s for s in node.src if lacks(s)]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        yield node


FlatNode = tuple[Ops, DType, tuple[int, ...], object, object, "tuple[str, int] | None"]


def flatten_graph(root: Node) -> tuple[FlatNode, ...]:
    """The graph as a list, operands before users, operands named by position."""
    position: dict[Node, int] = {}
    flat: list[FlatNode] = []
    for node in _missing(root, lambda n: n not in position):
        position[node] = len(flat)
        operands = tuple(position[s] for s in node.src)
        flat.append((node.op, node.dtype, operands, node.arg, node.tag, node.source_line))
    return tuple(flat)


def rebuild_graph(cls: type[Node], flat: tuple[FlatNode, ...]) -> Node:
    """The root of what `flatten_graph` wrote down."""
    nodes: list[Node] = []
    for op, dtype, operands, arg, tag, source_line in flat:
        node = cls(op, dtype, tuple(nodes[i] for i in operands), arg, tag)
        if node.source_line is None:
            node.source_line = source_line
        nodes.append(node)
    return nodes[-1]


assert set(SHAPE_RULES) == set(Ops), "every op has a shape rule"
