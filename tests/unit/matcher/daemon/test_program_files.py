# SPDX-License-Identifier: Apache-2.0
"""Test that programs are identified for decisions, and that no file system delays a decision."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reprise.database import Database
from reprise.database.errors import NotFoundError
from reprise.matcher.daemon.program_files import THREADS, WARMING, ProgramFiles
from reprise.matcher.identity.identify import Identifier
from reprise.matcher.submission.metadata import JobMetadata
from tests.unit.comparing_files import comparing_files
from tests.unit.matcher_daemon import Daemon, request
from tests.waiting import wait_for

ALICE, BOB = 2001, 2002
JOB = JobMetadata("alice", path="/work/a.out")
KNOWN = dataclasses.replace(JOB, build_id="ab")


class Played(Identifier):
    """A replacement for `Identifier`, which calls the test's function `identified` and caches nothing."""

    def __init__(self, identified: Callable[[JobMetadata, float], JobMetadata]) -> None:
        super().__init__()
        self.identified = identified  # type: ignore[method-assign, assignment]

    def known(self, path: str) -> None:
        return None


def test_only_a_job_with_an_absolute_path_is_identified() -> None:
    files = ProgramFiles(Played(lambda job, _: dataclasses.replace(job, build_id="ab")), wait_s=10)
    assert asyncio.run(files.identified(JOB, ALICE)) == KNOWN
    bare = JobMetadata("alice", path="a.out")
    assert asyncio.run(files.identified(bare, ALICE)) == bare


def test_the_first_decision_does_not_wait_for_the_first_file_that_the_process_reads(monkeypatch: Any) -> None:
    read: list[str] = []
    identify = Identifier.identify

    def recorded(self: Identifier, path: str, deadline: float) -> Any:
        read.append(path)
        found = identify(self, path, deadline)
        assert found.functions or found.build_id, "the file that warms the process is an executable"
        return found

    monkeypatch.setattr(Identifier, "identify", recorded)
    ProgramFiles()
    assert read == [WARMING]


def test_a_file_system_that_hangs_blocks_one_thread_per_user_and_no_decision() -> None:
    hangs, entered = threading.Event(), []

    def identified(job: JobMetadata, deadline: float) -> JobMetadata:
        entered.append(job.user)
        if job.user == "alice":
            assert hangs.wait(60)
        return dataclasses.replace(job, build_id="ab")

    async def play() -> None:
        files = ProgramFiles(Played(identified), wait_s=0.01)
        begun = time.monotonic()
        for _ in range(THREADS + 5):
            assert await files.identified(JOB, ALICE) == JOB
        assert time.monotonic() - begun < 5 and entered == ["alice"]
        files_of_bob = dataclasses.replace(JOB, user="bob")
        found = [(await files.identified(files_of_bob, BOB)).build_id for _ in range(50)]
        assert "ab" in found
        hangs.set()
        while "alice" in entered and (await files.identified(JOB, ALICE)) != KNOWN:
            await asyncio.sleep(0.01)

    asyncio.run(play())


def test_a_read_that_fails_leaves_the_job_without_an_identity() -> None:
    goes_on = threading.Event()

    def fails(job: JobMetadata, deadline: float) -> JobMetadata:
        assert goes_on.wait(60)
        raise MemoryError

    async def play() -> None:
        files = ProgramFiles(Played(fails), wait_s=0.01)
        assert await files.identified(JOB, ALICE) == JOB
        goes_on.set()
        while files._late:
            await asyncio.sleep(0.01)
        files = ProgramFiles(Played(fails), wait_s=60)
        assert await files.identified(JOB, ALICE) == JOB

    asyncio.run(play())


def stored(daemon: Daemon, decision: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def is_stored() -> bool:
        with Database.open(daemon.database, read_only=True) as database:
            try:
                found.update(database.decision(decision).metadata)
            except NotFoundError:
                return False
        return True

    wait_for("the decision", is_stored)
    return found


def test_several_late_reads_of_a_user_raise_no_error() -> None:
    goes_on = threading.Event()

    def waits(job: JobMetadata, deadline: float) -> JobMetadata:
        assert goes_on.wait(60)
        return job

    async def play() -> None:
        files = ProgramFiles(Played(waits), wait_s=0.01)
        assert await asyncio.gather(*(files.identified(JOB, ALICE) for _ in range(5))) == [JOB] * 5
        failures: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        goes_on.set()
        while files._late:
            await asyncio.sleep(0.01)
        assert not failures

    asyncio.run(play())


def test_a_cached_file_needs_no_thread_and_is_read_again_when_it_changes(tmp_path: Path) -> None:
    program = tmp_path / "solve.py"
    program.write_text("import numpy\ndef one(): pass\ndef two(): pass\ndef three(): pass\ndef four(): pass\n")
    job = JobMetadata("alice", path=str(program))
    looks = []

    class Counting(Identifier):
        def identified(self, job: JobMetadata, deadline: float) -> JobMetadata:
            looks.append(job.path)
            return super().identified(job, deadline)

    async def play() -> None:
        files = ProgramFiles(Counting(), wait_s=60)
        first = await files.identified(job, ALICE)
        assert first.contents and looks == [str(program)]
        assert await files.identified(job, ALICE) == await files.identified(job, BOB) == first
        program.write_text("import scipy\nprint(scipy.version)\n")
        changed = await files.identified(job, ALICE)
        assert changed.contents and changed.contents != first.contents
        program.unlink()
        assert (await files.identified(job, ALICE)).contents == ""

    asyncio.run(play())


def test_no_file_is_read_if_the_model_compares_none(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start()
    assert stored(daemon, daemon.ask(request("#!/bin/sh\nmpirun /usr/bin/env x\n"))["id"])["contents"] == ""


def test_a_decision_contains_the_programs_identity_unless_that_is_switched_off(daemon: Daemon, tmp_path: Path) -> None:
    program = tmp_path / "a.out"
    shutil.copy("/usr/bin/env", program)
    program.chmod(0o755)
    script = f"#!/bin/sh\nmpirun {program} --steps 2\n"
    model = comparing_files(tmp_path / "files.toml")
    daemon.configure(model)
    daemon.start()
    wait_for("the file", lambda: stored(daemon, daemon.ask(request(script))["id"])["contents"])
    found = stored(daemon, daemon.ask(request(script))["id"])
    assert found["imports"] and len(found["contents"]) == 32
    daemon.stop()
    daemon.configure(model, "identity = false")
    daemon.start()
    assert stored(daemon, daemon.ask(request(script))["id"])["contents"] == ""
