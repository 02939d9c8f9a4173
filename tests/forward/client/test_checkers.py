# SPDX-License-Identifier: Apache-2.0
"""Test the library with the undefined-behavior sanitizer and under valgrind, which must find no errors."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import valgrind
from tests.forward.client.conftest import CLIENT, COMPILER, SMALL, Site
from tests.forward.client.diod import Diod
from tests.forward.client.test_programs import CLAIMS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library that aborts the program on undefined behavior."""
    place = tmp_path_factory.mktemp("sanitized")
    flags = "CFLAGS=-fsanitize=undefined -fno-sanitize-recover=all"
    subprocess.run(["make", "-s", "-C", str(CLIENT), f"BUILD={place}", flags, f"CC={COMPILER}"], check=True)
    return place / "libreprise_forward.so"


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_librarys_behavior_is_never_undefined(site: Site, diod: Diod, sanitized: Path, claim: str) -> None:
    site.subject(claim, {"LD_PRELOAD": str(sanitized)})


def test_random_operations_cause_no_undefined_behavior(site: Site, diod: Diod, sanitized: Path) -> None:
    words = (site.programs / "mover", site.files / "file", 0, 20)
    ran = site.run(*words, env={**SMALL, "LD_PRELOAD": str(sanitized)})
    assert (ran.status, ran.stderr) == (0, "")


@pytest.mark.parametrize("claim", ["plain", "threads_write", "forked", "streamed"])
def test_the_library_touches_only_its_own_memory(site: Site, diod: Diod, claim: str) -> None:
    log = site.directory / "valgrind.log"
    words = valgrind.command(f"{log}.%p", str(site.programs / "subject"), claim, str(site.files / "subject"))
    ran = site.run(*words)
    assert (ran.status, ran.stdout.endswith("done\n")) == (0, True), ran.stderr
    assert ran.total("write_bytes") > 0
    for one in site.directory.glob("valgrind.log.*"):
        assert valgrind.problems(one.read_text()) == []
