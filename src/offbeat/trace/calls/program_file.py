"""Function and source line of an address in a program or library (ELF file).

Symbols come from ``.symtab`` and ``.dynsym``; one is used only if the address is within its size. Lines and
inlined functions come from DWARF; only the required compile units are read. A damaged file gives fewer names
and no error.
"""

from __future__ import annotations

import bisect
import io
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from elftools.dwarf.descriptions import describe_form_class
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.reading import map_file
from offbeat.trace.calls.function_names import demangle_name

TIME_LIMIT_S = 10.0
"""Time limit for reading the debugging information of a file; afterwards only symbols are used."""

_MAX_DEPTH = 200
_FUNCTION_SYMBOL_TYPES = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_NAMESPACES = (
    *("DW_TAG_namespace", "DW_TAG_module", "DW_TAG_class_type", "DW_TAG_structure_type"),
    *("DW_TAG_union_type", "DW_TAG_interface_type"),
)
_FUNCTION_TAGS = ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine")
_BLOCK_TAGS = ("DW_TAG_lexical_block", "DW_TAG_try_block", "DW_TAG_catch_block")
_DEBUG_FOLDER = Path("/usr/lib/debug/.build-id")


class SourceLine(Struct, frozen=True):
    """A place in a source: a mangled function, the file as the compiler was given it, line 0 if unknown."""

    function: str
    file: str = ""
    line: int = 0


class ProgramFile:
    """An ELF file. Raises nothing: a file that cannot be read has no names."""

    def __init__(self, path: Path) -> None:
        self._segments: list[tuple[int, int, int]] = []
        self._symbols: list[_SymbolTable] = []
        self._debug_info: _DebugInfo | None = None
        try:
            self._open(path)
        except Exception:  # elftools raises many kinds of errors for damaged files
            self._debug_info = None

    def _open(self, path: Path) -> None:
        elf = _mapped_elf(path)
        self._segments = [
            (segment["p_offset"], segment["p_vaddr"], segment["p_filesz"])
            for segment in elf.iter_segments()
            if segment["p_type"] == "PT_LOAD"
        ]
        self._symbols = list(_symbol_tables(elf))
        debug = elf
        if not elf.has_dwarf_info(strict=True) and (debug_path := _debug_file(elf)) is not None:
            debug = _mapped_elf(debug_path)
            self._symbols += _symbol_tables(debug)
        if debug.has_dwarf_info(strict=True):
            self._debug_info = _DebugInfo(debug)

    def address(self, offset: int) -> int:
        """The virtual address of an offset in the file."""
        for begin, address, length in self._segments:
            if begin <= offset < begin + length:
                return offset - begin + address
        return offset

    def source_lines(self, address: int) -> list[SourceLine]:
        """The source places of an address, the innermost inlined function first; empty if unknown."""
        symbol = next((name for table in self._symbols if (name := table.name_at(address))), "")
        source_lines = self._debug_info.source_lines(address) if self._debug_info is not None else []
        if source_lines and (
            not source_lines[-1].function or demangle_name(symbol) != symbol
        ):  # the symbol has the namespace
            source_lines[-1] = SourceLine(symbol, source_lines[-1].file, source_lines[-1].line)
        return source_lines or ([SourceLine(symbol)] if symbol else [])


def _mapped_elf(path: Path) -> Any:
    """The memory-mapped file."""
    stream: Any = map_file(path)
    return _MappedElf(stream)


class _MappedElf(ELFFile):
    """An ELF file whose debugging information is not copied into memory, except where it is compressed."""

    def _read_dwarf_section(self, section: Any, relocate_dwarf_sections: bool) -> Any:
        if section.compressed or section.name.startswith(".z"):
            return super()._read_dwarf_section(section, relocate_dwarf_sections)
        window: Any = _MappedPart(self.stream, section["sh_offset"], section["sh_size"])
        return DebugSectionDescriptor(
            stream=window,
            name=section.name,
            global_offset=section["sh_offset"],
            size=section["sh_size"],
            address=section["sh_addr"],
        )


class _MappedPart(io.RawIOBase):
    """A part of a mapped file as a stream."""

    def __init__(self, memory: Any, start: int, size: int) -> None:
        self._memory, self._start, self._size, self._position = memory, start, size, 0

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._position + size, self._size)
        begin, self._position = self._position, max(end, self._position)
        return bytes(self._memory[self._start + begin : self._start + end]) if end > begin else b""

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        return self._position


def _debug_file(elf: Any) -> Path | None:
    """The separate file with debugging information that a system package installed, if any."""
    section = elf.get_section_by_name(".note.gnu.build-id")
    for note in section.iter_notes() if section is not None else ():
        if note["n_type"] == "NT_GNU_BUILD_ID":
            path = _DEBUG_FOLDER / note["n_desc"][:2] / f"{note['n_desc'][2:]}.debug"
            return path if path.is_file() else None
    return None


class _SymbolTable:
    """The functions of one symbol table, sorted by address."""

    def __init__(
        self, names: bytes, starts: NDArray[Any], ends: NDArray[Any], name_offsets: NDArray[Any]
    ) -> None:
        order = np.lexsort((-ends.astype(np.int64), starts))
        self._names, self._starts, self._ends, self._name_offsets = (
            names,
            starts[order],
            ends[order],
            name_offsets[order],
        )
        self._max_ends = np.maximum.accumulate(self._ends) if len(order) else self._ends

    def name_at(self, address: int) -> str:
        """The function that contains an address, the innermost of several; empty if there is none."""
        index = int(np.searchsorted(self._starts, np.uint64(address), side="right")) - 1
        while index >= 0 and self._max_ends[index] > address:
            if self._ends[index] > address:
                begin = int(self._name_offsets[index])
                return self._names[begin : self._names.find(b"\0", begin)].decode(errors="replace")
            index -= 1
        return ""


def _symbol_tables(elf: Any) -> Iterator[_SymbolTable]:
    """The symbol tables of a file, the most complete one first."""
    field_types: dict[str, Any] = {"name": "u4", "info": "u1", "other": "u1", "section": "u2"}
    field_types |= {"value": "u8", "size": "u8"}
    if elf.elfclass == 32:
        field_types = {
            "name": "u4",
            "value": "u4",
            "size": "u4",
            "info": "u1",
            "other": "u1",
            "section": "u2",
        }
    order = "<" if elf.little_endian else ">"
    entry = np.dtype([(name, order + kind) for name, kind in field_types.items()])
    for name in (".symtab", ".dynsym"):
        section = elf.get_section_by_name(name)
        if section is None or section["sh_type"] not in ("SHT_SYMTAB", "SHT_DYNSYM"):
            continue
        data, names = section.data(), elf.get_section(section["sh_link"]).data()
        table = np.frombuffer(data[: len(data) // entry.itemsize * entry.itemsize], entry)
        is_function = (
            np.isin(table["info"] & 15, _FUNCTION_SYMBOL_TYPES)
            & (table["section"] != 0)
            & (table["size"] > 0)
        )
        table = table[is_function & (table["name"] < len(names))]
        starts = table["value"].astype(np.uint64)
        yield _SymbolTable(names, starts, starts + table["size"].astype(np.uint64), table["name"])


class _LimitReached(Exception):
    """Reading exceeded its limit of time or of nested blocks."""


class _DebugInfo:
    """The debugging information of one file."""

    def __init__(self, elf: Any) -> None:
        self._dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
        self._spent_s = 0.0
        self._deadline_s = 0.0
        self._units: list[tuple[int, int, Any]] | None = None
        self._line_tables: dict[int, _LineTable] = {}

    def source_lines(self, address: int) -> list[SourceLine]:
        """As :meth:`ProgramFile.source_lines`; empty without a line."""
        began = time.thread_time()
        self._deadline_s = began + TIME_LIMIT_S - self._spent_s
        try:
            unit = self._unit(address)
            return [] if unit is None else self._in_unit(unit, address)
        except Exception:  # _TooLong, or an error of elftools for a damaged file
            return []
        finally:
            self._spent_s += time.thread_time() - began

    @cached_property
    def _aranges(self) -> Any:
        return self._dwarf.get_aranges()

    def _check_time(self) -> None:
        if time.thread_time() > self._deadline_s:
            raise _LimitReached

    def _unit(self, address: int) -> Any:
        """The compile unit of an address, by .debug_aranges or else by the ranges of all units."""
        offset = self._aranges.cu_offset_at_addr(address) if self._aranges is not None else None
        if offset is not None:
            return self._dwarf.get_CU_at(offset)
        if self._units is None:
            self._units = []
            for unit in self._dwarf.iter_CUs():
                self._check_time()
                for begin, end in self._ranges(unit.get_top_DIE()):
                    self._units.append((begin, end, unit))
        return next((unit for begin, end, unit in self._units if begin <= address < end), None)

    def _in_unit(self, unit: Any, address: int) -> list[SourceLine]:
        if unit.cu_offset not in self._line_tables:
            program = self._dwarf.line_program_for_CU(unit)
            self._line_tables[unit.cu_offset] = _LineTable(unit, program, self._check_time)
        lines = self._line_tables[unit.cu_offset]
        file, line = lines.line_at(address)
        if not line:
            return []
        source_lines = []
        top = unit.get_top_DIE()
        # Fortran's internal procedures are in entries whose ranges do not contain their code.
        functions = self._enclosing_functions(top, address, 0) or self._enclosing_functions(
            top, address, 0, is_within_any=True
        )
        for entry in reversed(functions):
            source_lines.append(SourceLine(_name(entry), file, line))
            if entry.tag == "DW_TAG_inlined_subroutine":
                file = lines.file(_value(entry, "DW_AT_call_file"))
                line = _value(entry, "DW_AT_call_line")
        return source_lines or [SourceLine("", file, line)]

    def _enclosing_functions(
        self, parent: Any, address: int, depth: int, is_within_any: bool = False
    ) -> list[Any]:
        """The function and the inlined functions that contain an address, outermost first."""
        if depth > _MAX_DEPTH:
            raise _LimitReached
        for entry in parent.iter_children():
            self._check_time()
            is_code = entry.tag in _FUNCTION_TAGS or entry.tag in _BLOCK_TAGS
            contains = is_code and any(begin <= address < end for begin, end in self._ranges(entry))
            may_contain = entry.tag in _NAMESPACES or (
                is_within_any and entry.tag == "DW_TAG_subprogram" and entry.has_children
            )
            if not contains and not may_contain:
                continue
            inner_functions = self._enclosing_functions(entry, address, depth + 1, is_within_any)
            if contains and entry.tag in _FUNCTION_TAGS:
                return [entry, *inner_functions]
            if contains or inner_functions:
                return inner_functions
        return []

    def _ranges(self, entry: Any) -> Iterator[tuple[int, int]]:
        """The address ranges of an entry, each from the first to behind the last."""
        attributes = entry.attributes
        if "DW_AT_ranges" in attributes:
            yield from self._listed_ranges(entry)
        elif "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
            low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
            yield low, high.value if describe_form_class(high.form) == "address" else low + high.value

    def _listed_ranges(self, entry: Any) -> Iterator[tuple[int, int]]:
        lists, unit = self._dwarf.range_lists(), entry.cu
        top = unit.get_top_DIE().attributes
        base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
        for range_entry in lists.get_range_list_at_offset(entry.attributes["DW_AT_ranges"].value, unit):
            if isinstance(range_entry, BaseAddressEntry):
                base = range_entry.base_address
            elif range_entry.is_absolute:
                yield range_entry.begin_offset, range_entry.end_offset
            else:
                yield base + range_entry.begin_offset, base + range_entry.end_offset


class _LineTable:
    """The line table of a compile unit: first address, file and line of each row."""

    def __init__(self, unit: Any, program: Any, check: Any) -> None:
        self._folder = _text(unit.get_top_DIE().attributes.get("DW_AT_comp_dir"))
        self._header = program.header if program is not None else None
        self._sequences: list[tuple[int, int, list[int], list[tuple[int, int]]]] = []
        starts: list[int] = []
        lines: list[tuple[int, int]] = []
        for number, entry in enumerate(program.get_entries() if program is not None else ()):
            if number % 4096 == 0:
                check()
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                if starts:
                    self._sequences.append((starts[0], state.address, starts, lines))
                starts, lines = [], []
            else:
                starts.append(state.address)
                lines.append((state.file, state.line))

    def line_at(self, address: int) -> tuple[str, int]:
        """File and line of an address; line 0 if it has none."""
        for begin, end, starts, lines in self._sequences:
            if begin <= address < end:
                index = bisect.bisect_right(starts, address) - 1
                while index > 0 and not lines[index][1]:  # code of no line belongs to the one before
                    index -= 1
                number, line = lines[index]
                return self.file(number), line
        return "", 0

    def file(self, number: int) -> str:
        """The path of a file by its number in the table."""
        header = self._header
        if header is None:
            return ""
        first = 0 if header["version"] >= 5 else 1
        entries, folders = header["file_entry"], header["include_directory"]
        if not 0 <= number - first < len(entries):
            return ""
        entry = entries[number - first]
        index = entry["dir_index"]
        folder = self._folder
        if header["version"] >= 5 or index > 0:
            folder_number = index if header["version"] >= 5 else index - 1
            folder = _decode(folders[folder_number]) if 0 <= folder_number < len(folders) else ""
        return str(Path(self._folder, folder, _decode(entry["name"])))


def _name(entry: Any) -> str:
    """The linkage name of a function if it contains a namespace, else its source name, also of its origin."""
    plain = ""
    for _ in range(8):
        for attribute in ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name"):
            name = _text(entry.attributes.get(attribute))
            if demangle_name(name) != name:
                return name
        plain = plain or _text(entry.attributes.get("DW_AT_name"))
        link = next(
            (name for name in ("DW_AT_abstract_origin", "DW_AT_specification") if name in entry.attributes),
            "",
        )
        if not link:
            break
        entry = entry.get_DIE_from_attribute(link)
    return plain


def _value(entry: Any, attribute: str) -> int:
    value = entry.attributes.get(attribute)
    return int(value.value) if value is not None else 0


def _text(attribute: Any) -> str:
    return _decode(attribute.value) if attribute is not None else ""


def _decode(text: Sequence[int] | str | bytes) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)
