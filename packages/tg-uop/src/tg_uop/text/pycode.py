"""A graph as Python source that rebuilds it, and a loader that runs none of it.

    n0 = UOp(Ops.CONST, dtypes.int, (), arg=2)
    n1 = UOp(Ops.ADD, dtypes.int, (n0, n0))
    root = n1

Each line is one node, operands first. `from_python` reads only this shape: a line is split at fixed
places, args are parsed as expressions of literals, enum members, dtypes and records, and nothing is
ever executed. Executing the text gives the same graph.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from math import inf, isinf, isnan, nan

from tg_uop.dtype.dtype import AddrSpace, ConstFloat, DType, Invalid, InvalidType, dtypes
from tg_uop.errors import GraphTextError, TgError
from tg_uop.ir import args
from tg_uop.ir.axis import AxisType
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp

RECORDS: dict[str, type] = {
    name: value
    for name, value in vars(args).items()
    if isinstance(value, type) and is_dataclass(value) and value.__module__ == args.__name__
}
ENUMS: dict[str, type[Enum]] = {
    kind.__name__: kind for kind in (Ops, AxisType, AddrSpace, args.OptOps)
}
CONSTANTS: dict[str, object] = {"inf": inf, "nan": nan, "Invalid": Invalid}

_FIELDS = {kind: tuple(f.name for f in fields(kind)) for kind in RECORDS.values()}
_OPS = {op.name: op for op in Ops}

HEADER = (
    "from math import inf, nan\n"
    "from tg_uop import AddrSpace, AxisType, ConstFloat, Invalid, Ops, UOp, dtypes\n"
    f"from tg_uop.ir.args import {', '.join(sorted([*RECORDS, 'OptOps']))}\n"
)

# args that hold no node, so that most nodes need no further look
_LEAVES = frozenset((type(None), bool, int, float, ConstFloat, str, bytes, Ops, InvalidType))


# *** writing ***


def to_python(root: UOp) -> str:
    """The source that rebuilds `root`.

    Raises `GraphTextError` when an arg is of a kind that has no text, such as a function.
    """
    names: dict[UOp, str] = {}
    dtype_text: dict[DType, str] = {}
    lines = [HEADER]
    for node in _with_arg_nodes(root):
        name = f"n{len(names)}"
        dtype = dtype_text.get(node.dtype)
        if dtype is None:
            dtype = dtype_text[node.dtype] = repr(node.dtype)
        operands = ", ".join([names[s] for s in node.src])
        if len(node.src) == 1:
            operands += ","
        line = f"{name} = UOp(Ops.{node.op.name}, {dtype}, ({operands})"
        if node.arg is not None:
            line += f", arg={_arg_code(node, node.arg, names)}"
        if node.tag is not None:
            line += f", tag={_code(node.tag, names)}"
        lines.append(line + ")\n")
        names[node] = name
    lines.append(f"root = {names[root]}\n")
    return "".join(lines)


def _with_arg_nodes(root: UOp) -> Iterator[UOp]:
    """Every node under `root`, those inside of args too, before its users."""
    done: set[UOp] = set()
    stack = [root]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        pending = [s for s in node.src if s not in done]
        if type(node.arg) not in _LEAVES:
            pending += [n for n in _nodes_in(node.arg) if n not in done]
        if node.tag is not None:
            pending += [n for n in _nodes_in(node.tag) if n not in done]
        if pending:
            stack.extend(reversed(pending))
            continue
        stack.pop()
        done.add(node)
        yield node


def _nodes_in(value: object) -> Iterator[UOp]:
    if isinstance(value, UOp):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes_in(part)
    elif type(value) in _FIELDS:
        for name in _FIELDS[type(value)]:
            yield from _nodes_in(getattr(value, name))


def _arg_code(node: UOp, arg: object, names: dict[UOp, str]) -> str:
    # constants take their exact type from the dtype, so the short spelling is enough
    if node.op is Ops.CONST and isinstance(arg, float):
        return _float_code(arg)
    if node.op is Ops.VCONST and isinstance(arg, tuple) and node.dtype.is_float:
        parts = [_float_code(a) if isinstance(a, float) else _code(a, names) for a in arg]
        return f"({', '.join(parts)},)"
    return _code(arg, names)


def _code(value: object, names: dict[UOp, str]) -> str:
    if isinstance(value, Enum):
        return _enum_code(value)
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return repr(value)
    if isinstance(value, ConstFloat):
        return f"ConstFloat({_float_code(value)})"
    if isinstance(value, float):
        return _float_code(value)
    if isinstance(value, UOp):
        return names[value]
    if isinstance(value, (DType, InvalidType)):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(_code(part, names) for part in value)}{',' * (len(value) == 1)})"
    record = _FIELDS.get(type(value))
    if record is None:
        raise GraphTextError(line=0, reason="an arg of this kind has no text", text=repr(value))
    parts = ", ".join(f"{name}={_code(getattr(value, name), names)}" for name in record)
    return f"{type(value).__name__}({parts})"


def _enum_code(value: Enum) -> str:
    kind = type(value).__name__
    if ENUMS.get(kind) is not type(value):
        raise GraphTextError(line=0, reason="an enum of this kind has no text", text=repr(value))
    return f"{kind}.{value.name}"


def _float_code(value: float) -> str:
    if isnan(value):
        return "nan"
    if isinf(value):
        return "inf" if value > 0 else "-inf"
    return float.__repr__(value)


# *** reading ***

# what building a node from parts that do not fit can raise
REFUSALS = (
    TgError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AssertionError,
)


def from_python(text: str) -> UOp:
    """The graph that `to_python` wrote.

    Nothing of the text is executed. Raises `GraphTextError` with the line that is not of its shape.
    """
    reader = _Reader()
    root: UOp | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith(("from ", "#")):
            continue
        try:
            if line.startswith("root = "):
                root = reader.named(line[7:])
            else:
                root = reader.read(line)
        except REFUSALS as error:
            reason = error.reason if isinstance(error, GraphTextError) else str(error)
            raise GraphTextError(line=number, reason=reason, text=line[:200]) from error
        except (SyntaxError, RecursionError, MemoryError, AttributeError) as error:
            reason = f"its arg cannot be read ({type(error).__name__})"
            raise GraphTextError(line=number, reason=reason, text=line[:200]) from error
    if root is None:
        raise GraphTextError(line=1, reason="it holds no node")
    return root


class _Reader:
    """The nodes read so far, and each dtype and arg text that has been understood once."""

    def __init__(self) -> None:
        self.nodes: dict[str, UOp] = {}
        self.dtypes: dict[str, DType] = {}
        self.fields: dict[str, tuple[object, object]] = {")": (None, None)}

    def named(self, name: str) -> UOp:
        """The node of this name."""
        found = self.nodes.get(name)
        if found is None:
            raise GraphTextError(line=0, reason=f"there is no node {name!r} before it")
        return found

    def read(self, line: str) -> UOp:
        """The node of one line, which is kept under its name."""
        name, equals, rest = line.partition(" = UOp(Ops.")
        op_name, _, rest = rest.partition(", ")
        dtype_text, opening, rest = rest.partition(", (")
        operand_text, closing, rest = rest.partition(")")
        op = _OPS.get(op_name)
        if not (equals and opening and closing) or op is None or not _is_name(name):
            raise GraphTextError(line=0, reason="it is not of the form n0 = UOp(Ops.X, dtype, ())")
        dtype = self.dtypes.get(dtype_text)
        if dtype is None:
            dtype = self.dtypes[dtype_text] = self._dtype(dtype_text)
        found = self.fields.get(rest)
        if found is None:
            found = self.fields[rest] = self._fields(rest)
        nodes = self.nodes
        try:
            src = (
                tuple([nodes[n] for n in operand_text.rstrip(",").split(", ")])
                if (operand_text)
                else ()
            )
        except KeyError as error:
            raise GraphTextError(line=0, reason=f"there is no node {error} before it") from None
        node = nodes[name] = UOp(op, dtype, src, *found)
        return node

    def _dtype(self, text: str) -> DType:
        value = self._value(ast.parse(text, mode="eval").body)
        if not isinstance(value, DType):
            raise GraphTextError(line=0, reason=f"{text} is no dtype")
        return value

    def _fields(self, text: str) -> tuple[object, object]:
        if not text.startswith(", "):
            raise GraphTextError(line=0, reason="after the operands come arg= and tag=")
        call = ast.parse(f"_({text[2:]}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise GraphTextError(line=0, reason="after the operands come arg= and tag=")
        found: dict[str, object] = {}
        for keyword in call.keywords:
            if keyword.arg not in ("arg", "tag") or keyword.arg in found:
                raise GraphTextError(line=0, reason=f"there is no place for {keyword.arg}=")
            found[keyword.arg] = self._value(keyword.value)
        return found.get("arg"), found.get("tag")

    def _value(self, node: ast.expr) -> object:
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() | bytes() as value):
                return value
            case ast.Tuple(elts=parts):
                return tuple(self._value(part) for part in parts)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _negative(self._value(operand))
            case ast.Name(id=name):
                return CONSTANTS[name] if name in CONSTANTS else self.named(name)
            case ast.Attribute(value=ast.Name(id="dtypes"), attr=name):
                return dtypes.from_name(name)
            case ast.Attribute(value=ast.Name(id=kind), attr=name) if kind in ENUMS:
                return ENUMS[kind][name]
            case ast.Call(func=function):
                return self._call(node, function)
        raise GraphTextError(line=0, reason=f"{ast.unparse(node)} is no value of a graph")

    def _call(self, node: ast.Call, function: ast.expr) -> object:
        values = [self._value(arg) for arg in node.args]
        named = {k.arg: self._value(k.value) for k in node.keywords if k.arg is not None}
        make = self._callable(function)
        if make is None or len(named) != len(node.keywords):
            raise GraphTextError(line=0, reason=f"{ast.unparse(function)} cannot be called here")
        return make(*values, **named)

    def _callable(self, function: ast.expr) -> Callable[..., object] | None:
        match function:
            case ast.Name(id="ConstFloat"):
                return ConstFloat
            case ast.Name(id=name):
                return RECORDS.get(name)
            case ast.Attribute(value=ast.Name(id="dtypes"), attr="imageh"):
                return dtypes.imageh
            case ast.Attribute(value=ast.Name(id="dtypes"), attr="imagef"):
                return dtypes.imagef
            case ast.Attribute(value=base, attr="vec" | "ptr" as method):
                dtype = self._value(base)
                if isinstance(dtype, DType):
                    return dtype.vec if method == "vec" else dtype.ptr
        return None


def _is_name(text: str) -> bool:
    return text[:1] == "n" and text[1:].isdecimal()


def _negative(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise GraphTextError(line=0, reason=f"{value!r} has no negative")
    return -value
