# SPDX-License-Identifier: Apache-2.0
"""Measure whether false reports of ended jobs can quarantine a good record, shield a harmful one, or change a gain.

Each liar requests a decision for a job similar to the victim's, then reports the end of a job that never ran. The
report is sent in each way that the protocol allows: for the liar's own decision, in the victim's name, and in the form
in which replicas forward reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.trust.users import ALICE, MALLORY, ROOT, Speaker, ended, of_user, serving, speakers
from reprise.database import Database
from reprise.database.entities import RecordStatus
from reprise.matcher.benefit import record_benefit
from tests.unit.matcher_daemon import Daemon, request
from tests.waiting import wait_for

REPORTS = 10_000
LIARS = (1, 2, 3)
HONEST = 120
"""Number of the victim's jobs, more than are needed to detect a record that makes jobs take 50 % longer."""
LIES_EACH = 2
LIES = 3
"""Number of reports for each false end of a job: one in each of the three ways."""
LOOKS_S = 3.0
"""Seconds after which the daemon has certainly compared the ended jobs, which it does twice a second."""
GOOD, HARMFUL = 0.7, 1.5
"""Run time of a job with a record's settings, divided by the run time without them."""

Lie = Callable[[bool], float]


def measure(scratch: Path, reports: int = REPORTS) -> dict[str, float]:
    """Return `lies_quarantined` and `lies_shielded` (numbers of records) and `gain_moved_pct` (percentage points)."""
    quarantined, moved = 0, 0.0
    for count in LIARS:
        found = _of_a_good_record(scratch / f"good-{count}", count, reports)
        quarantined += found[0]
        moved = max(moved, found[1])
    shielded = sum(_of_a_harmful_record(scratch / f"bad-{count}", count) for count in LIARS)
    return {"lies_quarantined": quarantined, "lies_shielded": shielded, "gain_moved_pct": round(moved, 3)}


def _of_a_good_record(directory: Path, liars: int, reports: int) -> tuple[int, float]:
    """Return (1 if lies quarantined the good record for any user, else 0; change of its gain in percentage points)."""
    with (
        serving(directory, "holdout = 0.5", records=[of_user(ALICE)]) as daemon,
        speakers(daemon, ROOT, ALICE, *(MALLORY + number for number in range(liars))) as (slurmstepd, alice, *others),
    ):
        for number in range(HONEST):
            _honest(alice, slurmstepd, number, GOOD)
        before = _gain(daemon, HONEST)
        for number in range(reports // (LIES * liars)):
            for liar in others:
                _lie(liar, 10_000 + number, lambda held_out: 1.0 if held_out else 900.0)
        time.sleep(LOOKS_S)
        after = _gain(daemon, HONEST)
        return _is_quarantined(daemon), abs(after - before) * 100


def _of_a_harmful_record(directory: Path, liars: int) -> int:
    """Return 1 if the victim's jobs still get the harmful record at the end, else 0."""
    with (
        serving(directory, "holdout = 0.5", records=[of_user(ALICE)]) as daemon,
        speakers(daemon, ROOT, ALICE, *(MALLORY + number for number in range(liars))) as (slurmstepd, alice, *others),
    ):
        for number in range(HONEST):
            for place in range(LIES_EACH):
                for liar in others:
                    _lie(liar, 10_000 + LIES_EACH * number + place, lambda held_out: 900.0 if held_out else 1.0)
            _honest(alice, slurmstepd, number, HARMFUL)
        time.sleep(LOOKS_S)
        return int(alice.ask(request())["verdict"] != "none")


def _honest(alice: Speaker, slurmstepd: Speaker, number: int, ratio: float) -> None:
    """Simulate a job of the victim: alice requests a decision, and slurmstepd reports the job's end."""
    reply = alice.ask(request())
    if reply.get("verdict") in ("apply", "holdout"):
        seconds = 10.0 * (1 + number % 7 / 50) * (ratio if reply["verdict"] == "apply" else 1.0)
        slurmstepd.ask(ended(reply, number, alice.uid, seconds))


def _lie(liar: Speaker, number: int, seconds: Lie) -> None:
    reply = liar.ask(request())
    told = seconds(reply.get("verdict") == "holdout")
    message = ended(reply, number, liar.uid, told)
    liar.ask(message)
    liar.ask({**message, "job": {**message["job"], "uid": ALICE}})
    liar.ask({"v": 1, "kind": "forward", "entries": [{"kind": "outcome", "state": "ended", "row": _row(message)}]})


def _row(message: Mapping[str, Any]) -> dict[str, Any]:
    now = time.time()
    job = message["job"]
    return {
        **{"cluster": "test", "job_id": job["id"], "uid": job["uid"], "verdict": "apply", "confirmed": 1},
        **{"started_at": now - message["elapsed_s"], "ended_at": now, "elapsed_s": message["elapsed_s"]},
        **{"decision_id": message["decision"], "exit_status": 0, "applied": 2, "unreadable": 0},
    }


def _gain(daemon: Daemon, ends: int) -> float:
    """Wait until the database has this number of ended jobs, then return the record's gain in production."""

    def found() -> Sequence[Any] | None:
        with Database.open(daemon.database, read_only=True) as database:
            runs = database.compared(1)
        return runs if sum(run.elapsed_s is not None for run in runs) >= ends else None

    return record_benefit.measured(wait_for("the honest ends", found, 60)).gain or 0.0


def _is_quarantined(daemon: Daemon) -> int:
    with Database.open(daemon.database, read_only=True) as database:
        return int(bool(database.user_quarantines(1)) or database.record(1).status is not RecordStatus.ACTIVE)
