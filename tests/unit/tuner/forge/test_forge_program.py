# SPDX-License-Identifier: Apache-2.0
"""Test the program `reprise-forge` with two ranks on the installed MPI."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprise.tuner.forge import forge_file
from reprise.tuner.forge.forge_command import PROGRAM, arguments, explored
from tests.once import built_once
from tests.places import ROOT

pytestmark = pytest.mark.slow

SOURCE = ROOT / "tuner/programs/forge"
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
RANKS = 2


@pytest.fixture(scope="module")
def program() -> Path:
    def make(directory: Path) -> None:
        subprocess.run(["make", "--silent", "-C", SOURCE, f"BUILD={directory}"], check=True)

    return built_once("forge", "mpicc", SOURCE.glob("*.[ch]"), make) / PROGRAM


def run(program: Path, argv: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    variables = [word for name in environment for word in ("-x", name)]
    command = ["mpirun", "--oversubscribe", "-np", str(RANKS), *variables, str(program), *argv]
    env = {**os.environ, **ENVIRONMENT, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=100, check=False)


def moves(path: Path, layout: str, *operations: str) -> Iterator[str]:
    yield f"open:{layout}:{path}"
    for operation in operations:
        yield f"{operation}:{layout}:60000:1000:{path}"
    yield f"close:{layout}:{path}"


def own_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith(PROGRAM)]


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode != 0 and done.stdout == ""
    (line,) = own_lines(done)
    return line


def test_a_pattern_file_is_replayed_and_verified(program: Path, tmp_path: Path) -> None:
    """60,001 bytes are 30 requests of 1,000 bytes for each of 2 clients, and a rest that is left out."""
    placed = [
        {"path": str(tmp_path / "shared"), "number_of_files": "shared", "spatiality": "strided"},
        {"path": str(tmp_path / "shared"), "number_of_files": "shared"},
        {"path": str(tmp_path / "own"), "number_of_files": "individual"},
    ]
    sizes = {"total_size": 60001, "request_size": 1000}
    phases: list[dict[str, Any]] = [
        {
            "repetitions": 2,
            "patterns": [
                one | {"operation": "open"},
                one | sizes | {"operation": "write"},
                one | sizes | {"operation": "read"},
                one | {"operation": "close"},
            ],
        }
        for one in placed
    ]
    pattern = forge_file.read(json.dumps({"forwarders": 0, "validation": 1, "phases": phases}), "a.json")
    done = run(program, arguments(pattern))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["write_bytes"], said["read_bytes"], said["stopped"]) == (360000, 360000, False)
    found = explored(done.stdout)
    assert found.clients == RANKS and found.write_mb_s and found.read_mb_s
    assert found.mb_s == pytest.approx(0.72 / (said["write_s"] + said["read_s"]), rel=1e-4)
    assert not list(tmp_path.iterdir()), "the program removes its files"


# A library that, when preloaded, changes what one call does.
LIBRARY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef ssize_t reader(int, void *, size_t, off_t);
typedef ssize_t writer(int, const void *, size_t, off_t);
ssize_t pread(int fd, void *data, size_t size, off_t at)
{
    ssize_t got = ((reader *)dlsym(RTLD_NEXT, "pread"))(fd, data, getenv("SHORT") ? (size + 2) / 3 : size, at);
    const char *wrong = getenv("WRONG");
    if (wrong && got > 0 && atol(wrong) >= at && atol(wrong) < at + got)
        ((char *)data)[atol(wrong) - at] ^= 1;
    return got;
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    const char *moved = getenv("MOVED");
    if (getenv("FULL") && strcmp(getenv("OMPI_COMM_WORLD_RANK"), "1") == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (getenv("SHORT"))
        size = (size + 2) / 3;
    return ((writer *)dlsym(RTLD_NEXT, "pwrite"))(fd, data, size, at + (moved && at ? atol(moved) : 0));
}
ssize_t pread64(int fd, void *data, size_t size, off_t at) { return pread(fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return pwrite(fd, data, size, at); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("calls") / "calls.so"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-o", str(path), "-"]
    subprocess.run(command, input=LIBRARY, text=True, check=True)
    return str(path)


def test_one_wrong_byte_is_found_by_validation_only(program: Path, tmp_path: Path, library: str) -> None:
    steps = list(moves(tmp_path / "f", "strided", "write", "read"))
    wrong = {"LD_PRELOAD": library, "WRONG": "3500"}
    assert "byte 3500 differs" in refused(run(program, ["--validate", *steps], **wrong))
    assert run(program, steps, **wrong).returncode == 0
    assert not list(tmp_path.iterdir())


def test_requests_at_a_wrong_position_are_found_without_validation(program: Path, tmp_path: Path, library: str) -> None:
    done = run(program, list(moves(tmp_path / "f", "contiguous", "read")), LD_PRELOAD=library, MOVED="8")
    assert "differs from what was written" in refused(done)


def test_partial_transfers_are_continued(program: Path, tmp_path: Path, library: str) -> None:
    steps = list(moves(tmp_path / "f", "individual", "write", "read"))
    done = run(program, ["--validate", *steps], LD_PRELOAD=library, SHORT="1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["read_bytes"] == 60000


def test_a_read_step_reads_what_the_program_has_written(program: Path, tmp_path: Path) -> None:
    """Existing files of the same path are neither read nor changed."""
    (tmp_path / "f").write_text("a user's file")
    done = run(program, list(moves(tmp_path / "f", "strided", "read")))
    said = json.loads(done.stdout)
    assert (said["write_bytes"], said["read_bytes"], said["write_mb_s"]) == (0, 60000, None)
    assert (tmp_path / "f").read_text() == "a user's file" and len(list(tmp_path.iterdir())) == 1


def test_the_stone_wall_stops_a_step(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "f"
    steps = [f"open:contiguous:{path}", f"write:contiguous:{2**42}:4096:{path}", f"read:contiguous:6000:100:{path}"]
    done = run(program, ["--stone-wall", "0.02", *steps])
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["stopped"] and said["read_bytes"] == 6000 and 0 < said["write_bytes"] < 2**40


def test_a_pause_slows_a_step_down_but_does_not_count(program: Path, tmp_path: Path) -> None:
    steps = list(moves(tmp_path / "f", "strided", "read"))
    begun = time.monotonic()
    done = run(program, ["--pause", "0.02", *steps])
    assert done.returncode == 0, done.stderr
    # 30 requests of each client wait for at least half of the pause; the writes before the reads do not wait.
    assert time.monotonic() - begun >= 30 * 0.01
    assert json.loads(done.stdout)["read_s"] < 30 * 0.01


def test_a_read_that_pauses_writes_only_what_it_can_read(program: Path, tmp_path: Path) -> None:
    path, size = tmp_path / "f", 2**40  # which would take an hour to write
    steps = [f"open:contiguous:{path}", *[f"read:contiguous:{size}:4096:{path}"] * 2, f"close:contiguous:{path}"]
    done = run(program, ["--validate", "--stone-wall", "0.1", "--pause", "0.01", *steps])
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["stopped"] and 0 < said["read_bytes"] <= 2 * RANKS * 21 * 4096


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (["write:strided:60000:1000:/x"], "is not open"),
        (["open:strided:/none/x"], "cannot be opened"),
        (["open:strided:{}/x", "open:contiguous:{}/x"], "opened twice"),
        (["open:strided:{}/x", "write:strided:1999:1000:{}/x"], "use at least 2000 bytes"),
        (["close"], "not a step"),
    ],
)
def test_steps_that_cannot_be_taken_are_refused_in_one_line(
    program: Path, tmp_path: Path, steps: list[str], words: str
) -> None:
    assert words in refused(run(program, [step.replace("{}", str(tmp_path)) for step in steps]))
    assert not list(tmp_path.iterdir())


def test_one_failing_client_ends_all(program: Path, tmp_path: Path, library: str) -> None:
    done = run(program, list(moves(tmp_path / "f", "strided", "write")), LD_PRELOAD=library, FULL="1")
    line = refused(done)
    assert line.startswith(f"{PROGRAM}: client 1: ") and "use a smaller total_size" in line
    assert not list(tmp_path.iterdir())


def test_wrong_options_print_the_usage_once(program: Path) -> None:
    for wrong in (["--stone-wall", "0"], ["--pause", "-1"], ["--pause", "1s"], ["--pause", "nan"]):
        done = run(program, [*wrong, "phase:1"])
        assert done.returncode != 0 and done.stderr.count("usage: reprise-forge") == 1
