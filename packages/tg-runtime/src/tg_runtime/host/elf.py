"""Loads a relocatable ELF object (x86-64, AArch64) into executable memory.

Formats and relocation formulas: the System V ABI, its AMD64 supplement, and ELF for the Arm 64-bit
Architecture (AAELF64).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from tg_runtime.errors import ObjectFileError, ToolMissingError
from tg_runtime.host.dynlib import symbol_address
from tg_runtime.host.memory_map import (
    make_executable,
    map_pages,
    round_up,
    unmap_pages,
    view_memory,
)
from tg_runtime.host.relocations import STUB_SIZE, apply_relocation, needs_got, stub_code

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELA: Final = struct.Struct("<QQq")

_SHT_SYMTAB: Final = 2
_SHT_RELA: Final = 4
_SHT_NOBITS: Final = 8
_SHF_ALLOC: Final = 2
_SHF_TLS: Final = 0x400
_SHN_UNDEF: Final = 0
_SHN_ABS: Final = 0xFFF1
_SHN_COMMON: Final = 0xFFF2
_RELOCATABLE: Final = 1
MACHINES: Final = {62: "x86_64", 183: "aarch64"}


class Section(NamedTuple):
    """One section header."""

    number: int
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class Symbol(NamedTuple):
    """One entry of the symbol table."""

    name: str
    section: int
    value: int


class Relocation(NamedTuple):
    """One place in a section that depends on the address of a symbol."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class ObjectFile(NamedTuple):
    """A parsed relocatable object."""

    data: bytes
    machine: str
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]

    def defined(self) -> dict[str, Symbol]:
        """The symbols with a place in this object."""
        return {s.name: s for s in self.symbols if s.name and s.section != _SHN_UNDEF}


def parse_object(data: bytes) -> ObjectFile:
    """The parts of a relocatable object.

    Raises `ObjectFileError` when the bytes are none, or are cut short.
    """
    if data[:4] != b"\x7fELF" or len(data) < _HEADER.size:
        raise ObjectFileError(reason="it has no ELF header")
    if data[4] != 2 or data[5] != 1:
        raise ObjectFileError(reason="only 64-bit little-endian objects can be loaded")
    header = _HEADER.unpack_from(data)
    file_type, machine_number, table, entry_size, count = (
        header[1],
        header[2],
        header[6],
        header[11],
        header[12],
    )
    if file_type != _RELOCATABLE:
        raise ObjectFileError(reason=f"its type is {file_type}, a relocatable object has 1")
    if machine_number not in MACHINES:
        raise ObjectFileError(reason=f"machine {machine_number} is not supported")
    try:
        sections = tuple(_read_section(data, i, table + i * entry_size) for i in range(count))
        symbols = _read_symbols(data, sections)
        relocations = _read_relocations(data, sections)
    except (struct.error, IndexError, ValueError) as error:
        raise ObjectFileError(reason=f"it is cut short or damaged ({error})") from error
    return ObjectFile(data, MACHINES[machine_number], sections, symbols, relocations)


def _read_section(data: bytes, index: int, at: int) -> Section:
    _, kind, flags, _, offset, size, link, info, align, _ = _SECTION.unpack_from(data, at)
    if kind != _SHT_NOBITS and offset + size > len(data):
        raise ValueError(f"section {index} ends after the file")
    return Section(index, kind, flags, offset, size, link, info, max(align, 1))


def _read_symbols(data: bytes, sections: tuple[Section, ...]) -> tuple[Symbol, ...]:
    table = next((s for s in sections if s.kind == _SHT_SYMTAB), None)
    if table is None:
        return ()
    names = sections[table.link]
    found = []
    for at in range(table.offset, table.offset + table.size, _SYMBOL.size):
        name_at, _, _, section, value, _ = _SYMBOL.unpack_from(data, at)
        start = names.offset + name_at
        found.append(Symbol(data[start : data.index(b"\0", start)].decode(), section, value))
    return tuple(found)


def _read_relocations(data: bytes, sections: tuple[Section, ...]) -> tuple[Relocation, ...]:
    found = []
    for table in sections:
        if table.kind != _SHT_RELA or not sections[table.info].flags & _SHF_ALLOC:
            continue
        for at in range(table.offset, table.offset + table.size, _RELA.size):
            offset, info, addend = _RELA.unpack_from(data, at)
            found.append(Relocation(table.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
    return tuple(found)


class LoadedObject:
    """Code and constants of an object file in executable memory, unmapped by `close`."""

    __slots__ = ("_base", "_functions", "_size")

    def __init__(self, base: int, size: int, functions: dict[str, int]) -> None:
        self._base = base
        self._size = size
        self._functions = functions

    @property
    def symbols(self) -> dict[str, int]:
        """The address of every symbol that the object defines."""
        return self._functions

    def address(self, name: str) -> int:
        """The address of a symbol.

        Raises `ObjectFileError` when the object does not define it.
        """
        address = self._functions.get(name)
        if address is None:
            raise ObjectFileError(
                reason=f"it defines {', '.join(sorted(self._functions)) or 'nothing'}", symbol=name
            )
        return address

    def close(self) -> None:
        """Unmap the memory; nothing may run in it any more."""
        if self._base:
            unmap_pages(self._base, self._size)
            self._base = 0


def load_object(
    data: bytes, resolve: Callable[[str], int] = symbol_address, *, machine: str = ""
) -> LoadedObject:
    """Place an object in memory, resolve its symbols, make it executable.

    `resolve` gives addresses of symbols that the object does not define; by default they come from
    the C library. Raises `ObjectFileError`.
    """
    parsed = parse_object(data)
    if machine and parsed.machine != machine:
        raise ObjectFileError(reason=f"it holds {parsed.machine} code, this machine is {machine}")
    return _Linker(parsed, resolve).link()


class _Linker:
    """The layout of one object: allocated sections, then a table of addresses, then call stubs."""

    def __init__(self, parsed: ObjectFile, resolve: Callable[[str], int]) -> None:
        self.parsed = parsed
        self.resolve = resolve
        self.places: dict[int, int] = {}
        size = 0
        for section in parsed.sections:
            if section.flags & _SHF_TLS:
                raise ObjectFileError(reason="thread-local storage is not supported")
            if section.flags & _SHF_ALLOC:
                size = round_up(size, section.align)
                self.places[section.number] = size
                size += section.size
        used = {r.symbol for r in parsed.relocations}
        self.slots = {symbol: i for i, symbol in enumerate(sorted(used))}
        self.got_offset = round_up(size, 16)
        self.stub_offset = round_up(self.got_offset + 8 * len(self.slots), 16)
        self.size = self.stub_offset + STUB_SIZE * len(self.slots)
        self.base = 0

    def link(self) -> LoadedObject:
        self.base = map_pages(self.size)
        try:
            memory = view_memory(self.base, self.size)
            self._copy_sections(memory)
            self._fill_tables(memory)
            for relocation in self.parsed.relocations:
                self._relocate(memory, relocation)
            memory.release()
            make_executable(self.base, self.size)
        except BaseException:
            unmap_pages(self.base, self.size)
            raise
        functions = {
            name: self._symbol_address(symbol)
            for name, symbol in self.parsed.defined().items()
            if symbol.section in self.places
        }
        return LoadedObject(self.base, self.size, functions)

    def _copy_sections(self, memory: memoryview) -> None:
        for index, place in self.places.items():
            section = self.parsed.sections[index]
            if section.kind != _SHT_NOBITS:
                end = section.offset + section.size
                memory[place : place + section.size] = self.parsed.data[section.offset : end]

    def _fill_tables(self, memory: memoryview) -> None:
        for number, slot in self.slots.items():
            address = self._symbol_address(self.parsed.symbols[number])
            struct.pack_into("<Q", memory, self.got_offset + 8 * slot, address)
            start = self.stub_offset + STUB_SIZE * slot
            memory[start : start + STUB_SIZE] = stub_code(self.parsed.machine, address)

    def _symbol_address(self, symbol: Symbol) -> int:
        if symbol.section == _SHN_UNDEF:
            return self._external(symbol.name) if symbol.name else 0
        if symbol.section == _SHN_ABS:
            return symbol.value
        place = self.places.get(symbol.section)
        if place is None or symbol.section == _SHN_COMMON:
            raise ObjectFileError(
                reason="it lies in a section that is not loaded", symbol=symbol.name
            )
        return self.base + place + symbol.value

    def _external(self, name: str) -> int:
        try:
            return self.resolve(name)
        except (ToolMissingError, KeyError) as error:
            raise ObjectFileError(
                reason="it calls a function that nothing here defines", symbol=name
            ) from error

    def _relocate(self, memory: memoryview, relocation: Relocation) -> None:
        slot = self.slots[relocation.symbol]
        symbol = self.parsed.symbols[relocation.symbol]
        place = self.places[relocation.section] + relocation.offset
        if needs_got(self.parsed.machine, relocation.kind):
            target = self.base + self.got_offset + 8 * slot
        else:
            target = self._symbol_address(symbol)
        apply_relocation(
            self.parsed.machine,
            memory,
            place,
            relocation.kind,
            place_address=self.base + place,
            target=target,
            addend=relocation.addend,
            stub=self.base + self.stub_offset + STUB_SIZE * slot,
            symbol=symbol.name,
        )
