# SPDX-License-Identifier: Apache-2.0
"""Test the identification of program files: special and private files are not read, even if a path names them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reprise.matcher.identity import identify as identify_module
from reprise.matcher.identity.bounded_file import BoundedFile, NotIdentifiedError, opened
from reprise.matcher.identity.identify import Identifier
from reprise.matcher.linkage.comparers import hamming
from reprise.matcher.submission.program_identity import UNKNOWN, ProgramIdentity

SCRIPT = """#!/usr/bin/env python3
import argparse, numpy as np
from mpi4py import MPI
import h5py.version
from scipy.linalg import solve

def load(path):
    return h5py.File(path)

class Mesh:
    def refine(self): pass
    def coarsen(self): pass
    def write(self): pass

def main():
    mesh = Mesh(load("field.h5"))
"""


def soon() -> float:
    return time.monotonic() + 60


def identified(path: Path) -> ProgramIdentity:
    return Identifier().identify(str(path), soon())


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "main.py"
    path.write_text(SCRIPT)
    path.chmod(0o644)
    return path


def test_a_script_is_identified_by_its_functions_imports_and_words(script: Path) -> None:
    found = identified(script)
    assert found.functions and found.imports and found.contents and not found.build_id
    script.write_text(SCRIPT.replace("field.h5", "other.h5") + "\n# a remark\n    mesh.refine()\n")
    edited = identified(script)
    assert (edited.functions, edited.imports) == (found.functions, found.imports)
    assert 0.6 < hamming(edited.contents, found.contents) < 1


def test_only_a_regular_file_that_everyone_may_read_is_identified(script: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, Path("/dev/zero"), tmp_path, tmp_path / "missing", Path("with\0nul"), Path("/proc/self/mem")):
        assert identified(path) == UNKNOWN
    script.chmod(0o640)
    assert identified(script) == UNKNOWN


def test_a_link_is_followed_to_its_file(script: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(script)
    assert identified(link) == identified(script) != UNKNOWN


def test_nothing_is_read_after_the_deadline_or_beyond_the_budget(script: Path) -> None:
    assert Identifier().identify(str(script), time.monotonic() - 1) == UNKNOWN
    with opened(str(script), 100, soon()) as file:
        assert len(file.read(0, 60)) == 60
        with pytest.raises(NotIdentifiedError):
            file.read(0, 60)


def test_a_file_is_read_again_only_when_it_has_changed(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identifier = Identifier(remembered=1)
    first = identifier.identify(str(script), soon())
    read: list[BoundedFile] = []

    def count(file: BoundedFile) -> ProgramIdentity:
        read.append(file)
        return UNKNOWN

    monkeypatch.setattr(identify_module, "identity_of", count)
    assert identifier.identify(str(script), soon()) == first and not read
    script.write_text("def other(): pass\n")
    assert identifier.identify(str(script), soon()) == UNKNOWN and len(read) == 1
    other = script.with_name("other.py")
    other.write_text("x")
    identifier.identify(str(other), soon())
    identifier.identify(str(script), soon())
    assert len(read) == 3  # the cache holds only one file, so the other file had evicted the script


def test_data_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "data"
    for content in (b"", b"\0\1\2", b"\x7fELF", b"\x7fELF" + bytes(60)):
        path.write_bytes(content)
        assert identified(path) == UNKNOWN
