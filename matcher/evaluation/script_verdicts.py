# SPDX-License-Identifier: Apache-2.0
"""What a model makes of jobs that people's own scripts submit: which records they are given, and whether rightly.

A record is chosen as in a decision: a user's own first, and of others' nothing finer than "the same, nearly the same,
another" decides.
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
    """What came of a job. NEITHER: given a record that may be of its application, as far as the files say."""

    RIGHT = "right"
    WRONG = "wrong"
    NONE = "none"
    NEITHER = "neither"


@dataclass(frozen=True)
class Judged:
    """A job at a site, what came of it, the record's script and the score; None and 0 where there is none."""

    site: str
    asking: Asking
    outcome: Outcome
    given: LabelledScript | None = None
    score: float = 0.0


@dataclass(frozen=True)
class ScriptMeasures:
    """Shares of jobs, with owners as clusters in their intervals.

    `recall`: of the jobs of which a variant has a record, those given it; `confused`: those given another
    application's. `own_other`: of the jobs whose owner has records of other applications only, those given one.
    `strangers`: of the jobs of owners without records, those given another's; `generic_strangers`: of all these, those
    whose program has a name that says nothing, and that are given another's.
    """

    recall: Share
    confused: Share
    own_other: Share
    strangers: Share
    generic_strangers: Share


def judged(model: Model, scripts: Sequence[LabelledScript], seeds: Iterable[int] = SEEDS) -> list[Judged]:
    """All jobs of the sites and of the strangers that `seeds` make of the scripts."""
    return [one for seed in seeds for site in _both(scripts, seed) for one in judged_at(model, site)]


def _both(scripts: Sequence[LabelledScript], seed: int) -> Iterator[ScriptSite]:
    yield from sites(scripts, seed)
    yield strangers(scripts, seed)


def judged_at(model: Model, site: ScriptSite) -> Iterator[Judged]:
    """Each job of one site."""
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
    """The record that serves, and the score that decided; None where none does."""
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
    """The shares among all that count."""
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
