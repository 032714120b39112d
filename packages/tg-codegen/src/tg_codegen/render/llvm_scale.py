"""A product with a power of two as AVX-512's VSCALEF, which takes the exponent as a float.

VSCALEFPS and VSCALEFPD round once, subnormal results too (Intel 64 and IA-32 Architectures Software
Developer's Manual, volume 2). They stand for ten instructions that put an exponent together.

Results that underflow cost a hundred cycles each where the instruction makes them. Those that are 0
for sure, as every exp(-inf) of a masked row, are left out of it by its mask.
"""

from __future__ import annotations

from tg_uop import DType, UOp

from tg_codegen.legalize.arithmetic import KINDS, scaled_by_power
from tg_codegen.render.llvm_body import Body
from tg_codegen.render.llvm_ops import splat
from tg_codegen.render.llvm_types import intrinsic_suffix, type_name

_REGISTER_BITS = (512, 256, 128)
_SUFFIX = {32: "ps", 64: "pd"}
# round as the processor is set to
_CURRENT_ROUNDING = 4
_MASK_LANES = 8
"""Lanes of the shortest mask."""


def render_scaling(body: Body, node: UOp) -> str | None:
    """The value of a MUL that applies a power of two, None for any other product.

    Also None for scalars and for vectors that do not fill registers.
    """
    found = scaled_by_power(node)
    width = _register_lanes(node.dtype)
    if found is None or width is None:
        return None
    value, shifted = found
    magic = splat(KINDS[node.dtype.scalar()].round_magic, node.dtype)
    exponent = body.emit(f"fsub {body.typed(shifted)}, {magic}")
    if width == node.dtype.count:
        return _scaled(body, body.values[value], exponent, node.dtype)
    result = "poison"
    for start in range(0, node.dtype.count, width):
        part = node.dtype.scalar().vec(width)
        mantissa = _extracted(body, body.values[value], node.dtype, part, start)
        power = _extracted(body, exponent, node.dtype, part, start)
        scaled = _scaled(body, mantissa, power, part)
        result = _inserted(body, result, scaled, node.dtype, part, start)
    return result


def _register_lanes(dtype: DType) -> int | None:
    """Lanes of the largest register that the vector is a multiple of."""
    bits = dtype.scalar().bitsize
    for register in _REGISTER_BITS:
        if dtype.count % (register // bits) == 0:
            return register // bits
    return None


def _scaled(body: Body, value: str, exponent: str, dtype: DType) -> str:
    """One instruction."""
    kind = type_name(dtype)
    bits = dtype.scalar().bitsize
    register = bits * dtype.count
    mask = f"i{max(_MASK_LANES, dtype.count)}"
    name = f"@llvm.x86.avx512.mask.scalef.{_SUFFIX[bits]}.{register}"
    kinds = [kind, kind, kind, mask]
    lanes = _not_zero(body, exponent, dtype, mask)
    operands = [f"{kind} {value}", f"{kind} {exponent}", f"{kind} zeroinitializer", lanes]
    if register == _REGISTER_BITS[0]:
        kinds.append("i32")
        operands.append(f"i32 {_CURRENT_ROUNDING}")
    body.declarations[f"declare {kind} {name}({', '.join(kinds)})"] = None
    return body.emit(f"call {kind} {name}({', '.join(operands)})")


def _not_zero(body: Body, exponent: str, dtype: DType, mask: str) -> str:
    """The mask of the lanes that may not underflow to 0, NaN among them, as a typed operand.

    A value is below 2, so that half of the smallest number, 2 ** lowest, bounds what is 0.
    """
    kind = KINDS[dtype.scalar()]
    lowest = float(-kind.bias - kind.mantissa)
    count = dtype.count
    found = body.emit(f"fcmp uge {type_name(dtype)} {exponent}, {splat(lowest, dtype)}")
    if count < _MASK_LANES:
        lanes = ", ".join(f"i32 {min(lane, count)}" for lane in range(_MASK_LANES))
        found = body.emit(
            f"shufflevector <{count} x i1> {found}, <{count} x i1> zeroinitializer, "
            f"<{_MASK_LANES} x i32> <{lanes}>"
        )
    bits = max(count, _MASK_LANES)
    return f"{mask} {body.emit(f'bitcast <{bits} x i1> {found} to {mask}')}"


def _extracted(body: Body, vector: str, whole: DType, part: DType, start: int) -> str:
    """The lanes of a vector from `start` on that make a `part`."""
    kind, small = type_name(whole), type_name(part)
    name = f"@llvm.vector.extract.{intrinsic_suffix(part)}.{intrinsic_suffix(whole)}"
    body.declarations[f"declare {small} {name}({kind}, i64)"] = None
    return body.emit(f"call {small} {name}({kind} {vector}, i64 {start})")


def _inserted(body: Body, vector: str, lanes: str, whole: DType, part: DType, start: int) -> str:
    """A vector with a `part` of its lanes replaced."""
    kind, small = type_name(whole), type_name(part)
    name = f"@llvm.vector.insert.{intrinsic_suffix(whole)}.{intrinsic_suffix(part)}"
    body.declarations[f"declare {kind} {name}({kind}, {small}, i64)"] = None
    return body.emit(f"call {kind} {name}({kind} {vector}, {small} {lanes}, i64 {start})")
