# SPDX-License-Identifier: Apache-2.0
"""Test the contract of every noise policy, and then the policies that use the spread of the samples."""

import math
import statistics
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.noise import POLICIES, Evaluation, build
from reprise.tuner.noise.thesis_filter import admission_factor, interval, interval_factor

SPACE = Space((Parameter("a", tuple(range(8))), Parameter("b", (1, 2, 4, 8), "log")))
INITIAL, BUDGET = 6, 40

every_policy = pytest.mark.parametrize("policy", POLICIES)


def at(a: int, b: int = 1) -> Parametrization:
    return {"a": a, "b": b}


def truth(point: Parametrization) -> float:
    """Return the run time without noise: 10.0 at the best point (a = 5, b = 4), 14.5 at the default (a = 0, b = 1)."""
    return 10 + 0.1 * (float(point["a"]) - 5) ** 2 + 0.5 * (math.log2(float(point["b"])) - 2) ** 2


def noisy(point: Parametrization, rng: np.random.Generator) -> float | None:
    return truth(point) * math.exp(rng.normal(0, 0.1))


def campaign(
    policy: str, seed: int = 1, measure: Callable[[Parametrization, np.random.Generator], float | None] = noisy
) -> list[Evaluation]:
    """Return all trials of a search that asks for points in random order, under a noise policy."""
    return list(_played(policy, seed, measure))


@cache
def _played(policy: str, seed: int, measure: Callable[..., float | None]) -> tuple[Evaluation, ...]:
    rng = np.random.default_rng(seed)
    fresh = iter(rng.permutation(len(SPACE.points)))
    resampling, history, asked = build(policy, SPACE, BUDGET, seed), list[Evaluation](), 0
    while len(history) < BUDGET:
        point = resampling.again(history)
        if point is None:
            if (index := next(fresh, None)) is None:
                break
            point, asked = SPACE.points[index], asked + 1
        history.append(Evaluation(point, measure(point, rng), initial=asked <= INITIAL))
    return tuple(history)


def runs(history: Sequence[Evaluation], point: Parametrization | None) -> list[float]:
    return [one.value for one in history if one.point == point and one.value is not None]


@every_policy
def test_answers_depend_only_on_the_given_history(policy: str) -> None:
    history = campaign(policy)
    kept, expected = build(policy, SPACE, BUDGET, 1), []
    for length in range(0, len(history), 3):
        expected.append((kept.again(history[:length]), kept.winner(history[:length])))
    for length, answers in zip(range(0, len(history), 3), expected, strict=True):
        new = build(policy, SPACE, BUDGET, 1)
        assert (new.again(history[:length]), new.winner(history[:length])) == answers


@every_policy
def test_nothing_is_repeated_within_the_initial_design(policy: str) -> None:
    resampling = build(policy, SPACE, BUDGET, 1)
    history = [Evaluation(at(a), 10.0 + a % 3, initial=True) for a in range(6)]
    assert all(resampling.again(history[:length]) is None for length in range(7))


@every_policy
def test_a_point_that_failed_or_was_stopped_is_neither_repeated_nor_the_winner(policy: str) -> None:
    def measure(point: Parametrization, rng: np.random.Generator) -> float | None:
        return None if point["a"] == 5 else noisy(point, rng)

    history = campaign(policy, measure=measure)
    failed = [one.point for one in history if one.value is None]
    assert failed and len(failed) == len({SPACE.key(point) for point in failed})
    assert build(policy, SPACE, BUDGET, 1).winner(history) not in failed
    stopped = [Evaluation(one.point, one.value or 2.0, one.value is None, one.initial) for one in history]
    resampling = build(policy, SPACE, BUDGET, 1)
    assert resampling.winner(stopped) not in failed
    assert all(resampling.again(stopped[:length]) not in failed for length in range(len(stopped)))


@every_policy
def test_the_winner_has_two_samples(policy: str) -> None:
    for seed in range(3):
        history = campaign(policy, seed)
        won = build(policy, SPACE, BUDGET, seed).winner(history)
        assert policy == "none" or len(runs(history, won)) >= 2


@every_policy
def test_runs_under_way_are_counted(policy: str) -> None:
    """However many trials run at the same time, a policy starts no more repetitions of a point than it needs."""
    history, resampling = campaign(policy)[: BUDGET // 2], build(policy, SPACE, BUDGET, 1)
    pending: list[Parametrization] = []
    while (point := resampling.again(history, pending)) is not None and len(pending) < BUDGET:
        pending.append(point)
    assert len(pending) < BUDGET / 2


@every_policy
def test_distance_and_improvement_of_any_winner_are_linked_by_the_default(policy: str) -> None:
    """For every policy, as in all published rows, (1 + AvgDistOpt) / (1 - ImprovementDefault) is default / optimum."""
    found, best, default = build(policy, SPACE, BUDGET, 1).winner(campaign(policy)), 10.0, truth(at(0))
    assert found is not None
    distance, improvement = truth(found) / best - 1, 1 - truth(found) / default
    assert (1 + distance) / (1 - improvement) == pytest.approx(default / best)


@pytest.mark.parametrize(
    ("ratio", "distance", "improvement"), [(4.054, 5.81, 73.90), (4.054, 2.57, 74.70), (1.1223, 7.38, 4.32)]
)
def test_published_rows_of_the_filter_satisfy_the_link_of_distance_and_improvement(
    ratio: float, distance: float, improvement: float
) -> None:
    assert (1 + distance / 100) / (1 - improvement / 100) == pytest.approx(ratio, abs=2e-3)


def test_sedr_repeats_while_the_interval_is_wide_and_not_while_it_is_narrow() -> None:
    sedr = build("sedr", SPACE, 50, 1, width=0.3)
    assert sedr.again([Evaluation(at(0), 10.0)]) == at(0), "a single run gives no interval"
    assert sedr.again([Evaluation(at(0), value) for value in (10.0, 14.0, 8.0)]) == at(0)
    assert sedr.again([Evaluation(at(0), value) for value in (10.0, 10.1, 10.2)]) is None


def test_sedr_takes_students_t_and_not_the_normal_quantile_for_few_runs() -> None:  # SHAMan, defect 11
    """For two runs 4 % apart, the interval is 50 % of the mean wide (t = 12.7), not 5.5 % (1.96, variance over n)."""
    history = [Evaluation(at(0), value) for value in (9.8, 10.2)]
    assert build("sedr", SPACE, 50, 1, width=0.3).again(history) == at(0)
    assert build("sedr", SPACE, 50, 1, width=0.51).again(history) is None


def test_sedr_gives_a_point_at_most_the_permitted_runs() -> None:
    history = [Evaluation(at(0), value) for value in (1.0, 100.0, 1.0, 100.0)]
    assert build("sedr", SPACE, 50, 1, most=5).again(history) == at(0)
    assert build("sedr", SPACE, 50, 1, most=4).again(history) is None
    assert build("sedr", SPACE, 50, 1, most=5).again(history, [at(0)]) is None


def test_the_thesis_factors_fall_to_their_floors() -> None:
    assert admission_factor(0) == 1
    assert admission_factor(68) == pytest.approx(0.5049, abs=1e-4)
    assert admission_factor(69) == admission_factor(500) == 0.5
    assert interval_factor(100) == pytest.approx(0.366, abs=1e-3)
    assert interval_factor(160) == pytest.approx(0.2003, abs=1e-4)
    assert interval_factor(229) > interval_factor(230) == 0.1


def test_the_thesis_interval_of_two_runs() -> None:
    assert interval([3.0, 5.0]) == pytest.approx(1.96 * 2)


def thesis(*values: float, budget: int = 110, before: float = 100.0) -> bool:
    """Return whether the filter repeats a point with these runs, after an initial design of ten runs of `before` s."""
    history = [Evaluation(at(a, b), before, initial=True) for a in range(5) for b in (1, 2)]
    again = build("thesis", SPACE, budget, 1).again([*history, *(Evaluation(at(7), value) for value in values)])
    assert again in (None, at(7))
    return again is not None


def test_the_thesis_filter_repeats_once_whatever_the_first_run_was() -> None:
    assert thesis(10.0) and thesis(1e6)


def test_the_thesis_filter_drops_a_point_that_is_far_slower_than_earlier_points() -> None:
    step = 12
    limit = admission_factor(step) * 100
    assert thesis(limit * 0.6, limit * 1.39) and not thesis(limit * 0.6, limit * 1.41)


def test_the_thesis_filter_repeats_while_the_interval_is_wider_than_its_share_of_the_mean() -> None:
    half = interval_factor(12) * 10 / 1.96 / 2
    assert thesis(10 - half * 1.01, 10 + half * 1.01) and not thesis(10 - half * 0.99, 10 + half * 0.99)


@pytest.mark.parametrize(("budget", "most"), [(110, 10), (160, 15)])
def test_the_thesis_filter_gives_a_point_a_tenth_of_the_budget(budget: int, most: int) -> None:
    values = [1.0, 60.0] * 8
    assert statistics.median(values) < 50
    assert thesis(*values[: most - 1], budget=budget) and not thesis(*values[:most], budget=budget)


@pytest.mark.parametrize("policy", ["static", "sedr", "racing"])
def test_the_best_raw_mean_is_run_again_before_it_is_given_up(policy: str) -> None:
    """The best point is in the initial design. During the search, only one of these policies repeats such points."""
    history = [Evaluation(p, truth(p) if n else 5.0, initial=n < INITIAL) for n, p in enumerate(SPACE.points)]
    resampling = build(policy, SPACE, BUDGET, 1)
    assert resampling.again(history, stopped=len(history)) == SPACE.points[0]
    assert resampling.again(history, [SPACE.points[0]], len(history)) != SPACE.points[0]
