# SPDX-License-Identifier: Apache-2.0
"""Test that failing memory allocations never crash a command and never give a job only part of a decision."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.life import BOUND_MS
from tests.spank.conftest import Played, Stub
from tests.spank.daemon import FakeDaemon, decision
from tests.spank.test_jobstep import BATCH_STEP, CARRIED, ITEM, NO_VAL

ENV = {"SRO_A": "one", "OMPI_MCA_b": "two"}


@pytest.fixture
def daemon(stub: Stub) -> Iterator[FakeDaemon]:
    with FakeDaemon(stub.socket).listening() as listening:
        yield listening


@pytest.fixture
def failing(stub: Stub, binaries: Path) -> Stub:
    return dataclasses.replace(stub, program=binaries / "stub_oom")


def for_each_allocation(play: Callable[[dict[str, str]], Played], check: Callable[[Played], None]) -> int:
    """Make each allocation fail, alone and with all later allocations; return the number of allocations plus one."""
    at = 1
    while True:
        for after in ({}, {"FAIL_AFTER": "1"}):
            played = play({"FAIL_AT": str(at), **after})
            assert played.log == [] or played.log[0][1].startswith("reprise: "), "the plugin logs only its own lines"
            assert all(elapsed < 1000 + BOUND_MS for _, _, elapsed in played.calls), (
                "a failing allocation does not make the plugin wait"
            )
            check(played)
        if played.failing < at:
            return at
        at += 1


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "carried"),
    [(BATCH_STEP, [CARRIED]), (BATCH_STEP, []), (0, [CARRIED])],
    ids=["carried", "asked", "first-step"],
)
def test_a_job_survives_every_failing_allocation(
    failing: Stub, daemon: FakeDaemon, step: int, carried: list[object]
) -> None:
    daemon.reply = decision("apply", {"OMPI_MCA_a": "1", "SRO_B": "2"}, id="d-9")
    lines = [
        "context remote",
        *failing.settings(),
        f"item {ITEM['uid']} {os.geteuid()}",
        f"item {ITEM['job']} 1",
        f"item {ITEM['step']} {step}",
        f"item {ITEM['node']} 0",
        f"item {ITEM['array_task']} {NO_VAL}",
        f"item {ITEM['exit_status']} 0",
        *(f"job SLURM_SPANK_REPRISE={json.dumps(one)}" for one in carried),
        *(f"call {hook}" for hook in ("init", "user_init", "task_exit")),
    ]

    def check(played: Played) -> None:
        given = {name: value for name, value in played.job.items() if not name.startswith("SLURM_")}
        assert given in ({}, {"OMPI_MCA_a": "1", "SRO_B": "2", "REPRISE_DECISION": "d-9"})

    assert for_each_allocation(lambda more: failing.play(*lines, argv=["slurmstepd"], env=more), check) > 20


def budgets(first: int, last: int, step: int) -> list[dict[str, str]]:
    return [{"FAIL_BUDGET": str(size)} for size in range(first, last, step)]


def test_a_job_gets_its_whole_decision_or_none_however_little_memory_there_is(failing: Stub) -> None:
    carried = {"v": 1, "id": "d-9", "verdict": "apply", "env": {f"SRO_{i}": "1234" for i in range(64)}}
    lines = [
        "context remote",
        *failing.settings(),
        f"item {ITEM['uid']} {os.geteuid()}",
        f"item {ITEM['step']} 0",
        f"job SLURM_SPANK_REPRISE={json.dumps(carried)}",
        "call user_init",
    ]

    def given(env: dict[str, str]) -> int:
        return sum(name.startswith("SRO_") for name in failing.play(*lines, argv=["slurmstepd"], env=env).job)

    # With 76 to 84 KB of memory, json-c cannot enlarge its table, and drops the 43rd and all later variables. The
    # plugin must then set no variable at all.
    assert {given(env) for env in [*budgets(70_000, 90_000, 500), *budgets(100_000, 700_000, 50_000)]} == {0, 64}


def test_a_script_is_sent_whole_or_not_at_all_however_little_memory_there_is(failing: Stub, daemon: FakeDaemon) -> None:
    script = 'a"\n' * 20_000
    (failing.directory / "job.sh").write_text(script)
    for env in [*budgets(50_000, 700_000, 10_000)]:
        failing.submit(env=env)
    scripts = [asked.message["submission"]["script"] for asked in daemon.asked]
    assert {text and text["text"] for text in scripts} <= {script, None}
