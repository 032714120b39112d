"""A graph as one short expression, for people: `data0[r0*4+r1]+1.0`.

Parentheses stand only where precedence asks for them. `//` and `%` are written where both operands
are known not to be negative; elsewhere IDIV and MOD, which truncate, are `idiv` and `mod`. When the
expression would be long, a value used several times is named at its first use: `(t0:=a+b)*t0`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tg_uop.dtype.dtype import InvalidType
from tg_uop.ir.args import ParamArg, SpecialArg
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import SERVICES, UOp


class Infix(NamedTuple):
    """An operator between two operands, and how strongly it binds."""

    sign: str
    strength: int
    associative: bool = False


INFIX = {
    Ops.OR: Infix("|", 2, True),
    Ops.XOR: Infix("^", 3, True),
    Ops.AND: Infix("&", 4, True),
    Ops.CMPLT: Infix("<", 1),
    Ops.CMPNE: Infix("!=", 1),
    Ops.CMPEQ: Infix("==", 1),
    Ops.SHL: Infix("<<", 5),
    Ops.SHR: Infix(">>", 5),
    Ops.ADD: Infix("+", 6, True),
    Ops.SUB: Infix("-", 6),
    Ops.MUL: Infix("*", 7, True),
    Ops.FDIV: Infix("/", 7),
    Ops.IDIV: Infix("//", 7),
    Ops.MOD: Infix("%", 7),
}
_QUOTIENTS = frozenset((Ops.FDIV, Ops.IDIV, Ops.MOD))
PREFIX_STRENGTH = 8
ATOM = 9

# above so many nodes written out as a tree, repeated values get names
LONG = 300

Token = str | tuple[UOp, int]
Writer = Callable[[UOp, int], list[Token]]


def render(root: UOp) -> str:
    """The expression of `root`; linear in the size of the graph."""
    named = _shared_values(root)
    shown: dict[UOp, str] = {}
    pieces: list[str] = []
    stack: list[Token] = [(root, 0)]
    while stack:
        token = stack.pop()
        if isinstance(token, str):
            pieces.append(token)
            continue
        node, strength = token
        if node in shown:
            pieces.append(shown[node])
            continue
        tokens = tokens_of(node, strength)
        if node in named:
            shown[node] = f"t{len(shown)}"
            tokens = [f"({shown[node]}:=", *tokens_of(node, 0), ")"]
        stack.extend(reversed(tokens))
    return "".join(pieces)


def _shared_values(root: UOp) -> set[UOp]:
    """Nodes to name: none while the expression is short."""
    sizes: dict[UOp, int] = {}
    uses: dict[UOp, int] = {}
    for node in root.toposort():
        sizes[node] = min(1 + sum(sizes[s] for s in node.src), LONG + 1)
        for operand in node.src:
            uses[operand] = uses.get(operand, 0) + 1
    if sizes[root] <= LONG:
        return set()
    return {node for node, count in uses.items() if count > 1 and sizes[node] > 3}


def tokens_of(node: UOp, strength: int) -> list[Token]:
    """The pieces of a node's text; `strength` is that of the operator around it."""
    writer = WRITERS.get(node.op)
    if writer is not None:
        return writer(node, strength)
    if node.op in INFIX:
        return _infix(node, strength)
    return _call(node.op.name.lower(), *node.src)


def _call(name: str, *operands: UOp) -> list[Token]:
    tokens: list[Token] = [f"{name}("]
    for i, operand in enumerate(operands):
        tokens += [", ", (operand, 0)] if i else [(operand, 0)]
    return [*tokens, ")"]


def _parenthesized(tokens: list[Token], own: int, around: int) -> list[Token]:
    return ["(", *tokens, ")"] if own < around else tokens


def _infix(node: UOp, strength: int) -> list[Token]:
    sign, own, associative = INFIX[node.op]
    left, right = node.src
    if node.op is Ops.ADD:
        subtracted = _subtracted(right)
        if subtracted is not None:
            return _parenthesized([(left, own), "-", *subtracted], own, strength)
    # x*(y//z) is not (x*y)//z
    regroups = associative and not node.dtype.is_float and right.op not in _QUOTIENTS
    # `a<b==c` would read as two comparisons of b
    left_strength = own + 1 if node.op in GroupOp.Comparison else own
    tokens: list[Token] = [(left, left_strength), sign, (right, own if regroups else own + 1)]
    return _parenthesized(tokens, own, strength)


def _subtracted(node: UOp) -> list[Token] | None:
    """What is taken away by adding `node`, if it is a negative number or a multiple by -1."""
    if _is_negative(node):
        return [_number(-node.arg)]  # type: ignore[operator]
    if node.op is Ops.NEG:
        return [(node.src[0], INFIX[Ops.SUB].strength + 1)]
    if node.op is Ops.MUL and _is_negative(node.src[1]) and node.dtype.is_int:
        factor = -node.src[1].arg  # type: ignore[operator]
        own = INFIX[Ops.MUL].strength
        return [(node.src[0], own)] if factor == 1 else [(node.src[0], own), f"*{factor}"]
    return None


def _is_negative(node: UOp) -> bool:
    value = node.arg
    if node.op is not Ops.CONST or isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return value < 0


def _number(value: object) -> str:
    return float.__repr__(value) if isinstance(value, float) else repr(value)


def _constant(node: UOp, strength: int) -> list[Token]:
    if isinstance(node.arg, InvalidType):
        return ["Invalid"]
    return _parenthesized(
        [_number(node.arg)], PREFIX_STRENGTH if _is_negative(node) else ATOM, strength
    )


def _variable(node: UOp, strength: int) -> list[Token]:
    return [node.var_name]


def _bind(node: UOp, strength: int) -> list[Token]:
    text = f"{node.var_name}={node.bound_value}"
    return [f"({text})" if strength else text]


def _loop(node: UOp, strength: int) -> list[Token]:
    return ["r" + "_".join(str(part) for part in node.range_arg.axis_id)]


def _launch_index(node: UOp, strength: int) -> list[Token]:
    return [node.arg.name if isinstance(node.arg, SpecialArg) else "special"]


def _param(node: UOp, strength: int) -> list[Token]:
    return [f"data{node.arg.slot}" if isinstance(node.arg, ParamArg) else "data"]


def _memory(prefix: str) -> Writer:
    return lambda node, strength: [f"{prefix}{node.arg}"]


def _index(node: UOp, strength: int) -> list[Token]:
    tokens: list[Token] = [(node.src[0], ATOM), "["]
    for i, operand in enumerate(node.src[1:]):
        tokens += [", ", (operand, 0)] if i else [(operand, 0)]
    return [*tokens, "]"]


def _negated(node: UOp, strength: int) -> list[Token]:
    return _parenthesized(["-", (node.src[0], PREFIX_STRENGTH)], PREFIX_STRENGTH, strength)


def _not_equal(node: UOp, strength: int) -> list[Token]:
    right = node.src[1]
    if node.src[0].dtype.is_bool and right.op is Ops.CONST and right.arg is True:
        return _parenthesized(["!", (node.src[0], PREFIX_STRENGTH)], PREFIX_STRENGTH, strength)
    return _infix(node, strength)


def _division(node: UOp, strength: int) -> list[Token]:
    if all(s.dtype.is_int and s.vmin >= 0 for s in node.src):
        return _infix(node, strength)
    return _call(node.op.name.lower(), *node.src)


def _choice(node: UOp, strength: int) -> list[Token]:
    condition, chosen, other = node.src
    return ["(", (condition, 1), "?", (chosen, 1), ":", (other, 1), ")"]


def _cast(node: UOp, strength: int) -> list[Token]:
    return _call(repr(node.dtype).removeprefix("dtypes."), *node.src)


def _bitcast(node: UOp, strength: int) -> list[Token]:
    return _call("bits." + repr(node.dtype).removeprefix("dtypes."), *node.src)


def _reduce(node: UOp, strength: int) -> list[Token]:
    name = {Ops.ADD: "sum", Ops.MUL: "prod", Ops.MAX: "max"}[node.reduce_op]
    if not node.reduce_ranges:
        return [f"{name}(", (node.reduced_value, 0), f", axes={node.reduce_axes})"]
    tokens = _call(name, *node.src)
    tokens[2] = "; "
    return tokens


def _store(node: UOp, strength: int) -> list[Token]:
    return [(node.stored_target, 0), " = ", (node.stored_value, 0)]


def _gep(node: UOp, strength: int) -> list[Token]:
    lanes = node.arg if isinstance(node.arg, tuple) else (node.arg,)
    return [(node.src[0], ATOM), "[" + ",".join(str(lane) for lane in lanes) + "]"]


def _transparent(node: UOp, strength: int) -> list[Token]:
    return [(node.src[0], strength)]


WRITERS: dict[Ops, Writer] = {
    Ops.CONST: _constant,
    Ops.VCONST: lambda node, strength: [repr(node.arg)],
    Ops.DEFINE_VAR: _variable,
    Ops.BIND: _bind,
    Ops.RANGE: _loop,
    Ops.SPECIAL: _launch_index,
    Ops.PARAM: _param,
    Ops.BUFFER: lambda node, strength: [f"buf{getattr(node.arg, 'slot', '')}"],
    Ops.DEVICE: lambda node, strength: [repr(node.arg)],
    Ops.DEFINE_LOCAL: _memory("local"),
    Ops.DEFINE_REG: _memory("reg"),
    Ops.INDEX: _index,
    Ops.LOAD: _transparent,
    Ops.AFTER: _transparent,
    Ops.NEG: _negated,
    Ops.CMPNE: _not_equal,
    Ops.IDIV: _division,
    Ops.MOD: _division,
    Ops.WHERE: _choice,
    Ops.CAST: _cast,
    Ops.BITCAST: _bitcast,
    Ops.REDUCE: _reduce,
    Ops.STORE: _store,
    Ops.GEP: _gep,
}

SERVICES.render = render
