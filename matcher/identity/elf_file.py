# SPDX-License-Identifier: Apache-2.0
"""Extraction of the data that identify an executable: build ID, defined and imported names, and words in its texts.

The defined names that are used are those of global functions, global variables and source files only. A compiler keeps
these names with all options, while it adds and removes local functions and template instances. When ten programs were
each built with -O0, -O2 and -O3 -march=native, any two builds of a program had at least 0.96 of these names in common,
but as little as 0.13 of the names of all functions.

Only the necessary parts of the file are read. A malformed file may contain any offset, so each offset is checked
against the file's size, and the length of every table is limited. Names are represented by the hashes that
`name_numbers` computes.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reprise.matcher.identity.bounded_file import BoundedFile, NotIdentifiedError
from reprise.matcher.identity.name_numbers import name_numbers
from reprise.matcher.identity.needed_mpi import mpi_library
from reprise.matcher.identity.own_runtime import RUNTIME_LIMIT, own_loader, sanitizer

MAGIC = b"\x7fELF"
SECTIONS = 4096  # maximum number of sections that are read; executables have some 40
SYMBOL_BYTES = 12 << 20  # maximum bytes of a symbol table that are read (520,000 symbols)
NAME_BYTES = 16 << 20  # maximum bytes of a name table that are read
TEXT_BYTES = 1 << 19  # maximum bytes of constants that are read
NOTE_BYTES = 4096
NEEDED = 1024  # maximum number of entries of the dynamic section that are read

SYMTAB, STRTAB, DYNAMIC, NOTE, DYNSYM = 2, 3, 6, 7, 11  # types of sections
VARIABLE, FUNCTION, SOURCE_FILE, INDIRECT_FUNCTION = 1, 2, 4, 10  # types of symbols
GLOBAL = 1  # binding of a symbol
NEEDED_TAG = 1
BUILD_ID = 3  # type of the note, with the owner "GNU", that has the build ID

# The final NUL is captured, since a lookahead for it would take quadratic time in long texts without a NUL.
_TEXT = re.compile(rb"([\t\n\r\x20-\x7e]{6,})(\0?)")
_WORD = re.compile(rb"[A-Za-z_]{4,}")
_OF_THE_TOOLCHAIN = b"""
_init _fini _start main __libc_csu_init __libc_csu_fini __do_global_dtors_aux deregister_tm_clones register_tm_clones
frame_dummy _dl_relocate_static_pie __stack_chk_fail __stack_chk_fail_local __cxa_finalize __gmon_start__
_ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __libc_start_main atexit call_weak_fn _IO_stdin_used
__dso_handle __TMC_END__
stdin stdout stderr optarg optind opterr optopt environ __environ crtstuff Scrt1 crt1 crti crtn abi-note init
"""

Items = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Executable:
    """Contents of an executable by which it can be identified.

    `names` are the names that the executable defines. `imports` are the libraries that it needs, and all names in its
    dynamic symbol table. `words` are the words in its text constants. `runtime` is the path of the executable's own
    loader or the name of its sanitizer (matcher.identity.own_runtime), "" if it has neither. `mpi_library` is as in
    ProgramIdentity.
    """

    build_id: str
    names: Items
    imports: Items
    words: Items
    runtime: str
    mpi_library: str


@dataclass(frozen=True)
class _Section:
    kind: int
    start: int
    size: int
    link: int
    info: int
    name: bytes


def read_executable(file: BoundedFile) -> Executable:
    """Read an ELF file of 32 or 64 bits in either byte order. Raise NotIdentifiedError if it is malformed."""
    header = file.read(0, 64)
    if header[:4] != MAGIC or len(header) < 52 or header[4] not in (1, 2) or header[5] not in (1, 2):
        raise NotIdentifiedError("it is not an ELF file")
    layout = _Layout("<" if header[5] == 1 else ">", wide=header[4] == 2)
    if layout.wide and len(header) < 64:
        raise NotIdentifiedError("it ends within its header")
    sections = _sections(file, layout, header)
    own, _ = _symbols(file, layout, sections, SYMTAB)
    _, shared = _symbols(file, layout, sections, DYNSYM)
    libraries, found, needed_mpi = _libraries(file, layout, sections)
    return Executable(
        build_id=_build_id(file, layout, sections),
        names=_distinct(own),
        imports=_distinct(np.concatenate([shared, libraries])),
        words=_words(file, sections),
        runtime=_loader(file, sections) or found,
        mpi_library=needed_mpi,
    )


class _Layout:
    """Binary layouts of a file's tables, which depend on its byte order and word size."""

    def __init__(self, order: str, *, wide: bool) -> None:
        self.order = order
        self.wide = wide
        self.section = struct.Struct(f"{order}{'IIQQQQIIQQ' if wide else 'IIIIIIIIII'}")
        word = "u8" if wide else "u4"
        sides = [("value", order + word), ("size", order + word)]
        rest = [("info", "u1"), ("other", "u1"), ("section", order + "u2")]
        self.symbol = np.dtype([("name", order + "u4"), *((rest + sides) if wide else (sides + rest))])
        self.dynamic = np.dtype([("tag", order + word), ("value", order + word)])

    def places(self, header: bytes) -> tuple[int, int, int, int]:
        """Return the offset, size and number of the section headers, and the index of the name section."""
        start = struct.unpack_from(self.order + ("Q" if self.wide else "I"), header, 40 if self.wide else 32)[0]
        size, count, names = struct.unpack_from(self.order + "HHH", header, 58 if self.wide else 46)
        return start, size, count, names


def _sections(file: BoundedFile, layout: _Layout, header: bytes) -> list[_Section]:
    start, size, count, names_at = layout.places(header)
    if size != layout.section.size:
        return []
    table = file.read(start, min(count, SECTIONS) * size)
    rows = list(layout.section.iter_unpack(table[: len(table) // size * size]))
    names = file.read(rows[names_at][4], min(rows[names_at][5], 1 << 16)) if names_at < len(rows) else b""
    return [
        _Section(
            kind, at, length, link, info, names[name : name + 64].partition(b"\0")[0] if name < len(names) else b""
        )
        for name, kind, _, _, at, length, link, info, _, _ in rows
    ]


def _of_kind(sections: list[_Section], kind: int) -> _Section | None:
    return next((section for section in sections if section.kind == kind), None)


def _symbols(file: BoundedFile, layout: _Layout, sections: list[_Section], kind: int) -> tuple[Items, Items]:
    """Return the identifying names in a symbol table, and all names in the table; both are empty if it is missing."""
    table = _of_kind(sections, kind)
    if table is None or table.link >= len(sections):
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    data = file.read(table.start, min(table.size, SYMBOL_BYTES))
    symbols = _rows(data, layout.symbol)
    names = sections[table.link]
    texts = file.read(names.start, min(names.size, NAME_BYTES))
    kinds, binding = symbols["info"] & 15, symbols["info"] >> 4
    is_own = np.isin(kinds, (VARIABLE, FUNCTION, INDIRECT_FUNCTION)) & (binding == GLOBAL) & (symbols["section"] != 0)
    starts = symbols["name"].astype(np.uint32)
    return name_numbers(texts, starts[is_own | (kinds == SOURCE_FILE)]), name_numbers(texts, starts)


def _rows(data: bytes, row: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Return the complete rows of a table, without a truncated row at its end."""
    return np.frombuffer(data, row, len(data) // row.itemsize)


def _of_name(sections: list[_Section], name: bytes) -> _Section | None:
    return next((section for section in sections if section.name == name), None)


def _libraries(file: BoundedFile, layout: _Layout, sections: list[_Section]) -> tuple[Items, str, str]:
    """Return the needed libraries (`libhdf5` for `libhdf5.so.103`), and the sanitizer and MPI library among them."""
    table = _of_kind(sections, DYNAMIC)
    if table is None or table.link >= len(sections):
        return np.empty(0, np.uint64), "", ""
    data = file.read(table.start, min(table.size, NEEDED * layout.dynamic.itemsize))
    entries = _rows(data, layout.dynamic)
    names = sections[table.link]
    texts = file.read(names.start, min(names.size, NAME_BYTES))
    starts = entries["value"][entries["tag"] == NEEDED_TAG]
    starts = starts[starts < len(texts)].astype(np.uint32)
    return name_numbers(texts, starts), sanitizer(texts), mpi_library(texts, starts.tolist())


def _loader(file: BoundedFile, sections: list[_Section]) -> str:
    section = _of_name(sections, b".interp")
    return own_loader(file.read(section.start, min(section.size, RUNTIME_LIMIT))) if section else ""


def _build_id(file: BoundedFile, layout: _Layout, sections: list[_Section]) -> str:
    for section in sections:
        if section.kind != NOTE:
            continue
        notes = file.read(section.start, min(section.size, NOTE_BYTES))
        if len(notes) < 16:
            continue
        name, size, kind = struct.unpack_from(layout.order + "III", notes)
        if kind == BUILD_ID and name == 4 and notes[12:16] == b"GNU\0" and 8 <= size <= 32:
            return notes[16 : 16 + size].hex()
    return ""


def _words(file: BoundedFile, sections: list[_Section]) -> Items:
    """Return the words in the executable's text constants.

    Compiler options do not change these words, although they may split and join texts. When seven programs were each
    built in five ways, including stripped, any two builds of a program had at least 0.8 of the words in common, but as
    little as 0.25 of the texts. The similarity hash TLSH distinguished 27 of 30 builds from other programs when it was
    computed from the text constants, but only 8 when it was computed from the code.
    """
    constants = _of_name(sections, b".rodata")
    if constants is None:
        return np.empty(0, np.uint64)
    data = file.read(constants.start, min(constants.size, TEXT_BYTES))
    words = set(_WORD.findall(b"\0".join(text for text, end in _TEXT.findall(data) if end)))
    return np.unique(np.array([zlib.crc32(word) for word in words], np.uint64))


def _distinct(names: Items) -> Items:
    return np.setdiff1d(names, _ignored())


def _ignored() -> Items:
    table = b"\0".join(_OF_THE_TOOLCHAIN.split()) + b"\0"
    starts = [0, *(place + 1 for place, letter in enumerate(table[:-1]) if not letter)]
    return name_numbers(table, np.array(starts, np.uint32))
