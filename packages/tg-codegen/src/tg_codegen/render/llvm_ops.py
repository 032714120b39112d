"""LLVM instructions for the elementwise operations, with the semantics of the IR."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

from tg_uop import DType, Ops, UOp, dtypes

from tg_codegen.render.exact import never_wraps
from tg_codegen.render.llvm_body import Body
from tg_codegen.render.llvm_types import scalar_literal, type_name

Write = Callable[[Body, UOp], str]

FLOAT_BINARY = {Ops.ADD: "fadd", Ops.SUB: "fsub", Ops.MUL: "fmul", Ops.FDIV: "fdiv"}
INT_BINARY = {
    Ops.ADD: "add",
    Ops.SUB: "sub",
    Ops.MUL: "mul",
    Ops.AND: "and",
    Ops.OR: "or",
    Ops.XOR: "xor",
}
# arithmetic on truth values: sum and maximum are "or", product is "and"
BOOL_BINARY = {
    Ops.ADD: "or",
    Ops.MAX: "or",
    Ops.MUL: "and",
    Ops.SUB: "xor",
    Ops.AND: "and",
    Ops.OR: "or",
    Ops.XOR: "xor",
}
FLOAT_COMPARE = {Ops.CMPLT: "fcmp olt", Ops.CMPNE: "fcmp une", Ops.CMPEQ: "fcmp oeq"}


def splat(value: object, dtype: DType) -> str:
    """The literal with `value` in every lane."""
    text = scalar_literal(value, dtype.scalar())
    if dtype.count == 1:
        return text
    return f"splat ({type_name(dtype.scalar())} {text})"


def binary(body: Body, node: UOp) -> str:
    """ADD SUB MUL FDIV AND OR XOR."""
    left, right = node.src
    kind = type_name(node.dtype)
    operands = f"{kind} {body.values[left]}, {body.values[right]}"
    if node.dtype.is_float:
        return body.emit(f"{FLOAT_BINARY[node.op]} {operands}")
    if node.dtype.is_bool:
        return body.emit(f"{BOOL_BINARY[node.op]} {operands}")
    instruction = INT_BINARY[node.op]
    if never_wraps(node):
        instruction += " nuw" if node.dtype.is_unsigned else " nsw"
    return body.emit(f"{instruction} {operands}")


def negate(body: Body, node: UOp) -> str:
    """NEG; the negation of a truth value is itself, as -1 and 1 are both true."""
    value = body.values[node.src[0]]
    if node.dtype.is_float:
        return body.emit(f"fneg {type_name(node.dtype)} {value}")
    if node.dtype.is_bool:
        return value
    return body.emit(f"sub {type_name(node.dtype)} {splat(0, node.dtype)}, {value}")


def compare(body: Body, node: UOp) -> str:
    """CMPLT CMPNE CMPEQ; every comparison with NaN but CMPNE is false."""
    left, right = node.src
    dtype = left.dtype
    if dtype.is_float:
        instruction = FLOAT_COMPARE[node.op]
    elif node.op is Ops.CMPLT:
        instruction = "icmp slt" if dtype.is_int and not dtype.is_unsigned else "icmp ult"
    else:
        instruction = "icmp ne" if node.op is Ops.CMPNE else "icmp eq"
    operands = f"{type_name(dtype)} {body.values[left]}, {body.values[right]}"
    return body.emit(f"{instruction} {operands}")


def choose(body: Body, condition: str, dtype: DType, yes: str, no: str) -> str:
    """A select whose condition has as many lanes as the values."""
    kind = type_name(dtype)
    mask = type_name(dtypes.bool.vec(dtype.count))
    return body.emit(f"select {mask} {condition}, {kind} {yes}, {kind} {no}")


def where(body: Body, node: UOp) -> str:
    """WHERE; one condition may also decide for all lanes."""
    condition, yes, no = node.src
    kind = type_name(node.dtype)
    mask = type_name(condition.dtype)
    values = body.values
    return body.emit(
        f"select {mask} {values[condition]}, {kind} {values[yes]}, {kind} {values[no]}"
    )


def maximum(body: Body, node: UOp) -> str:
    """MAX: the left operand where they are equal, NaN if there is one.

    `a < b ? b : a` is one x86 instruction and gives a when either is NaN, so it is enough if b is a
    constant; else b is taken if it is NaN, which a mask of that instruction does. In a running
    maximum only the one instruction waits for the step before.
    """
    if node.dtype.is_bool:
        return binary(body, node)
    left, right = node.src
    kind = type_name(node.dtype)
    first, second = body.values[left], body.values[right]
    if not node.dtype.is_float:
        sign = "ult" if node.dtype.is_unsigned else "slt"
        smaller = body.emit(f"icmp {sign} {kind} {first}, {second}")
        return choose(body, smaller, node.dtype, second, first)
    if is_number(right):
        smaller = body.emit(f"fcmp olt {kind} {first}, {second}")
        return choose(body, smaller, node.dtype, second, first)
    if is_number(left):
        stays = body.emit(f"fcmp oge {kind} {first}, {second}")
        return choose(body, stays, node.dtype, first, second)
    smaller = body.emit(f"fcmp olt {kind} {first}, {second}")
    larger = choose(body, smaller, node.dtype, second, first)
    ordered = body.emit(f"fcmp ord {kind} {second}, {second}")
    return choose(body, ordered, node.dtype, larger, second)


def is_number(node: UOp) -> bool:
    """Whether the node is a constant other than NaN."""
    return node.op is Ops.CONST and isinstance(node.arg, float) and not isnan(node.arg)


def divide(body: Body, node: UOp) -> str:
    """IDIV and MOD, truncating, without traps: x / 0 and x % 0 are 0, min / -1 wraps to min."""
    dividend, divisor = node.src
    dtype = node.dtype
    kind = type_name(dtype)
    signed = not dtype.is_unsigned
    is_quotient = node.op is Ops.IDIV
    instruction = ("s" if signed else "u") + ("div" if is_quotient else "rem")
    x, y = body.values[dividend], body.values[divisor]
    zero, one, minus_one = splat(0, dtype), splat(1, dtype), splat(-1 if signed else 1, dtype)
    may_be_zero = divisor.vmin <= 0 <= divisor.vmax
    may_overflow = signed and divisor.vmin <= -1 <= divisor.vmax and dividend.vmin == dtype.min
    safe = y
    if may_be_zero:
        is_zero = body.emit(f"icmp eq {kind} {y}, {zero}")
        safe = choose(body, is_zero, dtype, one, safe)
    if may_overflow:
        is_minus_one = body.emit(f"icmp eq {kind} {y}, {minus_one}")
        safe = choose(body, is_minus_one, dtype, one, safe)
    result = body.emit(f"{instruction} {kind} {x}, {safe}")
    if may_overflow and is_quotient:
        negated = body.emit(f"sub {kind} {zero}, {x}")
        result = choose(body, is_minus_one, dtype, negated, result)
    if may_be_zero and is_quotient:
        result = choose(body, is_zero, dtype, zero, result)
    return result


def shift(body: Body, node: UOp) -> str:
    """SHL and SHR, arithmetic on signed values; a count not below the width shifts all bits out."""
    value, count = node.src
    dtype = node.dtype
    kind = type_name(dtype)
    bits = dtype.scalar().bitsize
    x, n = body.values[value], body.values[count]
    arithmetic = node.op is Ops.SHR and not dtype.is_unsigned
    instruction = "shl" if node.op is Ops.SHL else "ashr" if arithmetic else "lshr"
    if count.vmin >= 0 and count.vmax < bits:
        return body.emit(f"{instruction} {kind} {x}, {n}")
    in_range = body.emit(f"icmp ult {kind} {n}, {splat(bits, dtype)}")
    safe = choose(body, in_range, dtype, n, splat(bits - 1 if arithmetic else 0, dtype))
    shifted = body.emit(f"{instruction} {kind} {x}, {safe}")
    if arithmetic:
        return shifted
    return choose(body, in_range, dtype, shifted, splat(0, dtype))


def multiply_add(body: Body, node: UOp) -> str:
    """MULACC: one rounding for floats."""
    a, b, c = (body.values[operand] for operand in node.src)
    if node.dtype.is_float:
        return body.intrinsic("fma", node.dtype, (a, b, c))
    kind = type_name(node.dtype)
    product = body.emit(f"mul {kind} {a}, {b}")
    return body.emit(f"add {kind} {product}, {c}")


def square_root(body: Body, node: UOp) -> str:
    """SQRT."""
    return body.intrinsic("sqrt", node.dtype, (body.values[node.src[0]],))


def truncate(body: Body, node: UOp) -> str:
    """TRUNC: toward zero; integers are what they are."""
    value = body.values[node.src[0]]
    return body.intrinsic("trunc", node.dtype, (value,)) if node.dtype.is_float else value


def reciprocal(body: Body, node: UOp) -> str:
    """RECIPROCAL."""
    kind = type_name(node.dtype)
    return body.emit(f"fdiv {kind} {splat(1.0, node.dtype)}, {body.values[node.src[0]]}")


def cast(body: Body, node: UOp) -> str:
    """CAST; a float that becomes an integer is in range here, legalization has seen to that."""
    operand = node.src[0]
    source, target = operand.dtype, node.dtype
    value = body.values[operand]
    if target.is_bool:
        return _to_bool(body, value, source)
    instruction = _cast_instruction(source, target)
    if instruction is None:
        return value
    return body.emit(f"{instruction} {type_name(source)} {value} to {type_name(target)}")


def _to_bool(body: Body, value: str, source: DType) -> str:
    if source.is_bool:
        return value
    kind = type_name(source)
    if source.is_float:
        return body.emit(f"fcmp une {kind} {value}, {splat(0.0, source)}")
    return body.emit(f"icmp ne {kind} {value}, {splat(0, source)}")


def _cast_instruction(source: DType, target: DType) -> str | None:
    """The conversion, or None where the bits stay."""
    if type_name(source) == type_name(target):
        return None
    unsigned_source = source.is_bool or source.is_unsigned
    if source.is_float and target.is_float:
        return "fpext" if source.bitsize < target.bitsize else "fptrunc"
    if source.is_float:
        return "fptoui" if target.is_unsigned else "fptosi"
    if target.is_float:
        return "uitofp" if unsigned_source else "sitofp"
    if target.bitsize < source.bitsize:
        return "trunc"
    return "zext" if unsigned_source else "sext"


def bitcast(body: Body, node: UOp) -> str:
    """BITCAST; truth values are bytes of 0 or 1."""
    operand = node.src[0]
    value = body.values[operand]
    if node.dtype.is_bool:
        return _to_bool(body, value, operand.dtype)
    if operand.dtype.is_bool:
        return body.emit(f"zext {type_name(operand.dtype)} {value} to {type_name(node.dtype)}")
    if type_name(operand.dtype) == type_name(node.dtype):
        return value
    return body.emit(f"bitcast {type_name(operand.dtype)} {value} to {type_name(node.dtype)}")


ELEMENTWISE: dict[Ops, Write] = {
    **dict.fromkeys(FLOAT_BINARY.keys() | INT_BINARY.keys(), binary),
    **dict.fromkeys(FLOAT_COMPARE, compare),
    Ops.NEG: negate,
    Ops.WHERE: where,
    Ops.MAX: maximum,
    Ops.IDIV: divide,
    Ops.MOD: divide,
    Ops.SHL: shift,
    Ops.SHR: shift,
    Ops.MULACC: multiply_add,
    Ops.SQRT: square_root,
    Ops.TRUNC: truncate,
    Ops.RECIPROCAL: reciprocal,
    Ops.CAST: cast,
    Ops.BITCAST: bitcast,
}
