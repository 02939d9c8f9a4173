# SPDX-License-Identifier: Apache-2.0
"""Test the threshold that a calibration chooses, and its estimate of a site's prior."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.calibration import logistic_weights, match_prior, site_template
from reprise.matcher.calibration.logistic_weights import Weights
from reprise.matcher.calibration.pairs import LEVELS, UNKNOWN, Pairs, counted
from reprise.matcher.calibration.threshold_choice import LEAST, choose, rounded_up

TOP = len(LEVELS) - 1
SCORES = st.lists(st.floats(0, 1) | st.sampled_from([LEAST, 0.95, 1.0, 1 - 1e-12]), max_size=60)
RATES = st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.5])


@given(SCORES, RATES)
def test_the_threshold_is_the_smallest_that_at_most_the_rate_of_scores_reach(scores: list[float], rate: float) -> None:
    threshold = choose(scores, rate)
    allowed = rate * len(scores) + 1e-9
    assert sum(score >= threshold for score in scores) <= allowed
    assert threshold >= LEAST
    if threshold > LEAST:
        smaller = math.nextafter(threshold, 0)
        assert sum(score >= smaller for score in scores) > allowed


def test_a_threshold_over_1_means_that_none_is_good_enough() -> None:
    assert choose([1.0, 0.2], 0.1) > 1
    assert choose([1.0, 0.2], 0.5) == LEAST


@given(st.floats(0.5, 1) | st.integers(1, 14).map(lambda digits: 1 - 10.0**-digits))
def test_a_threshold_is_rounded_up_to_two_digits_of_its_distance_to_1(threshold: float) -> None:
    rounded = rounded_up(threshold)
    assert threshold <= rounded <= 1
    assert 1 - rounded >= 0.9 * (1 - threshold) - 1e-15 and rounded_up(rounded) == rounded


@pytest.mark.parametrize(
    ("threshold", "rounded"),
    [(0.97236, 0.973), (0.5, 0.5), (0.9, 0.9), (0.999987654, 0.999988), (1.0, 1.0)],
)
def test_thresholds_have_few_digits(threshold: float, rounded: float) -> None:
    assert rounded_up(threshold) == rounded


# -- the prior ---------------------------------------------------------------------------------------------------------

KNOTS = (np.array([0.0, 1.0]), np.array([0.0, 0.5, 1.0]))


def drawn(share: float, count: int, seed: int) -> Pairs:
    """Return random pairs with levels for two parts. A pair matches with probability `share`.

    In both parts, matching pairs are more often similar than other pairs.
    """
    rng = np.random.default_rng(seed)
    matches = rng.random(count) < share
    same = np.where(rng.random(count) < np.where(matches, 0.9, 0.1), TOP, 0)
    alike = np.clip(np.where(matches, rng.normal(8, 3, count), rng.normal(3, 3, count)).round(), 0, TOP)
    return counted(np.stack([same, alike], axis=1).astype(np.int8), matches)


def unlabelled(pairs: Pairs) -> Pairs:
    return Pairs(pairs.patterns, np.zeros(len(pairs.patterns)), pairs.counts)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.002, 0.02, 0.3])
def test_the_share_of_matching_pairs_is_estimated_from_unlabeled_pairs(share: float) -> None:
    known = drawn(0.02, 300_000, seed=1)
    weights = logistic_weights.fit(known, KNOTS)
    site = drawn(share, 300_000, seed=2)
    assert match_prior.share_of(unlabelled(site), weights, known.share) == pytest.approx(site.share, rel=0.15)


@pytest.mark.parametrize(("level", "share"), [(TOP, match_prior.MOST_SHARE), (0, match_prior.LEAST_SHARE)])
def test_a_site_where_all_pairs_or_none_are_similar_has_a_bounded_share(level: int, share: float) -> None:
    weights = logistic_weights.fit(drawn(0.02, 50_000, seed=1), KNOTS)
    all_same = Pairs(np.array([[level, level]], np.int8), np.zeros(1), np.array([1e6]))
    assert match_prior.share_of(all_same, weights, 0.02) == pytest.approx(share, rel=0.2 if level else 5)


def of_template(share: float, count: int, seed: int) -> Pairs:
    """Return random pairs with levels for all parts of a site's model. A pair matches with probability `share`.

    Matching pairs differ from other pairs only in the similarity of executable and job name.
    """
    rng = np.random.default_rng(seed)
    matches = rng.random(count) < share
    levels = np.zeros((count, len(site_template.FEATURES)), np.int8)
    for feature, matching, other in (("executable", 0.99, 0.01), ("job_name", 0.7, 0.02)):
        is_alike = rng.random(count) < np.where(matches, matching, other)
        levels[:, site_template.FEATURES.index(feature)] = np.where(is_alike, TOP, 0)
    return counted(levels, matches)


GONE = [site_template.FEATURES.index(name) for name in ("program", "executable", "script")]


def test_jobs_with_an_unknown_program_lack_its_options_too() -> None:
    known = of_template(0.02, 10_000, seed=1)
    lacking = match_prior.lacking(unlabelled(known).without(GONE), known)
    assert {site_template.FEATURES[part] for part in lacking} == {
        *("program", "executable", "options", "option_keys", "modules", "script")
    }
    assert match_prior.lacking(unlabelled(known), known) == []


def test_parts_that_are_occasionally_unknown_are_not_lacking() -> None:
    known = of_template(0.02, 10_000, seed=1)
    half = Pairs(known.patterns.copy(), np.zeros(len(known.patterns)), np.ones(len(known.patterns)))
    script = site_template.FEATURES.index("script")
    half.patterns[: len(half.patterns) // 20, script] = UNKNOWN
    assert match_prior.lacking(half, known) == []
    half.patterns[: len(half.patterns) // 2, script] = UNKNOWN
    assert match_prior.lacking(half, known) == [script]


def test_jobs_without_modules_lack_nothing() -> None:
    known = of_template(0.02, 10_000, seed=1)
    assert match_prior.lacking(unlabelled(known).without([site_template.FEATURES.index("modules")]), known) == []


@pytest.mark.slow
def test_the_share_is_estimated_from_the_remaining_parts_where_no_program_is_known() -> None:
    """A regression: the share of matching pairs was estimated as almost 0, and the model then matched no job.

    The weights for the estimate had been fitted to pairs in which no part was unknown, unlike the pairs of this site.
    """
    known, site = of_template(0.02, 100_000, seed=1), of_template(0.05, 100_000, seed=2)
    weights: Weights = logistic_weights.fit(known, site_template.KNOTS)
    left = unlabelled(site).without(GONE)
    found = match_prior.share(left, 1000, known, weights, match_prior.lacking(left, known))
    assert found == pytest.approx(site.share, rel=0.15)


@pytest.mark.slow
def test_one_tuned_job_for_each_application_does_not_mean_that_no_job_matches() -> None:
    """A regression: the prior once became so small that only 30 % of an evaluation's known jobs matched, not 87 %."""
    known, site = of_template(0.02, 50_000, seed=1), of_template(0.0, 50_000, seed=2)
    weights = logistic_weights.fit(known, site_template.KNOTS)
    assert match_prior.share_of(unlabelled(site), weights, known.share) < 1e-4
    assert match_prior.share(unlabelled(site), 100, known, weights, []) == pytest.approx(
        match_prior.LEAST_MATCHED / 100
    )
