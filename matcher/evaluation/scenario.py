# SPDX-License-Identifier: Apache-2.0
"""Scenarios: tuned jobs, which are the records, and asking jobs whose right matches are known.

All random numbers come from the caller.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reprise.matcher.linkage import LinkableRecord
from reprise.matcher.submission.metadata import JobMetadata

EPOCH = 1_700_000_000.0  # start of a scenario, in Unix seconds
DAYS = 14
ANY_GAIN = 0.2  # gain of every record, equal so that gains never decide between two records
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()  # noqa: SIM905 - shorter


@dataclass(frozen=True)
class Query:
    """A job that is matched against the records.

    `application` is the job's application, None if the application has no record.

    `same_nodes` means that a record of the application has the job's node count. If the job is itself a record, `own`
    is the record's id; the job may not match this record.
    """

    kind: str
    job: JobMetadata
    application: str | None
    same_nodes: bool
    own: int | None = None


@dataclass(frozen=True)
class Scenario:
    """A site with its number of nodes, its tuned jobs (`records`), and the asking jobs (`queries`).

    A record's id is its index in `records`; `applications` has the application of each record.
    """

    cluster_nodes: int
    records: tuple[LinkableRecord, ...]
    applications: tuple[str, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class LabelledJob:
    """A job with its application. `kind` names what makes the job easy or difficult to match."""

    kind: str
    application: str
    job: JobMetadata


def scenario(cluster_nodes: int, tuned: Sequence[LabelledJob], asking: Iterable[LabelledJob]) -> Scenario:
    """Return the scenario in which the `tuned` jobs are the records.

    All jobs of `asking` ask. Every tuned job also asks, with its own record left out (kind "left out").
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
    """Return a random time in the two weeks of a scenario, in Unix seconds, most probably in the afternoon."""
    return EPOCH + rng.randrange(DAYS) * 86400 + int(rng.triangular(0, 86400, 14 * 3600))


def distinct_words(rng: random.Random, count: int, syllables: tuple[int, int]) -> list[str]:
    """Return `count` different pronounceable words; `syllables` is the smallest and the largest number of syllables."""
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choices(SYLLABLES, k=rng.randint(*syllables)))] = None
    return list(words)
