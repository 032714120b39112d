"""LLVM instructions for products of AMX tiles: the loop over depths, in registers with fixed names.

Two tiles of A and two of B are loaded for each depth, four of C are kept (Intel 64 and IA-32
Architectures Software Developer's Manual, volume 1, chapter 18).
"""

from __future__ import annotations

from itertools import product

from tg_uop import UOp
from tg_uop.ir.args import TileProduct

from tg_codegen.render.llvm_body import Body

TILE_ROWS = 16
TILE_BYTES = 64
PRODUCTS = {
    "amx_bf16": "tdpbf16ps",
    "amx_int8": "tdpbssd",
    "amx_int8_su": "tdpbsud",
    "amx_int8_us": "tdpbusd",
    "amx_uint8": "tdpbuud",
}
# numbers of the tiles
_C, _A, _B = 0, 4, 6
# palette 1; bytes of a row of each tile from byte 16 on, rows of each from byte 48 on
_PALETTE, _ROW_BYTES_AT, _ROWS_AT, _CONFIGURATION_BYTES = 1, 16, 48, 64


def render_tile_product(body: Body, node: UOp) -> None:
    """The statement `C = A times B` on memory."""
    record = node.arg
    assert isinstance(record, TileProduct), "a statement on tiles carries a TileProduct"
    _configure(body)
    c, a, b = (body.values[operand] for operand in node.src)
    rows = range(record.rows // TILE_ROWS)
    columns = range(record.columns * 4 // TILE_BYTES)
    tiles = list(product(rows, columns))
    for row, column in tiles:
        _call(body, "tilezero", f"i8 {_number(row, column, columns)}")
    depth = _open_loop(body)
    for row in rows:
        offset = body.emit(f"shl i64 {depth}, 6")
        start = _at(body, a, offset)
        start = _at(body, start, str(row * TILE_ROWS * record.stride_a))
        _load(body, _A + row, start, record.stride_a)
    for column in columns:
        offset = body.emit(f"mul i64 {depth}, {TILE_ROWS * record.stride_b}")
        start = _at(body, b, offset)
        start = _at(body, start, str(column * TILE_BYTES))
        _load(body, _B + column, start, record.stride_b)
    multiply = PRODUCTS[record.unit]
    for row, column in tiles:
        operands = (_number(row, column, columns), _A + row, _B + column)
        _call(body, multiply, ", ".join(f"i8 {tile}" for tile in operands))
    _close_loop(body, depth, record.steps)
    width = record.columns * 4
    for row, column in tiles:
        start = _at(body, c, str(row * TILE_ROWS * width + column * TILE_BYTES))
        tile = _number(row, column, columns)
        _call(body, "tilestored64", f"i8 {tile}, ptr {start}, i64 {width}")


def _number(row: int, column: int, columns: range) -> int:
    return _C + row * len(columns) + column


def _at(body: Body, pointer: str, offset: str) -> str:
    if offset == "0":
        return pointer
    return body.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")


def _load(body: Body, tile: int, start: str, stride: int) -> None:
    _call(body, "tileloadd64", f"i8 {tile}, ptr {start}, i64 {stride}")


def _call(body: Body, name: str, operands: str) -> None:
    kinds = ", ".join(operand.split(" ")[0] for operand in operands.split(", "))
    body.declarations[f"declare void @llvm.x86.{name}({kinds})"] = None
    body.do(f"call void @llvm.x86.{name}({operands})")


def _configure(body: Body) -> None:
    """All eight tiles as large as they can be, from the kernel's start to its end."""
    if body.epilogue:
        return
    layout = bytearray(_CONFIGURATION_BYTES)
    layout[0] = _PALETTE
    for tile in range(8):
        layout[_ROW_BYTES_AT + 2 * tile] = TILE_BYTES
        layout[_ROWS_AT + tile] = TILE_ROWS
    place = body.alloca("[64 x i8], align 64", "tiles")
    listed = ", ".join(f"i8 {byte}" for byte in layout)
    body.allocas.append(f"  store <64 x i8> <{listed}>, ptr {place}, align 64")
    body.allocas.append(f"  call void @llvm.x86.ldtilecfg(ptr {place})")
    body.epilogue.append("  call void @llvm.x86.tilerelease()")
    body.declarations["declare void @llvm.x86.ldtilecfg(ptr)"] = None
    body.declarations["declare void @llvm.x86.tilerelease()"] = None


def _open_loop(body: Body) -> str:
    """Start a loop over depths; its counter."""
    number = body.fresh("")
    before = body.block
    body.do(f"br label %depth{number}")
    body.label(f"depth{number}")
    counter = f"%d{number}"
    body.lines.append(f"  {counter} = phi i64 [ 0, %{before} ], [ {counter}.next, %depth{number} ]")
    return counter


def _close_loop(body: Body, counter: str, steps: int) -> None:
    number = counter.removeprefix("%d")
    body.lines.append(f"  {counter}.next = add nuw nsw i64 {counter}, 1")
    again = body.emit(f"icmp slt i64 {counter}.next, {steps}")
    body.do(f"br i1 {again}, label %depth{number}, label %product{number}")
    body.label(f"product{number}")
