# SPDX-License-Identifier: Apache-2.0
"""What a model makes of a scenario: each job's nearest record, whether it is the right one, and the shares of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reprise.matcher.evaluation.scenario import Query, Scenario
from reprise.matcher.evaluation.share_interval import Share, share
from reprise.matcher.linkage import Engine, LinkableRecord, Model


class Verdict(StrEnum):
    """What became of a job. The first four are of jobs whose application has a record, the others of unknown ones."""

    RIGHT = "right"
    OTHER_NODES = "other nodes"  # of the right application, though a record with the job's node count was there
    MISSED = "missed"
    CONFUSED = "confused"  # matched with a record of another application
    FALSE_MATCH = "false match"
    NO_MATCH = "no match"


RIGHT_APPLICATION = {Verdict.RIGHT, Verdict.OTHER_NODES}
MATCHED = {*RIGHT_APPLICATION, Verdict.CONFUSED, Verdict.FALSE_MATCH}
WRONG = {Verdict.OTHER_NODES, Verdict.MISSED, Verdict.CONFUSED, Verdict.FALSE_MATCH}


@dataclass(frozen=True)
class Answer:
    """A job and the record nearest to it (None where there is none), with its score; `found` is its application."""

    seed: int
    query: Query
    nearest: LinkableRecord | None
    found: str | None
    score: float

    def verdict(self, threshold: float) -> Verdict:
        is_matched = self.nearest is not None and self.score >= threshold
        if self.query.application is None:
            return Verdict.FALSE_MATCH if is_matched else Verdict.NO_MATCH
        if not is_matched or self.nearest is None:
            return Verdict.MISSED
        if self.found != self.query.application:
            return Verdict.CONFUSED
        same = self.nearest.metadata.nodes == self.query.job.nodes
        return Verdict.RIGHT if same or not self.query.same_nodes else Verdict.OTHER_NODES


def answers(model: Model, generate: Callable[[int], Scenario], seeds: Iterable[int]) -> list[Answer]:
    """Every job of the sites that `generate` makes of the seeds, linked against its site's records."""
    return [answer for seed in seeds for answer in _answers_of(model, seed, generate(seed))]


def _answers_of(model: Model, seed: int, site: Scenario) -> Iterable[Answer]:
    engine = Engine(model, site.records, cluster_nodes=site.cluster_nodes, timezone="UTC")
    for query in site.queries:
        nearest = [match for match in engine.ask(query.job).nearest(2).matches if match.record.id != query.own]
        if nearest:
            record = nearest[0].record
            yield Answer(seed, query, record, site.applications[record.id], nearest[0].score)
        else:
            yield Answer(seed, query, None, None, 0.0)


HEADLINE = ("right_application", "right_nodes", "unknown_matched")
"""The measures that a model is told by first."""


@dataclass(frozen=True)
class Measures:
    """Shares of jobs.

    `right_application`: of the jobs whose application has a record, those matched (that is, from the threshold on) with
    one of its records. `right_nodes`: of those that have a record of their application with their node count, those
    matched with such a one. `unknown_matched`: of the jobs whose application has no record, those matched with any.
    `precision`: of the jobs that were matched, those matched with a record of their application. `missed`, `confused`:
    of the jobs whose application has a record, those not matched, and those matched with another application's.
    """

    right_application: Share
    right_nodes: Share
    unknown_matched: Share
    precision: Share
    missed: Share
    confused: Share

    @property
    def recall(self) -> Share:
        """The field's name for `right_application`: of what should be found, what is."""
        return self.right_application

    def to_json(self) -> dict[str, dict[str, float | int | None]]:
        names = ("right_application", "right_nodes", "unknown_matched", "precision", "recall", "missed", "confused")
        return {name: getattr(self, name).to_json() for name in names}


def measure(found: Sequence[Answer], threshold: float) -> Measures:
    """The shares at `threshold`, with seeds as clusters."""
    seeds = sorted({answer.seed for answer in found})
    judged = [(answer.seed, answer.query, answer.verdict(threshold)) for answer in found]

    def of(counts: Callable[[Query, Verdict], bool], hits: Iterable[Verdict]) -> Share:
        by_seed = {seed: [0, 0] for seed in seeds}
        for seed, query, verdict in judged:
            if counts(query, verdict):
                by_seed[seed][0] += verdict in hits
                by_seed[seed][1] += 1
        return share((n_hits, jobs) for n_hits, jobs in by_seed.values())

    return Measures(
        right_application=of(lambda query, _: query.application is not None, RIGHT_APPLICATION),
        right_nodes=of(lambda query, _: query.same_nodes, {Verdict.RIGHT}),
        unknown_matched=of(lambda query, _: query.application is None, {Verdict.FALSE_MATCH}),
        precision=of(lambda _, verdict: verdict in MATCHED, RIGHT_APPLICATION),
        missed=of(lambda query, _: query.application is not None, {Verdict.MISSED}),
        confused=of(lambda query, _: query.application is not None, {Verdict.CONFUSED}),
    )


def by_kind(found: Iterable[Answer]) -> Mapping[str, list[Answer]]:
    """The answers by kind of job, kinds in the alphabet's order."""
    kinds: dict[str, list[Answer]] = {}
    for answer in found:
        kinds.setdefault(answer.query.kind, []).append(answer)
    return dict(sorted(kinds.items()))
