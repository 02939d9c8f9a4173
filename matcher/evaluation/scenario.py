# SPDX-License-Identifier: Apache-2.0
"""A scenario: tuned jobs, and jobs to link with known answers. The caller provides all random numbers."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reprise.matcher.linkage import LinkableRecord
from reprise.matcher.submission.metadata import JobMetadata

EPOCH = 1_700_000_000.0  # Unix seconds at which a scenario begins
DAYS = 14
ANY_GAIN = 0.2  # equal for all, so that it never distinguishes two records
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()  # noqa: SIM905 - shorter


@dataclass(frozen=True)
class Query:
    """A job that asks. `application` is the right answer, None if no record is of its application.

    `same_nodes` means that a record of that application has the job's node count. `own` is the id of the record that
    was made from this very job, which may not serve it.
    """

    kind: str
    job: JobMetadata
    application: str | None
    same_nodes: bool
    own: int | None = None


@dataclass(frozen=True)
class Scenario:
    """A site: its number of nodes, its tuned jobs, and the jobs that ask. A record's id is its index."""

    cluster_nodes: int
    records: tuple[LinkableRecord, ...]
    applications: tuple[str, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class LabelledJob:
    """A job of `application`, tuned or not. `kind` names the difficulty."""

    kind: str
    application: str
    job: JobMetadata


def scenario(cluster_nodes: int, tuned: Sequence[LabelledJob], asking: Iterable[LabelledJob]) -> Scenario:
    """Return the scenario; every tuned job is a record, and also asks, with that record left out (kind "left out")."""
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
    """Return a time on a random day of two weeks, most likely in the afternoon."""
    return EPOCH + rng.randrange(DAYS) * 86400 + int(rng.triangular(0, 86400, 14 * 3600))


def distinct_words(rng: random.Random, count: int, syllables: tuple[int, int]) -> list[str]:
    """Return `count` different pronounceable words with a number of syllables in the given range."""
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choices(SYLLABLES, k=rng.randint(*syllables)))] = None
    return list(words)
