# SPDX-License-Identifier: Apache-2.0
"""A job beside others of the same record and number of nodes: how long those took, and where it lies."""

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
    """Of `jobs` run times the quartiles, in seconds; None where there are no jobs."""

    jobs: int
    lower: float | None
    median: float | None
    upper: float | None


@dataclass(frozen=True)
class Run:
    """A run of the job itself: seconds that it took, whether it succeeded, and the shares of the others, given and held
    out, that took longer (half of those that took as long; None: there are none)."""

    elapsed_s: float
    succeeded: bool
    slower_given: float | None
    slower_held_out: float | None


@dataclass(frozen=True)
class Beside:
    """The jobs of a record on so many nodes that succeeded, without this one, whose kind is one of KINDS, or "" where
    it was only watched."""

    record: int
    nodes: int | None
    kind: str
    given: Spread
    held_out: Spread
    runs: Sequence[Run]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def of_story(database: SupportDatabase, story: Story, reader: Reader) -> Beside | None:
    """The newest decision that had a record, and how long others of that record took that `reader` may know of; None:
    no decision had one."""
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
    """Quartiles as medians are: between two jobs where they fall there."""
    if len(seconds) < 2:
        only = seconds[0] if seconds else None
        return Spread(len(seconds), only, only, only)
    lower, median, upper = statistics.quantiles(seconds, n=4, method="inclusive")
    return Spread(len(seconds), lower, median, upper)


def run(elapsed_s: float, succeeded: bool, given: Sequence[float], held_out: Sequence[float]) -> Run:
    """Where a run lies among the others."""
    return Run(elapsed_s, succeeded, _slower(elapsed_s, given), _slower(elapsed_s, held_out))


def _slower(elapsed_s: float, others: Sequence[float]) -> float | None:
    if not others:
        return None
    return sum(0.5 if other == elapsed_s else float(other > elapsed_s) for other in others) / len(others)


def texts(found: Beside) -> Iterator[str]:
    """For a person."""
    nodes = "an unknown number of nodes" if found.nodes is None else f"{found.nodes} node{'s' * (found.nodes != 1)}"
    yield f"Beside other jobs of record {found.record} on {nodes} that succeeded:"
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
        kind = found.kind or "only watched"
        yield f"  this job, {kind}: {one.elapsed_s:.1f} s{failed}" + (f", less than {than}" if than else "")
