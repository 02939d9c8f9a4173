# SPDX-License-Identifier: Apache-2.0
"""Test the request that a submitting command sends, in a stub of Slurm: arguments, script and environment."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reprise.allowlist import VERSION
from tests.spank.conftest import Stub
from tests.spank.daemon import FakeDaemon

OFF = {"v": 1, "verdict": "off", "env": {}}


def test_the_request_contains_arguments_script_and_environment_of_the_command(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "job.sh").write_text("#!/bin/sh\nsrun ./a\n")
    env = {
        "SBATCH_PARTITION": "p",
        "SLURM_X": "1",
        "SALLOC_Y": "2",
        "HOME": "/h",
        "OMPI_MCA_btl": "tcp",
        "OMP_STACKSIZE": "1g",
        "SLURM_JWT": "key",
        "SLURM_SPANK_OTHER_PLUGIN": "its secret",
    }
    stub.submit(("sbatch", "-N2", "job.sh", "arg"), env=env)
    message = daemon.question
    assert (message["v"], message["kind"], message["point"], message["mode"]) == (1, "decide", "submit", "on")
    assert message["client"] == {"plugin": "test", "slurm": "22.05.8", "allow_list": VERSION}
    submission = message["submission"]
    assert submission.pop("script") == {
        "path": str(stub.directory / "job.sh"),
        "text": "#!/bin/sh\nsrun ./a\n",
        "truncated": False,
    }
    assert submission == {
        "command": "sbatch",
        "argv": ["sbatch", "-N2", "job.sh", "arg"],
        "cwd": str(stub.directory),
        "env": {"SBATCH_PARTITION": "p", "SLURM_X": "1", "SALLOC_Y": "2"},
        "set": ["OMPI_MCA_btl", "OMP_STACKSIZE"],
    }
    assert "job" not in message


def test_the_script_is_searched_for_like_sbatch_does(stub: Stub, daemon: FakeDaemon) -> None:
    for name in ("sub", "bin"):
        (stub.directory / name).mkdir()
        (stub.directory / name / f"{name}.sh").write_text(name)
    (stub.directory / "here.sh").write_text("here")
    path = {"PATH": f"/nowhere::{stub.directory}/bin"}
    for argv in (["-D", "sub", "sub.sh"], ["bin.sh"], ["-Dsub", "here.sh"], ["./here.sh"], ["bin/bin.sh"]):
        stub.submit(["sbatch", *argv], env=path)
    texts = [request.message["submission"]["script"]["text"] for request in daemon.asked]
    assert texts == ["sub", "bin", "here", "here", "bin"]


def test_a_pipe_is_not_opened_and_its_writer_keeps_waiting(stub: Stub, daemon: FakeDaemon) -> None:
    pipe = stub.directory / "pipe"
    os.mkfifo(pipe)
    opened = threading.Event()

    def write() -> None:
        with pipe.open("w"):
            opened.set()

    writer = threading.Thread(target=write)
    writer.start()
    stub.submit(["sbatch", "pipe"])
    was_opened = opened.is_set()
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer.join()
    os.close(reader)
    assert not was_opened


@contextmanager
def nobody_opens(path: Path) -> Iterator[None]:
    """Check that no process opens the file `path` in this context: opening would break a write lease (fcntl(2))."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # SIGIO would end the process
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield
        assert fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_WRLCK, f"{path} was opened"
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (("--not-ours", "data.txt", "job.sh"), "job.sh"),  # sbatch refuses a script without #!
        (("--not-ours", "missing", "job.sh"), "job.sh"),
        (("--not-ours", "job.sh", "other.sh"), "job.sh"),
        (("--not-ours", "empty", "job.sh"), "job.sh"),
        (("--not-ours", "folder", "job.sh"), "job.sh"),
        (("--not-ours", "sub.sh", "-D", "folder", "sub.sh"), "folder/sub.sh"),
        (("-D", "folder", "--not-ours", "sub.sh", "job.sh"), "folder/sub.sh"),
        (("--not-ours", "missing"), None),
    ],
)
def test_after_an_unknown_option_the_file_system_tells_a_script_from_a_value(
    stub: Stub, daemon: FakeDaemon, words: tuple[str, ...], script: str | None
) -> None:
    (stub.directory / "folder").mkdir()
    for name in ("job.sh", "other.sh", "folder/sub.sh"):
        (stub.directory / name).write_text("#!/bin/sh\n")
    (stub.directory / "data.txt").write_text("1 2 3\n")
    (stub.directory / "empty").touch()
    stub.submit(("sbatch", *words))
    found = daemon.question["submission"].get("script")
    assert (found and (stub.directory / found["path"]).resolve()) == (script and stub.directory / script)


@pytest.mark.parametrize("off", [{"option": "off"}, {"settings": ["minimum_uid=4294967294"]}])
def test_off_does_not_touch_the_script(stub: Stub, off: dict[str, Any]) -> None:
    script = stub.directory / "job.sh"
    script.write_text("#!/bin/sh\n")
    with nobody_opens(script):
        assert stub.submit(**off).carried == OFF


def test_a_long_script_is_cut_and_marked_as_truncated(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "job.sh").write_text("#" * 200_000)
    stub.submit()
    script = daemon.question["submission"]["script"]
    assert (len(script["text"]), script["truncated"]) == (131_072, True)


def test_a_script_that_would_not_fit_into_the_frame_is_left_out(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "job.sh").write_bytes(b"\x01" * 120_000)
    stub.submit()
    assert daemon.question["submission"]["script"] is None


def test_bytes_of_any_kind_arrive_as_text(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "job.sh").write_bytes(b"a\xffb\x00c")
    stub.submit(["sbatch", "-J", "\udcff", "job.sh"], env={"SLURM_A": "\udcfe"})
    submission = daemon.question["submission"]
    assert submission["argv"][2] == submission["env"]["SLURM_A"] == "\ufffd"
    assert submission["script"]["text"] == "a\ufffdb"


def test_large_arguments_and_environments_are_limited(stub: Stub, daemon: FakeDaemon) -> None:
    env = {f"SLURM_{i}": "x" * 1000 for i in range(100)} | {f"OMPI_MCA_{i}": "1" for i in range(5000)}
    stub.submit(["sbatch", "--wrap", "x" * 100_000], env=env)
    submission = daemon.question["submission"]
    assert submission["argv"] == ["sbatch", "--wrap"]
    assert 30 <= len(submission["env"]) <= 32
    assert 1000 < len(submission["set"]) < 1600


def test_a_script_of_an_absolute_path_is_read(stub: Stub, daemon: FakeDaemon) -> None:
    script = stub.directory / "job.sh"
    script.write_text("#!/bin/sh\n")
    stub.submit(["sbatch", str(script)])
    assert daemon.question["submission"]["script"]["path"] == str(script)


@pytest.mark.parametrize("prefix", [("env", "-u", "PATH"), ("env", "PATH=")], ids=["none", "empty"])
def test_a_missing_script_is_left_out_even_without_a_search_path(
    stub: Stub, daemon: FakeDaemon, prefix: tuple[str, ...]
) -> None:
    stub.prefix = prefix
    stub.submit(["sbatch", "missing.sh"])
    assert daemon.question["submission"]["script"] is None


def test_a_request_is_sent_even_if_the_version_of_slurm_is_unknown(stub: Stub, daemon: FakeDaemon) -> None:
    stub.submit(before=["lacking all"])
    assert daemon.question["client"]["slurm"] == ""
