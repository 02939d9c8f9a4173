# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a model on jobs from users' own scripts: which records the jobs match, and which matches are right.

A record is chosen as in a decision: the user's own records come first. For other users' records, the coarse score
decides. It counts each value only as equal, nearly equal or different.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reprise.matcher.evaluation.script_labels import LabelledScript, may_be_the_same
from reprise.matcher.evaluation.script_scenarios import CLUSTER_NODES, STRANGERS, Asking, ScriptSite, sites, strangers
from reprise.matcher.evaluation.share_interval import Share, share
from reprise.matcher.linkage import Engine, Model
from reprise.matcher.linkage.engine import Asked
from reprise.matcher.linkage.linkage_result import LinkableRecord

SEEDS = range(5)
NEAREST = 5


class Outcome(StrEnum):
    """Result of a query job, that is, of a job that was compared with the records of a site.

    NEITHER means that the job matched a record of another owner that may be of the same application
    (`script_labels.may_be_the_same`), so the match is neither right nor wrong.
    """

    RIGHT = "right"
    WRONG = "wrong"
    NONE = "none"
    NEITHER = "neither"


@dataclass(frozen=True)
class Judged:
    """A query job with its result, the matched record's script and the score (None and 0 if no record matched)."""

    site: str
    asking: Asking
    outcome: Outcome
    given: LabelledScript | None = None
    score: float = 0.0


@dataclass(frozen=True)
class ScriptMeasures:
    """Shares of jobs by which a model is evaluated; for the confidence intervals, each owner's jobs form a cluster.

    `recall` and `confused`: among the jobs whose script has a variant with a record, the share that matched this
    record, and the share that matched a record of another application. `own_other`: among the jobs whose owner only has
    records of other applications, the share that matched a record. `strangers`: among the jobs of the site `strangers`,
    whose owners have no records, the share that matched another owner's record. `generic_strangers`: among the same
    jobs as in `strangers`, the share whose program has a generic name and that matched another owner's record.
    """

    recall: Share
    confused: Share
    own_other: Share
    strangers: Share
    generic_strangers: Share


def judged(model: Model, scripts: Sequence[LabelledScript], seeds: Iterable[int] = SEEDS) -> list[Judged]:
    """Return the results of all query jobs of the sites that are made from the scripts with each of the seeds."""
    return [one for seed in seeds for site in _both(scripts, seed) for one in judged_at(model, site)]


def _both(scripts: Sequence[LabelledScript], seed: int) -> Iterator[ScriptSite]:
    yield from sites(scripts, seed)
    yield strangers(scripts, seed)


def judged_at(model: Model, site: ScriptSite) -> Iterator[Judged]:
    """Yield the result of each query job of one site."""
    engine = Engine(model, site.records, cluster_nodes=CLUSTER_NODES, timezone="UTC")
    for asking in site.asking:
        found = chosen(engine.ask(asking.job), asking.job.user, model.threshold)
        if found is None:
            yield Judged(site.name, asking, Outcome.NONE)
            continue
        record, score = found
        given = site.scripts[record.id]
        yield Judged(site.name, asking, _outcome(asking.script, given), given, score)


def chosen(asked: Asked, user: str, threshold: float) -> tuple[LinkableRecord, float] | None:
    """Return the record that a decision would choose, and the score that decides this; None if no record matches."""
    best = None
    for match in asked.nearest(NEAREST).matches:
        if match.score < threshold:
            continue
        if match.record.metadata.user == user:
            return match.record, match.score
        likeness, _ = asked.coarse(match)
        if likeness >= threshold and (best is None or likeness > best[1]):
            best = match.record, likeness
    return best


def _outcome(asking: LabelledScript, given: LabelledScript) -> Outcome:
    if asking.application == given.application:
        return Outcome.RIGHT
    if asking.script.owner != given.script.owner and may_be_the_same(asking, given):
        return Outcome.NEITHER
    return Outcome.WRONG


def measure(found: Sequence[Judged]) -> ScriptMeasures:
    """Return the measures of the judged jobs, without the jobs that have the outcome NEITHER."""
    sites_only = [one for one in found if one.site != STRANGERS]
    unknown = [one for one in found if one.site == STRANGERS]
    variants = [one for one in sites_only if one.asking.kind == "variant"]
    return ScriptMeasures(
        recall=_share(variants, {Outcome.RIGHT}),
        confused=_share(variants, {Outcome.WRONG}),
        own_other=_share([one for one in sites_only if one.asking.kind == "own other"], {Outcome.WRONG}),
        strangers=_share(unknown, {Outcome.WRONG}),
        generic_strangers=_share(unknown, {Outcome.WRONG}, "generic stranger"),
    )


def _share(found: Iterable[Judged], hits: set[Outcome], kind: str = "") -> Share:
    by_owner: dict[str, list[int]] = {}
    for one in found:
        if one.outcome is not Outcome.NEITHER:
            counts = by_owner.setdefault(one.asking.script.script.owner, [0, 0])
            counts[0] += one.outcome in hits and (not kind or one.asking.kind == kind)
            counts[1] += 1
    return share(((hits, jobs) for hits, jobs in by_owner.values()), repeated=True)
