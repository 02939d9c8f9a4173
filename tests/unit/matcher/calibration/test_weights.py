# SPDX-License-Identifier: Apache-2.0
"""Test the weights: a logistic regression with rising curves, fitted to pairs that are labeled as matching or not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.calibration import ecm, independent_weights, logistic_weights, site_template
from reprise.matcher.calibration.logistic_weights import Weights
from reprise.matcher.calibration.pairs import LEVELS, UNKNOWN, Floats, Levels, Pairs, counted
from tests.examples import examples

KNOTS = (np.array([0.0, 1.0]), np.array([0.0, 0.4, 0.8, 1.0]))
TOP = len(LEVELS) - 1


def drawn(weights: Weights, count: int, seed: int = 1) -> Pairs:
    """Return pairs with random levels. Each pair matches with the probability that `weights` gives."""
    rng = np.random.default_rng(seed)
    columns = [rng.choice([UNKNOWN, 0, TOP], count), rng.integers(UNKNOWN, len(LEVELS), count)]
    levels = np.stack(columns, axis=1).astype(np.int8)
    return counted(levels, rng.random(count) < weights.probability(levels))


@pytest.mark.slow
def test_the_weights_that_pairs_were_drawn_with_are_recovered() -> None:
    true = Weights(-4.0, KNOTS, (np.array([0.0, 3.0]), np.array([0.0, 0.0, 2.0, 5.0])), (1.0, 2.0))
    found = logistic_weights.fit(drawn(true, 400_000), KNOTS)
    assert found.prior == pytest.approx(true.prior, abs=0.1)
    assert found.unknown == pytest.approx(true.unknown, abs=0.1)
    for one, other in zip(found.curves, true.curves, strict=True):
        assert one == pytest.approx(other, abs=0.1)


PAIRS = st.lists(
    st.tuples(st.integers(UNKNOWN, TOP), st.integers(UNKNOWN, TOP), st.booleans()), min_size=1, max_size=40
)


@settings(max_examples=examples(30))
@given(PAIRS)
def test_curves_rise_for_any_pairs_and_unknown_is_worth_no_more_than_equal(
    pairs: list[tuple[int, int, bool]],
) -> None:
    levels = np.array([one[:2] for one in pairs], np.int8)
    found = logistic_weights.fit(counted(levels, np.array([one[2] for one in pairs])), KNOTS)
    for curve, unknown in zip(found.curves, found.unknown, strict=True):
        assert curve[0] == 0 and np.diff(curve).min() >= 0
        assert 0 <= unknown <= curve[-1]
    assert np.isfinite([found.prior, *np.concatenate(found.curves)]).all()
    probability = found.probability(levels)
    assert ((probability >= 0) & (probability <= 1)).all()


def test_the_same_pairs_give_the_same_weights() -> None:
    pairs = drawn(Weights(-2.0, KNOTS, (np.array([0.0, 3.0]), np.array([0.0, 1, 2, 4])), (1.0, 2.0)), 5_000)
    one, other = (logistic_weights.fit(pairs, KNOTS) for _ in range(2))
    assert (one.prior, one.unknown) == (other.prior, other.unknown)
    for first, second in zip(one.curves, other.curves, strict=True):
        assert np.array_equal(first, second)


def test_a_total_is_the_sum_of_the_parts_values_on_their_curves() -> None:
    weights = Weights(-4.0, KNOTS, (np.array([0.0, 3.0]), np.array([0.0, 1.0, 2.0, 5.0])), (1.5, 0.5))
    # The levels 5 and 6 of the last pattern are the similarities 0.5 and 0.6.
    patterns = np.array([[0, 0], [TOP, TOP], [UNKNOWN, UNKNOWN], [5, 6]], np.int8)
    assert weights.total(patterns) == pytest.approx([-4, 4, -2, -4 + 1.5 + 1.5])
    assert weights.probability(patterns)[:2] == pytest.approx([1 / 17, 16 / 17])


def labelled(columns: list[npt.NDArray[np.int64]], matches: npt.NDArray[np.bool_]) -> Pairs:
    return counted(np.stack(columns, axis=1).astype(np.int8), matches)


@pytest.mark.slow
def test_a_duplicated_part_counts_once_although_ecm_counts_it_twice() -> None:
    rng = np.random.default_rng(2)
    matches = rng.random(50_000) < 0.2
    same, other = (np.where(rng.random(50_000) < np.where(matches, m, u), TOP, 0) for m, u in ((0.9, 0.2), (0.8, 0.1)))
    once = labelled([same, other], matches)
    twice = labelled([same, same, other], matches)
    knots = (KNOTS[0],) * 3
    single, double = logistic_weights.fit(once, knots[:2]), logistic_weights.fit(twice, knots)
    both = np.array([[TOP, TOP, TOP], [0, 0, TOP]], np.int8)
    assert double.total(both) == pytest.approx(single.total(both[:, 1:]), abs=0.05)
    assert double.curves[0][-1] == pytest.approx(single.curves[0][-1] / 2, abs=0.05)

    def worth(pairs: Pairs, parts: int) -> float:
        """Return how many more bits the highest level adds than the lowest, summed over the first `parts` parts."""
        sizes = [[1.0] * len(LEVELS)] * pairs.patterns.shape[1]
        rising = [[float(level + 1) for level in range(len(LEVELS))]] * pairs.patterns.shape[1]
        found = ecm.fit(
            pairs.patterns.astype(np.int64),
            counts=pairs.counts,
            start_matched=rising,
            start_others=sizes,
            start_share=0.2,
        )
        return sum(float(found.bits(part)[TOP] - found.bits(part)[0]) for part in range(parts))

    assert worth(twice, 2) > 1.5 * worth(once, 1)


def test_a_line_corrects_totals_that_are_too_confident() -> None:
    rng = np.random.default_rng(3)
    levels = rng.integers(0, len(LEVELS), 100_000).astype(np.int8)[:, None]
    log_odds = LEVELS[levels[:, 0]] * 6 - 4
    pairs = counted(levels, rng.random(100_000) < 1 / (1 + np.exp2(-log_odds)))
    totals = 3 * (LEVELS[pairs.patterns[:, 0]] * 6 - 4) + 2
    slope, offset = logistic_weights.line(totals, pairs)
    assert slope == pytest.approx(1 / 3, abs=0.02) and offset == pytest.approx(-2 / 3, abs=0.05)


def test_a_line_is_not_too_steep_where_one_total_separates_all_pairs() -> None:
    """A regression: the slope was once 200, which gave a part more than 100 bits, the maximum in a model file."""
    levels = np.array([[0], [TOP]], np.int8)
    pairs = Pairs(levels, np.array([0.0, 2000.0]), np.array([98000.0, 0.0]))
    slope, offset = logistic_weights.line(np.array([-10.0, 10.0]), pairs)
    assert 1 < slope < 2 and abs(10 * slope + offset) < 20


def of_template(count: int, seed: int) -> tuple[Levels, Floats]:
    """Return random levels of pairs for all parts of a calibration's model, and, for each pair, whether it matches.

    Each part of a matching pair is similar with probability 0.8, and each part of another pair with probability 0.2.
    """
    rng = np.random.default_rng(seed)
    matches = rng.random(count) < 0.1
    parts = len(site_template.KNOTS)
    alike = rng.random((count, parts)) < np.where(matches, 0.8, 0.2)[:, None]
    part_of_it = rng.integers(0, TOP, (count, parts))
    exact = np.array([len(knots) == 2 for knots in site_template.KNOTS])
    return np.where(alike, TOP, np.where(exact, 0, part_of_it)).astype(np.int8), matches.astype(np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("unlabelled", [True, False], ids=["of a site", "of made-up sites alone"])
def test_ecm_weights_rise_and_their_sum_gives_a_probability(unlabelled: bool) -> None:
    levels, matches = of_template(20_000, seed=4)
    known = counted(levels, matches.astype(np.bool_))
    site = Pairs(known.patterns, np.zeros(len(known.patterns)), known.counts) if unlabelled else None
    found = independent_weights.fit(known, site)
    for curve, unknown in zip(found.curves, found.unknown, strict=True):
        assert np.diff(curve).min() >= 0 and unknown <= curve[-1]
    claimed = found.probability(known.patterns)
    sure = claimed > 0.9
    assert np.average(known.matched[sure] / known.counts[sure], weights=known.counts[sure]) > 0.9


@pytest.mark.slow
def test_ecm_gives_no_weight_to_a_part_that_is_unknown_in_all_pairs() -> None:
    levels, matches = of_template(5_000, seed=5)
    levels[:, 3] = UNKNOWN
    found = independent_weights.fit(counted(levels, matches.astype(np.bool_)), None)
    assert not found.curves[3].any()
