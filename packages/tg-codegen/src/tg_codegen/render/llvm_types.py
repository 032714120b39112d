"""Types and literals of LLVM IR text."""

from __future__ import annotations

import struct
from functools import lru_cache
from math import isfinite

from tg_uop import DType, PtrDType, UOp, dtypes

from tg_codegen.errors import UnsupportedError

SCALAR_TYPES = {
    dtypes.void: "void",
    dtypes.bool: "i1",
    dtypes.int8: "i8",
    dtypes.uint8: "i8",
    dtypes.int16: "i16",
    dtypes.uint16: "i16",
    dtypes.int32: "i32",
    dtypes.uint32: "i32",
    dtypes.int64: "i64",
    dtypes.uint64: "i64",
    dtypes.float16: "half",
    dtypes.bfloat16: "bfloat",
    dtypes.float32: "float",
    dtypes.float64: "double",
}

NAMES = 4096
"""So many names and literals are kept: constants and sizes of memory have no end."""

FLOAT_SUFFIXES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


@lru_cache(maxsize=NAMES)
def type_name(dtype: DType) -> str:
    """The type of a value, `<n x T>` for a vector."""
    if isinstance(dtype, PtrDType):
        return "ptr"
    name = SCALAR_TYPES.get(dtype.scalar())
    if name is None:
        raise UnsupportedError(
            what=f"a value of {dtype}",
            target="LLVM IR",
            reason="LLVM has no such type",
            hint="legalize the dtype before rendering",
        )
    return name if dtype.count == 1 else f"<{dtype.count} x {name}>"


@lru_cache(maxsize=NAMES)
def memory_type(dtype: DType) -> str:
    """The type of a value in memory, where bool takes a byte."""
    if dtype.scalar() is not dtypes.bool:
        return type_name(dtype)
    return "i8" if dtype.count == 1 else f"<{dtype.count} x i8>"


@lru_cache(maxsize=NAMES)
def intrinsic_suffix(dtype: DType) -> str:
    """How an intrinsic's name spells the type: `f32`, `v16f32`, `i64`."""
    scalar = type_name(dtype.scalar())
    name = FLOAT_SUFFIXES.get(scalar, scalar)
    return name if dtype.count == 1 else f"v{dtype.count}{name}"


def float_bits(value: float, dtype: DType) -> str:
    """A float literal: bits in hexadecimal, so that no digit is lost."""
    if dtype is dtypes.float64:
        return f"0x{_double_bits(value):016X}"
    if dtype is dtypes.float32:
        return f"0x{_double_bits(_to_single(value)):016X}"
    if dtype is dtypes.float16:
        return f"0xH{int.from_bytes(struct.pack('>e', _to_half_range(value))):04X}"
    return f"0xR{_bfloat_bits(value):04X}"


def _double_bits(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value))


def _to_single(value: float) -> float:
    """`value` rounded to float32; too large becomes infinity."""
    if not isfinite(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _to_half_range(value: float) -> float:
    if isfinite(value) and abs(value) >= 65520:
        return float("inf") if value > 0 else float("-inf")
    return value


def _bfloat_bits(value: float) -> int:
    """The upper half of the float32 bits; constants of bfloat16 are already rounded."""
    return int.from_bytes(struct.pack(">f", _to_single(value))) >> 16


@lru_cache(maxsize=NAMES)
def scalar_literal(value: object, dtype: DType) -> str:
    """The literal of one lane. `value` is a bool, int or (Const)Float."""
    if dtype.is_float:
        assert isinstance(value, float), f"{value!r} is no float constant"
        return float_bits(value, dtype)
    if dtype.is_bool:
        return "true" if value else "false"
    assert isinstance(value, int), f"{value!r} is no integer constant"
    return str(value)


def literal(node: UOp) -> str:
    """The literal of a CONST or VCONST."""
    scalar = node.dtype.scalar()
    if isinstance(node.arg, tuple):
        name = type_name(scalar)
        lanes = ", ".join(f"{name} {scalar_literal(lane, scalar)}" for lane in node.arg)
        return f"<{lanes}>"
    text = scalar_literal(node.arg, scalar)
    if node.dtype.count == 1:
        return text
    if text in ("0", "false", "0x0000000000000000"):
        return "zeroinitializer"
    return f"splat ({type_name(scalar)} {text})"
