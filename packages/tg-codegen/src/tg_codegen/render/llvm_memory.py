"""LLVM instructions for memory: stack arrays, addresses, plain and gated accesses."""

from __future__ import annotations

from tg_uop import AddrSpace, DType, Ops, PtrDType, UOp, dtypes

from tg_codegen.render.llvm_body import Body
from tg_codegen.render.llvm_types import intrinsic_suffix, memory_type, type_name
from tg_codegen.render.prefetch import AHEAD, LINE, place_and_dtype

# a cache line, and the widest vector register
ARRAY_ALIGNMENT = 64


def define_array(body: Body, node: UOp) -> str:
    """Stack memory of a DEFINE_REG or DEFINE_LOCAL; the pointer's name."""
    dtype = node.dtype
    assert isinstance(dtype, PtrDType), "memory has a pointer dtype"
    kind = memory_type(dtype.base)
    prefix = "acc" if dtype.addrspace is AddrSpace.REG else "local"
    return body.alloca(f"[{dtype.size} x {kind}], align {ARRAY_ALIGNMENT}", prefix)


def render_index(body: Body, node: UOp) -> str:
    """The address of an element; behind a closed gate it may lie outside of the memory."""
    pointer = body.values[node.index_buffer]
    position = node.index_expr
    if position.op is Ops.CONST and position.arg == 0:
        return pointer
    kind = memory_type(node.index_buffer.dtype.base)
    bounds = "inbounds " if node.index_gate is None else ""
    shared = _shared_part(position)
    if shared is not None:
        # what the lanes share is added to the pointer, as the instructions that gather want it
        position = position.src[1]
        pointer = body.emit(f"getelementptr {bounds}{kind}, ptr {pointer}, {body.typed(shared)}")
    index = body.typed(position)
    return body.emit(f"getelementptr {bounds}{kind}, ptr {pointer}, {index}")


def _shared_part(position: UOp) -> UOp | None:
    """Of a vector index that is a scalar in every lane plus something: the scalar."""
    if position.op is not Ops.ADD or position.src[0].op is not Ops.STACK:
        return None
    lanes = position.src[0].src
    return lanes[0] if all(lane is lanes[0] for lane in lanes) else None


def render_load(body: Body, node: UOp) -> str:
    """The value of a LOAD; a closed gate reads nothing and gives the alternative."""
    address = body.values[node.load_index]
    gate = _gate(node.load_index)
    kind = memory_type(node.dtype)
    if has_many_places(node.load_index):
        return _gather(body, node, address, gate)
    if gate is None:
        loaded = body.emit(f"load {kind}, ptr {address}, align {_alignment(node.dtype)}")
        return _from_memory(body, loaded, node.dtype)
    if gate.dtype.count > 1:
        return _masked_load(body, node, address, gate)
    return _selected_load(body, node, address, gate)


def render_prefetch(body: Body, node: UOp) -> None:
    """Ask for what a LOAD or STORE will want some steps from now; past the end of memory that does
    nothing.
    """
    place, dtype = place_and_dtype(node)
    address, writes = body.values[place], node.op is Ops.STORE
    body.declarations["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"] = None
    for line in range(0, dtype.itemsize, LINE):
        ahead = body.emit(f"getelementptr i8, ptr {address}, i64 {AHEAD + line}")
        body.do(f"call void @llvm.prefetch.p0(ptr {ahead}, i32 {int(writes)}, i32 3, i32 1)")


def has_many_places(index: UOp) -> bool:
    """Whether an address is one for each lane."""
    while index.op is Ops.AFTER:
        index = index.src[0]
    return index.op is Ops.INDEX and index.index_expr.dtype.count > 1


def _all_lanes(body: Body, gate: UOp | None, count: int) -> str:
    """A mask with type: the gate for each lane, or one for all."""
    kind = f"<{count} x i1>"
    if gate is None:
        return f"{kind} splat (i1 true)"
    if gate.dtype.count > 1:
        return body.typed(gate)
    first = body.emit(f"insertelement {kind} poison, i1 {body.values[gate]}, i32 0")
    zeros = f"<{count} x i32> zeroinitializer"
    return f"{kind} " + body.emit(f"shufflevector {kind} {first}, {kind} poison, {zeros}")


def _gather(body: Body, node: UOp, addresses: str, gate: UOp | None) -> str:
    count = node.dtype.count
    kind = memory_type(node.dtype)
    alt = node.load_alt
    other = "zeroinitializer" if alt is None else body.values[alt]
    places = f"<{count} x ptr>"
    function = f"@llvm.masked.gather.{_memory_suffix(node.dtype)}.v{count}p0"
    body.declarations[f"declare {kind} {function}({places}, <{count} x i1>, {kind})"] = None
    pointers = f"{places} align {_alignment(node.dtype)} {addresses}"
    mask = _all_lanes(body, gate, count)
    return body.emit(f"call {kind} {function}({pointers}, {mask}, {kind} {other})")


def _scatter(body: Body, value: UOp, addresses: str, gate: UOp | None) -> None:
    count = value.dtype.count
    kind = memory_type(value.dtype)
    places = f"<{count} x ptr>"
    function = f"@llvm.masked.scatter.{_memory_suffix(value.dtype)}.v{count}p0"
    body.declarations[f"declare void {function}({kind}, {places}, <{count} x i1>)"] = None
    pointers = f"{places} align {_alignment(value.dtype)} {addresses}"
    mask = _all_lanes(body, gate, count)
    body.do(f"call void {function}({kind} {body.values[value]}, {pointers}, {mask})")


def _selected_load(body: Body, node: UOp, address: str, gate: UOp) -> str:
    """One gate for the whole access: without a branch, by reading zeros from the stack instead."""
    kind = memory_type(node.dtype)
    zeros = body.zeros(kind)
    condition = body.values[gate]
    safe = body.emit(f"select i1 {condition}, ptr {address}, ptr {zeros}")
    loaded = body.emit(f"load {kind}, ptr {safe}, align {_alignment(node.dtype)}")
    value = _from_memory(body, loaded, node.dtype)
    alt = node.load_alt
    if alt is None or (alt.op is Ops.CONST and alt.arg == 0):
        return value
    return body.emit(f"select i1 {condition}, {type_name(node.dtype)} {value}, {body.typed(alt)}")


def _masked_load(body: Body, node: UOp, address: str, gate: UOp) -> str:
    kind = memory_type(node.dtype)
    mask = body.typed(gate)
    alt = node.load_alt
    other = "zeroinitializer" if alt is None else _to_memory(body, body.values[alt], node.dtype)
    function = f"@llvm.masked.load.{_memory_suffix(node.dtype)}.p0"
    body.declarations[f"declare {kind} {function}(ptr, {type_name(gate.dtype)}, {kind})"] = None
    pointer = f"ptr align {_alignment(node.dtype)} {address}"
    loaded = body.emit(f"call {kind} {function}({pointer}, {mask}, {kind} {other})")
    return _from_memory(body, loaded, node.dtype)


def render_store(body: Body, node: UOp) -> None:
    """A STORE; a closed gate writes nothing."""
    address = body.values[node.stored_target]
    value = node.stored_value
    gate = _gate(node.stored_target)
    if has_many_places(node.stored_target):
        _scatter(body, value, address, gate)
    elif gate is None:
        _plain_store(body, value, address)
    elif gate.dtype.count > 1:
        _masked_store(body, value, address, gate)
    else:
        number = body.fresh("")
        body.do(f"br i1 {body.values[gate]}, label %then{number}, label %endif{number}")
        body.label(f"then{number}")
        _plain_store(body, value, address)
        body.do(f"br label %endif{number}")
        body.label(f"endif{number}")


def _plain_store(body: Body, value: UOp, address: str) -> None:
    kind = memory_type(value.dtype)
    stored = _to_memory(body, body.values[value], value.dtype)
    body.do(f"store {kind} {stored}, ptr {address}, align {_alignment(value.dtype)}")


def _masked_store(body: Body, value: UOp, address: str, gate: UOp) -> None:
    kind = memory_type(value.dtype)
    stored = _to_memory(body, body.values[value], value.dtype)
    function = f"@llvm.masked.store.{_memory_suffix(value.dtype)}.p0"
    body.declarations[f"declare void {function}({kind}, ptr, {type_name(gate.dtype)})"] = None
    pointer = f"ptr align {_alignment(value.dtype)} {address}"
    body.do(f"call void {function}({kind} {stored}, {pointer}, {body.typed(gate)})")


def _gate(index: UOp) -> UOp | None:
    while index.op is Ops.AFTER:
        index = index.src[0]
    return index.index_gate if index.op is Ops.INDEX else None


def _alignment(dtype: DType) -> int:
    """Bytes: that of one element, as a view may start at any."""
    return max(1, dtype.scalar().itemsize)


def _memory_suffix(dtype: DType) -> str:
    if dtype.is_bool:
        return intrinsic_suffix(dtypes.uint8.vec(dtype.count))
    return intrinsic_suffix(dtype)


def _from_memory(body: Body, loaded: str, dtype: DType) -> str:
    """A byte that is not 0 is true."""
    if not dtype.is_bool:
        return loaded
    zero = "0" if dtype.count == 1 else "zeroinitializer"
    return body.emit(f"icmp ne {memory_type(dtype)} {loaded}, {zero}")


def _to_memory(body: Body, value: str, dtype: DType) -> str:
    if not dtype.is_bool:
        return value
    return body.emit(f"zext {type_name(dtype)} {value} to {memory_type(dtype)}")
