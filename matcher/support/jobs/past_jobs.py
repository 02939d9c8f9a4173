# SPDX-License-Identifier: Apache-2.0
"""Jobs of the past, out of Slurm's accounting, decided about with the records of today. Nothing is written."""

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
"""Accounting does not keep scripts. At a real submission it would be seen, so that it is nothing to wait for."""


@dataclass
class Share:
    """Submissions, and the node-hours of those of which they are known."""

    jobs: int = 0
    node_hours: float = 0.0

    def add(self, one: Submitted) -> None:
        self.jobs += 1
        self.node_hours += one.node_hours or 0.0


@dataclass(frozen=True)
class History:
    """What would have become of `total`. `records`: of those that would have been given settings of each."""

    model: str
    unreadable: int
    total: Share = field(default_factory=Share)
    without_program: Share = field(default_factory=Share)
    without_time: int = 0
    verdicts: dict[str, Share] = field(default_factory=lambda: {verdict: Share() for verdict in VERDICTS})
    records: dict[int, Share] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """For programs. Keys are only ever added within a version."""
        return {
            "version": JSON_VERSION,
            "model": self.model,
            "unreadable": self.unreadable,
            "total": dataclasses.asdict(self.total),
            "without_program": dataclasses.asdict(self.without_program),
            "without_time": self.without_time,
            "verdicts": {verdict: dataclasses.asdict(share) for verdict, share in self.verdicts.items()},
            "records": [{"record": number, **dataclasses.asdict(share)} for number, share in self.by_record()],
        }

    def by_record(self) -> list[tuple[int, Share]]:
        """Most node-hours first."""
        return sorted(self.records.items(), key=lambda one: (-one[1].node_hours, -one[1].jobs, one[0]))


def replay(accounted: Accounted, knowledge: Knowledge, policy: Policy) -> History:
    """Decide about each submission as if the site gave settings, whatever its mode is."""
    policy = dataclasses.replace(policy, mode="on")
    found = History(knowledge.engine.model.label, accounted.unreadable)
    without_time = 0
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
    return dataclasses.replace(found, without_time=without_time)


def _question(one: Submitted) -> Question:
    """Its submission. Who it was is told by name only: lists of `[access]` that name ids do not count."""
    command = one.command or Submission("sbatch")
    if command.command == "sbatch":
        command = dataclasses.replace(command, script=UNSEEN)
    return Question(command, one.job.user, -1, "submit", "on", one.job.submit_time, metadata=one.job)


def texts(found: History) -> Iterator[str]:
    """For a person, but for the tables."""
    yield f"{found.total.jobs} submissions, {found.total.node_hours:.1f} node-hours, by model {found.model}"
    if found.unreadable:
        yield f"Left out, without a user or cut short: {found.unreadable}"
    if found.without_time:
        yield f"Of {found.without_time} it is not told how long they ran, or on how many nodes: 0 node-hours"
    if found.without_program.jobs:
        yield (
            f"Of {found.without_program.jobs} the program is not known, for accounting keeps no scripts: more of them "
            "would have matched than is told here"
        )


def verdict_rows(found: History) -> list[tuple[str, str, str]]:
    """The verdicts with their shares."""
    return [(verdict, *_cells(share)) for verdict, share in found.verdicts.items()]


def record_rows(found: History) -> list[tuple[str, str, str]]:
    """The records with theirs."""
    return [(str(number), *_cells(share)) for number, share in found.by_record()]


def _cells(share: Share) -> tuple[str, str]:
    return str(share.jobs), f"{share.node_hours:.1f}"
