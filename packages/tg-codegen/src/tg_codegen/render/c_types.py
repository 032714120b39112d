"""Types and literals of C for a compiler with GNU extensions (gcc and clang)."""

from __future__ import annotations

from functools import lru_cache
from math import isinf, isnan

from tg_uop import DType, PtrDType, dtypes
from tg_uop.dtype.value import convert

from tg_codegen.errors import UnsupportedError

SCALAR_NAMES = {
    dtypes.bool: "_Bool",
    dtypes.int8: "i8",
    dtypes.uint8: "u8",
    dtypes.int16: "i16",
    dtypes.uint16: "u16",
    dtypes.int32: "i32",
    dtypes.uint32: "u32",
    dtypes.int64: "i64",
    dtypes.uint64: "u64",
    dtypes.float16: "f16",
    dtypes.float32: "f32",
    dtypes.float64: "f64",
}

DEFINITIONS = {
    "i8": "__INT8_TYPE__",
    "u8": "__UINT8_TYPE__",
    "i16": "__INT16_TYPE__",
    "u16": "__UINT16_TYPE__",
    "i32": "__INT32_TYPE__",
    "u32": "__UINT32_TYPE__",
    "i64": "__INT64_TYPE__",
    "u64": "__UINT64_TYPE__",
    "f16": "_Float16",
    "f32": "float",
    "f64": "double",
}

NAMES = 4096
"""So many names and literals are kept: constants and sizes of memory have no end."""

LITERAL_SUFFIXES = {"i64": "LL", "u64": "ULL", "u32": "U", "f32": "f"}
# of the builtin functions for a float type
FUNCTION_SUFFIXES = {"f32": "f", "f64": ""}


@lru_cache(maxsize=NAMES)
def scalar_name(dtype: DType) -> str:
    """The name of a scalar type; for a vector that of its lanes, where a lane of bool is an i8."""
    if dtype.count > 1 and dtype.is_bool:
        return "i8"
    name = SCALAR_NAMES.get(dtype.scalar())
    if name is None:
        raise UnsupportedError(
            what=f"a value of {dtype}",
            target="C",
            reason="C has no such type",
            hint="legalize the dtype before rendering",
        )
    return name


@lru_cache(maxsize=NAMES)
def type_name(dtype: DType) -> str:
    """The name of a value's type; a vector of bool is one of i8 with lanes of 0 and -1."""
    if isinstance(dtype, PtrDType):
        return f"{memory_name(dtype.base)} *"
    name = scalar_name(dtype)
    return name if dtype.count == 1 else f"{name}x{dtype.count}"


@lru_cache(maxsize=NAMES)
def memory_name(dtype: DType) -> str:
    """The name of an element's type in memory: bool is a byte."""
    if dtype.is_bool:
        return "u8" if dtype.count == 1 else f"u8x{dtype.count}"
    return type_name(dtype)


@lru_cache(maxsize=NAMES)
def integer_name(dtype: DType, *, unsigned: bool = False) -> str:
    """The integer type of a value's width (and lanes)."""
    bits = 8 * dtype.scalar().itemsize
    letter = "u" if unsigned else "i"
    return f"{letter}{bits}" if dtype.count == 1 else f"{letter}{bits}x{dtype.count}"


@lru_cache(maxsize=NAMES)
def scalar_literal(value: object, dtype: DType) -> str:
    """The literal of one lane; floats in hexadecimal, so that no digit is lost."""
    scalar = dtype.scalar()
    if scalar.is_bool:
        return "1" if value else "0"
    if scalar.is_float:
        assert isinstance(value, float), f"{value!r} is no float constant"
        return _float_literal(value, scalar)
    assert isinstance(value, int), f"{value!r} is no integer constant"
    name = scalar_name(scalar)
    text = f"{value}{LITERAL_SUFFIXES.get(name, '')}"
    if value == scalar.min and value < 0:
        # the literal of the lowest number would be minus one that does not fit
        text = f"{value + 1}{LITERAL_SUFFIXES.get(name, '')} - 1"
    return text if value >= 0 and scalar.itemsize >= 4 else f"(({name})({text}))"


def _float_literal(value: float, dtype: DType) -> str:
    name = scalar_name(dtype)
    rounded = convert(float(value), dtype)
    assert isinstance(rounded, float), "a float stays one"
    if isnan(rounded):
        return f'(({name})__builtin_nan(""))'
    if isinf(rounded):
        sign = "-" if rounded < 0 else ""
        return f"(({name}){sign}__builtin_inf())"
    text = rounded.hex() + LITERAL_SUFFIXES.get(name, "")
    if name == "f16":
        return f"((f16){text})"
    return f"({text})" if text.startswith("-") else text
