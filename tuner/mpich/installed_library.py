# SPDX-License-Identifier: Apache-2.0
"""The MPICH library that jobs load: its release, its built-in table of algorithms, and the names that it accepts.

A selection file replaces the whole built-in table, and MPICH ends a program whose call finds no algorithm in the file.
Therefore Reprise writes files that contain the library's own table with rules inserted. The table (JSON) and the names
of algorithms that the library accepts are stored as texts in the library. Both are read from the library's file,
without starting MPI.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from reprise.tuner.errors import TunerError
from reprise.tuner.mpich.mpich_catalogue import CATALOGUE, full_name

Tree: TypeAlias = dict[str, Any]
"""Object of a selection file: each key is a condition or an algorithm, in the order in which MPICH compares them."""

TABLE = re.compile(rb'\{\s*"collective=[^\0]*\}(?=\s*\0)')
NAME = re.compile(rb"algorithm=(MPIR_[A-Za-z0-9_]+)\0")
OWN_ALGORITHM = '"algorithm=MPIR_'  # not in the tables of devices, which have algorithms of their own
RELEASE = re.compile(r"MPICH Version:\s*(\S+)")
RELEASE_TIMEOUT_S = 30.0
# MPI_Get_library_version may be called before MPI_Init. The library is loaded in a separate process, since it may end
# that process or leave threads in it.
ASK_RELEASE = """
import ctypes, sys
text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
print(text.value.decode(errors="replace"))
"""


@dataclass(frozen=True)
class MpichLibrary:
    """An installed library: `version` such as "4.0.2", its built-in `table`, and the `names` of its algorithms."""

    version: str
    path: str
    table: Tree
    names: frozenset[str]

    def algorithms(self, collective: str) -> list[str]:
        """Return the algorithms that both this library and the catalogue have for a collective."""
        known = CATALOGUE[collective].algorithms if f"collective={collective}" in self.table else {}
        return [name for name in known if full_name(collective, name) in self.names]


def describe(path: str) -> MpichLibrary:
    """Return the library at `path`. Raise TunerError if it is not an MPICH whose table can be read."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise TunerError(f"mpich.library: {path}: {error.strerror}: set it to the jobs' libmpich.so.12") from error
    tables = [table for match in TABLE.finditer(content) if (table := _read(match[0]))]
    if len(tables) != 1:
        raise TunerError(
            f"mpich.library: {path} has {len(tables) or 'no'} table of collectives that can be read: set it to the "
            "libmpich.so.12 of an MPICH from 4.0 on"
        )
    names = frozenset(name.decode() for name in NAME.findall(content))
    return MpichLibrary(_release(path), path, tables[0], names)


def _read(text: bytes) -> Tree | None:
    """Return the table of collectives in a text of the library; None for other texts."""
    try:
        found = json.loads(text) if OWN_ALGORITHM.encode() in text else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _release(path: str) -> str:
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", ASK_RELEASE, path],
            capture_output=True,
            text=True,
            timeout=RELEASE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TunerError(f"mpich.library: {path}: cannot be loaded ({error}): check it with ldd") from error
    found = RELEASE.search(done.stdout)
    if not found:
        raise TunerError(f"mpich.library: {path} does not state a release of MPICH: set it to the jobs' libmpich.so.12")
    return found[1]


def conditions(tree: Mapping[str, Any]) -> set[str]:
    """Return the keys of a table's conditions and algorithms, at all levels."""
    return set(tree).union(*(conditions(value) for value in tree.values()))
