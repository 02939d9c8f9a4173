# SPDX-License-Identifier: Apache-2.0
"""Comparison of a job's run time with those of other jobs that matched the same record on the same number of nodes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reprise.database.for_support import SupportDatabase
    from reprise.matcher.support.job_story import Story
    from reprise.matcher.support.staff import Reader

KINDS = ("given", "held out")


@dataclass(frozen=True)
class Spread:
    """Quartiles of the run times of `jobs` jobs, in seconds; each is None if there are no jobs."""

    jobs: int
    lower: float | None
    median: float | None
    upper: float | None


@dataclass(frozen=True)
class Run:
    """A run of the job: its run time in seconds, whether it succeeded, and which fraction of other jobs took longer.

    The fraction is computed separately for jobs that got the settings and for held-out jobs; it is None if there are no
    such jobs. A job that took equally long counts as half a job.
    """

    elapsed_s: float
    succeeded: bool
    slower_given: float | None
    slower_held_out: float | None


@dataclass(frozen=True)
class Beside:
    """The runs of one job, and the run times of other successful jobs that matched its record on `nodes` nodes.

    `kind` is one of KINDS, or "" if the job was only observed.
    """

    record: int
    nodes: int | None
    kind: str
    given: Spread
    held_out: Spread
    runs: Sequence[Run]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON-ready dictionary for programs."""
        return asdict(self)


def of_story(database: SupportDatabase, story: Story, reader: Reader) -> Beside | None:
    """Compare a job's run times with those of other jobs that matched the same record.

    The record is that of the job's newest decision that has one. Return None if no decision has one. Only jobs that
    `reader` may see are compared.
    """
    decision = next((one.decision for one in story.decisions if one.decision.record_id is not None), None)
    if decision is None or decision.record_id is None:
        return None
    nodes = decision.metadata.get("nodes")
    given, held_out = database.alike(
        decision.record_id, nodes, but=decision.id, uid=None if reader.staff else reader.uid
    )
    runs = [
        run(one.elapsed_s, one.exit_status == 0, given, held_out)
        for one in story.outcomes
        if one.decision_id == decision.id and one.elapsed_s is not None
    ]
    withheld = decision.held_out and decision.compared_id == decision.record_id
    kind = "held out" if withheld else {"apply": "given", "holdout": "held out"}.get(decision.verdict, "")
    return Beside(decision.record_id, nodes, kind, spread(given), spread(held_out), runs)


def spread(seconds: Sequence[float]) -> Spread:
    """Return the quartiles of run times; a quartile that falls between two jobs is interpolated."""
    if len(seconds) < 2:
        only = seconds[0] if seconds else None
        return Spread(len(seconds), only, only, only)
    lower, median, upper = statistics.quantiles(seconds, n=4, method="inclusive")
    return Spread(len(seconds), lower, median, upper)


def run(elapsed_s: float, succeeded: bool, given: Sequence[float], held_out: Sequence[float]) -> Run:
    """Return a run of the job, with the shares of the other jobs that took longer."""
    return Run(elapsed_s, succeeded, _slower(elapsed_s, given), _slower(elapsed_s, held_out))


def _slower(elapsed_s: float, others: Sequence[float]) -> float | None:
    if not others:
        return None
    return sum(0.5 if other == elapsed_s else float(other > elapsed_s) for other in others) / len(others)


def texts(found: Beside) -> Iterator[str]:
    """Yield the lines that describe the comparison."""
    nodes = "an unknown number of nodes" if found.nodes is None else f"{found.nodes} node{'s' * (found.nodes != 1)}"
    yield f"Compared with other successful jobs of record {found.record} on {nodes}:"
    for kind, of_kind in zip(KINDS, (found.given, found.held_out), strict=True):
        if of_kind.median is None:
            yield f"  {kind}: none"
        else:
            yield (
                f"  {kind}: {of_kind.jobs} job{'s' * (of_kind.jobs != 1)}, median {of_kind.median:.1f} s, "
                f"quartiles {of_kind.lower:.1f} and {of_kind.upper:.1f} s"
            )
    for one in found.runs:
        shares = zip(KINDS, (one.slower_given, one.slower_held_out), strict=True)
        than = " and ".join(f"{share:.0%} of those {kind}" for kind, share in shares if share is not None)
        failed = "" if one.succeeded else " (it failed)"
        kind = found.kind or "only observed"
        yield f"  this job, {kind}: {one.elapsed_s:.1f} s{failed}" + (f", shorter than {than}" if than else "")
