# SPDX-License-Identifier: Apache-2.0
"""Test questions to jobs about their programs, and the limit on one user's answers processed at the same time."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from reprise.matcher.daemon import job_programs
from reprise.matcher.daemon.job_programs import TAKEN_AT_ONCE, JobPrograms
from reprise.matcher.daemon.pending_writes import Unmade
from reprise.matcher.daemon.program_files import ProgramFiles
from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.decision.decide import Question
from reprise.matcher.submission.program_identity import UNKNOWN, ProgramIdentity
from reprise.matcher.wire import protocol
from tests.unit.asked_jobs import started
from tests.unit.matcher_daemon import request

ALICE, BOB = 2001, 2002
PATH = "/nowhere/a.out"


def job_programs_of(put: list[Unmade]) -> JobPrograms:
    """Return the `JobPrograms` of a daemon whose model compares program files. Its journal entries go to `put`."""
    model = SimpleNamespace(compares_program_files=True)
    config = SimpleNamespace(matcher=SimpleNamespace(identity=True), database=SimpleNamespace(path="/nowhere/db"))
    basis: Any = SimpleNamespace(config=config, knowledge=SimpleNamespace(engine=SimpleNamespace(model=model)))
    programs = JobPrograms(basis, FairThreads(1, 1, "test"), put.append)
    programs._files = ProgramFiles(wait_s=60)
    return programs


def outcome(decision: str) -> protocol.Outcome:
    read = protocol.Outcome.model_validate(started(decision))
    assert isinstance(read, protocol.Outcome)
    return read


@pytest.mark.parametrize(("command", "path"), [("sbatch", PATH), ("batch", PATH), ("srun", None), ("salloc", None)])
def test_only_a_batch_job_is_asked_about_its_program(command: str, path: str | None) -> None:
    asked = request(f"#!/bin/sh\nmpirun {PATH}\n")
    asked["submission"] = {**asked["submission"], "command": command}
    decide = protocol.Decide.model_validate(asked)
    question = Question(decide.submission, "alice", ALICE, "submit", "on", 1.7e9)
    programs = job_programs_of([])
    asyncio.run(programs.identified(question, inline=True, decision="d-1"))
    assert programs.path_to_ask(outcome("d-1"), ALICE) == path


def test_no_job_is_asked_while_identity_is_switched_off() -> None:
    programs = job_programs_of([])
    programs._told.want("d-1", ALICE, PATH)
    matcher: Any = programs._basis.config.matcher
    matcher.identity = False
    assert programs.path_to_ask(outcome("d-1"), ALICE) is None
    matcher.identity = True
    assert programs.path_to_ask(outcome("d-1"), ALICE) == PATH


def test_the_number_of_a_users_answers_taken_at_once_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()

    def understand(text: str) -> ProgramIdentity:
        assert goes_on.wait(60)
        return UNKNOWN

    monkeypatch.setattr(job_programs, "identity_of_script", understand)
    put: list[Unmade] = []
    programs = job_programs_of(put)

    async def play() -> None:
        for uid, count in ((ALICE, TAKEN_AT_ONCE + 5), (BOB, 1)):
            for number in range(count):
                decision = f"d-{uid}-{number}"
                programs._told.want(decision, uid, f"{PATH}-{number}")
                assert programs.path_to_ask(outcome(decision), uid)
                programs.take(protocol.Identity(decision=decision, script="x"), uid)
        goes_on.set()
        while programs._taking:
            await asyncio.sleep(0.01)

    asyncio.run(play())
    assert [sum(one.uid == uid for one in put) for uid in (ALICE, BOB)] == [TAKEN_AT_ONCE, 1]
