# SPDX-License-Identifier: Apache-2.0
"""The calibration: weights, then the site's prior, then a threshold for a stated rate of false matches.

Of a site's own pairs nobody knows which match. Which of the pairs that are alike are of one application is therefore
learned from made-up sites; how rare such pairs are, from the site's own. Weights that are learned from the site's pairs
alone (ecm) are there to compare with.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from matcher.calibration import independent, logistic, made_up, template
from matcher.calibration.logistic import Weights
from matcher.calibration.pairs import Against, Levels, Pairs, together
from matcher.evaluation.measure import Measures, measure
from matcher.linkage.model import Model
from matcher.linkage.result import LinkableRecord
from matcher.metadata import JobMetadata

FALSE_MATCHES = 0.01
LEAST_JOBS = 20
ASKING, KNOWN = 400, 2000
"""Jobs of the site that are compared with others, and how many others at most."""
MAX_ROUNDS = 1000
SETTLED = 1e-4  # relative change of the share at which it is final
LEAST_SHARE = 1e-7
LEAST_THRESHOLD = 0.9
"""A job that is not matched loses nothing: no record may serve that is more likely than this to be another's."""


@dataclass(frozen=True)
class Site:
    """The pairs of a site's jobs; `levels_of`: those of each asking job (others x parts)."""

    jobs: int
    pairs: Pairs
    levels_of: tuple[Levels, ...]


@dataclass(frozen=True)
class Expected:
    """What a model does at a site, by its own probabilities.

    `share`: of all pairs that match. `matched`: of the asking jobs that are matched; `wrong`: of these, those matched
    with another application's record.
    """

    share: float
    matched: float
    wrong: float


@dataclass(frozen=True)
class Calibration:
    """`measures` are of the held-out made-up sites, by scenario, with their own prior."""

    model: Model
    measures: dict[str, Measures]
    expected: Expected | None


def site_of(jobs: Sequence[JobMetadata], *, cluster_nodes: int, timezone: str = "", seed: int = 0) -> Site:
    """The pairs of these jobs; of many jobs, of a random choice."""
    rng = random.Random(seed)  # noqa: S311 - a choice
    numbers = rng.sample(range(len(jobs)), min(len(jobs), KNOWN))
    records = [LinkableRecord(number, jobs[number], 0.0, 0.0) for number in numbers]
    against = Against(template.unweighted(), records, cluster_nodes=cluster_nodes, timezone=timezone)
    rows = [np.delete(against.levels(jobs[number]), place, axis=0) for place, number in enumerate(numbers[:ASKING])]
    every = np.concatenate(rows)
    pairs = together([Pairs(every, np.zeros(len(every)), np.ones(len(every)))])
    return Site(len(jobs), pairs, tuple(rows))


def calibrate(
    site: Site | None, *, weights: str = "logistic", false_matches: float = FALSE_MATCHES, name: str = template.NAME
) -> Calibration:
    """A model for this site, or for any if None.

    `weights`: "logistic" (matcher.calibration.logistic) or "ecm" (matcher.calibration.ecm: each part on its own, from
    the site's pairs). `false_matches`: the share of jobs whose application was never tuned that may be matched.
    """
    known = made_up.pairs()
    if weights == "logistic":
        found = logistic.fit(known, template.KNOTS)
    else:
        found = independent.fit(known, site.pairs if site else None)
    undecided = template.model(found, threshold=LEAST_THRESHOLD, evidence={"text": "none"}, name=name)
    nearest = made_up.held_out(undecided.model_copy(update={"prefer": ()}))
    unknown = [answer.score for of_one in nearest.values() for answer in of_one if answer.query.application is None]
    threshold = rounded_up(choose(unknown, false_matches))
    decided = undecided.model_copy(update={"threshold": threshold})
    measures = {scenario: measure(of_one, threshold) for scenario, of_one in made_up.held_out(decided).items()}
    expected = None
    if site:
        known_share = float(known.matched.sum() / known.counts.sum())
        share = share_of(site.pairs, found, known_share)
        found = dataclasses.replace(found, prior=found.prior + _bits(share) - _bits(known_share))
        expected = _expected(site, found, share, threshold)
    evidence = _evidence(known, site, weights, false_matches, measures, expected)
    return Calibration(template.model(found, threshold=threshold, evidence=evidence, name=name), measures, expected)


def share_of(pairs: Pairs, weights: Weights, share: float) -> float:
    """The share of `pairs` that match, where `weights` were made for pairs with another `share`.

    By expectation maximisation of the share alone (Saerens, Latinne, Decaestecker 2002).
    """
    ratios = np.exp2(np.clip(weights.total(pairs.patterns) - _bits(share), -500, 500))
    for _ in range(MAX_ROUNDS):
        odds = ratios * share / (1 - share)
        before, share = share, float(np.average(odds / (1 + odds), weights=pairs.counts))
        share = min(max(share, LEAST_SHARE), 0.5)
        if abs(share / before - 1) < SETTLED:
            break
    return share


def _bits(probability: float) -> float:
    return math.log2(probability / (1 - probability))


def choose(scores: Sequence[float], rate: float) -> float:
    """The smallest threshold, LEAST_THRESHOLD or more, that no more than `rate` of unknown jobs reach.

    `scores` of their nearest records.
    """
    first_too_many = sorted(scores, reverse=True)[math.floor(rate * len(scores) + 1e-9) :][:1]
    return max([LEAST_THRESHOLD, *(math.nextafter(score, math.inf) for score in first_too_many)])


def rounded_up(threshold: float) -> float:
    """Up to two digits of what is missing to 1: 0.97236 is 0.973."""
    missing = 1 - threshold
    if missing <= 0:
        return 1.0
    digits = 1 - math.floor(math.log10(missing))
    return float(round(1 - math.floor(missing * 10**digits) / 10**digits, digits))


def _expected(site: Site, weights: Weights, share: float, threshold: float) -> Expected:
    best = np.array([float(weights.probability(levels).max()) for levels in site.levels_of])
    matched = best >= threshold
    wrong = float(np.mean(1 - best[matched])) if matched.any() else 0.0
    return Expected(share, float(matched.mean()), wrong)


def _evidence(
    known: Pairs,
    site: Site | None,
    weights: str,
    false_matches: float,
    measures: dict[str, Measures],
    expected: Expected | None,
) -> dict[str, Any]:
    """What a model file says of where it comes from."""
    evidence: dict[str, Any] = {
        "source": "reprise match calibrate",
        "weights": weights,
        "false_matches_stated": false_matches,
        "made_up": {
            "scenarios": list(made_up.USED),
            "seeds_fitted": [made_up.FITTED.start, made_up.FITTED.stop - 1],
            "seeds_held_out": [made_up.HELD_OUT.start, made_up.HELD_OUT.stop - 1],
            "pairs": int(known.counts.sum()),
            "pairs_matched": int(known.matched.sum()),
        },
    }
    if site and expected:
        evidence["site"] = {
            "jobs": site.jobs,
            "pairs": int(site.pairs.counts.sum()),
            "share_of_pairs_that_match": round(expected.share, 6),
            "expected_matched": round(100 * expected.matched, 1),
            "expected_wrong_of_these": round(100 * expected.wrong, 2),
        }
    for name, found in measures.items():
        evidence[f"held_out_{name}"] = {
            key: round(100 * value, 1)
            for key in ("right_application", "right_nodes", "unknown_matched")
            if (value := getattr(found, key).value) is not None
        }
    return evidence
