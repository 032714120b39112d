"""C expressions for the elementwise operations on scalars, with the semantics of the IR."""

from __future__ import annotations

from collections.abc import Callable

from tg_uop import DType, Ops, UOp

from tg_codegen.render.c_body import Body
from tg_codegen.render.c_types import (
    FUNCTION_SUFFIXES,
    integer_name,
    scalar_literal,
    scalar_name,
    type_name,
)
from tg_codegen.render.exact import never_wraps

Write = Callable[[Body, UOp], str]

OPERATORS = {
    Ops.ADD: "+",
    Ops.SUB: "-",
    Ops.MUL: "*",
    Ops.FDIV: "/",
    Ops.AND: "&",
    Ops.OR: "|",
    Ops.XOR: "^",
    Ops.CMPLT: "<",
    Ops.CMPNE: "!=",
    Ops.CMPEQ: "==",
}
WRAPPING = frozenset((Ops.ADD, Ops.SUB, Ops.MUL))
BOOL_OPERATORS = {Ops.ADD: "|", Ops.MAX: "|", Ops.MUL: "&", Ops.SUB: "^"}


def wide_unsigned(dtype: DType) -> str:
    """The unsigned type in which sums and products wrap; small ones would become int."""
    return "u64" if dtype.scalar().itemsize == 8 else "u32"


def binary(body: Body, node: UOp) -> str:
    """Arithmetic, bits and comparisons. Signed overflow is undefined in C, so it is unsigned."""
    left, right = (body.values[s] for s in node.src)
    operator = OPERATORS[node.op]
    if node.op in (Ops.CMPEQ, Ops.CMPNE) and left == right and node.src[0].dtype.is_float:
        return is_nan(left) if node.op is Ops.CMPNE else f"!{is_nan(left)}"
    if node.dtype.is_bool:
        return f"{left} {BOOL_OPERATORS.get(node.op, operator)} {right}"
    if node.op not in WRAPPING or node.dtype.is_float or never_wraps(node):
        return f"{left} {operator} {right}"
    wide = wide_unsigned(node.dtype)
    return f"({scalar_name(node.dtype)})(({wide}){left} {operator} ({wide}){right})"


def is_nan(value: str) -> str:
    """Whether a float is NaN.

    A float32 that was a float16 is not compared with itself: gcc does that as float16, by a
    function of libgcc on processors without such arithmetic.
    """
    return f"__builtin_isnan({value})"


def negate(body: Body, node: UOp) -> str:
    """NEG."""
    value = body.values[node.src[0]]
    if node.dtype.is_float:
        return f"-{value}"
    if node.dtype.is_bool:
        return value
    wide = wide_unsigned(node.dtype)
    return f"({scalar_name(node.dtype)})(0 - ({wide}){value})"


def where(body: Body, node: UOp) -> str:
    """WHERE."""
    condition, yes, no = (body.values[s] for s in node.src)
    return f"{condition} ? {yes} : {no}"


def maximum(body: Body, node: UOp) -> str:
    """MAX: the left operand where they are equal, NaN if there is one."""
    left, right = (body.values[s] for s in node.src)
    if node.dtype.is_bool:
        return f"{left} | {right}"
    if not node.dtype.is_float:
        return f"{left} < {right} ? {right} : {left}"
    return f"{is_nan(right)} ? {right} : {left} < {right} ? {right} : {left}"


def divide(body: Body, node: UOp) -> str:
    """IDIV and MOD through a function that gives 0 for a divisor of 0, and does not trap."""
    function = define_division(body, node.op, node.dtype)
    left, right = (body.values[s] for s in node.src)
    return f"{function}({left}, {right})"


def define_division(body: Body, op: Ops, dtype: DType) -> str:
    """The name of the function for one lane."""
    lane = scalar_name(dtype.scalar())
    is_quotient = op is Ops.IDIV
    name = f"{'div' if is_quotient else 'mod'}_{lane}"
    operator = "/" if is_quotient else "%"
    special = ""
    if not dtype.is_unsigned:
        wide = wide_unsigned(dtype)
        by_minus_one = f"({lane})(0 - ({wide})a)" if is_quotient else "0"
        special = f"b == -1 ? {by_minus_one} : "
    body.define(
        f"static inline {lane} {name}({lane} a, {lane} b)"
        f" {{ return b == 0 ? 0 : {special}({lane})(a {operator} b); }}"
    )
    return name


def shift(body: Body, node: UOp) -> str:
    """SHL and SHR; a count not below the width shifts all bits out."""
    value, count = node.src
    x, n = body.values[value], body.values[count]
    dtype = node.dtype
    bits = dtype.scalar().bitsize
    lane = scalar_name(dtype)
    if node.op is Ops.SHL:
        shifted = f"({lane})(({wide_unsigned(dtype)}){x} << {n})"
    else:
        shifted = f"({lane})({x} >> {n})"
    if count.vmin >= 0 and count.vmax < bits:
        return shifted
    in_range = f"({integer_name(count.dtype, unsigned=True)}){n} < {bits}"
    all_out = f"({lane})({x} < 0 ? -1 : 0)" if _keeps_sign(node) else "0"
    return f"{in_range} ? {shifted} : {all_out}"


def _keeps_sign(node: UOp) -> bool:
    return node.op is Ops.SHR and not node.dtype.is_unsigned


def multiply_add(body: Body, node: UOp) -> str:
    """MULACC: one rounding for floats."""
    a, b, c = (body.values[s] for s in node.src)
    if node.dtype.is_float:
        return f"__builtin_fma{function_suffix(node.dtype)}({a}, {b}, {c})"
    wide = wide_unsigned(node.dtype)
    return f"({scalar_name(node.dtype)})(({wide}){a} * ({wide}){b} + ({wide}){c})"


def function_suffix(dtype: DType) -> str:
    """What a builtin's name ends in for a float type."""
    return FUNCTION_SUFFIXES[scalar_name(dtype.scalar())]


def unary_function(body: Body, node: UOp) -> str:
    """SQRT and TRUNC; integers are truncated already."""
    value = body.values[node.src[0]]
    if not node.dtype.is_float:
        return value
    name = "sqrt" if node.op is Ops.SQRT else "trunc"
    return f"__builtin_{name}{function_suffix(node.dtype)}({value})"


def reciprocal(body: Body, node: UOp) -> str:
    """RECIPROCAL."""
    return f"{scalar_literal(1.0, node.dtype)} / {body.values[node.src[0]]}"


def cast(body: Body, node: UOp) -> str:
    """CAST; a float that becomes an integer is in range here, legalization has seen to that."""
    value = body.values[node.src[0]]
    if node.dtype.is_bool:
        return f"{value} != 0"
    return f"({type_name(node.dtype)}){value}"


def bitcast(body: Body, node: UOp) -> str:
    """BITCAST through memory, which compilers see through."""
    source, target = node.src[0].dtype, node.dtype
    value = body.values[node.src[0]]
    if target.is_bool:
        return f"{value} != 0"
    if source.is_bool or not (source.is_float or target.is_float):
        return f"({type_name(target)}){value}"
    old, new = type_name(source), type_name(target)
    name = f"bits_{old}_{new}"
    body.define(
        f"static inline {new} {name}({old} a)"
        f" {{ {new} r; __builtin_memcpy(&r, &a, sizeof r); return r; }}"
    )
    return f"{name}({value})"


SCALAR_OPS: dict[Ops, Write] = {
    **dict.fromkeys(OPERATORS, binary),
    Ops.NEG: negate,
    Ops.WHERE: where,
    Ops.MAX: maximum,
    Ops.IDIV: divide,
    Ops.MOD: divide,
    Ops.SHL: shift,
    Ops.SHR: shift,
    Ops.MULACC: multiply_add,
    Ops.SQRT: unary_function,
    Ops.TRUNC: unary_function,
    Ops.RECIPROCAL: reciprocal,
    Ops.CAST: cast,
    Ops.BITCAST: bitcast,
}
