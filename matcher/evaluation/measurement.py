# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a model on a scenario: match query jobs with records, judge the matches, and compute shares of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reprise.matcher.evaluation.scenario import Query, Scenario
from reprise.matcher.evaluation.share_interval import Share, share
from reprise.matcher.linkage import Engine, LinkableRecord, Model


class Verdict(StrEnum):
    """Result of a query job, that is, of a job that was compared with the records of a site.

    The first four values apply to jobs whose application has a record, the other two to jobs whose application has no
    record.
    """

    RIGHT = "right"
    OTHER_NODES = "other nodes"  # right application, but another of its records has the job's node count
    MISSED = "missed"
    CONFUSED = "confused"  # matched with a record of another application
    FALSE_MATCH = "false match"
    NO_MATCH = "no match"


RIGHT_APPLICATION = {Verdict.RIGHT, Verdict.OTHER_NODES}
MATCHED = {*RIGHT_APPLICATION, Verdict.CONFUSED, Verdict.FALSE_MATCH}
WRONG = {Verdict.OTHER_NODES, Verdict.MISSED, Verdict.CONFUSED, Verdict.FALSE_MATCH}


@dataclass(frozen=True)
class Answer:
    """A query job with its nearest record.

    `nearest` is None if there is no record. `found` is the record's application, and `score` its score.
    """

    seed: int
    query: Query
    nearest: LinkableRecord | None
    found: str | None
    score: float

    def verdict(self, threshold: float) -> Verdict:
        """Return the verdict on this answer for a given threshold."""
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
    """Return the answers of `model` for all query jobs of the sites that `generate` creates from the seeds."""
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
"""Names of the most important measures in `Measures`."""


@dataclass(frozen=True)
class Measures:
    """Shares of jobs by which a model is evaluated.

    A job is matched if its nearest record's score reaches the threshold. Among the jobs whose application has a record,
    `right_application` is the share that matched a record of their application, `confused` the share that matched a
    record of another application, and `missed` the share that matched no record. Among the jobs whose application has a
    record with the job's node count, `right_nodes` is the share that matched such a record. Among the jobs whose
    application has no record, `unknown_matched` is the share that matched a record. Among the matched jobs, `precision`
    is the share that matched a record of their application.
    """

    right_application: Share
    right_nodes: Share
    unknown_matched: Share
    precision: Share
    missed: Share
    confused: Share

    @property
    def recall(self) -> Share:
        """The measure `right_application`, under its usual name in information retrieval."""
        return self.right_application

    def to_json(self) -> dict[str, dict[str, float | int | None]]:
        """Return a JSON object that maps the names of the measures to their values and intervals."""
        names = ("right_application", "right_nodes", "unknown_matched", "precision", "recall", "missed", "confused")
        return {name: getattr(self, name).to_json() for name in names}


def measure(found: Sequence[Answer], threshold: float) -> Measures:
    """Return the measures of the answers at `threshold`. For the intervals, the jobs of each seed form a cluster."""
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
    """Group answers by kind of job, in alphabetical order of the kinds."""
    kinds: dict[str, list[Answer]] = {}
    for answer in found:
        kinds.setdefault(answer.query.kind, []).append(answer)
    return dict(sorted(kinds.items()))
