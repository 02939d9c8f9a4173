# SPDX-License-Identifier: Apache-2.0
"""Calibration of a model: its weights, its threshold for a given rate of false matches, and the prior of a site.

A site's own jobs have no labels that show which pairs match. Weights are therefore learned from made-up sites, and from
scripts with labels that show which similar pairs belong to one application (`script_calibration`). The pairs of the
site's own jobs show how rare matching pairs are. Weights that are learned from the site's pairs alone (`ecm`) are
available for comparison.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reprise.matcher.calibration import independent_weights, logistic_weights, made_up_pairs, match_prior, site_template
from reprise.matcher.calibration import threshold_choice as thresholds
from reprise.matcher.calibration.logistic_weights import Weights
from reprise.matcher.calibration.pairs import Against, Levels, Pairs, together
from reprise.matcher.calibration.script_pairs import ScriptPairs
from reprise.matcher.errors import MatcherError
from reprise.matcher.evaluation.measurement import HEADLINE, Measures, measure
from reprise.matcher.linkage.linkage_model import Model, load
from reprise.matcher.linkage.linkage_result import LinkableRecord
from reprise.matcher.submission.metadata import JobMetadata

FALSE_MATCHES = 0.01
LEAST_JOBS = 20
ASKING, KNOWN = 400, 2000
"""KNOWN: maximum number of the site's jobs that are used. ASKING: maximum number of jobs, among those, that are
compared with all others."""


@dataclass(frozen=True)
class Site:
    """The pairs of jobs at one site.

    `jobs` is the number of jobs at the site. `levels_of` has, for each job that is compared with all others, the
    similarity levels of its pairs (other jobs x parts).
    """

    jobs: int
    pairs: Pairs
    levels_of: tuple[Levels, ...]


@dataclass(frozen=True)
class Expected:
    """Results at a site, as predicted by a model's probabilities.

    `share` is the share of all pairs that match. `lacking` has the features with too few known values; if there are
    such features, `matched` and `wrong` are None. `matched` is the share of jobs that match another job; `wrong` is the
    share of these matches whose jobs belong to different applications.
    """

    share: float
    lacking: tuple[str, ...] = ()
    matched: float | None = None
    wrong: float | None = None


@dataclass(frozen=True)
class Calibration:
    """A calibrated model, with its measured and its expected results.

    `measures` has the results on the held-out made-up sites for each scenario, with the prior of made-up sites.
    """

    model: Model
    measures: dict[str, Measures]
    expected: Expected | None


def site_of(jobs: Sequence[JobMetadata], *, cluster_nodes: int, timezone: str = "", seed: int = 0) -> Site:
    """Return the pairs of a site's `jobs`, or of KNOWN randomly chosen jobs if there are more than KNOWN.

    Raises MatcherError if there are fewer than LEAST_JOBS jobs.
    """
    if len(jobs) < LEAST_JOBS:
        raise MatcherError(
            f"{len(jobs)} jobs are too few to learn from: give {LEAST_JOBS} or more (--from-sacct), or use Reprise's "
            "model `site`"
        )
    rng = random.Random(seed)  # noqa: S311 - not used for security
    numbers = rng.sample(range(len(jobs)), min(len(jobs), KNOWN))
    records = [LinkableRecord(number, jobs[number], 0.0, 0.0) for number in numbers]
    against = Against(site_template.unweighted(), records, cluster_nodes=cluster_nodes, timezone=timezone)
    rows = [np.delete(against.levels(jobs[number]), place, axis=0) for place, number in enumerate(numbers[:ASKING])]
    every = np.concatenate(rows)
    pairs = together([Pairs(every, np.zeros(len(every)), np.ones(len(every)))])
    return Site(len(jobs), pairs, tuple(rows))


def calibrate(
    site: Site | None,
    *,
    scripts: ScriptPairs | None = None,
    weights: str = "logistic",
    false_matches: float = FALSE_MATCHES,
    name: str = site_template.NAME,
    version: int = site_template.VERSION,
) -> Calibration:
    """Calibrate a model for this site, or for any site if `site` is None, and return it.

    Raises MatcherError if no model can be made.

    Args:
        site: Pairs of the site's jobs, for the prior.
        scripts: Pairs of scripts to fit weights to, in addition to the made-up pairs.
        weights: "logistic" (fitted by `logistic_weights`; if `site` is given without `scripts`, the weights of
            Reprise's model "site" are used instead) or "ecm" (fitted by `ecm` to the site's pairs, each part
            separately).
        false_matches: Maximum share of jobs that match a record, among the jobs of untuned applications.
        name: The model's name.
        version: The model's version.
    """
    made_up = made_up_pairs.pairs()
    scripts = scripts.beside(made_up) if scripts else None
    known = together([made_up, scripts.sure]) if scripts else made_up
    lacking = match_prior.lacking(site.pairs, known) if site else []
    if weights == "ecm" and lacking:
        raise MatcherError(
            f"too little is known about these jobs ({', '.join(_names(lacking))}) for weights by ecm, which are fitted "
            "to these jobs alone: use the weights `logistic`"
        )
    least = thresholds.LEAST
    if weights == "ecm":
        found = independent_weights.fit(known, site.pairs if site else None)
    elif site or scripts:
        found = _fitted_to_scripts(made_up, scripts, known) if scripts else site_template.weights(load("site"))
        least = thresholds.LEAST_OF_SCRIPTS
    else:
        found = logistic_weights.fit(known, site_template.KNOTS)
    undecided = site_template.model(found, threshold=least, evidence={"text": "none"}, name=name)
    threshold = _threshold(undecided, false_matches, least)
    decided = undecided.model_copy(update={"threshold": threshold})
    measures = {scenario: measure(of_one, threshold) for scenario, of_one in made_up_pairs.held_out(decided).items()}
    expected = None
    if site:
        share = match_prior.share(site.pairs, site.jobs, known, found, lacking)
        found = dataclasses.replace(found, prior=found.prior + match_prior.bits(share) - match_prior.bits(known.share))
        expected = Expected(share, _names(lacking)) if lacking else _expected(site, found, share, threshold)
    evidence = _evidence(made_up, site, weights, false_matches, measures, expected)
    model = site_template.model(found, threshold=threshold, evidence=evidence, name=name, version=version)
    return Calibration(model, measures, expected)


def _fitted_to_scripts(made_up: Pairs, scripts: ScriptPairs, known: Pairs) -> Weights:
    """Return weights that are fitted to all pairs and then scaled to fit the pairs whose labels are certain.

    Doubtful pairs show which parts distinguish one user's programs, but not how likely two programs are the same.
    Totals are therefore transformed linearly to fit `known`, the pairs whose labels are certain.
    """
    found = logistic_weights.fit(together([made_up, scripts.all()]), site_template.KNOTS)
    return found.on_line(*logistic_weights.line(found.total(known.patterns), known))


def _names(parts: Sequence[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(site_template.FEATURES[part] for part in parts))


def _threshold(model: Model, false_matches: float, least: float) -> float:
    """Return the smallest threshold at which no scenario's made-up sites exceed the rate of false matches.

    `false_matches` is the rate. The threshold is at least `least`. Raises MatcherError if the rate is exceeded at every
    threshold.
    """
    chosen = least
    for of_one in made_up_pairs.held_out(model.model_copy(update={"prefer": ()})).values():
        unknown = [answer.score for answer in of_one if answer.query.application is None]
        chosen = max(chosen, thresholds.choose(unknown, false_matches, least))
    if chosen > 1:
        raise MatcherError(
            f"no threshold keeps false matches at {100 * false_matches:g} %, because a larger share of the untuned "
            "made-up jobs has the highest score: allow more (--false-matches)"
        )
    return thresholds.rounded_up(chosen)


def _expected(site: Site, weights: Weights, share: float, threshold: float) -> Expected:
    best = np.array([float(weights.probability(levels).max()) for levels in site.levels_of])
    matched = best >= threshold
    wrong = float(np.mean(1 - best[matched])) if matched.any() else None
    return Expected(share, (), float(matched.mean()), wrong)


def _evidence(
    made_up: Pairs,
    site: Site | None,
    weights: str,
    false_matches: float,
    measures: dict[str, Measures],
    expected: Expected | None,
) -> dict[str, Any]:
    """Return the content of a model file's table `evidence`."""
    evidence: dict[str, Any] = {
        "source": "reprise match calibrate",
        "weights": weights,
        "false_matches_stated": false_matches,
        "made_up": {
            "scenarios": list(made_up_pairs.USED),
            "seeds_fitted": [made_up_pairs.FITTED.start, made_up_pairs.FITTED.stop - 1],
            "seeds_held_out": [made_up_pairs.HELD_OUT.start, made_up_pairs.HELD_OUT.stop - 1],
            "pairs": int(made_up.counts.sum()),
            "pairs_matched": int(made_up.matched.sum()),
        },
    }
    if site and expected:
        evidence["site"] = {
            "jobs": site.jobs,
            "pairs": int(site.pairs.counts.sum()),
            "share_of_pairs_that_match": float(f"{expected.share:.2g}"),
        }
        if expected.lacking:
            evidence["site"]["lacking"] = list(expected.lacking)
        if expected.matched is not None:
            evidence["site"]["expected_matched"] = round(100 * expected.matched, 1)
        if expected.wrong is not None:
            evidence["site"]["expected_wrong_of_these"] = round(100 * expected.wrong, 2)
    for name, found in measures.items():
        evidence[f"held_out_{name}"] = {
            key: round(100 * value, 1) for key in HEADLINE if (value := getattr(found, key).value) is not None
        }
    return evidence
