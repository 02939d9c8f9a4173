# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a model on a scenario: each job's nearest record, whether it is right, and the shares of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reprise.matcher.evaluation.scenario import Query, Scenario
from reprise.matcher.evaluation.share_interval import Share, share
from reprise.matcher.linkage import Engine, LinkableRecord, Model


class Verdict(StrEnum):
    """Result of a job. The first four are for jobs with a record of their application, the others for unknown ones."""

    RIGHT = "right"
    OTHER_NODES = "other nodes"  # of the right application, although there is a record with the job's node count
    MISSED = "missed"
    CONFUSED = "confused"  # matched with a record of another application
    FALSE_MATCH = "false match"
    NO_MATCH = "no match"


RIGHT_APPLICATION = {Verdict.RIGHT, Verdict.OTHER_NODES}
MATCHED = {*RIGHT_APPLICATION, Verdict.CONFUSED, Verdict.FALSE_MATCH}
WRONG = {Verdict.OTHER_NODES, Verdict.MISSED, Verdict.CONFUSED, Verdict.FALSE_MATCH}


@dataclass(frozen=True)
class Answer:
    """A job and its nearest record (None if there is none), with the record's application (`found`) and score."""

    seed: int
    query: Query
    nearest: LinkableRecord | None
    found: str | None
    score: float

    def verdict(self, threshold: float) -> Verdict:
        """Return the verdict on the answer at a threshold."""
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
    """Return the answers for all jobs of the sites that `generate` makes from the seeds."""
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
"""The most important measures of a model."""


@dataclass(frozen=True)
class Measures:
    """Shares of jobs.

    `right_application`: share of the jobs with a record of their application that matched one of its records, that is
    with a score of at least the threshold. `right_nodes`: share of the jobs with a record of their application and node
    count that matched such a record. `unknown_matched`: share of the jobs without a record of their application that
    matched any. `precision`: share of the matched jobs that matched a record of their application. `missed`,
    `confused`: shares of the jobs with a record of their application that matched nothing, or a record of another
    application.
    """

    right_application: Share
    right_nodes: Share
    unknown_matched: Share
    precision: Share
    missed: Share
    confused: Share

    @property
    def recall(self) -> Share:
        """Usual name in the field for `right_application`: the share of what should be found that is found."""
        return self.right_application

    def to_json(self) -> dict[str, dict[str, float | int | None]]:
        """Return the shares by name, JSON-ready."""
        names = ("right_application", "right_nodes", "unknown_matched", "precision", "recall", "missed", "confused")
        return {name: getattr(self, name).to_json() for name in names}


def measure(found: Sequence[Answer], threshold: float) -> Measures:
    """Return the shares at `threshold`, with seeds as clusters."""
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
    """Return the answers by kind of job, in alphabetical order of kinds."""
    kinds: dict[str, list[Answer]] = {}
    for answer in found:
        kinds.setdefault(answer.query.kind, []).append(answer)
    return dict(sorted(kinds.items()))
