# SPDX-License-Identifier: Apache-2.0
"""Test that unusual submissions for which the daemon has no settings work as without the plugin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.life import Job, assert_unharmed
from tests.faults.links import link_to_itself, link_to_the_zero_device
from tests.spank.daemon import FakeDaemon, Message

MIB = 1 << 20


@pytest.fixture
def daemon(job: Job) -> Iterator[FakeDaemon]:
    job.deadline_ms = 1000  # so that no answer is late
    with FakeDaemon(job.stub.socket).listening() as listening:
        yield listening
        assert listening.refused == []


def submitted(job: Job, daemon: FakeDaemon) -> Message:
    assert_unharmed(job)
    (*_, last) = daemon.of_kind("decide", "submit")
    submission: Message = last.message["submission"]
    return submission


def nothing(script: Path) -> None:
    pass


def binary(script: Path) -> None:
    script.write_bytes(bytes(range(256)) * 300)


def quotes(script: Path) -> None:
    script.write_text('"' * 131_072)


def hundred_mib(script: Path) -> None:
    with script.open("wb") as file:
        file.write(b"#!/bin/sh\n")
        file.truncate(100 * MIB)


def hundred_mib_of_text(script: Path) -> None:
    with script.open("wb") as file:
        for _ in range(100):
            file.write(b"# a line of a script\n" * (MIB // 21))


def unreadable(script: Path) -> None:
    script.write_text("#!/bin/sh\n")
    script.chmod(0)


def in_a_closed_directory(script: Path) -> None:
    script.mkdir()
    script.chmod(0)


def fifo(script: Path) -> None:
    os.mkfifo(script)


def terminal(script: Path) -> None:
    script.symlink_to("/dev/tty")


def memory_of_this_process(script: Path) -> None:
    script.symlink_to("/proc/self/mem")  # a regular file that cannot be read


SCRIPTS: dict[str, tuple[Callable[[Path], None], bool]] = {
    "100-mib-sparse": (hundred_mib, True),
    "100-mib-of-text": (hundred_mib_of_text, True),
    "empty": (Path.touch, True),
    "binary": (binary, True),
    "of-quotes": (quotes, False),  # too long once its quotes are escaped
    "unreadable": (unreadable, False),
    "directory": (Path.mkdir, False),
    "in-a-closed-directory": (in_a_closed_directory, False),
    "fifo": (fifo, False),
    "terminal": (terminal, False),
    "endless-device": (link_to_the_zero_device, False),
    "read-error": (memory_of_this_process, False),
    "missing": (nothing, False),
    "link-to-itself": (link_to_itself, False),
}


@pytest.mark.parametrize("shape", SCRIPTS)
def test_a_script(powerless: Job, daemon: FakeDaemon, shape: str) -> None:
    make, sent = SCRIPTS[shape]
    script = powerless.stub.directory / "odd.sh"
    make(script)
    powerless.argv = ("sbatch", "odd.sh/x" if shape == "in-a-closed-directory" else "odd.sh")
    powerless.spooled = script
    try:
        assert (submitted(powerless, daemon)["script"] is not None) is sent
    finally:
        if script.is_file():
            os.truncate(script, 0)  # frees the space, because pytest keeps the files of tests


@pytest.mark.parametrize("spooled", ["fifo", "unreadable", "missing"])
def test_a_spooled_script_that_cannot_be_read(powerless: Job, spooled: str) -> None:
    SCRIPTS[spooled][0](powerless.stub.directory / "spooled")
    powerless.spooled = powerless.stub.directory / "spooled"
    with FakeDaemon(powerless.stub.socket, reply={"v": 0}).listening() as daemon:
        assert_unharmed(powerless)
        (start,) = daemon.of_kind("decide", "start")
    assert start.message["submission"]["script"] is None


ENVIRONMENTS: dict[str, dict[str, str]] = {
    "empty": {},
    "of-1-mib": {f"FILLER_{i}": "x" * 100_000 for i in range(10)},
    "of-slurms": {f"SLURM_FILLER_{i}": "x" * 100_000 for i in range(10)},
    "of-10000-variables": {f"SLURM_{i}": "1" for i in range(10_000)},
    "of-10000-settings": {f"OMPI_MCA_{i}": "1" for i in range(10_000)},
    "with-a-long-name": {"SLURM_" + "N" * 100_000: "1"},
    "with-odd-bytes": {"SLURM_\udcff\x01": "\udcfe\x1b[2J"},
    "with-json": {"SLURM_A": '","env":{"LD_PRELOAD":"/tmp/x.so"},"x":"'},
}


@pytest.mark.parametrize("shape", ENVIRONMENTS)
def test_an_environment(job: Job, daemon: FakeDaemon, shape: str) -> None:
    job.env = ENVIRONMENTS[shape]
    assert "LD_PRELOAD" not in submitted(job, daemon)["env"]


COMMAND_LINES: dict[str, list[str]] = {
    "of-2000-words": ["x"] * 2000,
    "with-a-word-of-100-kib": ["--wrap", "x" * 100_000],
    "with-empty-words": ["", "", ""],
    "with-odd-bytes": ["-J", "\udcff\x1b[2J\n"],
    "without-words": [],
    "that-ends-in-an-option": ["-D"],
}


@pytest.mark.parametrize("shape", COMMAND_LINES)
def test_a_command_line(job: Job, daemon: FakeDaemon, shape: str) -> None:
    job.argv = ["sbatch", *COMMAND_LINES[shape]]
    assert submitted(job, daemon)["command"] == "sbatch"


def test_a_working_directory_that_is_gone(job: Job, daemon: FakeDaemon) -> None:
    job.stub.prefix = ("sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "-")
    assert submitted(job, daemon)["cwd"] == ""


@pytest.mark.parametrize("name", ["a" * 255, "new\nline", "\udcff"], ids=["long", "newline", "no-utf-8"])
def test_a_working_directory_with_an_odd_name(job: Job, daemon: FakeDaemon, name: str) -> None:
    (job.stub.directory / name).mkdir()
    job.env = {"STUB_DIRECTORY": name}
    job.stub.prefix = ("sh", "-c", 'cd "$STUB_DIRECTORY" && exec "$@"', "-")
    assert submitted(job, daemon)["cwd"].startswith(str(job.stub.directory))
