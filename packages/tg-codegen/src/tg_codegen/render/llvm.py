"""Render LLVM IR for processors: linear form in, the text of a module out.

A module has the kernel itself, always inlined, with its buffers as noalias pointers, and the entry
with the signature that the runtime calls: `void NAME(const uint64_t *args, int64_t core_id)`.
Loops count in phis; accumulators are stack slots that LLVM promotes to registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tg_uop import GroupOp, Ops, ProgramInfo, UOp
from tg_uop.ir.args import ParamArg, SpecialArg
from tg_uop.target import Target

from tg_codegen.errors import UnsupportedError
from tg_codegen.render.llvm_body import Body
from tg_codegen.render.llvm_memory import (
    define_array,
    render_index,
    render_load,
    render_prefetch,
    render_store,
)
from tg_codegen.render.llvm_ops import ELEMENTWISE
from tg_codegen.render.llvm_scale import render_scaling
from tg_codegen.render.llvm_tiles import render_tile_product
from tg_codegen.render.llvm_types import literal, type_name
from tg_codegen.render.prefetch import streamed_accesses
from tg_codegen.render.renderer import Compile, Renderer
from tg_codegen.target.cpu import CpuDescription, describe_cpu
from tg_codegen.target.registry import cpu_capabilities

NO_CODE = frozenset((Ops.SINK, Ops.GROUP, Ops.NOOP, Ops.BARRIER))


class LLVMRenderer(Renderer):
    """LLVM IR for the processor families of `tg_codegen.target.cpu`."""

    name = "LLVM"

    def __init__(
        self, target: Target, cpu: CpuDescription, compiler: Compile | None = None
    ) -> None:
        super().__init__(target, cpu_capabilities(cpu), compiler)
        self.cpu = cpu

    def render(self, linear_uops: Sequence[UOp], info: ProgramInfo) -> str:
        """The module with the kernel and its entry.

        Raises `UnsupportedError` for an operation that has no instruction here.
        """
        kernel = _Kernel(info, str(self.target), streamed_accesses(linear_uops), self.cpu)
        for node in linear_uops:
            kernel.write(node)
        return kernel.module()


class _Kernel:
    """One kernel while it is written."""

    def __init__(
        self, info: ProgramInfo, target: str, streamed: frozenset[UOp], cpu: CpuDescription
    ) -> None:
        self.info = info
        self.cpu = cpu
        self.target = target
        self.streamed = streamed
        self.body = Body()
        self.parameters = [f"ptr noalias %data{slot}" for slot in info.globals]
        self.parameters += [f"i64 %var{position}" for position in range(len(info.vars))]
        self.parameters.append("i64 %core_id")
        self.loops: list[str] = []
        self.open_loops: dict[UOp, str] = {}
        self.open_branches: dict[UOp, str] = {}
        self.has_vectors = False
        self.has_scaling = {"avx512f", "avx512vl"} <= cpu.enabled

    def write(self, node: UOp) -> None:
        """Append the instructions of one node."""
        body = self.body
        op = node.op
        if node.dtype.count > 1:
            self.has_vectors = True
        if op in GroupOp.Constant:
            body.values[node] = literal(node)
            return
        if op is Ops.MUL and self.has_scaling:
            scaled = render_scaling(body, node)
            if scaled is not None:
                body.values[node] = scaled
                return
        elementwise = ELEMENTWISE.get(op)
        if elementwise is not None:
            body.values[node] = elementwise(body, node)
            return
        if op in NO_CODE:
            return
        other = OTHER.get(op)
        if other is None:
            raise UnsupportedError(
                what=f"{op} of {node.dtype}",
                target=self.target,
                reason="the LLVM renderer has no instruction for it",
                hint="legalize the graph for this target first",
            )
        other(self, node)

    # *** values from outside ***

    def param(self, node: UOp) -> None:
        assert isinstance(node.arg, ParamArg), "a PARAM carries a ParamArg"
        self.body.values[node] = f"%data{node.arg.slot}"

    def variable(self, node: UOp) -> None:
        position = [variable.var_name for variable in self.info.vars].index(node.var_name)
        self.body.values[node] = self._from_int64(f"%var{position}", node)

    def special(self, node: UOp) -> None:
        assert isinstance(node.arg, SpecialArg), "a SPECIAL carries a SpecialArg"
        if node.arg.name != "core_id":
            raise UnsupportedError(
                what=f"launch index {node.arg.name}",
                target=self.target,
                reason="a processor has no other launch index than core_id",
                hint="use loops or threads",
            )
        self.body.values[node] = self._from_int64("%core_id", node)

    def _from_int64(self, name: str, node: UOp) -> str:
        kind = type_name(node.dtype)
        return name if kind == "i64" else self.body.emit(f"trunc i64 {name} to {kind}")

    def array(self, node: UOp) -> None:
        self.body.values[node] = define_array(self.body, node)

    def alias(self, node: UOp) -> None:
        """AFTER: the value of what it orders."""
        source = node.src[0]
        if source in self.body.values:
            self.body.values[node] = self.body.values[source]

    # *** vectors ***

    def stack(self, node: UOp) -> None:
        body = self.body
        kind = type_name(node.dtype)
        lane_kind = type_name(node.dtype.scalar())
        lanes = [body.values[lane] for lane in node.src]
        if len(set(lanes)) == 1:
            first = body.emit(f"insertelement {kind} poison, {lane_kind} {lanes[0]}, i32 0")
            mask = f"<{len(lanes)} x i32> zeroinitializer"
            body.values[node] = body.emit(f"shufflevector {kind} {first}, {kind} poison, {mask}")
            return
        vector = "poison"
        for position, lane in enumerate(lanes):
            vector = body.emit(f"insertelement {kind} {vector}, {lane_kind} {lane}, i32 {position}")
        body.values[node] = vector

    def gep(self, node: UOp) -> None:
        body = self.body
        source = node.src[0]
        lanes = node.arg
        assert isinstance(lanes, tuple), "a GEP carries its lanes"
        vector = body.typed(source)
        if source.dtype.count == 1:
            body.values[node] = body.values[source]
        elif len(lanes) == 1:
            body.values[node] = body.emit(f"extractelement {vector}, i32 {lanes[0]}")
        else:
            mask = ", ".join(f"i32 {lane}" for lane in lanes)
            kind = type_name(source.dtype)
            body.values[node] = body.emit(
                f"shufflevector {vector}, {kind} poison, <{len(lanes)} x i32> <{mask}>"
            )

    # *** memory ***

    def index(self, node: UOp) -> None:
        self.body.values[node] = render_index(self.body, node)

    def load(self, node: UOp) -> None:
        self.body.values[node] = render_load(self.body, node)
        if node in self.streamed:
            render_prefetch(self.body, node)

    def store(self, node: UOp) -> None:
        render_store(self.body, node)
        if node in self.streamed:
            render_prefetch(self.body, node)

    def tile_product(self, node: UOp) -> None:
        render_tile_product(self.body, node)

    # *** control flow ***

    def open_loop(self, node: UOp) -> None:
        body = self.body
        number = body.fresh("")
        kind = type_name(node.dtype)
        size = node.range_size
        before = body.block
        if size.vmin >= 1:
            body.do(f"br label %loop{number}")
        else:
            runs = body.emit(f"icmp sgt {kind} {body.values[size]}, 0")
            body.do(f"br i1 {runs}, label %loop{number}, label %done{number}")
        body.label(f"loop{number}")
        body.values[node] = body.emit(
            f"phi {kind} [ 0, %{before} ], [ %next{number}, %latch{number} ]"
        )
        self.open_loops[node] = number

    def close_loop(self, node: UOp) -> None:
        body = self.body
        for loop in reversed([source for source in node.src if source.op is Ops.RANGE]):
            number = self.open_loops.pop(loop)
            kind = type_name(loop.dtype)
            counter = body.values[loop]
            size = body.values[loop.range_size]
            body.do(f"br label %latch{number}")
            body.label(f"latch{number}")
            body.lines.append(f"  %next{number} = add nuw nsw {kind} {counter}, 1")
            again = body.emit(f"icmp slt {kind} %next{number}, {size}")
            self.loops.append(number)
            body.do(
                f"br i1 {again}, label %loop{number}, label %done{number}, "
                f"!llvm.loop !{len(self.loops) + 1}"
            )
            body.label(f"done{number}")

    def open_branch(self, node: UOp) -> None:
        body = self.body
        number = body.fresh("")
        body.do(f"br i1 {body.values[node.src[0]]}, label %then{number}, label %endif{number}")
        body.label(f"then{number}")
        self.open_branches[node] = number

    def close_branch(self, node: UOp) -> None:
        number = self.open_branches.pop(node.src[0])
        self.body.do(f"br label %endif{number}")
        self.body.label(f"endif{number}")

    # *** text of the user's ***

    def custom(self, node: UOp) -> None:
        assert isinstance(node.arg, str), "CUSTOM carries its text"
        operands = [self.body.values[source] for source in node.src]
        text = node.arg.format(*operands)
        if node.dtype.bitsize == 0:
            self.body.do(text)
        else:
            self.body.values[node] = self.body.emit(text)

    # *** the whole ***

    def module(self) -> str:
        """The text of the module."""
        cpu = self.cpu
        name = self.info.function_name
        body = self.body
        # no library is linked: loops must not become calls of memset and memcpy
        attributes = f'nounwind "no-builtins" "prefer-vector-width"="{max(cpu.vector_bits, 128)}"'
        lines = [
            f'target triple = "{cpu.triple}"',
            f"define internal void @{name}.body({', '.join(self.parameters)}) #0 {{",
            "entry:",
            *body.allocas,
            *body.lines,
            *body.epilogue,
            "  ret void",
            "}",
            *_entry(name, len(self.info.globals), len(self.info.vars), self.parameters),
            *body.declarations,
            f"attributes #0 = {{ alwaysinline {attributes} }}",
            f"attributes #1 = {{ {attributes} }}",
            *self._loop_metadata(),
        ]
        return "\n".join(lines) + "\n"

    def _loop_metadata(self) -> list[str]:
        """Kernels with vectors are unrolled as they should be; LLVM may vectorize the others."""
        if not self.loops:
            return []
        hints = ", !0, !1" if self.has_vectors else ""
        lines = []
        if self.has_vectors:
            lines.append('!0 = !{!"llvm.loop.unroll.disable"}')
            lines.append('!1 = !{!"llvm.loop.vectorize.enable", i1 false}')
        for number in range(2, len(self.loops) + 2):
            lines.append(f"!{number} = distinct !{{!{number}{hints}}}")
        return lines


def _entry(name: str, buffers: int, variables: int, parameters: Sequence[str]) -> list[str]:
    """The function with the signature of the runtime: unpacks the arguments, calls the kernel."""
    lines = [f"define void @{name}(ptr %args, i64 %core_id) #1 {{"]
    for position, parameter in enumerate(parameters[: buffers + variables]):
        kind = "ptr" if position < buffers else "i64"
        target = parameter.rsplit(" ", 1)[1]
        lines.append(f"  {target}.at = getelementptr inbounds i64, ptr %args, i64 {position}")
        lines.append(f"  {target} = load {kind}, ptr {target}.at, align 8")
    passed = ", ".join(parameter.replace(" noalias", "") for parameter in parameters)
    lines += [f"  call void @{name}.body({passed})", "  ret void", "}"]
    return lines


OTHER: dict[Ops, Callable[[_Kernel, UOp], None]] = {
    Ops.PARAM: _Kernel.param,
    Ops.DEFINE_VAR: _Kernel.variable,
    Ops.SPECIAL: _Kernel.special,
    Ops.DEFINE_LOCAL: _Kernel.array,
    Ops.DEFINE_REG: _Kernel.array,
    Ops.AFTER: _Kernel.alias,
    Ops.STACK: _Kernel.stack,
    Ops.GEP: _Kernel.gep,
    Ops.INDEX: _Kernel.index,
    Ops.LOAD: _Kernel.load,
    Ops.STORE: _Kernel.store,
    Ops.WMMA: _Kernel.tile_product,
    Ops.RANGE: _Kernel.open_loop,
    Ops.END: _Kernel.close_loop,
    Ops.IF: _Kernel.open_branch,
    Ops.ENDIF: _Kernel.close_branch,
    Ops.CUSTOM: _Kernel.custom,
    Ops.CUSTOMI: _Kernel.custom,
}


def make(target: Target, compiler: Compile | None) -> Renderer:
    """The renderer of `target`."""
    return LLVMRenderer(target, describe_cpu(target), compiler)
