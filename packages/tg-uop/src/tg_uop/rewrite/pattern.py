"""UPat: the left side of a rewrite rule, a description of nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum, auto
from itertools import permutations, product
from typing import overload

from tg_uop.dtype.dtype import DType
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.methods.elementwise import ElementwiseMixin

OpSet = Ops | Collection[Ops] | None
DTypeSet = DType | Collection[DType] | None


class Order(Enum):
    """How the source patterns of a UPat meet the sources of a node."""

    ANYTHING = auto()  # the sources are not looked at
    FIXED = auto()  # one pattern a source, in order
    PERMUTED = auto()  # one pattern a source, in any order
    ALL = auto()  # one pattern for every source
    PREFIX = auto()  # one pattern a source, more sources may follow


class UPat(ElementwiseMixin):
    """Describes nodes: by op, dtype, arg and sources; captures the matched node under `name`.

    `src` as a tuple fixes the order, as a list allows any permutation, as a single UPat holds for
    all sources, as None looks at none. With `allow_any_len` a tuple matches the leading sources.
    A scalar dtype also matches its vectors. A name used twice must capture the same node twice.
    """

    __slots__ = ("alternatives", "arg", "dtypes", "names", "ops", "order", "src")

    ops: frozenset[Ops] | None
    dtypes: frozenset[DType] | None
    arg: object
    names: tuple[str, ...]
    src: tuple[UPat, ...]
    order: Order
    alternatives: tuple[UPat, ...]

    def __init__(
        self,
        op: OpSet = None,
        dtype: DTypeSet = None,
        src: tuple[UPat, ...] | list[UPat] | UPat | None = None,
        arg: object = None,
        name: str | None = None,
        allow_any_len: bool = False,
    ) -> None:
        self.ops = _op_set(op)
        self.dtypes = _dtype_set(dtype)
        self.arg = arg
        self.names = () if name is None else (name,)
        self.src, self.order = _source_patterns(src, allow_any_len)
        self.alternatives = ()

    # *** constructors ***

    @staticmethod
    def var(name: str | None = None, dtype: DTypeSet = None) -> UPat:
        """Any node, captured under `name`."""
        return UPat(dtype=dtype, name=name)

    @overload
    @staticmethod
    def const(value: object, /) -> UPat: ...

    @overload
    @staticmethod
    def const(dtype: DTypeSet, value: object, /) -> UPat: ...

    @staticmethod
    def const(*args: object) -> UPat:
        """The CONST of this value: `const(value)` or `const(dtype, value)`.

        Equality is Python's, so 0 also matches -0.0; True and False match only bool constants.
        """
        value = args[-1]
        dtype = args[0] if len(args) == 2 else None
        if dtype is not None and not isinstance(dtype, DType | Collection):
            raise TypeError(f"UPat.const wants a dtype or dtypes first, got {dtype!r}")
        return UPat(Ops.CONST, dtype=dtype, arg=value)

    @staticmethod
    def cvar(name: str | None = None, dtype: DTypeSet = None, vec: bool = False) -> UPat:
        """Any CONST, and with `vec` any VCONST."""
        return UPat(GroupOp.Constant if vec else Ops.CONST, dtype=dtype, name=name)

    @staticmethod
    def any(*patterns: UPat, name: str | None = None) -> UPat:
        """What one of the patterns matches; they are tried in order."""
        pattern = UPat(name=name)
        pattern.alternatives = patterns
        return pattern

    def named(self, name: str) -> UPat:
        """The same pattern, capturing under `name` too."""
        return self._changed(names=(*self.names, name))

    def _changed(self, **fields: object) -> UPat:
        pattern = UPat.__new__(UPat)
        for field in UPat.__slots__:
            setattr(pattern, field, fields.get(field, getattr(self, field)))
        return pattern

    # *** sugar: patterns that read like the expression they match ***

    def f(
        self,
        op: OpSet,
        dtype: DTypeSet = None,
        arg: object = None,
        name: str | None = None,
        allow_any_len: bool = False,
    ) -> UPat:
        """A node of `op` with this pattern as its (first) source."""
        return UPat(op, dtype, (self,), arg, name, allow_any_len)

    def alu(self, op: Ops, *src: UPat, dtype: DTypeSet = None, name: str | None = None) -> UPat:
        """`op` on this pattern and others; in any order where the operation commutes."""
        operands = (self, *src)
        if op in GroupOp.Commutative:
            return UPat(op, dtype, list(operands), name=name)
        return UPat(op, dtype, operands, name=name)

    def const_like(self, b: object) -> UPat:
        """The pattern of a constant next to this one."""
        return UPat.const(b)

    def __floordiv__(self, x: object) -> UPat:
        """IDIV: a pattern matches one operation, so here it truncates."""
        return self.alu(Ops.IDIV, self.ufix(x))

    def __mod__(self, x: object) -> UPat:
        """MOD: a pattern matches one operation, so here it truncates."""
        return self.alu(Ops.MOD, self.ufix(x))

    def __truediv__(self, x: object) -> UPat:
        return self.alu(Ops.FDIV, self.ufix(x))

    def ufix(self, x: UPat | object) -> UPat:
        """`x` itself when it is a pattern, else the constant pattern of that value."""
        return x if isinstance(x, UPat) else UPat.const(x)

    def cast(self, dtype: DTypeSet = None, name: str | None = None) -> UPat:
        """A CAST of this pattern."""
        return UPat(Ops.CAST, dtype, (self,), name=name)

    def bitcast(self, dtype: DTypeSet = None, name: str | None = None) -> UPat:
        """A BITCAST of this pattern."""
        return UPat(Ops.BITCAST, dtype, (self,), name=name)

    def or_casted(self, name: str | None = None) -> UPat:
        """This pattern, or a CAST of it; `name` captures the outer node."""
        return UPat.any(self, UPat(Ops.CAST, src=(self,)), name=name)

    def or_after(self, name: str | None = None) -> UPat:
        """This pattern, or an AFTER of it; `name` captures the outer node."""
        return UPat.any(self, UPat(Ops.AFTER, src=(self,), allow_any_len=True), name=name)

    def index(self, *indices: UPat, name: str | None = None, allow_any_len: bool = False) -> UPat:
        """An INDEX of this pattern."""
        return UPat(Ops.INDEX, src=(self, *indices), name=name, allow_any_len=allow_any_len)

    def load(self, *src: UPat, name: str | None = None, allow_any_len: bool = False) -> UPat:
        """A LOAD through this pattern."""
        return UPat(Ops.LOAD, src=(self, *src), name=name, allow_any_len=allow_any_len)

    def store(self, *src: UPat, name: str | None = None, allow_any_len: bool = False) -> UPat:
        """A STORE into this pattern."""
        return UPat(Ops.STORE, src=(self, *src), name=name, allow_any_len=allow_any_len)

    def after(self, *src: UPat, name: str | None = None, allow_any_len: bool = True) -> UPat:
        """An AFTER of this pattern."""
        return UPat(Ops.AFTER, src=(self, *src), name=name, allow_any_len=allow_any_len)

    def end(self, *src: UPat, name: str | None = None, allow_any_len: bool = True) -> UPat:
        """An END of this pattern."""
        return UPat(Ops.END, src=(self, *src), name=name, allow_any_len=allow_any_len)

    def gep(self, lanes: tuple[int, ...] | None = None, name: str | None = None) -> UPat:
        """A GEP of this pattern."""
        return UPat(Ops.GEP, src=(self,), arg=lanes, name=name)

    def reduce(self, *ranges: UPat, arg: object = None, name: str | None = None) -> UPat:
        """A REDUCE of this pattern; more ranges may follow those given."""
        return UPat(Ops.REDUCE, src=(self, *ranges), arg=arg, name=name, allow_any_len=True)

    def __repr__(self) -> str:
        if self.alternatives:
            parts = [repr(p) for p in self.alternatives]
            return f"UPat.any({', '.join(parts)}{self._shown_names()})"
        ops = None if self.ops is None else sorted(op.name for op in self.ops)
        op = "None" if ops is None else "|".join(ops)
        fields = "" if self.arg is None else f", arg={self.arg!r}"
        fields += self._shown_names()
        if self.dtypes is not None:
            fields += f", dtype={'|'.join(sorted(str(d) for d in self.dtypes))}"
        if self.order is not Order.ANYTHING:
            fields += f", src[{self.order.name.lower()}]=({', '.join(map(repr, self.src))})"
        return f"UPat({op}{fields})"

    def _shown_names(self) -> str:
        return f", name={'='.join(self.names)}" if self.names else ""


def _op_set(op: OpSet) -> frozenset[Ops] | None:
    if op is None:
        return None
    return frozenset((op,)) if isinstance(op, Ops) else frozenset(op)


def _dtype_set(dtype: DTypeSet) -> frozenset[DType] | None:
    if dtype is None:
        return None
    return frozenset((dtype,)) if isinstance(dtype, DType) else frozenset(dtype)


def _source_patterns(
    src: tuple[UPat, ...] | list[UPat] | UPat | None, allow_any_len: bool
) -> tuple[tuple[UPat, ...], Order]:
    if src is None:
        return (), Order.ANYTHING
    if isinstance(src, UPat):
        return (src,), Order.ALL
    if isinstance(src, list):
        return tuple(src), Order.PERMUTED
    return src, Order.PREFIX if allow_any_len else Order.FIXED


def expand_alternatives(pattern: UPat) -> tuple[UPat, ...]:
    """The patterns without `UPat.any` inside that together match what `pattern` does, in order."""
    if pattern.alternatives:
        return tuple(_expand_any(pattern))
    if not pattern.src:
        return (pattern,)
    choices = [expand_alternatives(p) for p in pattern.src]
    if choices == [(p,) for p in pattern.src]:
        return (pattern,)
    return tuple(pattern._changed(src=src) for src in product(*choices))


def _expand_any(pattern: UPat) -> Iterator[UPat]:
    for alternative in pattern.alternatives:
        for expanded in expand_alternatives(alternative):
            yield expanded._changed(names=(*expanded.names, *pattern.names))


def captured_names(pattern: UPat) -> frozenset[str]:
    """Every name that a match of the pattern may bind."""
    names = set(pattern.names)
    for part in pattern.src + pattern.alternatives:
        names |= captured_names(part)
    return frozenset(names)


def may_match_sources(pattern: UPat, source_ops: tuple[Ops, ...]) -> bool:
    """Whether a node with sources of these ops can match; looks no deeper than the ops."""
    if pattern.order is Order.ANYTHING:
        return True
    if pattern.order is Order.ALL:
        return all(_accepts(pattern.src[0], op) for op in source_ops)
    if pattern.order is Order.PREFIX:
        if len(source_ops) < len(pattern.src):
            return False
        return all(map(_accepts, pattern.src, source_ops))
    if len(source_ops) != len(pattern.src):
        return False
    if pattern.order is Order.FIXED:
        return all(map(_accepts, pattern.src, source_ops))
    return any(all(map(_accepts, pattern.src, ops)) for ops in permutations(source_ops))


def _accepts(pattern: UPat, op: Ops) -> bool:
    return pattern.ops is None or op in pattern.ops
