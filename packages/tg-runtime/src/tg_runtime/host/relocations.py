"""The relocation formulas of x86-64 and AArch64 objects.

S is the symbol's address, A the addend, P the place, G the place of the symbol's address in the
table: names of the System V ABI (AMD64 supplement, table 4.9) and of AAELF64 (section 5.7).
"""

from __future__ import annotations

import struct
from typing import Final

from tg_runtime.errors import ObjectFileError

STUB_SIZE: Final = 16

# x86-64
_X86_64: Final = 1
_X86_PC32: Final = 2
_X86_PLT32: Final = 4
_X86_GOTPCREL: Final = 9
_X86_32: Final = 10
_X86_32S: Final = 11
_X86_PC64: Final = 24
_X86_GOTPCRELX: Final = 41
_X86_REX_GOTPCRELX: Final = 42
_X86_GOT: Final = frozenset({_X86_GOTPCREL, _X86_GOTPCRELX, _X86_REX_GOTPCRELX})

# AArch64
_A64_ABS64: Final = 257
_A64_ABS32: Final = 258
_A64_PREL64: Final = 260
_A64_PREL32: Final = 261
_A64_MOVW: Final = {263: 0, 264: 0, 265: 16, 266: 16, 267: 32, 268: 32, 269: 48}
_A64_ADR_PAGE: Final = 275
_A64_ADR_PAGE_NC: Final = 276
_A64_ADD_LO12: Final = 277
_A64_LOAD_SHIFT: Final = {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
_A64_CONDBR19: Final = 280
_A64_JUMP26: Final = 282
_A64_CALL26: Final = 283
_A64_ADR_GOT_PAGE: Final = 311
_A64_LD64_GOT_LO12: Final = 312
_A64_GOT: Final = frozenset({_A64_ADR_GOT_PAGE, _A64_LD64_GOT_LO12})


def needs_got(machine: str, kind: int) -> bool:
    """Whether the relocation wants the place of the address instead of the address."""
    return kind in (_X86_GOT if machine == "x86_64" else _A64_GOT)


def stub_code(machine: str, address: int) -> bytes:
    """Code that jumps to any address, for callees that a near call does not reach."""
    if machine == "x86_64":
        # jmp qword ptr [rip + 0], followed by the address
        return b"\xff\x25\0\0\0\0" + struct.pack("<Q", address) + b"\0\0"
    # ldr x16, #8; br x16; the address
    return struct.pack("<IIQ", 0x58000050, 0xD61F0200, address)


def apply_relocation(
    machine: str,
    memory: memoryview,
    place: int,
    kind: int,
    *,
    place_address: int,
    target: int,
    addend: int,
    stub: int,
    symbol: str,
) -> None:
    """Write the value of one relocation at `place` of `memory`.

    Raises `ObjectFileError` for an unknown kind and for a value that does not fit.
    """
    apply = _apply_x86 if machine == "x86_64" else _apply_aarch64
    apply(memory, place, kind, place_address, target, addend, stub, symbol)


def _apply_x86(
    memory: memoryview,
    place: int,
    kind: int,
    place_address: int,
    target: int,
    addend: int,
    stub: int,
    symbol: str,
) -> None:
    if kind == _X86_64:
        struct.pack_into("<Q", memory, place, (target + addend) & (2**64 - 1))
    elif kind == _X86_PC64:
        struct.pack_into("<q", memory, place, target + addend - place_address)
    elif kind in (_X86_PC32, _X86_GOTPCREL, _X86_GOTPCRELX, _X86_REX_GOTPCRELX):
        _pack_near(memory, place, target + addend - place_address, symbol)
    elif kind == _X86_PLT32:
        distance = target + addend - place_address
        if not -(2**31) <= distance < 2**31:
            distance = stub + addend - place_address
        _pack_near(memory, place, distance, symbol)
    elif kind in (_X86_32, _X86_32S):
        value = target + addend
        limit = 2**32 if kind == _X86_32 else 2**31
        if not 0 <= value < limit:
            raise ObjectFileError(
                reason="it needs an address below 2 GiB; compile position-independent code",
                symbol=symbol,
            )
        struct.pack_into("<I", memory, place, value)
    else:
        raise ObjectFileError(reason=f"relocation {kind} of x86-64 is not supported", symbol=symbol)


def _pack_near(memory: memoryview, place: int, distance: int, symbol: str) -> None:
    if not -(2**31) <= distance < 2**31:
        raise ObjectFileError(reason="it is more than 2 GiB away from its use", symbol=symbol)
    struct.pack_into("<i", memory, place, distance)


def _apply_aarch64(
    memory: memoryview,
    place: int,
    kind: int,
    place_address: int,
    target: int,
    addend: int,
    stub: int,
    symbol: str,
) -> None:
    value = target + addend
    if kind == _A64_ABS64:
        struct.pack_into("<Q", memory, place, value & (2**64 - 1))
    elif kind == _A64_ABS32:
        struct.pack_into("<I", memory, place, _fits(value, 0, 2**32, symbol))
    elif kind == _A64_PREL64:
        struct.pack_into("<q", memory, place, value - place_address)
    elif kind == _A64_PREL32:
        _pack_near(memory, place, value - place_address, symbol)
    elif kind in _A64_MOVW:
        _set_bits(memory, place, (value >> _A64_MOVW[kind]) & 0xFFFF, 5, 16)
    elif kind in (_A64_ADR_PAGE, _A64_ADR_PAGE_NC, _A64_ADR_GOT_PAGE):
        pages = (value >> 12) - (place_address >> 12)
        _fits(pages, -(2**20), 2**20, symbol)
        _set_bits(memory, place, pages & 3, 29, 2)
        _set_bits(memory, place, (pages >> 2) & 0x7FFFF, 5, 19)
    elif kind == _A64_ADD_LO12:
        _set_bits(memory, place, value & 0xFFF, 10, 12)
    elif kind in _A64_LOAD_SHIFT:
        _set_bits(memory, place, (value & 0xFFF) >> _A64_LOAD_SHIFT[kind], 10, 12)
    elif kind == _A64_LD64_GOT_LO12:
        _set_bits(memory, place, (value & 0xFFF) >> 3, 10, 12)
    elif kind == _A64_CONDBR19:
        distance = _fits((value - place_address) >> 2, -(2**18), 2**18, symbol)
        _set_bits(memory, place, distance & 0x7FFFF, 5, 19)
    elif kind in (_A64_JUMP26, _A64_CALL26):
        distance = (value - place_address) >> 2
        if not -(2**25) <= distance < 2**25:
            distance = (stub - place_address) >> 2
        _set_bits(memory, place, distance & 0x3FFFFFF, 0, 26)
    else:
        raise ObjectFileError(
            reason=f"relocation {kind} of AArch64 is not supported", symbol=symbol
        )


def _fits(value: int, low: int, high: int, symbol: str) -> int:
    if not low <= value < high:
        raise ObjectFileError(reason="it is too far away from its use", symbol=symbol)
    return value


def _set_bits(memory: memoryview, place: int, value: int, shift: int, width: int) -> None:
    (word,) = struct.unpack_from("<I", memory, place)
    mask = ((1 << width) - 1) << shift
    struct.pack_into("<I", memory, place, (word & ~mask) | (value << shift))
