# SPDX-License-Identifier: Apache-2.0
"""Test the reading of ELF executables of 32 or 64 bits and either byte order, intact or damaged."""

from __future__ import annotations

import contextlib
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reprise.matcher.identity.bounded_file import NotIdentifiedError, opened
from reprise.matcher.identity.elf_file import (
    DYNAMIC,
    DYNSYM,
    NOTE,
    STRTAB,
    SYMTAB,
    TEXT_BYTES,
    Executable,
    read_executable,
)
from reprise.matcher.identity.identify import BUDGET
from reprise.matcher.identity.name_numbers import name_numbers

GLOBAL_FUNCTION, LOCAL_FUNCTION, WEAK_FUNCTION, SOURCE_FILE, IMPORT = 0x12, 0x02, 0x22, 0x04, 0x10
BUILD_ID = bytes(range(20))
CONSTANTS = b"usage: solver FILE\n\0\0abc\0residual %g\0"
LAYOUTS = [(order, wide) for order in "<>" for wide in (True, False)]


def read(path: Path, budget: int = 1 << 24) -> Executable:
    with opened(str(path), budget, time.monotonic() + 60) as file:
        return read_executable(file)


def numbers(*names: str) -> set[int]:
    table = "\0".join(names).encode() + b"\0"
    starts = np.cumsum([0, *(len(name) + 1 for name in names[:-1])], dtype=np.uint32)
    return set(name_numbers(table, starts).tolist())


def elf(order: str, wide: bool, constants: bytes = CONSTANTS, library: bytes = b"libhdf5.so.103") -> bytes:
    """Return an ELF file with symbols of all kinds, a needed library, a build-id and constants."""
    names = b"\0solve\0helper\0inline_one\0solver.c\0MPI_Send@MPI_4\0" + library + b"\0"

    def symbol(name: str, info: int, section: int) -> bytes:
        at = names.index(b"\0" + name.encode()) + 1
        if wide:
            return struct.pack(order + "IBBHQQ", at, info, 0, section, 64, 8)
        return struct.pack(order + "IIIBBH", at, 64, 8, info, 0, section)

    own = symbol("solver.c", SOURCE_FILE, 0xFFF1) + symbol("helper", LOCAL_FUNCTION, 1)
    own += symbol("solve", GLOBAL_FUNCTION, 1) + symbol("inline_one", WEAK_FUNCTION, 1)
    word = "Q" if wide else "I"
    needed = struct.pack(order + word * 4, 1, names.index(b"\0" + library) + 1, 0, 0)
    note = struct.pack(order + "III", 4, 20, 3) + b"GNU\0" + BUILD_ID
    section_names = b"\0.rodata\0"
    contents = [
        (0, b"", 0, 0),
        (STRTAB, names, 0, 0),
        (SYMTAB, own, 1, 0),
        (DYNSYM, symbol("MPI_Send", IMPORT, 0), 1, 0),
        (DYNAMIC, needed, 1, 0),
        (NOTE, note, 0, 0),
        (1, constants, 0, 1),
        (STRTAB, section_names, 0, 0),
    ]
    size = 64 if wide else 52
    body, headers = b"", b""
    for kind, data, link, name in contents:
        headers += struct.pack(
            order + ("IIQQQQIIQQ" if wide else "10I"), name, kind, 0, 0, size + len(body), len(data), link, 0, 1, 0
        )
        body += data
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    rest = struct.pack(
        order + "HHI" + word * 3 + "I6H",
        *(2, 62, 1, 0, 0, size + len(body), 0, size, 0, 0, 64 if wide else 40, len(contents), len(contents) - 1),
    )
    return ident + rest + body + headers


@pytest.mark.parametrize(("order", "wide"), LAYOUTS)
def test_a_file_of_any_width_and_byte_order_is_read(order: str, wide: bool, tmp_path: Path) -> None:
    path = tmp_path / "solver"
    path.write_bytes(elf(order, wide))
    found = read(path)
    assert found.build_id == BUILD_ID.hex()
    assert set(found.names.tolist()) == numbers("solve", "solver")
    assert set(found.imports.tolist()) == numbers("MPI_Send", "libhdf5")
    assert len(found.words) == 4


MPI_LIBRARIES = {
    b"libmpi.so.40": "libmpi.so.40",
    b"libmpi_gnu_91.so.12": "libmpi_gnu_91.so.12",
    b"libmpi++.so": "libmpi++.so",
    b"libmpi_with_a_long_name_of_32.so.1": "",
    b"libmpi_with_a_name_of_32_le.so.1": "libmpi_with_a_name_of_32_le.so.1",
    b"libmpi": "",
    b"libmpi.so\n.40": "",
    b"libhdf5_mpi.so.103": "",
    b"/opt/mpi/libmpi.so.40": "",
}


@pytest.mark.parametrize(("order", "wide"), LAYOUTS)
def test_the_mpi_library_that_a_file_needs_is_read(order: str, wide: bool, tmp_path: Path) -> None:
    path = tmp_path / "solver"
    found = {}
    for library in MPI_LIBRARIES:
        path.write_bytes(elf(order, wide, library=library))
        found[library] = read(path).mpi_library
    assert found == MPI_LIBRARIES


@given(st.sampled_from(LAYOUTS), st.integers(0, 1500), st.binary(max_size=8), st.integers(0, 1500))
@example(("<", True), 40, b"\xff" * 8, 1500)
@example(("<", True), 0, b"", 52)
@example(("<", True), 700, b"\0" * 8, 1500)
@settings(deadline=None)
def test_a_damaged_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, layout: tuple[str, bool], at: int, what: bytes, end: int
) -> None:
    whole = elf(*layout)
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes((whole[:at] + what + whole[at + len(what) :])[:end])
    with contextlib.suppress(NotIdentifiedError):
        read(path)


def test_names_end_at_versions_and_compilers_suffixes() -> None:
    assert numbers("dot.isra.0", "memcpy@GLIBC_2.14", "__printf_chk", "__isoc99_sscanf") == numbers(
        "dot", "memcpy", "printf", "sscanf"
    )
    assert numbers("", "@", ".L1") == numbers(".L1")
    assert name_numbers(b"a", np.array([0, 1, 2**32 - 1], np.uint32)).tolist() == [*numbers("a")]


def test_very_long_names_take_no_extra_time() -> None:
    """Reading each name to its end would take hours with 520,000 symbols in 16 MiB, which are the limits."""
    begun = time.monotonic()
    found = name_numbers(b"a" * (16 << 20), np.arange(20_000, dtype=np.uint32))
    assert set(found.tolist()) == numbers("a" * 512) == numbers("a" * 513)
    assert time.monotonic() - begun < 10


SOURCE = """
#include <stdio.h>
#include <stdlib.h>
double tolerance = 1e-9;
static double square(double x) { return x * x; }
double advance(double *field, int n) { double s = 0; for (int i = 0; i < n; i++) s += square(field[i]); return s; }
void report(double s) { printf("the residual is %g after this step\\n", s); }
void usage(void) { fprintf(stderr, "usage: model STEPS\\n"); exit(2); }
int main(int argc, char **argv) {
  double field[64] = {1};
  if (argc < 2) usage();
  for (int i = 0; i < atoi(argv[1]); i++) report(advance(field, 64));
  puts("all steps have been done");
}
"""


def test_names_and_words_are_equal_in_different_builds(tmp_path: Path) -> None:
    (tmp_path / "model.c").write_text(SOURCE)
    builds = []
    for number, flags in enumerate((["-O0"], ["-O3", "-march=native"], ["-O2", "-g", "-D_FORTIFY_SOURCE=2"])):
        program = tmp_path / f"model{number}"
        subprocess.run(["gcc", *flags, "-w", "-o", program, "model.c"], cwd=tmp_path, check=True)
        builds.append(read(program))
    for one in builds:
        assert set(one.names.tolist()) == numbers("tolerance", "advance", "report", "usage", "model.c")
        assert one.words.tolist() == builds[0].words.tolist()
    assert len({one.build_id for one in builds}) == 3
    subprocess.run(["strip", program], check=True)
    stripped = read(program)
    assert not len(stripped.names)
    assert (stripped.build_id, *stripped.imports, *stripped.words) == (one.build_id, *one.imports, *one.words)


def test_constants_of_any_kind_are_read_within_a_second(tmp_path: Path) -> None:
    path = tmp_path / "long"
    for constants in (b"a" * TEXT_BYTES, b"a b\t" * (TEXT_BYTES // 4), b"abcdef\0" * (TEXT_BYTES // 7)):
        path.write_bytes(elf("<", True, constants))
        begun = time.process_time()
        read(path)
        assert time.process_time() - begun < 1


def test_a_file_with_many_names_is_read_completely(tmp_path: Path) -> None:
    lines = [f"int step_{number}_of_many(void) {{ return {number}; }}" for number in range(1_000)]
    (tmp_path / "many.c").write_text("\n".join([*lines, "int main(void) { return 0; }"]))
    subprocess.run(["gcc", "-O0", "-w", "-o", "many", "many.c"], cwd=tmp_path, check=True)
    assert len(read(tmp_path / "many", budget=BUDGET).names) == 1_001
