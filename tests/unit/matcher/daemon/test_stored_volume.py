# SPDX-License-Identifier: Apache-2.0
"""Test the stored form of a user's decisions, before and after the user's daily volume is used up."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import pytest

from reprise.database.decisions import DECISION
from reprise.matcher.daemon.allowance import Allowance
from reprise.matcher.daemon.event_rows import decision_entry, outcome_entry
from reprise.matcher.daemon.pending_writes import Entry
from reprise.matcher.daemon.quarantine_watch import Watch
from reprise.matcher.daemon.stored_volume import EVIDENCE_BYTES, SHORT_BELOW_BYTES, Volume, bytes_of, short
from reprise.matcher.decision.decide import Decided, Question, answered
from reprise.matcher.decision.guards import Policy
from reprise.matcher.linkage.linkage_model import load
from reprise.matcher.submission import Submission
from reprise.matcher.submission.stored_metadata import OMITTED, STORED_LIMIT
from reprise.matcher.support.explanation import job_text
from reprise.matcher.wire import protocol
from tests.unit.matcher_daemon import ME, SCRIPT, knowing, mine

UID = 2002


def made(*argv: str, script: str | None = None) -> Decided:
    """Return a decision about the submission `srun ARGV...`, or about a batch script if `script` is given."""
    known = knowing(mine(id=1), model=load("site"))
    submission = (
        Submission.for_script("/home/alice/job.sh", script, cwd="/home/alice")
        if script
        else Submission("srun", ("srun", *argv), "/home/alice")
    )
    question = Question(submission=submission, user=ME, uid=UID, point="submit", mode="on", at=1.7e9)
    return answered(question, known, Policy("test", openmpi=("4.1.4",)), "d-1")


def having(size: float) -> Volume:
    """Return a daily volume with `size` bytes left. The volume is never replenished."""
    return Volume(Allowance(size, 0.0))


def stored(entry: Entry) -> Any:
    assert entry.decision is not None
    return {name: json.loads(str(entry.decision[name])) for name in ("metadata", "fields", "alternatives", "injected")}


LONG: Sequence[Sequence[str]] = [
    ["./a", *(f"--{number:09}={'x' * 970}" for number in range(250))],
    ["./a", *("x" * 1000 for _ in range(250))],
    ["./a", *('"\\' * 500 for _ in range(250))],
    ["./a", *("\U0001f600" * 250 for _ in range(250))],
    ["./" + "a/" * 500 + "a", *(f"-{number}{'k' * 1000}" for number in range(250))],
    ["-J", "\x01" * 1024, "-D", "/" + "é" * 1000, "-A", "\x02" * 1024, "-p", "\x03" * 1024, "./a" + "\x7f" * 1000],
]


@pytest.mark.parametrize("argv", LONG, ids=range(len(LONG)))
def test_a_stored_decision_is_bounded_and_states_the_omitted_bytes(argv: Sequence[str]) -> None:
    entry = decision_entry(made(*argv), 1.0, having(1e9), forward=False)
    assert entry.decision is not None
    assert len(str(entry.decision["metadata"]).encode()) <= STORED_LIMIT
    assert len(json.dumps(entry.decision).encode()) < 6 * STORED_LIMIT, "including the stored part of the comparison"
    job = stored(entry)["metadata"]
    assert job["user"] == ME and job[OMITTED] > 0
    assert entry.size == bytes_of(entry.decision)
    told = " ".join(job_text(made(*argv).explained(1.0)))
    assert f"bytes left out {job[OMITTED]}" in told, "an explanation states the omitted bytes"


def test_a_typical_decision_is_stored_completely() -> None:
    one = made(script=SCRIPT)
    entry = decision_entry(one, 1.0, having(1e9), forward=False)
    assert OMITTED not in stored(entry)["metadata"]
    assert entry.decision == DECISION.encode(one.explained(1.0))


def test_a_reason_that_quotes_a_long_name_is_truncated() -> None:
    name = "OMPI_MCA_coll_tuned_" + "x" * 5_000
    reason = made(script=SCRIPT + f"export {name}=1\n").decision.reason
    assert name[:100] in reason and len(reason) <= protocol.REASON_LIMIT


def test_over_the_volume_decisions_are_shortened_and_then_only_evidence_is_stored() -> None:
    plain = made(script=SCRIPT)
    compared = dataclasses.replace(
        plain, explained=lambda ms: dataclasses.replace(plain.explained(ms), block="b", compared_id=1, block_size=2)
    )

    def told(one: Decided, volume: Volume) -> Any:
        entry = decision_entry(one, 1.0, volume, forward=True)
        return stored(entry) if entry.decision else None

    whole = told(plain, having(SHORT_BELOW_BYTES + 20_000))
    assert whole["fields"] and whole["metadata"]["options"]
    volume = having(SHORT_BELOW_BYTES)
    little = told(plain, volume)
    assert little["fields"] == [] and [one["record"] for one in little["alternatives"]] == [1]
    assert little["injected"] == whole["injected"], "the injected settings are always stored"
    job = little["metadata"]
    assert (job["user"], job["program"], job["nodes"], volume.shortened) == (ME, "lattice", 4, 1) and job[OMITTED] > 0
    row = DECISION.encode(short(plain.explained(1.0), 1))
    assert bytes_of(row) < 1_500, "short enough for about 60,000 decisions a day"
    volume = having(EVIDENCE_BYTES)
    assert told(plain, volume) is None and told(compared, volume)
    assert (volume.shortened, volume.unstored) == (1, 1)


def test_a_report_over_the_volume_is_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    job = protocol.ReportedJob(id=1, array_task=None, uid=UID)
    outcome = protocol.Outcome(state="started", decision=None, verdict="none", applied=0, job=job)
    watch, volume = Watch(lambda: 0.0, judges=False), having(300)
    entries = [outcome_entry(outcome, "test", 1.0, watch, volume, confirmed=False, forward=False) for _ in range(2)]
    assert [entry.write is None for entry in entries] == [False, True]
    assert volume.unstored == 1 and f"event=not-stored uid={UID}" in caplog.text
