"""The C family: statements, loops and memory of the linear form; dialects add the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from tg_uop import AddrSpace, GroupOp, Ops, ProgramInfo, PtrDType, UOp
from tg_uop.ir.args import ParamArg, SpecialArg

from tg_codegen.errors import UnsupportedError
from tg_codegen.render.c_body import Body
from tg_codegen.render.c_ops import SCALAR_OPS
from tg_codegen.render.c_types import memory_name, scalar_literal, type_name
from tg_codegen.render.gnu_vectors import VECTOR_OPS, constant
from tg_codegen.render.renderer import Renderer

NO_CODE = frozenset((Ops.SINK, Ops.GROUP, Ops.NOOP))


class CRenderer(Renderer):
    """A dialect of C; `kernel_text` puts the function around the statements."""

    def render(self, linear_uops: Sequence[UOp], info: ProgramInfo) -> str:
        """The source of a program.

        Raises `UnsupportedError` for an operation that has no expression here.
        """
        writer = Writer(self, info)
        for node in linear_uops:
            writer.write(node)
        return self.kernel_text(writer.body, info)

    @abstractmethod
    def kernel_text(self, body: Body, info: ProgramInfo) -> str:
        """The whole source."""

    @abstractmethod
    def special(self, name: str) -> str:
        """The expression of a launch index."""

    @abstractmethod
    def barrier(self) -> str:
        """The statement of a BARRIER, empty for none."""


class Writer:
    """One kernel while it is written."""

    def __init__(self, renderer: CRenderer, info: ProgramInfo) -> None:
        self.renderer = renderer
        self.info = info
        self.body = Body()

    def write(self, node: UOp) -> None:
        """Append the statements of one node."""
        op = node.op
        body = self.body
        if op in GroupOp.Constant:
            body.values[node] = self._constant(node)
            return
        if op in NO_CODE:
            return
        other = STATEMENTS.get(op)
        if other is not None:
            other(self, node)
            return
        is_vector = any(n.dtype.count > 1 for n in (node, *node.src))
        write = (VECTOR_OPS if is_vector else SCALAR_OPS).get(op)
        if write is None:
            raise UnsupportedError(
                what=f"{op} of {node.dtype}",
                target=str(self.renderer.target),
                reason="the C renderer has no expression for it",
                hint="legalize the graph for this target first",
            )
        body.values[node] = body.let(node.dtype, write(body, node))

    def _constant(self, node: UOp) -> str:
        dtype = node.dtype
        if dtype.count == 1:
            return scalar_literal(node.arg, dtype)
        lanes = node.arg if isinstance(node.arg, tuple) else (node.arg,) * dtype.count
        return constant(self.body, dtype, lanes)

    # *** values from outside ***

    def param(self, node: UOp) -> None:
        assert isinstance(node.arg, ParamArg), "a PARAM carries a ParamArg"
        name = f"data{node.arg.slot}"
        self.body.values[node] = name
        self.body.pointers[name] = memory_name(node.dtype.base)

    def variable(self, node: UOp) -> None:
        position = [variable.var_name for variable in self.info.vars].index(node.var_name)
        self.body.values[node] = f"(({type_name(node.dtype)})var{position})"

    def special(self, node: UOp) -> None:
        assert isinstance(node.arg, SpecialArg), "a SPECIAL carries a SpecialArg"
        expression = self.renderer.special(node.arg.name)
        self.body.values[node] = self.body.let(node.dtype, f"({type_name(node.dtype)}){expression}")

    def array(self, node: UOp) -> None:
        dtype = node.dtype
        assert isinstance(dtype, PtrDType), "memory has a pointer dtype"
        is_register = dtype.addrspace is AddrSpace.REG
        name = self.body.fresh("acc" if is_register else "local")
        self.body.type(dtype.base)
        attribute = "" if is_register else " __attribute__((aligned(64)))"
        self.body.do(f"{memory_name(dtype.base)} {name}[{dtype.size}]{attribute};")
        self.body.values[node] = name

    def alias(self, node: UOp) -> None:
        """AFTER: the value of what it orders."""
        if node.src[0] in self.body.values:
            self.body.values[node] = self.body.values[node.src[0]]

    # *** memory ***

    def index(self, node: UOp) -> None:
        pointer = self.body.values[node.index_buffer]
        self.body.values[node] = f"({pointer} + {self.body.values[node.index_expr]})"

    def _element(self, address: UOp, node: UOp) -> str:
        """The expression of one or more elements at an address, for reading or writing."""
        pointer = self.body.values[address]
        if node.dtype.count == 1 or address.dtype.base.count > 1:
            return f"*{pointer}"
        lane = memory_name(node.dtype.scalar())
        return f"*({self.body.vector(lane, node.dtype.count)}_m *){pointer}"

    def load(self, node: UOp) -> None:
        value = self._element(node.load_index, node)
        if node.dtype.is_bool:
            value = self._to_bool(value, node)
        elif node.dtype.count > 1:
            value = f"({self.body.type(node.dtype)}){value}"
        gate = _gate(node.load_index)
        if gate is not None:
            alt = node.load_alt
            other = "0" if alt is None else self.body.values[alt]
            value = f"{self.body.values[gate]} ? {value} : {other}"
        self.body.values[node] = self.body.let(node.dtype, value)

    def _to_bool(self, value: str, node: UOp) -> str:
        if node.dtype.count == 1:
            return f"({value} != 0)"
        return f"({self.body.type(node.dtype)})({value} != 0)"

    def store(self, node: UOp) -> None:
        stored = node.stored_value
        target = self._element(node.stored_target, stored)
        value = self.body.values[stored]
        if stored.dtype.is_bool and stored.dtype.count > 1:
            value = f"({self.body.vector('u8', stored.dtype.count)})(-{value})"
        gate = _gate(node.stored_target)
        condition = "" if gate is None else f"if ({self.body.values[gate]}) "
        self.body.do(f"{condition}{target} = {value};")

    # *** control flow ***

    def open_loop(self, node: UOp) -> None:
        name = self.body.fresh("r")
        size = self.body.values[node.range_size]
        kind = type_name(node.dtype)
        self.body.values[node] = name
        self.body.open(f"for ({kind} {name} = 0; {name} < {size}; {name}++)")

    def close_loop(self, node: UOp) -> None:
        for source in node.src:
            if source.op is Ops.RANGE:
                self.body.close()

    def open_branch(self, node: UOp) -> None:
        self.body.open(f"if ({self.body.values[node.src[0]]})")

    def close_branch(self, node: UOp) -> None:
        self.body.close()

    def barrier(self, node: UOp) -> None:
        text = self.renderer.barrier()
        if text:
            self.body.do(text)

    # *** text of the user's ***

    def custom(self, node: UOp) -> None:
        assert isinstance(node.arg, str), "CUSTOM carries its text"
        text = node.arg.format(*(self.body.values[source] for source in node.src))
        if node.op is Ops.CUSTOM or node.dtype.bitsize == 0:
            self.body.do(text)
        else:
            self.body.values[node] = self.body.let(node.dtype, text)


def _gate(index: UOp) -> UOp | None:
    while index.op is Ops.AFTER:
        index = index.src[0]
    return index.index_gate if index.op is Ops.INDEX else None


STATEMENTS: dict[Ops, Callable[[Writer, UOp], None]] = {
    Ops.PARAM: Writer.param,
    Ops.DEFINE_VAR: Writer.variable,
    Ops.SPECIAL: Writer.special,
    Ops.DEFINE_LOCAL: Writer.array,
    Ops.DEFINE_REG: Writer.array,
    Ops.AFTER: Writer.alias,
    Ops.INDEX: Writer.index,
    Ops.LOAD: Writer.load,
    Ops.STORE: Writer.store,
    Ops.RANGE: Writer.open_loop,
    Ops.END: Writer.close_loop,
    Ops.IF: Writer.open_branch,
    Ops.ENDIF: Writer.close_branch,
    Ops.BARRIER: Writer.barrier,
    Ops.CUSTOM: Writer.custom,
    Ops.CUSTOMI: Writer.custom,
}
