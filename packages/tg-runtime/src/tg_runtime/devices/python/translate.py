"""Linear form to a Python function that runs one work-item.

Each instruction becomes a line; loops and conditions become blocks; a barrier becomes `yield`, so
that a kernel with barriers is a generator. What an operation means is `tg_uop.eval.scalar`'s
business: the lines only call it.

    n4 = param0.read(n3)
    n5 = ADD_float(n4, n2)
    param1.write(n3, n5)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tg_uop import AddrSpace, DType, GroupOp, Ops, PtrDType, UOp
from tg_uop.dtype.value import Value, convert
from tg_uop.errors import TgError
from tg_uop.eval.scalar import scalar_bitcast, scalar_op
from tg_uop.ir.args import ParamArg, SpecialArg

from tg_runtime.devices.python.storage import Element, Storage
from tg_runtime.errors import CompileError

# memory by name, launch indices and variables by name
WorkItem = Callable[[Mapping[str, Storage], Mapping[str, int]], object]

_SILENT = frozenset({Ops.SINK, Ops.NOOP, Ops.GROUP})


class MemoryPlan(NamedTuple):
    """A piece of memory that a kernel uses."""

    name: str
    dtype: DType
    size: int
    space: AddrSpace
    slot: int


@dataclass(frozen=True, slots=True)
class Translation:
    """A kernel as a function, and what it needs.

    With `has_barrier` the function gives a generator that yields at each barrier.
    """

    run: WorkItem
    memory: tuple[MemoryPlan, ...]
    has_barrier: bool
    text: str


class _Address(NamedTuple):
    """An INDEX: it has no line of its own, its loads and stores name its parts."""

    memory: str
    dtype: DType
    position: str
    lanes: int
    gate: str | None
    gate_lanes: int


def translate(linear: UOp) -> Translation:
    """The function of a LINEAR. Raises `CompileError` for what the interpreter does not know."""
    translator = _Translator()
    for node in linear.src:
        translator.add(node)
    return translator.finish()


class _Translator:
    """The lines so far, and the name of each node's value in them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.names: dict[UOp, str] = {}
        self.addresses: dict[UOp, _Address] = {}
        self.memory: dict[str, MemoryPlan] = {}
        self.globals: dict[str, object] = {"spread": _spread}
        self.has_barrier = False

    def finish(self) -> Translation:
        body = "\n".join(self.lines) or "    pass"
        text = f"def work_item(memory, launch):\n{body}\n"
        try:
            code = compile(text, "<kernel>", "exec")
        except SyntaxError as error:
            raise CompileError(compiler="PYTHON", message=str(error), source=text) from error
        # the text is made here from nodes that were read as data: no foreign code is in it
        exec(code, self.globals)
        run: WorkItem = self.globals["work_item"]  # type: ignore[assignment]
        return Translation(run, tuple(self.memory.values()), self.has_barrier, text)

    # lines

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def value(self, node: UOp, text: str) -> None:
        name = f"n{len(self.names)}"
        self.names[node] = name
        self.line(f"{name} = {text}")

    def constant(self, value: object) -> str:
        """The name of a value that is the same for every work-item."""
        name = f"c{len(self.globals)}"
        self.globals[name] = value
        return name

    def function(self, name: str, function: Callable[..., Value]) -> str:
        self.globals.setdefault(name, function)
        return name

    # instructions

    def add(self, node: UOp) -> None:
        op = node.op
        if op in _SILENT:
            return
        if op in GroupOp.ALU or op in (Ops.CAST, Ops.BITCAST):
            self._alu(node)
            return
        method = getattr(self, f"_{op.name.lower()}", None)
        if method is None:
            raise CompileError(compiler="PYTHON", message=f"{op} is not known to the interpreter")
        method(node)

    def _param(self, node: UOp) -> None:
        arg = node.arg
        assert isinstance(arg, ParamArg), "a PARAM has a ParamArg"
        self._memory(node, f"param{arg.slot}", arg.slot)

    def _define_local(self, node: UOp) -> None:
        self._memory(node, f"local{len(self.memory)}", -1)

    def _define_reg(self, node: UOp) -> None:
        self._memory(node, f"reg{len(self.memory)}", -1)

    def _memory(self, node: UOp, name: str, slot: int) -> None:
        dtype = node.dtype
        assert isinstance(dtype, PtrDType), "memory has a pointer dtype"
        self.memory[name] = MemoryPlan(name, dtype.base, dtype.size, dtype.addrspace, slot)
        self.names[node] = name
        self.line(f"{name} = memory[{name!r}]")

    def _define_var(self, node: UOp) -> None:
        cast = self.function(f"to_{node.dtype.name}", _converter(node.dtype))
        self.value(node, f"{cast}(launch[{node.var_name!r}])")

    def _special(self, node: UOp) -> None:
        arg = node.arg
        assert isinstance(arg, SpecialArg), "a SPECIAL has a SpecialArg"
        self.value(node, f"launch[{arg.name!r}]")

    def _const(self, node: UOp) -> None:
        value = node.arg if node.dtype.count == 1 else (node.arg,) * node.dtype.count
        self.names[node] = self.constant(value)

    def _vconst(self, node: UOp) -> None:
        self.names[node] = self.constant(node.arg)

    def _stack(self, node: UOp) -> None:
        lanes = "".join(f"{self.names[lane]}, " for lane in node.src)
        self.value(node, f"({lanes})")

    def _gep(self, node: UOp) -> None:
        vector = self.names[node.src[0]]
        lanes = node.arg
        assert isinstance(lanes, tuple), "a GEP picks a tuple of lanes"
        if node.src[0].dtype.count == 1:
            picked = [vector for _ in lanes]
        else:
            picked = [f"{vector}[{lane}]" for lane in lanes]
        self.value(node, picked[0] if len(picked) == 1 else f"({', '.join(picked)})")

    def _alu(self, node: UOp) -> None:
        function = self._meaning(node)
        lanes = node.dtype.count
        operands = [self._lanes(operand, lanes) for operand in node.src]
        joined = ", ".join(operands)
        text = f"{function}({joined})" if lanes == 1 else f"tuple(map({function}, {joined}))"
        self.value(node, text)

    def _meaning(self, node: UOp) -> str:
        target = node.dtype.scalar()
        source = node.src[0].dtype.scalar()
        if node.op is Ops.CAST:
            return self.function(f"to_{target.name}", _converter(target))
        if node.op is Ops.BITCAST:
            name = f"bits_{source.name}_{target.name}"
            return self.function(name, lambda value: scalar_bitcast(value, source, target))
        try:
            return self.function(f"{node.op.name}_{target.name}", scalar_op(node.op, target))
        except TgError as error:
            raise CompileError(compiler="PYTHON", message=str(error)) from error

    def _lanes(self, operand: UOp, lanes: int) -> str:
        """The operand as a vector when the operation is one."""
        name = self.names[operand]
        if lanes == operand.dtype.count:
            return name
        return f"spread({name}, {lanes})"

    def _index(self, node: UOp) -> None:
        gate = node.index_gate
        dtype = node.dtype.base
        self.addresses[node] = _Address(
            self.names[node.index_buffer],
            dtype,
            self.names[node.index_expr],
            node.index_expr.dtype.count,
            None if gate is None else self.names[gate],
            1 if gate is None else gate.dtype.count,
        )

    def _load(self, node: UOp) -> None:
        address = self.addresses[node.load_index]
        lanes = self._element_lanes(address, node.dtype)
        alt = node.load_alt
        other = None if alt is None else self.names[alt]
        if lanes == 1:
            text = f"{address.memory}.read({address.position})"
            if address.gate is not None:
                text += f" if {address.gate} else {other}"
            self.value(node, text)
            return
        parts = []
        for lane in range(lanes):
            part = f"{address.memory}.read({_position(address, lane)})"
            if address.gate is not None:
                alternative = (
                    other if alt is not None and alt.dtype.count == 1 else f"{other}[{lane}]"
                )
                part += f" if {_gate_of(address, lane)} else {alternative}"
            parts.append(part)
        self.value(node, f"({', '.join(parts)})")

    def _store(self, node: UOp) -> None:
        address = self.addresses[node.stored_target]
        stored = node.stored_value
        value = self.names[stored]
        lanes = self._element_lanes(address, stored.dtype)
        for lane in range(lanes):
            position = address.position if lanes == 1 else _position(address, lane)
            part = value if lanes == 1 else f"{value}[{lane}]"
            condition = "" if address.gate is None else f"if {_gate_of(address, lane)}: "
            self.line(f"{condition}{address.memory}.write({position}, {part})")

    @staticmethod
    def _element_lanes(address: _Address, accessed: DType) -> int:
        """How many elements an access touches: memory of vectors holds whole ones."""
        held = address.dtype.count
        return 1 if held == accessed.count else accessed.count // held

    def _after(self, node: UOp) -> None:
        first = node.src[0]
        if first in self.addresses:
            self.addresses[node] = self.addresses[first]
        elif first in self.names:
            self.names[node] = self.names[first]

    def _range(self, node: UOp) -> None:
        name = f"n{len(self.names)}"
        self.names[node] = name
        self.line(f"for {name} in range({self.names[node.range_size]}):")
        self.depth += 1
        self.line("pass")

    def _end(self, node: UOp) -> None:
        self.depth -= 1

    def _if(self, node: UOp) -> None:
        self.line(f"if {self.names[node.src[0]]}:")
        self.depth += 1
        self.line("pass")

    def _endif(self, node: UOp) -> None:
        self.depth -= 1

    def _barrier(self, node: UOp) -> None:
        self.has_barrier = True
        self.line("yield")


def _position(address: _Address, lane: int) -> str:
    if address.lanes > 1:
        return f"{address.position}[{lane}]"
    return f"{address.position} + {lane}" if lane else address.position


def _gate_of(address: _Address, lane: int) -> str:
    return f"{address.gate}[{lane}]" if address.gate_lanes > 1 else f"{address.gate}"


def _converter(dtype: DType) -> Callable[[Value], Value]:
    scalar = dtype.scalar()
    return lambda value: convert(value, scalar)


def _spread(value: Element, lanes: int) -> Sequence[Value]:
    return value if isinstance(value, tuple) else (value,) * lanes
