# SPDX-License-Identifier: Apache-2.0
"""Test that the plugin identifies a program's file as the daemon does, and that this never harms the job."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from reprise.matcher.identity.elf_file import MAGIC
from reprise.matcher.identity.identify import Identifier
from reprise.matcher.submission.program_identity import ProgramIdentity
from tests.fuzz.harnesses import SEEDS
from tests.hung_filesystem import can_be_mounted, hung_filesystem
from tests.ordinary_user import AS_ORDINARY_USER, UID
from tests.spank.conftest import Played, Probe, Stub
from tests.spank.daemon import FakeDaemon
from tests.spank.test_jobstep import CARRIED, start
from tests.unit.matcher.identity.test_elf_file import LAYOUTS, MPI_LIBRARIES, elf
from tests.waiting import in_time

SLACK_MS = 150  # tolerance for a busy machine


def probed(probe: Probe, paths: Sequence[Path]) -> list[Any]:
    return probe.ask("identity", [os.fsencode(path) for path in paths])


def by_the_daemon(path: Path) -> ProgramIdentity:
    return Identifier().identify(str(path), float("inf"))


def parts(identity: ProgramIdentity) -> list[Any]:
    sketches = [identity.functions, identity.imports, identity.contents]
    return [identity.build_id, *sketches, identity.runtime, identity.mpi_library, 0]


def is_small_elf(path: Path) -> bool:
    """Return whether a file is an ELF file that is small enough that the plugin reads all its names."""
    with path.open("rb") as file:
        return path.stat().st_size < 4 << 20 and file.read(4) == MAGIC


def test_the_plugin_reads_an_executable_as_the_daemon_does(probe: Probe) -> None:
    found = (path for path in sorted(Path("/usr/bin").iterdir()) if path.is_file() and is_small_elf(path))
    libraries = (path for path in sorted(Path(sys.prefix).rglob("*.so")) if is_small_elf(path))
    paths = [*islice(found, 60), *islice(libraries, 10)]
    assert len(paths) > 40
    assert probed(probe, paths) == [parts(by_the_daemon(path)) for path in paths]


@pytest.mark.parametrize(("order", "wide"), LAYOUTS)
def test_a_file_of_any_width_and_byte_order_is_read(probe: Probe, tmp_path: Path, order: str, wide: bool) -> None:
    words = " ".join(f"{'abcdefghij'[i] * 5}" for i in range(10)).encode()
    path = tmp_path / "solver"
    path.write_bytes(elf(order, wide, b"\0" + words + b"\0cut short"))
    path.chmod(0o755)
    (found,) = probed(probe, [path])
    assert found == parts(by_the_daemon(path)) and found[0] and found[3]


def test_names_beyond_the_limit_are_cut_as_by_the_daemon(probe: Probe, tmp_path: Path) -> None:
    source = tmp_path / "many.s"  # assembly, because the same file in C takes ten times as long to compile
    names = [f"name_{i}_{'x' * (i % 7 or i % 900)}" for i in range(9000)]
    source.write_text("".join(f".globl {name}\n.type {name}, STT_FUNC\n{name}: .byte 0\n" for name in names))
    subprocess.run(["cc", "-shared", "-o", tmp_path / "many.so", source], check=True)
    (found,) = probed(probe, [tmp_path / "many.so"])
    assert found == parts(by_the_daemon(tmp_path / "many.so")) and found[1] and found[2]


@pytest.mark.parametrize(
    "flags",
    [
        ["-fsanitize=address"],
        ["-fsanitize=address", "-static-libasan"],
        ["-fsanitize=thread"],
        ["-fsanitize=undefined"],
        ["-static-pie"],
        [f"-Wl,--dynamic-linker=/opt/caf\u00e9/{'x' * 80}/ld.so"],
        ["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"],
        ["-Wl,--dynamic-linker=/lib64/ld/own.so"],
        ["-Wl,--dynamic-linker=/usr/lib/ld-2.17.so"],
    ],
)
def test_sanitizers_and_loaders_of_a_program_are_recognized_as_by_the_daemon(
    probe: Probe, tmp_path: Path, flags: Sequence[str]
) -> None:
    path = tmp_path / "program"
    words = ["gcc", *flags, "-x", "c", "-o", str(path), "-"]
    subprocess.run(words, input="int main(void) { return 0; }\n", text=True, check=True)
    assert probed(probe, [path]) == [parts(by_the_daemon(path))]


@pytest.mark.parametrize("every", [pytest.param(3, marks=pytest.mark.slow), 25])
def test_a_damaged_file_is_read_or_refused(probe: Probe, tmp_path: Path, every: int) -> None:
    paths = []
    for order, wide in LAYOUTS:
        whole = elf(order, wide)
        for at in range(len(MAGIC), len(whole), every):
            for what in (b"\xff" * 8, b"\0" * 4, b""):
                path = tmp_path / f"{order == '<'}-{wide}-{at}-{len(what)}"
                path.write_bytes(whole[:at] + what + whole[at + len(what) :] if what else whole[:at])
                path.chmod(0o755)
                paths.append(path)
    read = [parts(by_the_daemon(path)) for path in paths]
    for found, daemons in zip(probed(probe, paths), read, strict=True):
        assert found == daemons or daemons == parts(ProgramIdentity())


def test_odd_files_are_read_as_the_daemon_does_or_refused(probe: Probe, tmp_path: Path) -> None:
    paths = [Path(shutil.copy(seed, tmp_path)) for seed in sorted((SEEDS / "identity").iterdir())]
    assert len(paths) > 20
    for path, found in zip(paths, probed(probe, paths), strict=True):
        path.chmod(0o755)
        read = parts(by_the_daemon(path))
        assert found in (None, read) or found[-1] > 0 or read == parts(ProgramIdentity()), path.name


def test_the_plugin_reads_the_mpi_library_as_the_daemon_does(probe: Probe, tmp_path: Path) -> None:
    paths = []
    for number, (library, (order, wide)) in enumerate(product(MPI_LIBRARIES, LAYOUTS)):
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(elf(order, wide, library=library))
    assert probed(probe, paths) == [parts(by_the_daemon(path)) for path in paths]


def test_a_file_that_is_not_a_program_is_not_read(probe: Probe, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").touch()
    (tmp_path / "data").write_bytes(b"ab\0cd")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "large").touch()
    with (tmp_path / "large").open("wb") as file:
        file.write(MAGIC + bytes([2, 1]))
        file.truncate(1 << 40)
    names = ("fifo", "empty", "data", "loop", "gone", ".")
    paths = [*(tmp_path / name for name in names), Path("/dev/zero"), Path("/proc/self/mem")]
    assert probed(probe, paths) == [None] * len(paths)
    assert probed(probe, [tmp_path / "large"]) == [["", "", "", "", "", "", 0]]


def test_a_file_with_too_large_sections_is_not_read(probe: Probe, tmp_path: Path) -> None:
    """The file is sparse, so that its sections can exceed the limit without using disk space."""
    assert probed(probe, [with_sizes(tmp_path / "shared", {3: 1 << 30})]) == [None]
    path = with_sizes(tmp_path / "own", {2: 1 << 30})
    ((build_id, functions, *_),) = probed(probe, [path])
    assert build_id == by_the_daemon(path).build_id and functions == ""


def with_sizes(path: Path, sizes: Mapping[int, int]) -> Path:
    """Write an executable with these section sizes, keyed by section number, and return its path."""
    whole = bytearray(elf("<", True))
    headers = int.from_bytes(whole[40:48], "little")
    for number, size in sizes.items():
        whole[headers + 64 * number + 32 : headers + 64 * number + 40] = size.to_bytes(8, "little")
    path.write_bytes(whole)
    os.truncate(path, 2 << 30)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("reply", "path"),
    [
        ({"v": 1, "kind": "ok", "identify": "/a b"}, "/a b"),
        ({"v": 1, "kind": "ok", "identify": "/" + "x" * 4094}, "/" + "x" * 4094),
        ({"v": 1, "kind": "ok", "identify": "/" + "x" * 4095}, None),
        ({"v": 1, "kind": "ok", "identify": "a"}, None),
        ({"v": 1, "kind": "ok", "identify": ""}, None),
        ({"v": 1, "kind": "ok", "identify": "/a\0b"}, None),
        ({"v": 1, "kind": "ok", "identify": None}, None),
        ({"v": 1, "kind": "ok", "identify": ["/a"]}, None),
        ({"v": 1, "kind": "ok"}, None),
        ({"v": 2, "kind": "ok", "identify": "/a"}, None),
        ({"v": 1, "kind": "error", "identify": "/a"}, None),
        ({"v": 1, "identify": "/a"}, None),
        (["identify", "/a"], None),
    ],
)
def test_only_a_request_for_an_absolute_path_is_accepted(probe: Probe, reply: object, path: str | None) -> None:
    assert probe.ask("asks", [json.dumps(reply).encode()]) == [path]


# --- at the start of a job


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return an executable that only its owner can read."""
    path = tmp_path / "solver"
    shutil.copy("/usr/bin/env", path)
    path.chmod(0o700)
    return path


@pytest.fixture
def of_a_user(stub: Stub) -> Stub:
    stub.prefix = tuple(AS_ORDINARY_USER)
    return stub


def begin(stub: Stub, **how: Any) -> Played:
    uid = UID if AS_ORDINARY_USER else os.geteuid()
    return start(stub, {**CARRIED, "verdict": "none", "env": {}}, uid=uid, **how)


def kinds(daemon: FakeDaemon) -> list[str]:
    return [asked.message["kind"] for asked in daemon.asked]


def begin_in_time(stub: Stub, daemon: FakeDaemon, **how: Any) -> Played:
    """Start jobs until one sends an identity, because on a busy machine a job may exceed the limit of 20 ms."""

    def play() -> Played:
        daemon.asked.clear()
        return begin(stub, **how)

    return in_time(play, lambda _: "identity" in kinds(daemon))


def test_a_job_sends_the_identity_of_its_program_on_request(of_a_user: Stub, daemon: FakeDaemon, program: Path) -> None:
    daemon.identify = str(program)
    begin_in_time(of_a_user, daemon)
    program.chmod(0o755)
    identity = by_the_daemon(program)
    (told,) = daemon.of_kind("identity")
    assert told.message == {"v": 1, "kind": "identity", "decision": "d-9", **vars(identity)}


def test_the_identity_of_a_script_is_its_text(of_a_user: Stub, daemon: FakeDaemon, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_bytes(b"import numpy  # caf\xe9\n" * 9000)
    daemon.identify = str(script)
    begin_in_time(of_a_user, daemon)
    (told,) = daemon.of_kind("identity")
    text = ("import numpy  # caf\ufffd\n" * 9000).encode()[:131_072].decode(errors="ignore")
    assert told.message == {"v": 1, "kind": "identity", "decision": "d-9", "script": text}


def test_without_a_request_no_identity_is_sent(of_a_user: Stub, daemon: FakeDaemon) -> None:
    begin(of_a_user)
    assert kinds(daemon) == ["outcome"]


def test_the_site_can_switch_it_off(of_a_user: Stub, daemon: FakeDaemon, program: Path) -> None:
    daemon.identify = str(program)
    begin(of_a_user, settings=["identity=off"])
    assert kinds(daemon) == ["outcome"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to test what jobs of root do")
def test_nothing_is_read_as_root(stub: Stub, daemon: FakeDaemon, program: Path) -> None:
    daemon.identify = str(program)
    start(stub, {**CARRIED, "verdict": "none", "env": {}})
    assert kinds(daemon) == ["outcome"]


def test_an_interrupted_read_continues(of_a_user: Stub, daemon: FakeDaemon, program: Path) -> None:
    daemon.identify = str(program)
    begin_in_time(of_a_user, daemon, own={"FAIL_CALL": "pread", "FAIL_AT": "2", "FAIL_ERRNO": str(errno.EINTR)})
    assert kinds(daemon) == ["outcome", "identity"]


@pytest.mark.parametrize("name", ["gone", "fifo", "."])
def test_a_program_that_cannot_be_read_costs_the_job_nothing(
    of_a_user: Stub, daemon: FakeDaemon, tmp_path: Path, name: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    daemon.identify = str(tmp_path / name)
    played = begin(of_a_user)
    assert kinds(daemon) == ["outcome"]
    assert sum(elapsed for _, _, elapsed in played.calls) < SLACK_MS


def test_a_program_that_is_read_too_slowly_is_given_up(of_a_user: Stub, daemon: FakeDaemon, program: Path) -> None:
    daemon.identify = str(program)
    played = begin(of_a_user, own={"FAIL_CALL": "pread", "FAIL_AT": "1", "FAIL_DELAY_MS": "5000"})
    assert kinds(daemon) == ["outcome"]
    assert 20 - 2 <= sum(elapsed for _, _, elapsed in played.calls) < 20 + SLACK_MS


def test_a_child_that_does_not_end_is_killed(of_a_user: Stub, daemon: FakeDaemon, program: Path) -> None:
    """The child runs as the user, who can suspend it with SIGSTOP, so it may hang."""
    daemon.identify = str(program)
    played = begin_in_time(of_a_user, daemon, own={"FAIL_CALL": "_exit", "FAIL_AT": "1", "FAIL_DELAY_MS": "5000"})
    assert kinds(daemon) == ["outcome", "identity"]
    assert 20 - 2 <= sum(elapsed for _, _, elapsed in played.calls) < 40 + SLACK_MS


@pytest.mark.slow
@pytest.mark.skipif(not can_be_mounted(), reason="needs to mount a file system")
def test_a_file_system_that_hangs_costs_the_deadline_and_holds_nothing_of_the_job(
    of_a_user: Stub, daemon: FakeDaemon, tmp_path: Path
) -> None:
    """The child cannot be killed while it waits for the file system, and keeps its parent's output open meanwhile."""
    place = tmp_path / "hung"
    place.mkdir()
    daemon.identify = str(place / "solver")
    with hung_filesystem(place) as answers:
        timer = threading.Timer(2.0, answers.set)
        timer.start()
        played = begin(of_a_user)
        timer.join()
    assert kinds(daemon) == ["outcome"]
    assert 40 - 3 <= sum(elapsed for _, _, elapsed in played.calls) < 40 + SLACK_MS


@pytest.mark.parametrize("name", ["setresuid", "setresgid", "fork", "socketpair"])
def test_a_child_that_cannot_become_the_user_for_good_reads_nothing(
    of_a_user: Stub, daemon: FakeDaemon, program: Path, name: str
) -> None:
    daemon.identify = str(program)
    begin(of_a_user, own={"FAIL_CALL": name, "FAIL_AT": "1"})
    assert kinds(daemon) == ["outcome"]


@pytest.mark.slow
def test_an_allocation_that_fails_costs_the_answer_at_most(
    binaries: Path, of_a_user: Stub, program: Path, tmp_path: Path
) -> None:
    """If json-c has no memory for a value, the request lacks the value; the daemon refuses most such requests."""
    of_a_user.program = binaries / "stub_oom"
    script = tmp_path / "run.py"
    script.write_text("import numpy\n")
    with FakeDaemon(of_a_user.socket).listening() as daemon:
        for path, most in ((program, 260), (script, 200)):
            daemon.identify = str(path)
            for at in range(1, most):
                begin(of_a_user, own={"FAIL_AT": str(at)})
    program.chmod(0o755)
    told = [one.message for one in daemon.of_kind("identity")]
    assert {one.get("contents") for one in told} == {by_the_daemon(program).contents, None}
    assert "import numpy\n" in {one.get("script") for one in told}


@pytest.mark.parametrize("name", ["malloc", "calloc", "stat", "fstat", "open", "pread"])
@pytest.mark.parametrize("at", [1, 2, 3, 4, 5, 7, 9, 12, 16, 22])
def test_a_call_that_fails_costs_the_answer_at_most(
    of_a_user: Stub, daemon: FakeDaemon, program: Path, name: str, at: int
) -> None:
    daemon.identify = str(program)
    begin(of_a_user, own={"FAIL_CALL": name, "FAIL_AT": str(at)})
    program.chmod(0o755)
    for told in daemon.of_kind("identity"):
        assert told.message["contents"] == by_the_daemon(program).contents
