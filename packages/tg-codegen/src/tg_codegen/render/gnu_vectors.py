"""C expressions for operations on vectors, in the GNU vector extensions of gcc and clang.

A vector of bool is a vector of i8 with lanes of 0 and -1: comparisons give such masks, and bits
choose by them.
"""

from __future__ import annotations

from tg_uop import DType, Ops, UOp

from tg_codegen.render.c_body import Body
from tg_codegen.render.c_ops import OPERATORS, WRAPPING, Write, define_division, function_suffix
from tg_codegen.render.c_types import integer_name, scalar_literal, scalar_name, type_name

MASK_OPERATORS = {
    Ops.AND: "&",
    Ops.MUL: "&",
    Ops.OR: "|",
    Ops.ADD: "|",
    Ops.MAX: "|",
    Ops.XOR: "^",
    Ops.CMPNE: "^",
}


def vector_of(body: Body, dtype: DType) -> str:
    """The name of a vector type, defined."""
    return body.type(dtype)


def integers_of(body: Body, dtype: DType, *, unsigned: bool = False) -> str:
    """The vector of integers with the width of these lanes, defined."""
    lane = integer_name(dtype.scalar(), unsigned=unsigned)
    return body.vector(lane, dtype.count)


def constant(body: Body, dtype: DType, lanes: tuple[object, ...]) -> str:
    """A vector literal; one value in every lane is written once."""
    if all(lane is lanes[0] for lane in lanes):
        return splat(body, dtype, scalar_literal(lanes[0], dtype.scalar()))
    if dtype.is_bool:
        texts = ["-1" if lane else "0" for lane in lanes]
    else:
        texts = [scalar_literal(lane, dtype) for lane in lanes]
    return f"(({vector_of(body, dtype)}){{{', '.join(texts)}}})"


def splat(body: Body, dtype: DType, value: str) -> str:
    """A vector with one scalar in every lane."""
    name = vector_of(body, dtype)
    lane = scalar_name(dtype)
    lanes = ", ".join(["a"] * dtype.count)
    body.define(f"static inline {name} splat_{name}({lane} a) {{ return ({name}){{{lanes}}}; }}")
    return f"splat_{name}(-{value})" if dtype.is_bool else f"splat_{name}({value})"


def mask_like(body: Body, mask: str, dtype: DType) -> str:
    """A mask of i8 as one of the lanes' width."""
    if dtype.scalar().itemsize == 1:
        return mask
    return f"__builtin_convertvector({mask}, {integers_of(body, dtype)})"


def choose(body: Body, mask: str, dtype: DType, yes: str, no: str) -> str:
    """`yes` where the mask (of the lanes' width) is set, by bits."""
    bits = integers_of(body, dtype)
    chosen = f"(({bits}){yes} & {mask}) | (({bits}){no} & ~{mask})"
    return f"({vector_of(body, dtype)})({chosen})"


def binary(body: Body, node: UOp) -> str:
    """Arithmetic and bits."""
    left, right = (body.values[s] for s in node.src)
    if node.dtype.is_bool:
        return f"{left} {MASK_OPERATORS[node.op]} {right}"
    operator = OPERATORS[node.op]
    if node.op not in WRAPPING or node.dtype.is_float:
        return f"{left} {operator} {right}"
    wide = integers_of(body, node.dtype, unsigned=True)
    return f"({vector_of(body, node.dtype)})(({wide}){left} {operator} ({wide}){right})"


def compare(body: Body, node: UOp) -> str:
    """CMPLT CMPNE CMPEQ as a mask of i8."""
    left, right = (body.values[s] for s in node.src)
    dtype = node.src[0].dtype
    if dtype.is_bool:
        texts = {
            Ops.CMPLT: f"~{left} & {right}",
            Ops.CMPNE: f"{left} ^ {right}",
            Ops.CMPEQ: f"~({left} ^ {right})",
        }
        return texts[node.op]
    found = f"({left} {OPERATORS[node.op]} {right})"
    mask = vector_of(body, node.dtype)
    if dtype.scalar().itemsize == 1:
        return f"({mask}){found}"
    return f"__builtin_convertvector({found}, {mask})"


def negate(body: Body, node: UOp) -> str:
    """NEG."""
    value = body.values[node.src[0]]
    if node.dtype.is_float:
        return f"-{value}"
    if node.dtype.is_bool:
        return value
    wide = integers_of(body, node.dtype, unsigned=True)
    return f"({vector_of(body, node.dtype)})(-({wide}){value})"


def where(body: Body, node: UOp) -> str:
    """WHERE."""
    condition, yes, no = (body.values[s] for s in node.src)
    if node.src[0].dtype.count == 1:
        return f"{condition} ? {yes} : {no}"
    mask = mask_like(body, condition, node.dtype)
    if mask != condition:
        name = body.fresh()
        body.do(f"{integers_of(body, node.dtype)} {name} = {mask};")
        mask = name
    return choose(body, mask, node.dtype, yes, no)


def maximum(body: Body, node: UOp) -> str:
    """MAX: the left operand where they are equal, NaN if there is one."""
    left, right = (body.values[s] for s in node.src)
    if node.dtype.is_bool:
        return f"{left} | {right}"
    takes_right = f"({left} < {right})"
    if node.dtype.is_float:
        takes_right = f"({takes_right} | ({right} != {right}))"
    name = body.fresh()
    kind = integers_of(body, node.dtype)
    body.do(f"{kind} {name} = ({kind}){takes_right};")
    return choose(body, name, node.dtype, right, left)


def shift(body: Body, node: UOp) -> str:
    """SHL and SHR; a count not below the width shifts all bits out."""
    value, count = node.src
    x, n = body.values[value], body.values[count]
    dtype = node.dtype
    bits = dtype.scalar().bitsize
    name = vector_of(body, dtype)
    unsigned = integers_of(body, dtype, unsigned=True)
    kept_sign = node.op is Ops.SHR and not dtype.is_unsigned
    if not (count.vmin >= 0 and count.vmax < bits):
        in_range = body.fresh()
        kind = integers_of(body, dtype)
        body.do(f"{kind} {in_range} = ({kind})(({unsigned}){n} < {bits});")
        most = splat(body, dtype, str(bits - 1))
        n = body.let(dtype, choose(body, in_range, dtype, n, most))
    if kept_sign:
        return f"{x} >> {n}"
    operator = "<<" if node.op is Ops.SHL else ">>"
    shifted = f"({name})(({unsigned}){x} {operator} ({unsigned}){n})"
    if count.vmin >= 0 and count.vmax < bits:
        return shifted
    return f"({name})(({kind}){shifted} & {in_range})"


def cast(body: Body, node: UOp) -> str:
    """CAST; a float that becomes an integer is in range."""
    source, target = node.src[0].dtype, node.dtype
    value = body.values[node.src[0]]
    name = vector_of(body, target)
    if target.is_bool:
        if source.is_bool:
            return value
        found = f"({value} != {splat(body, source, '0')})"
        if source.scalar().itemsize == 1:
            return f"({name}){found}"
        return f"__builtin_convertvector({found}, {name})"
    if source.is_bool:
        return f"__builtin_convertvector(-{value}, {name})"
    return f"__builtin_convertvector({value}, {name})"


def bitcast(body: Body, node: UOp) -> str:
    """BITCAST."""
    source, target = node.src[0].dtype, node.dtype
    value = body.values[node.src[0]]
    name = vector_of(body, target)
    if target.is_bool:
        return f"({name})({value} != 0)"
    if source.is_bool:
        return f"({name})(-{value})"
    return f"({name}){value}"


def lane_by_lane(body: Body, node: UOp) -> str:
    """What the extensions lack, as a function with a loop over the lanes that compilers unroll."""
    dtype = node.dtype
    name = vector_of(body, dtype)
    arguments = "abc"[: len(node.src)]
    lanes = ", ".join(f"{letter}[i]" for letter in arguments)
    function, scalar = _scalar_call(body, node, lanes)
    parameters = ", ".join(f"{name} {letter}" for letter in arguments)
    body.define(
        f"static inline {name} {function}_{name}({parameters})"
        f" {{ {name} r; for (int i = 0; i < {dtype.count}; i++) r[i] = {scalar}; return r; }}"
    )
    values = ", ".join(body.values[s] for s in node.src)
    return f"{function}_{name}({values})"


def _scalar_call(body: Body, node: UOp, lanes: str) -> tuple[str, str]:
    """A name, and the expression for one lane."""
    dtype = node.dtype
    if node.op in (Ops.IDIV, Ops.MOD):
        function = define_division(body, node.op, dtype)
        return function, f"{function}({lanes})"
    if node.op is Ops.MULACC and not dtype.is_float:
        unsigned = "u64" if dtype.scalar().itemsize == 8 else "u32"
        return "mulacc", f"(({unsigned})a[i] * ({unsigned})b[i] + ({unsigned})c[i])"
    if not dtype.is_float:
        return "trunc", "a[i]"
    name = {Ops.MULACC: "fma", Ops.SQRT: "sqrt", Ops.TRUNC: "trunc"}[node.op]
    return name, f"__builtin_{name}{function_suffix(dtype)}({lanes})"


def reciprocal(body: Body, node: UOp) -> str:
    """RECIPROCAL."""
    one = splat(body, node.dtype, scalar_literal(1.0, node.dtype))
    return f"{one} / {body.values[node.src[0]]}"


def stack(body: Body, node: UOp) -> str:
    """A vector of scalars; a lane of bool becomes 0 or -1."""
    lanes = [body.values[lane] for lane in node.src]
    if len(set(lanes)) == 1:
        return splat(body, node.dtype, lanes[0])
    texts = [f"-{lane}" if node.dtype.is_bool else lane for lane in lanes]
    return f"({vector_of(body, node.dtype)}){{{', '.join(texts)}}}"


def pick(body: Body, node: UOp) -> str:
    """GEP: one lane, or several as a smaller vector."""
    source = node.src[0]
    lanes = node.arg
    assert isinstance(lanes, tuple), "a GEP carries its lanes"
    value = body.values[source]
    if source.dtype.count == 1:
        return value
    if len(lanes) == 1:
        return f"{value}[{lanes[0]}]" + (" != 0" if source.dtype.is_bool else "")
    picked = ", ".join(f"{value}[{lane}]" for lane in lanes)
    return f"({type_name(node.dtype)}){{{picked}}}"


VECTOR_OPS: dict[Ops, Write] = {
    **dict.fromkeys((Ops.ADD, Ops.SUB, Ops.MUL, Ops.FDIV, Ops.AND, Ops.OR, Ops.XOR), binary),
    **dict.fromkeys((Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ), compare),
    **dict.fromkeys((Ops.IDIV, Ops.MOD, Ops.MULACC, Ops.SQRT, Ops.TRUNC), lane_by_lane),
    Ops.NEG: negate,
    Ops.WHERE: where,
    Ops.MAX: maximum,
    Ops.SHL: shift,
    Ops.SHR: shift,
    Ops.RECIPROCAL: reciprocal,
    Ops.CAST: cast,
    Ops.BITCAST: bitcast,
    Ops.STACK: stack,
    Ops.GEP: pick,
}
