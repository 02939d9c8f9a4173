# SPDX-License-Identifier: Apache-2.0
"""Test that the fit to unlabeled pairs recovers the weights of generated pairs and agrees with recordlinkage."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.calibration.ecm import UNKNOWN, Fit, Levels, fit
from tests.examples import examples

MATCHED = ([0.05, 0.15, 0.8], [0.1, 0.9], [0.2, 0.1, 0.1, 0.6])
OTHERS = ([0.9, 0.08, 0.02], [0.7, 0.3], [0.7, 0.2, 0.05, 0.05])
SHARE = 0.1


def rising(sizes: list[int]) -> list[list[float]]:
    return [[float(level + 1) for level in range(size)] for size in sizes]


def falling(sizes: list[int]) -> list[list[float]]:
    return [list(reversed(values)) for values in rising(sizes)]


def made(pairs: int, seed: int = 1, share: float = SHARE) -> tuple[Levels, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return pairs drawn from the distributions MATCHED and OTHERS, and which pairs match."""
    rng = np.random.default_rng(seed)
    matches = rng.random(pairs) < share
    columns = [
        np.where(matches, rng.choice(len(m), pairs, p=m), rng.choice(len(u), pairs, p=u))
        for m, u in zip(MATCHED, OTHERS, strict=True)
    ]
    return np.stack(columns, axis=1), matches


def fitted(levels: Levels, sizes: list[int]) -> Fit:
    return fit(levels, start_matched=rising(sizes), start_others=falling(sizes), start_share=0.2)


@pytest.mark.slow
def test_the_distributions_that_pairs_were_drawn_from_are_recovered() -> None:
    levels, matches = made(200_000)
    found = fitted(levels, [3, 2, 4])
    assert found.converged and found.share == pytest.approx(SHARE, abs=0.01)
    for one, true in zip((*found.matched, *found.others), (*MATCHED, *OTHERS), strict=True):
        assert one == pytest.approx(np.array(true), abs=0.02)
    sure = found.probability(levels) > 0.9
    assert matches[sure].mean() > 0.9


def test_a_level_is_worth_the_logarithm_of_its_ratio() -> None:
    levels, _ = made(100_000)
    found = fitted(levels, [3, 2, 4])
    assert found.bits(0)[2] == pytest.approx(np.log2(0.8 / 0.02), abs=0.5)
    assert found.bits(0)[0] < 0 < found.bits(0)[2]


def test_unknown_levels_do_not_change_the_probability() -> None:
    levels, _ = made(100_000)
    holes = levels.copy()
    holes[np.random.default_rng(2).random(holes.shape) < 0.2] = UNKNOWN
    found = fitted(holes, [3, 2, 4])
    for one, true in zip(found.matched, MATCHED, strict=True):
        assert one == pytest.approx(np.array(true), abs=0.03)
    nothing = np.full((1, 3), UNKNOWN, dtype=np.int64)
    assert found.probability(nothing)[0] == pytest.approx(found.share)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 1)), min_size=1, max_size=60))
def test_any_pairs_give_probabilities_and_the_likelihood_never_falls(pairs: list[tuple[int, int]]) -> None:
    found = fit(
        np.array(pairs, dtype=np.int64),
        start_matched=rising([3, 2]),
        start_others=falling([3, 2]),
        start_share=0.2,
        pseudo_pairs=1e-9,
    )
    assert 0 < found.share < 1
    for values in (*found.matched, *found.others):
        assert values.sum() == pytest.approx(1) and values.min() > 0
    assert np.diff(found.log_likelihood).min(initial=0.0) > -1e-6


def test_counted_pairs_are_the_same_as_repeated_ones() -> None:
    levels, _ = made(5_000)
    rows, counts = np.unique(levels, axis=0, return_counts=True)
    sizes = [3, 2, 4]
    once = fit(rows, start_matched=rising(sizes), start_others=falling(sizes), start_share=0.2, counts=counts)
    assert once.share == pytest.approx(fitted(levels, sizes).share)


@pytest.mark.parametrize(
    ("start", "share", "words"),
    [
        (rising([3, 2]), 0.2, "there are starting values for 2 comparisons, but the pairs have 3"),
        ([[1, 1], [1, 1], [1] * 4], 0.2, "comparison 0: every level"),
        ([[1, 0, 1], [1, 1], [1] * 4], 0.2, "comparison 0: every level"),
        (rising([3, 2, 4]), 0.0, "start_share is 0.0"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(start: list[list[float]], share: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit(made(100)[0], start_matched=start, start_others=start, start_share=share)


@pytest.mark.slow
def test_with_two_levels_it_agrees_with_recordlinkage() -> None:
    pandas = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recordlinkage = pytest.importorskip("recordlinkage")
        binary = (made(20_000)[0] > 0).astype(np.int64)
        frame = pandas.DataFrame(
            binary, index=pandas.MultiIndex.from_arrays([range(len(binary)), range(len(binary))]), columns=list("abc")
        )
        theirs = recordlinkage.ECMClassifier(init="jaro", max_iter=1000, atol=1e-9)
        theirs.fit(frame)
    ours = fit(
        binary,
        start_matched=[[0.1, 0.9]] * 3,
        start_others=[[0.9, 0.1]] * 3,
        start_share=0.1,
        pseudo_pairs=1e-9,
    )
    assert ours.share == pytest.approx(theirs.p, abs=1e-3)
    for comparison, name in enumerate("abc"):
        assert ours.matched[comparison][1] == pytest.approx(theirs.m_probs[name][1], abs=1e-3)
        assert ours.others[comparison][1] == pytest.approx(theirs.u_probs[name][1], abs=1e-3)
