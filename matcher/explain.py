# SPDX-License-Identifier: Apache-2.0
"""Why a job got what it got: the rows of the waterfall and the sentences, as values. `matcher.report` shows them."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from database.model import Decision, Outcome, Record, ServiceRun
from matcher.decide import described
from matcher.linkage.result import PRIOR

JSON_VERSION = 1


@dataclass(frozen=True)
class Step:
    """A row of the waterfall. `total` is the score so far; parts of a field (`depth` 1) do not change it."""

    name: str
    depth: int
    left: str
    right: str
    similarity: float
    weight: float
    contribution: float
    total: float | None


def waterfall(fields: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    """The fields of a decision in order; a field of several parts is followed by them."""
    total = 0.0
    for field in fields:
        total += field["contribution"]
        yield _step(field, 0, total)
        if len(field["parts"]) > 1:
            for part in field["parts"]:
                yield _step(part, 1, None)


def _step(row: Mapping[str, Any], depth: int, total: float | None) -> Step:
    left, right = (value_text(row[side]) for side in ("left", "right"))
    return Step(row["name"], depth, left, right, row["similarity"], row["weight"], row["contribution"], total)


def value_text(value: Any) -> str:
    """A compared value for a person: options as on a command line, unknown as nothing."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        words = (f"{'-' * min(len(key), 2)}{key} {' '.join(values)}".strip() for key, values in value.items())
        return " ".join(words)
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def when(time: float) -> str:
    """A moment in this host's zone, e.g. `2026-11-21 14:03:10 CET`."""
    return datetime.fromtimestamp(time).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def exit_text(status: int) -> str:
    """A wait(2) status for a person."""
    try:
        code = os.waitstatus_to_exitcode(status)
    except (ValueError, OverflowError):  # no process ends with it
        return f"wait status {status}"
    if code < 0:
        return (
            f"killed by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"killed by signal {-code}"
        )
    return f"exit status {code}"


def headline(decision: Decision) -> str:
    """The verdict as one sentence."""
    return {
        "apply": f"It was given settings of {decision.reason}.",
        "none": f"It was given nothing: {decision.reason}.",
        "observe": f"It was given nothing: {decision.reason}.",
        "holdout": f"It was given nothing, for comparison: {decision.reason}.",
        "defer": f"The answer was put off: {decision.reason}.",
    }.get(decision.verdict, f"{decision.verdict}: {decision.reason}.")


def score_text(decision: Decision) -> str:
    """The score against the threshold."""
    if decision.score is None:
        return f"There was no record to compare with (threshold {decision.threshold:.4f})"
    relation = "reaches" if decision.score >= decision.threshold else "is under"
    bits = f" ({sum(field['contribution'] for field in decision.fields):+.2f} bits)" if in_bits(decision) else ""
    return (
        f"Score {decision.score:.4f}{bits} {relation} the threshold {decision.threshold:.4f} of model {decision.model}"
    )


def in_bits(decision: Decision) -> bool:
    """Whether its model adds log-odds, of which the score is the probability."""
    return bool(decision.fields) and decision.fields[0]["name"] == PRIOR


def record_text(record: Record) -> str:
    """What the record is."""
    whose = "tuned for the whole cluster" if not record.metadata else f"tuned for {described(record)}"
    source = "" if record.campaign_id is None else f", campaign {record.campaign_id}"
    made = when(record.created_at)
    return (
        f"record {record.id}: {record.component} {record.component_version}, {whose}, {made}{source}; "
        f"measured gain {record.gain:.1%} ({record.gain_low:.1%} to {record.gain_high:.1%}); now {record.status}"
    )


def outcome_text(outcome: Outcome) -> str:
    """What a job reported of one start."""
    task = "" if outcome.array_task is None else f"array task {outcome.array_task} (job {outcome.job_id}): "
    verdicts = {
        "off": "Reprise was switched off for it, by its user (--reprise=off) or by the site",
        "unreachable": "no matcher answered in time, and it ran with defaults",
    }
    variables = f"{outcome.applied} variable{'s' * (outcome.applied != 1)} set"
    told = verdicts.get(outcome.verdict, f"verdict {outcome.verdict}, {variables}")
    if outcome.ended_at is None:
        return f"{task}started {when(outcome.started_at)}; {told}; its end was not reported"
    elapsed = "" if outcome.elapsed_s is None else f" after {outcome.elapsed_s:.1f} s"
    status = "" if outcome.exit_status is None else f", {exit_text(outcome.exit_status)}"
    return f"{task}started {when(outcome.started_at)}, ended {when(outcome.ended_at)}{elapsed}{status}; {told}"


def silence_text(
    job: str, submitted: float | None, served: bool, before: ServiceRun | None, after: ServiceRun | None
) -> str:
    """Why nothing is known of a job that Slurm says was `submitted` then (None: Slurm does not know it either).

    `served`: one run of the daemon covers that second; `before` and `after` are the runs that started around it.
    """
    if submitted is None:
        return f"nothing is known of job {job}: neither the matcher nor Slurm has it: check the number"
    if served:
        return (
            f"the matcher was running when job {job} was submitted ({when(submitted)}), and was not asked: "
            "run `reprise doctor` on the host that submitted it"
        )
    ended = "it had not run before" if not before else _end_of(before)
    begun = "it has not run since" if not after else f"started {when(after.started_at)}"
    return f"the matcher was not running when job {job} was submitted, {when(submitted)} ({ended}, {begun})"


def _end_of(run: ServiceRun) -> str:
    return f"stopped {when(run.stopped_at)}" if run.stopped_at else f"last seen {when(run.seen_at)}"


def as_json(
    decisions: Sequence[Decision], outcomes: Sequence[Outcome], records: Mapping[int, Record]
) -> dict[str, Any]:
    """Everything, for programs. Keys are only ever added within a version."""
    return {
        "version": JSON_VERSION,
        "decisions": [dataclasses.asdict(decision) for decision in decisions],
        "outcomes": [dataclasses.asdict(outcome) for outcome in outcomes],
        "records": {str(key): dataclasses.asdict(record) for key, record in records.items()},
    }
