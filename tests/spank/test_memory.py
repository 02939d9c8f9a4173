# SPDX-License-Identifier: Apache-2.0
"""No allocation that fails can crash a command, or give a job half of a decision."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spank.conftest import Played, Stub
from tests.spank.daemon import FakeDaemon, decision
from tests.spank.test_jobstep import BATCH_STEP, CARRIED, ITEM, NO_VAL

ENV = {"SRO_A": "one", "OMPI_MCA_b": "two"}


@pytest.fixture
def failing(stub: Stub, binaries: Path) -> Stub:
    return dataclasses.replace(stub, program=binaries / "stub_oom")


def for_each_allocation(play: Callable[[dict[str, str]], Played], check: Callable[[Played], None]) -> int:
    """Let the first allocation fail, then the second, ... until none is left; alone, and with all after it."""
    at = 1
    while True:
        for after in ({}, {"FAIL_AFTER": "1"}):
            played = play({"FAIL_AT": str(at), **after})
            check(played)
        if played.allocations < at:
            return at
        at += 1


def test_a_submission_survives_every_failing_allocation(failing: Stub, daemon: FakeDaemon) -> None:
    (failing.directory / "job.sh").write_text("#!/bin/sh\n")
    daemon.reply = decision("apply", ENV, score=0.5, record=1)

    def check(played: Played) -> None:
        text = played.control.get("REPRISE")
        if text is not None:
            assert json.loads(text)["env"] in ({}, ENV)

    env = {"SLURM_A": "1", "SRO_C": "3"}
    count = for_each_allocation(lambda more: failing.submit(option="explain", env={**env, **more}), check)
    assert count > 50
    daemon.refused.clear()  # json-c leaves out what it has no memory for; the daemon refuses such a request


def test_a_job_survives_every_failing_allocation(failing: Stub, daemon: FakeDaemon) -> None:
    lines = [
        "context remote",
        *failing.settings(),
        f"item {ITEM['uid']} {os.geteuid()}",
        f"item {ITEM['job']} 1",
        f"item {ITEM['step']} {BATCH_STEP}",
        f"item {ITEM['array_task']} {NO_VAL}",
        f"item {ITEM['exit_status']} 0",
        f"job SLURM_SPANK_REPRISE={json.dumps(CARRIED)}",
        *(f"call {hook}" for hook in ("init", "user_init", "task_exit")),
    ]

    def check(played: Played) -> None:
        given = {name: value for name, value in played.job.items() if not name.startswith("SLURM_")}
        assert given.items() <= {"OMPI_MCA_a": "1", "SRO_B": "2", "REPRISE_DECISION": "d-9"}.items()

    assert for_each_allocation(lambda more: failing.play(*lines, argv=["slurmstepd"], env=more), check) > 20
    daemon.refused.clear()
