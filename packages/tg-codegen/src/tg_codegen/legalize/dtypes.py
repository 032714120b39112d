"""Emulate the dtypes that the target cannot compute with, in float32.

A value of such a dtype is a float32 that the dtype holds exactly: each operation is done in float32
and rounded. As float32 has more than twice the digits, that gives the correctly rounded result
(Figueroa, 1995). Memory keeps the dtype's own bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from tg_uop import AddrSpace, DType, GroupOp, Ops, PtrDType, UOp, dtypes
from tg_uop.dtype.value import convert

from tg_codegen.legalize.narrow_floats import (
    decoded,
    encoded,
    rounded,
    storage_dtype,
    to_single_odd,
)
from tg_codegen.legalize.rebuild import ordered
from tg_codegen.target.caps import Capabilities

SINGLE = dtypes.float32
NARROW = frozenset((dtypes.float16, dtypes.bfloat16, *dtypes.fp8s))
# their results are exact or one of the operands
NEVER_ROUNDED = frozenset((Ops.WHERE, Ops.MAX, Ops.NEG, Ops.TRUNC))
# functions that have no narrow version: as exact in float32, and rounded
WIDE_ONLY = frozenset((Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.POW))
# integers of more bits than this do not all fit float64
EXACT_BITS = 32


def emulate_dtypes(root: UOp, caps: Capabilities) -> UOp:
    """The graph with no value of a dtype that the target cannot compute with."""
    emulated = frozenset(d for d in NARROW if not caps.computes(d))
    return _Emulation(emulated, caps).run(root)


@dataclass(frozen=True, slots=True)
class _Emulation:
    emulated: frozenset[DType]
    caps: Capabilities

    def run(self, root: UOp) -> UOp:
        """The rebuilt graph."""
        order = ordered(root)
        if not any(self._is_narrow(node.dtype) for node in order):
            return root
        done: dict[UOp, UOp] = {}
        for node in order:
            src = tuple(done[s] for s in node.src)
            done[node] = self._replaced(node, src, done)
        return done[root]

    def _is_narrow(self, dtype: DType) -> bool:
        return dtype.base.scalar() in NARROW

    def is_emulated(self, dtype: DType) -> bool:
        """Whether values of `dtype` become float32."""
        return dtype.scalar() in self.emulated

    def _replaced(self, node: UOp, src: tuple[UOp, ...], done: dict[UOp, UOp]) -> UOp:
        if isinstance(node.dtype, PtrDType):
            return node.replace(dtype=self._memory(node.dtype), src=src)
        if node.op is Ops.STORE:
            known = self._known_bits(node.stored_value, done)
            if known is None or src[0].dtype.base.scalar() is not known.dtype.scalar():
                known = self._to_memory(src[0], src[1], node.stored_value)
            return node.replace(src=(src[0], known))
        if node.op is Ops.LOAD and self.is_emulated(node.dtype):
            return self._load(node, src)
        if node.op is Ops.CAST:
            return self._cast(src[0], node.src[0].dtype, node.dtype)
        if node.op is Ops.BITCAST:
            return self._bitcast(node, src[0], done)
        if node.op in WIDE_ONLY and node.dtype.scalar() in NARROW:
            return self._wide_only(node, src)
        if not self.is_emulated(node.dtype):
            return node if src == node.src else node.replace(src=src)
        return self._value(node, src)

    # *** memory ***

    def _memory(self, dtype: PtrDType) -> PtrDType:
        base = dtype.base
        if not self.is_emulated(base):
            return dtype
        if dtype.addrspace is AddrSpace.REG:
            return SINGLE.vec(base.count).ptr(dtype.size, dtype.addrspace)
        if self.caps.converts(base):
            return dtype
        return storage_dtype(base).ptr(dtype.size, dtype.addrspace)

    def _load(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        dtype = node.dtype
        loaded = self._held(node, src)
        if loaded.dtype.scalar() is SINGLE:
            return loaded
        if loaded.dtype.is_float:
            return loaded.cast(SINGLE)
        return decoded(loaded, dtype)

    def _held(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        """What the memory of a LOAD holds: float32, the dtype itself, or its bits."""
        held = src[0].dtype.base.scalar()
        if held is SINGLE:
            return node.replace(dtype=SINGLE.vec(node.dtype.count), src=src)
        others = tuple(self._to_memory(src[0], alt, node) for alt in src[1:])
        return node.replace(dtype=held.vec(node.dtype.count), src=(src[0], *others))

    def _to_memory(self, address: UOp, value: UOp, before: UOp) -> UOp:
        """`value`, which stands for `before`, as the memory at `address` holds it."""
        if not self.is_emulated(before.dtype) or address.dtype.base.scalar() is SINGLE:
            return value
        if self.caps.converts(before.dtype):
            return value.cast(before.dtype)
        if value.op is Ops.CONST and value.arg == 0.0 and str(value.arg) == "0.0":
            return UOp.const(storage_dtype(before.dtype), 0)
        return encoded(value, before.dtype)

    # *** values ***

    def _value(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        dtype = node.dtype
        wide = SINGLE.vec(dtype.count)
        if node.op is Ops.CONST:
            return UOp.const(wide, convert(node.arg, dtype.scalar()))  # type: ignore[arg-type]
        if node.op is Ops.VCONST:
            assert isinstance(node.arg, tuple), "a VCONST carries its lanes"
            return UOp.const(wide, tuple(convert(lane, dtype.scalar()) for lane in node.arg))
        result = node.replace(dtype=wide, src=src)
        if node.op in NEVER_ROUNDED or node.op not in GroupOp.ALU:
            return result
        return self.rounded(result, dtype)

    def rounded(self, value: UOp, dtype: DType) -> UOp:
        """A float32 rounded to the values of an emulated dtype."""
        if self.caps.converts(dtype):
            return value.cast(dtype).cast(SINGLE)
        return rounded(value, dtype)

    def _wide_only(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        dtype = node.dtype
        wide = node.replace(dtype=SINGLE.vec(dtype.count), src=tuple(s.cast(SINGLE) for s in src))
        return self.rounded(wide, dtype) if self.is_emulated(dtype) else wide.cast(dtype)

    # *** conversions ***

    def _cast(self, value: UOp, source: DType, target: DType) -> UOp:
        """`value`, which was of `source`, as `target`."""
        if not self.is_emulated(target):
            return value.cast(target)
        if source.scalar() is target.scalar():
            return value
        if value.dtype.scalar() is SINGLE:
            return value if self._holds(target, source) else self.rounded(value, target)
        if value.dtype.is_float and value.dtype.scalar() is not dtypes.float64:
            return self.rounded(value.cast(SINGLE), target)
        if not value.dtype.is_float and value.dtype.scalar().itemsize <= 2:
            return self.rounded(value.cast(SINGLE), target)
        if value.dtype.scalar().is_int and value.dtype.scalar().bitsize > EXACT_BITS:
            value = _sticky(value)
        return self.rounded(to_single_odd(value.cast(dtypes.float64)), target)

    def _holds(self, target: DType, source: DType) -> bool:
        """Whether every value of `source` is one of `target`: fp8 in float16 and the like."""
        fp8 = (dtypes.fp8e5m2, dtypes.fp8e4m3)
        return source.scalar() in fp8 and target.scalar() in (dtypes.float16, dtypes.bfloat16)

    def _bitcast(self, node: UOp, value: UOp, done: dict[UOp, UOp]) -> UOp:
        operand = node.src[0]
        source, target = operand.dtype, node.dtype
        if self.is_emulated(source):
            found = self._known_bits(operand, done)
            value = self._bits(value, source) if found is None else found
        if not self.is_emulated(target):
            return value.bitcast(target)
        if self.caps.converts(target):
            return value.bitcast(target).cast(SINGLE)
        return decoded(value.bitcast(storage_dtype(target)), target)

    def _known_bits(self, node: UOp, done: dict[UOp, UOp]) -> UOp | None:
        """The bits of an emulated value that was loaded or made of bits: a NaN keeps its own."""
        if not self.is_emulated(node.dtype):
            return None
        if node.op is Ops.BITCAST and not self.is_emulated(node.src[0].dtype):
            return done[node.src[0]].bitcast(storage_dtype(node.dtype))
        if node.op is not Ops.LOAD:
            return None
        held = self._held(node, tuple(done[s] for s in node.src))
        return held if held.dtype.is_int else None

    def _bits(self, value: UOp, dtype: DType) -> UOp:
        if self.caps.converts(dtype):
            return value.cast(dtype).bitcast(storage_dtype(dtype))
        return encoded(value, dtype)


def _sticky(value: UOp) -> UOp:
    """A 64-bit integer with its last bits, which no narrow float can hold, told by one bit.

    The result fits float64 exactly; numbers that are small stay as they are.
    """
    low = (1 << 12) - 1
    is_rest = (value & low).ne(0)
    cut = (value >> 12) << 12
    marked = cut | is_rest.where(value.ufix(1 << 11), value.ufix(0))
    limit = 1 << 40
    is_small = value < limit
    if not value.dtype.is_unsigned:
        is_small = is_small & value.ufix(-limit).alu(Ops.CMPLT, value)
    return is_small.where(value, marked)
