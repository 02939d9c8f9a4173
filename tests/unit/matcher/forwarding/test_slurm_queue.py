# SPDX-License-Identifier: Apache-2.0
"""Test how Slurm's list of running jobs is read: nothing that squeue prints makes a running job look ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from reprise.matcher.forwarding import slurm_queue
from reprise.matcher.forwarding.slurm_queue import QueuedJob, QueueError, ask, parsed

PRINTED = """\
4711                1001                8                   64                  RUNNING             
4712                1002                1                   1                   SUSPENDED           
4713                1002                1                   1                   COMPLETING          
4714                1002                2-4                 8                   PENDING             
"""  # noqa: W291 (as squeue prints it)


def test_running_and_suspended_jobs_are_listed_and_ended_and_waiting_ones_are_not() -> None:
    assert parsed(PRINTED) == {4711: QueuedJob(1001, 8, 64), 4712: QueuedJob(1002, 1, 1)}


def test_an_empty_queue_is_empty() -> None:
    assert parsed("") == {}


@pytest.mark.parametrize(
    "printed",
    [
        "4711 1001 8 64\n",
        "4711 1001 8 64 RUNNING more\n",
        "squeue: error: something\n",
        "4711 alice 8 64 RUNNING\n",
        "4711 1001 1K 64 RUNNING\n",
        PRINTED + "47",
        "4711_3 1001 8 64 RUNNING\n",
        "٤٧١١ 1001 8 64 RUNNING\n",
    ],
)
def test_an_unexpected_line_makes_the_whole_list_unusable(printed: str) -> None:
    with pytest.raises(QueueError, match="unexpected line"):
        parsed(printed)


def test_the_time_of_a_list_is_that_before_squeue_ran() -> None:
    times = iter([1.0, 2.0])

    def run(command: Sequence[str]) -> str:
        assert command[0] == "squeue"
        next(times)
        return PRINTED

    assert ask(run, lambda: next(times)).asked_at == 1.0


def squeue(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (directory / "squeue").write_text(f"#!/bin/sh\n{script}\n")
    (directory / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")


def test_variables_of_squeue_do_not_change_what_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUEUE_STATES", "PENDING")
    monkeypatch.setenv("SLURM_CLUSTERS", "other")
    squeue(tmp_path, '[ -z "$SQUEUE_STATES$SLURM_CLUSTERS" ] && echo "1 2 3 4 RUNNING"', monkeypatch)
    assert ask().jobs == {1: QueuedJob(2, 3, 4)}


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo '1 2 3 4 RUNNING'; echo down >&2; exit 1", r"squeue failed \(down\)"),
        ("exec sleep 60", "did not answer within"),
        ("kill -9 $$", "squeue failed"),
    ],
)
def test_a_failing_or_slow_squeue_gives_no_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    monkeypatch.setattr(slurm_queue, "TIMEOUT_S", 0.2 if "sleep" in script else 60.0)
    squeue(tmp_path, script, monkeypatch)
    with pytest.raises(QueueError, match=says) as caught:
        ask()
    assert "\n" not in str(caught.value)


def test_a_host_without_slurms_commands_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(QueueError, match="cannot be run"):
        ask()
