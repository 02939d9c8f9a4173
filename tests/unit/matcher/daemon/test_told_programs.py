# SPDX-License-Identifier: Apache-2.0
"""Test jobs' reports on programs that the daemon cannot read: which jobs are asked, and which answers are used."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from reprise.matcher.daemon.told_programs import FRESH_S, KNOWN, PATH_BYTES, UNANSWERED_S, WANTED, ToldPrograms
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_identity import ProgramIdentity
from reprise.matcher.support.told_identities import OLDEST_S, Told
from tests.unit.asked_jobs import asked_about, started
from tests.unit.comparing_files import comparing_files
from tests.unit.matcher.daemon.test_program_files import stored
from tests.unit.matcher_daemon import Daemon, request
from tests.waiting import wait_for

ALICE, BOB = 2001, 2002
PATH = "/work/a.out"
JOB = JobMetadata("alice", path=PATH)
BUILD = ProgramIdentity(build_id=20 * "ab")
NOW = 1.7e9


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


def told_programs(stored: Iterable[Told] = (), clock: Clock | None = None) -> ToldPrograms:
    return ToldPrograms(lambda uid, _: stored if uid == ALICE else (), clock or Clock(), wait_s=60)


def known(programs: ToldPrograms, uid: int = ALICE, job: JobMetadata = JOB) -> str:
    async def ask() -> str:
        return (await programs.identified(job, uid)).build_id

    return asyncio.run(ask())


def test_an_answer_is_used_only_for_the_same_user_and_path() -> None:
    programs = told_programs()
    programs.want("d-1", ALICE, PATH)
    assert programs.path_to_ask("d-1", ALICE) == PATH
    assert programs.answered("d-1", ALICE) == PATH
    assert programs.remember(ALICE, PATH, BUILD) == Told(PATH, BUILD, NOW)
    assert known(programs) == BUILD.build_id
    assert known(programs, BOB) == ""
    assert known(programs, job=dataclasses.replace(JOB, path="/work/b.out")) == ""
    assert known(programs, job=dataclasses.replace(JOB, path="a.out")) == ""


def test_only_the_jobs_user_is_asked_and_only_once() -> None:
    programs = told_programs()
    programs.want("d-1", ALICE, PATH)
    assert [programs.path_to_ask(name, uid) for name, uid in (("d-1", BOB), ("d-2", ALICE), (None, ALICE))] == [
        None
    ] * 3
    assert programs.path_to_ask("d-1", ALICE) == PATH
    assert programs.path_to_ask("d-1", ALICE) is None


def test_an_answer_without_a_question_is_rejected() -> None:
    programs = told_programs()
    programs.want("d-1", ALICE, PATH)
    assert programs.answered("d-1", ALICE) is None
    assert programs.path_to_ask("d-1", ALICE)
    assert [programs.answered("d-1", BOB), programs.answered("d-2", ALICE)] == [None, None]
    assert programs.answered("d-1", ALICE) == PATH
    assert programs.answered("d-1", ALICE) is None, "an answer is accepted only once"


def test_a_program_is_asked_about_again_once_its_answer_is_no_longer_fresh() -> None:
    clock = Clock()
    programs = told_programs([Told(PATH, BUILD, NOW)], clock)
    assert known(programs)
    programs.want("d-1", ALICE, PATH)
    assert programs.path_to_ask("d-1", ALICE) is None
    clock.now += FRESH_S + 1
    programs.want("d-2", ALICE, PATH)
    assert programs.path_to_ask("d-2", ALICE) == PATH


def test_an_old_answer_is_no_longer_used() -> None:
    clock = Clock()
    programs = told_programs([Told(PATH, BUILD, NOW)], clock)
    assert known(programs)
    clock.now += OLDEST_S + 1
    assert known(programs) == ""


def test_the_newest_stored_answer_is_used() -> None:
    newer = ProgramIdentity(build_id=20 * "cd")
    programs = told_programs([Told(PATH, BUILD, NOW - 9), Told(PATH, newer, NOW - 5)])
    assert known(programs) == newer.build_id
    programs.want("d-1", ALICE, PATH)
    assert programs.path_to_ask("d-1", ALICE) is None, "it is fresh"


def test_answers_loaded_late_do_not_replace_newer_ones() -> None:
    goes_on = threading.Event()

    def waits(uid: int, since: float) -> Iterable[Told]:
        assert goes_on.wait(60)
        return [Told(PATH, ProgramIdentity(build_id="00"), NOW - 5)]

    async def play() -> None:
        programs = ToldPrograms(waits, Clock(), wait_s=0.01)
        assert await programs.identified(JOB, ALICE) == JOB
        programs.remember(ALICE, PATH, BUILD)
        goes_on.set()
        while not programs._loading[ALICE].done():
            await asyncio.sleep(0.01)
        assert (await programs.identified(JOB, ALICE)).build_id == BUILD.build_id

    asyncio.run(play())


def test_answers_that_cannot_be_loaded_leave_the_program_unknown() -> None:
    def fails(uid: int, since: float) -> Iterable[Told]:
        raise OSError

    assert known(ToldPrograms(fails, Clock(), wait_s=60)) == ""


def test_no_job_is_asked_about_a_very_long_path() -> None:
    programs = told_programs()
    programs.want("d-1", ALICE, "/" + "x" * PATH_BYTES)
    assert programs.path_to_ask("d-1", ALICE) is None


def test_only_one_of_many_waiting_jobs_is_asked_about_a_program() -> None:
    clock = Clock()
    programs = told_programs(clock=clock)
    for number in range(9):
        programs.want(f"d-{number}", ALICE, PATH)
    programs.want("d-b", BOB, PATH)
    assert programs.path_to_ask("d-0", ALICE) == PATH
    assert programs.path_to_ask("d-1", ALICE) is None, "the first job may be about to answer"
    assert programs.path_to_ask("d-b", BOB) == PATH, "another user's job is asked separately"
    clock.now += UNANSWERED_S + 1
    assert programs.path_to_ask("d-2", ALICE) == PATH
    assert programs.answered("d-2", ALICE) == PATH
    programs.remember(ALICE, PATH, BUILD)
    clock.now += UNANSWERED_S + 1
    assert programs.path_to_ask("d-3", ALICE) is None, "the program was reported just now"
    clock.now += FRESH_S
    assert programs.path_to_ask("d-4", ALICE) == PATH


def test_a_flood_displaces_only_entries_of_its_own_user() -> None:
    programs = told_programs()
    programs.want("d-b", BOB, PATH)
    programs.remember(BOB, PATH, BUILD)
    for number in range(max(WANTED, KNOWN) + 1):
        programs.want(f"d-{number}", ALICE, f"{PATH}-{number}")
        programs.remember(ALICE, f"{PATH}-{number}", BUILD)
    assert known(programs, BOB) == BUILD.build_id
    assert programs._wanted.get(BOB, "d-b")
    assert [programs._known.get(ALICE, f"{PATH}-{number}") is None for number in (0, 1, 2)] == [True, True, False]
    assert [programs._wanted.get(ALICE, f"d-{number}") is None for number in (0, 1, 2)] == [True, True, False]


@pytest.mark.slow
def test_a_program_reported_by_one_job_is_identified_for_the_next_job(daemon: Daemon, tmp_path: Path) -> None:
    """The daemon cannot read the program, because the file's mode lets only its owner read it."""
    program = tmp_path / "a.out"
    shutil.copy("/usr/bin/env", program)
    program.chmod(0o700)
    asked = request(f"#!/bin/sh\nmpirun {program}\n")
    daemon.configure(comparing_files(tmp_path / "files.toml"))
    daemon.start()
    first = asked_about(daemon, program, asked)
    assert daemon.ask(started(first)) == {"v": 1, "kind": "ok"}, "once"
    told = {"build_id": 20 * "ab", "functions": 32 * "f", "imports": "", "contents": 32 * "c"}
    assert daemon.ask({"v": 1, "kind": "identity", "decision": first, **told}) == {"v": 1, "kind": "ok"}
    wait_for("the reported program", lambda: "told_at" in stored(daemon, first))
    # In the first round, the daemon has the identity in memory. In the second, after the restart, it must read the
    # identity from the database, for which a decision waits only briefly; therefore, decisions are requested until one
    # has the identity.
    for _ in range(2):
        wait_for("the identity of the program", lambda: stored(daemon, daemon.ask(asked)["id"])["contents"])
        second = daemon.ask(asked)["id"]
        for found in (stored(daemon, first), stored(daemon, second)):
            assert {name: found[name] for name in told} == told
        assert "told_at" not in stored(daemon, second), "the first job reported the program"
        assert daemon.ask(started(second)) == {"v": 1, "kind": "ok"}, "the program was reported just now"
        daemon.stop()
        daemon.start()


def test_only_the_report_of_a_start_is_answered_with_a_question(daemon: Daemon, tmp_path: Path) -> None:
    program = tmp_path / "a.out"
    shutil.copy("/usr/bin/env", program)
    program.chmod(0o700)
    daemon.configure(comparing_files(tmp_path / "files.toml"))
    daemon.start()
    decision = daemon.ask(request(f"#!/bin/sh\nmpirun {program}\n"))["id"]
    for state in ({"state": "step", "present": 0}, {"state": "ended", "elapsed_s": 1.0, "exit_status": 0}):
        assert daemon.ask(started(decision, **state)) == {"v": 1, "kind": "ok"}


def test_a_script_is_reported_as_text_and_stored_as_sketches(daemon: Daemon, tmp_path: Path) -> None:
    program = tmp_path / "model.py"
    program.write_text("secret = 1\n")
    program.chmod(0o700)
    daemon.configure(comparing_files(tmp_path / "files.toml"))
    daemon.start()
    decision = asked_about(daemon, program, request(f"#!/bin/sh\nsrun python {program}\n"))
    text = "import numpy\nimport scipy\nimport h5py\nimport mpi4py\n" + "step(one, two, three)\n" * 9
    daemon.ask({"v": 1, "kind": "identity", "decision": decision, "script": text})
    wait_for("the reported program", lambda: stored(daemon, decision)["contents"])
    found = stored(daemon, decision)
    assert len(found["imports"]) == len(found["contents"]) == 32 and "scipy" not in str(found)
