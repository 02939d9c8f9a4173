# SPDX-License-Identifier: Apache-2.0
"""Test that decisions get the usual patterns of a user's program from memory, and those of no other user."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Coroutine
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.database import Database
from reprise.database.job_patterns import Seen
from reprise.database.record_io_kinds import PATTERNS
from reprise.matcher.calibration.site_template import IO_PATTERN
from reprise.matcher.daemon import usual_patterns
from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.daemon.usual_patterns import UsualPatterns
from reprise.matcher.decision.decide import Question
from reprise.matcher.linkage import load
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.support import program_patterns
from reprise.matcher.support.explanation import job_text
from reprise.matcher.support.program_patterns import Kinds, kinds_of_programs, with_kinds
from reprise.matcher.support.told_identities import OLDEST_S
from reprise.matcher.wire import protocol
from tests.unit.database_values import decision, outcome
from tests.unit.matcher.daemon.test_program_files import stored
from tests.unit.matcher_daemon import Daemon, record, request
from tests.waiting import wait_for

ALICE, BOB = 2001, 2002
PATH = "/work/solve"
STRIDED, KIND = "write/shared/strided/64K", "write/shared/strided"
NOW = 1.7e9
SITE = load("site")


def usual(stored: Callable[[int, float], Kinds], *, compared: bool = True) -> UsualPatterns:
    model = SimpleNamespace(compares_io_patterns=compared)
    basis: Any = SimpleNamespace(knowledge=SimpleNamespace(engine=SimpleNamespace(model=model)))
    return UsualPatterns(basis, FairThreads(1, 1, "test"), stored)


def question(uid: int = ALICE, path: str = PATH) -> Question:
    asked = protocol.Decide.model_validate(request(f"#!/bin/sh\nmpirun {path}\n"))
    return Question(asked.submission, "alice", uid, "submit", "on", NOW)


def of_alice(uid: int, _: float) -> Kinds:
    return {PATH: (KIND,)} if uid == ALICE else {}


async def patterns(programs: UsualPatterns, asked: Question, *, inline: bool = True) -> tuple[str, ...] | None:
    """Return the patterns that a job gets; None if its metadata is not even needed."""
    found = (await programs.expected(asked, inline=inline)).metadata
    return None if found is None else found.io_patterns


async def settled(programs: UsualPatterns) -> None:
    while programs._reading:
        await asyncio.sleep(0.001)


def play(work: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))


def test_patterns_are_those_of_the_user_and_the_program() -> None:
    async def work() -> None:
        programs = usual(of_alice)
        assert await patterns(programs, question()) is None, "the first decision does not wait"
        assert await patterns(programs, question(BOB)) is None
        await settled(programs)
        for inline in (True, False):
            assert await patterns(programs, question(), inline=inline) == (KIND,)
            assert await patterns(programs, question(path="/work/other"), inline=inline) == ()
            assert await patterns(programs, question(path="solve"), inline=inline) == ()
        assert await patterns(programs, question(BOB)) is None

    play(work)


def test_metadata_that_is_known_is_kept() -> None:
    job = JobMetadata("alice", path=PATH, build_id="ab")
    assert with_kinds(job, {PATH: (KIND,)}) == JobMetadata("alice", path=PATH, build_id="ab", io_patterns=(KIND,))
    assert with_kinds(job, {}) is job


def test_a_model_without_the_field_reads_nothing() -> None:
    async def work() -> None:
        programs = usual(lambda *_: pytest.fail("read"), compared=False)
        programs.read(ALICE)
        assert await patterns(programs, question()) is None and not programs._reading

    play(work)


def test_a_decision_does_not_wait_for_a_slow_database() -> None:
    goes_on = threading.Event()

    def slow(uid: int, now: float) -> Kinds:
        assert goes_on.wait(60)
        return of_alice(uid, now)

    async def work() -> None:
        programs = usual(slow)
        for _ in range(3):
            assert await patterns(programs, question()) is None
        goes_on.set()
        await settled(programs)
        assert await patterns(programs, question()) == (KIND,)

    play(work)


def test_after_an_error_decisions_use_what_is_known(caplog: pytest.LogCaptureFixture) -> None:
    found: list[Kinds] = [{PATH: (KIND,)}]

    async def work() -> None:
        programs = usual(lambda *_: found.pop())
        programs.read(ALICE)
        await settled(programs)
        programs._read_at[ALICE] -= usual_patterns.AGAIN_S
        programs.read(ALICE)
        await settled(programs)
        assert await patterns(programs, question()) == (KIND,)

    play(work)
    (text,) = [one for one in caplog.messages if "patterns-not-read" in one]
    assert f"uid={ALICE}" in text


def test_ends_of_many_jobs_read_the_database_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usual_patterns, "AGAIN_S", 0.05)
    read: list[float] = []

    def stored(uid: int, now: float) -> Kinds:
        read.append(time.monotonic())
        return {}

    async def work() -> None:
        programs = usual(stored)
        for _ in range(1000):
            programs.read(ALICE)
        await settled(programs)
        assert 1 <= len(read) <= 2, "an end during a read causes another one"
        programs.read(ALICE)
        await settled(programs)
        assert all(later - earlier >= 0.04 for earlier, later in pairwise(read))

    play(work)


def test_patterns_that_expired_are_forgotten_when_the_user_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usual_patterns, "AGAIN_S", 0.0)
    found: list[Kinds] = [{}, {PATH: (KIND,)}]

    async def work() -> None:
        programs = usual(lambda *_: found.pop())
        programs.read(ALICE)
        await settled(programs)
        programs._read_at[ALICE] -= usual_patterns.FRESH_S
        assert await patterns(programs, question()) == (KIND,)
        await settled(programs)
        assert await patterns(programs, question()) is None and programs._known == {}

    play(work)


def test_the_number_of_users_in_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usual_patterns, "USERS", 2)

    async def work() -> None:
        programs = usual(lambda *_: {PATH: (KIND,)})
        for uid in (1, 2, 3):
            programs.read(uid)
            await settled(programs)
        assert list(programs._known) == [2, 3]

    play(work)


# --- from the database


def stored_run(
    database: Database, number: int, uid: int, path: str, seen: Seen, at: float = NOW - 100, cluster: str = "c"
) -> None:
    metadata = JobMetadata("alice", path=path).to_json()
    database.add_decision(decision(f"d{number}", at=at + number, uid=uid, metadata=metadata, cluster=cluster))
    database.report_start(outcome(at + number, job_id=number, uid=uid, decision_id=f"d{number}", cluster=cluster))
    database.add_job_patterns(cluster, [seen], at + number + 1)


def test_only_confirmed_patterns_of_the_users_own_jobs_count(tmp_path: Path) -> None:
    """Bob gives the number of alice's job for his own, with munge and without."""
    with Database.open(tmp_path / "a.db", create=True) as database:
        stored_run(database, 1, ALICE, PATH, Seen(1, STRIDED, 1.0, 100, ALICE))
        stored_run(database, 2, BOB, PATH, Seen(2, "write/per-process/contiguous/1M", 1.0, 10**12, BOB))
        for user in (None, BOB):
            database.add_job_patterns("c", [Seen(1, "write/shared/contiguous/1M", 1.0, 10**12, user)], NOW - 50)
        assert kinds_of_programs(database, ALICE, NOW) == {PATH: (KIND,)}
        assert kinds_of_programs(database, BOB, NOW) == {PATH: ("write/per-process/contiguous",)}
        assert kinds_of_programs(database, ALICE, NOW + OLDEST_S) == {}


def test_the_programs_that_ran_last_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_patterns, "MOST_PROGRAMS", 2)
    with Database.open(tmp_path / "a.db", create=True) as database:
        for number, path in enumerate(["/a", "/b", "relative", "/c", "/b"], 1):
            stored_run(database, number, ALICE, path, Seen(number, STRIDED, 1.0, 100, ALICE))
        assert kinds_of_programs(database, ALICE, NOW) == {"/b": (KIND,), "/c": (KIND,)}


def test_decisions_compare_the_patterns_of_the_users_earlier_jobs(daemon: Daemon) -> None:
    uid, now = os.getuid(), time.time()
    job = JobMetadata("ann", program="solve", path=PATH, nodes=1)
    alike, differs = (
        record(metadata=job.to_json(), parametrization={PATTERNS: [kind]}) for kind in (KIND, "write/shared/contiguous")
    )
    daemon.add(alike, differs)
    with Database.open(daemon.database) as database:
        stored_run(database, 1, uid, PATH, Seen(1, STRIDED, 1.0, 100, uid), at=now - 50, cluster="test")
    daemon.start()

    def decided() -> dict[int, float] | None:
        reply = daemon.ask(request(f"#!/bin/sh\n#SBATCH -N 1\nmpirun {PATH}\n"))
        if not stored(daemon, reply["id"])["io_patterns"]:
            return None
        with Database.open(daemon.database, read_only=True) as database:
            found = database.decision(reply["id"])
        (field,) = [one for one in found.fields if one["name"] == IO_PATTERN["name"]]
        (_, writes) = field["parts"]
        assert (writes["left"], writes["right"], writes["contribution"]) == ("shared/strided", "shared/strided", 0.5)
        assert not any("earlier runs" in text for text in job_text(found))
        return {row["record"]: SITE.total(row["score"]) for row in found.alternatives}

    totals = wait_for("a decision with patterns", decided)
    assert totals[1] - totals[2] == pytest.approx(1.0)


def test_an_explanation_of_a_script_has_the_patterns_that_its_submission_would_have(tmp_path: Path) -> None:
    site = Daemon(tmp_path)
    job = JobMetadata("ann", program="solve", path=PATH, nodes=1)
    site.add(record(metadata=job.to_json(), parametrization={PATTERNS: [KIND]}))
    uid = os.getuid()
    with Database.open(site.database) as database:
        stored_run(database, 1, uid, PATH, Seen(1, STRIDED, 1.0, 100, uid), at=time.time() - 50, cluster="test")
    (tmp_path / "job.sh").write_text(f"#!/bin/sh\n#SBATCH -N 1\nmpirun {PATH}\n")
    words = ["--config", str(site.config), "match", "explain", "--script", str(tmp_path / "job.sh"), "--json"]
    (told,) = json.loads(CliRunner().invoke(reprise, words).stdout)["decisions"]
    (field,) = [one for one in told["fields"] if one["name"] == IO_PATTERN["name"]]
    assert (told["metadata"]["io_patterns"], field["contribution"]) == ([KIND], 0.5)
    shown = CliRunner().invoke(reprise, words[:-1]).stdout
    assert "I/O pattern " in shown and "write_pattern" in shown and "shared/strided" in shown
