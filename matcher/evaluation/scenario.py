# SPDX-License-Identifier: Apache-2.0
"""Scenarios: sites whose tuned jobs are the records, with query jobs whose correct matches are known.

All random numbers come from the generator that the caller passes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reprise.matcher.linkage import LinkableRecord
from reprise.matcher.submission.metadata import JobMetadata

EPOCH = 1_700_000_000.0  # start of a scenario, in Unix seconds
DAYS = 14
ANY_GAIN = 0.2  # gain of every record; all are equal, so that gains never decide between two records
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()  # noqa: SIM905 - shorter


@dataclass(frozen=True)
class Query:
    """A job that is compared with the records.

    `application` is the job's application, None if the application has no record.

    `same_nodes` means that a record of the application has the job's node count. If the job itself has a record, `own`
    is the id of this record, which the job must not match.
    """

    kind: str
    job: JobMetadata
    application: str | None
    same_nodes: bool
    own: int | None = None


@dataclass(frozen=True)
class Scenario:
    """A site with its number of nodes, its tuned jobs (`records`), and its query jobs (`queries`).

    A record's id is its index in `records`; `applications` has the application of each record.
    """

    cluster_nodes: int
    records: tuple[LinkableRecord, ...]
    applications: tuple[str, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class LabelledJob:
    """A job labeled with its application; `kind` says what makes the job easy or difficult to match."""

    kind: str
    application: str
    job: JobMetadata


def scenario(cluster_nodes: int, tuned: Sequence[LabelledJob], asking: Iterable[LabelledJob]) -> Scenario:
    """Return a scenario with the `tuned` jobs as records.

    The query jobs are all jobs in `asking`, and all tuned jobs, which must not match their own records (kind "left
    out").
    """
    of_application: dict[str, list[int]] = {}
    for number, one in enumerate(tuned):
        of_application.setdefault(one.application, []).append(number)

    def query(one: LabelledJob, own: int | None = None) -> Query:
        rest = [number for number in of_application.get(one.application, ()) if number != own]
        same = any(tuned[number].job.nodes == one.job.nodes for number in rest)
        return Query(one.kind, one.job, one.application if rest else None, same, own)

    def queries() -> Iterator[Query]:
        for number, one in enumerate(tuned):
            yield query(LabelledJob("left out", one.application, one.job), own=number)
        yield from map(query, asking)

    return Scenario(
        cluster_nodes,
        tuple(LinkableRecord(i, one.job, one.job.submit_time, ANY_GAIN) for i, one in enumerate(tuned)),
        tuple(one.application for one in tuned),
        tuple(queries()),
    )


def submit_time(rng: random.Random) -> float:
    """Return a random time in a scenario's two weeks, in Unix seconds; early afternoons are the most likely."""
    return EPOCH + rng.randrange(DAYS) * 86400 + int(rng.triangular(0, 86400, 14 * 3600))


def distinct_words(rng: random.Random, count: int, syllables: tuple[int, int]) -> list[str]:
    """Return `count` different pronounceable words; `syllables` has the minimum and maximum number of syllables."""
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choices(SYLLABLES, k=rng.randint(*syllables)))] = None
    return list(words)
