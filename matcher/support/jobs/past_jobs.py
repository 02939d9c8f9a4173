# SPDX-License-Identifier: Apache-2.0
"""Decisions that past jobs in Slurm's accounting would get with the current records; nothing is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reprise.matcher.decision.decide import Knowledge, Question, answered
from reprise.matcher.decision.guards import Policy
from reprise.matcher.submission import Script, Submission
from reprise.matcher.submission.sacct import Accounted, Submitted
from reprise.matcher.support.explanation import NOT_LOGGED

JSON_VERSION = 1
VERDICTS = ("apply", "defer", "none")
UNSEEN = Script("", "")
"""Placeholder for an unknown batch script: accounting's rows have none.

Real submissions have a script; without this placeholder, decisions would be deferred until the script is known.
"""


@dataclass
class Share:
    """Number of submissions, and the node-hours of those submissions whose run time and size are known."""

    jobs: int = 0
    node_hours: float = 0.0

    def add(self, one: Submitted) -> None:
        """Add a submission and its node-hours, if known."""
        self.jobs += 1
        self.node_hours += one.node_hours or 0.0


@dataclass(frozen=True)
class History:
    """Results for past jobs, in total, by verdict, and by the record whose settings the jobs would get."""

    model: str
    unreadable: int
    total: Share = field(default_factory=Share)
    without_program: Share = field(default_factory=Share)
    without_time: int = 0
    with_script: int = 0
    verdicts: dict[str, Share] = field(default_factory=lambda: {verdict: Share() for verdict in VERDICTS})
    records: dict[int, Share] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON-ready dictionary for programs. Within a version, keys are only added."""
        return {
            "version": JSON_VERSION,
            "model": self.model,
            "unreadable": self.unreadable,
            "total": dataclasses.asdict(self.total),
            "without_program": dataclasses.asdict(self.without_program),
            "without_time": self.without_time,
            "with_script": self.with_script,
            "verdicts": {verdict: dataclasses.asdict(share) for verdict, share in self.verdicts.items()},
            "records": [{"record": number, **dataclasses.asdict(share)} for number, share in self.by_record()],
        }

    def by_record(self) -> list[tuple[int, Share]]:
        """Return each record with the jobs that would get its settings, in decreasing order of their node-hours."""
        return sorted(self.records.items(), key=lambda one: (-one[1].node_hours, -one[1].jobs, one[0]))


def replay(accounted: Accounted, knowledge: Knowledge, policy: Policy) -> History:
    """Decide about each submission as if the site's mode were "on", and return the totals."""
    policy = dataclasses.replace(policy, mode="on")
    found = History(knowledge.engine.model.label, accounted.unreadable)
    without_time = with_script = 0
    for one in accounted.submitted:
        made = answered(_question(one), knowledge, policy, NOT_LOGGED).decision
        shares = [found.total, found.verdicts[made.verdict]]
        if not one.job.program:
            shares.append(found.without_program)
        if made.record_id is not None:
            shares.append(found.records.setdefault(made.record_id, Share()))
        for share in shares:
            share.add(one)
        without_time += one.node_hours is None
        with_script += bool(one.command and one.command.script)
    return dataclasses.replace(found, without_time=without_time, with_script=with_script)


def _question(one: Submitted) -> Question:
    """Return the request for a decision about a submission.

    Accounting has only the user's name, so user ids in the lists of `[access]` have no effect.
    """
    command = one.command or Submission("sbatch")
    if command.command == "sbatch" and command.script is None:
        command = dataclasses.replace(command, script=UNSEEN)
    return Question(command, one.job.user, -1, "submit", "on", one.job.submit_time, metadata=one.job)


def texts(found: History) -> Iterator[str]:
    """Yield the lines that are printed above the tables."""
    yield f"{found.total.jobs} submissions, {found.total.node_hours:.1f} node-hours, by model {found.model}"
    if found.unreadable:
        yield f"Left out because they have no user or are truncated: {found.unreadable}"
    if found.without_time:
        yield f"Counted as 0 node-hours because their time or nodes are unknown: {found.without_time}"
    if found.with_script:
        yield f"Read with their scripts: {found.with_script}"
    if found.without_program.jobs and found.with_script:
        yield f"Without a known program: {found.without_program.jobs}"
    elif found.without_program.jobs:
        yield (
            f"Without a known program, since accounting's rows have no scripts: {found.without_program.jobs}; "
            "more of them would have matched with their scripts (--scripts)"
        )


def verdict_rows(found: History) -> list[tuple[str, str, str]]:
    """Return the rows of the table of verdicts, each with the verdict, jobs and node-hours."""
    return [(verdict, *_cells(share)) for verdict, share in found.verdicts.items()]


def record_rows(found: History) -> list[tuple[str, str, str]]:
    """Return the rows of the table of records, each with the record, jobs and node-hours."""
    return [(str(number), *_cells(share)) for number, share in found.by_record()]


def _cells(share: Share) -> tuple[str, str]:
    return str(share.jobs), f"{share.node_hours:.1f}"
