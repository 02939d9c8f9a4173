# SPDX-License-Identifier: Apache-2.0
"""Test the library with the undefined-behavior sanitizer and under valgrind, which must find no errors."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import valgrind
from tests.sro.conftest import SRO, Loaded
from tests.sro.test_claims import CLAIMS, EAGER

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sanitized(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory like `programs`, with a library that aborts the program on undefined behavior."""
    place = tmp_path_factory.mktemp("sanitized")
    flags = "CFLAGS=-fsanitize=undefined -fno-sanitize-recover=all"
    compiler = f"CC={os.environ.get('SPANK_CC', 'cc')}"
    subprocess.run(["make", "-s", "-C", str(SRO), f"BUILD={place}", flags, compiler], check=True)
    (place / "subject").symlink_to(programs / "subject")
    return place


@pytest.mark.parametrize("claim", [*CLAIMS, "pread", "read", "fread"])
def test_the_librarys_behavior_is_never_undefined(loaded: Loaded, sanitized: Path, numbers: Path, claim: str) -> None:
    Loaded(sanitized, loaded.directory).subject(claim, numbers, EAGER)


@pytest.mark.parametrize("claim", ["pread", "fread", "handler", "threads", "forked"])
def test_the_library_touches_only_its_own_memory(loaded: Loaded, numbers: Path, claim: str) -> None:
    log = loaded.directory / "valgrind.log"
    words = valgrind.command(f"{log}.%p", str(loaded.programs / "subject"), claim, str(numbers))
    ran = loaded.run(*words, env=EAGER)
    assert (ran.status, ran.stdout.endswith("done\n")) == (0, True), ran.stderr
    assert any(report["zones"] for report in ran.reports)
    for one in loaded.directory.glob("valgrind.log.*"):
        assert valgrind.problems(one.read_text()) == []
