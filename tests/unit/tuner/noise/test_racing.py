# SPDX-License-Identifier: Apache-2.0
"""Test the policy racing: its model under bursts, drift, outliers and lucky runs, and which points it repeats."""

import math

import numpy as np
import pytest
from scipy.stats import truncnorm
from threadpoolctl import threadpool_info

from reprise.tuner.model.space import Parametrization
from reprise.tuner.noise import Evaluation, build, noise_model
from reprise.tuner.noise.noise_model import LENGTH, NOISE, OWN, SMOOTH, TIME, Data
from reprise.tuner.search.encoding import encode
from tests.unit.tuner.noise.test_noise_policy import BUDGET, SPACE, at, campaign, noisy, runs, truth


def data(points: list[Parametrization], site: list[int], values: list[float]) -> Data:
    return Data(encode(SPACE, points), np.array(site), np.arange(len(site), dtype=float), np.array(values), True)


def won(history: list[Evaluation]) -> Parametrization | None:
    return build("racing", SPACE, BUDGET, 1).winner(history)


def background(rng: np.random.Generator) -> list[Evaluation]:
    """Return one run, with little noise, of each of twelve points other than the two best."""
    points = [point for point in SPACE.points if (point["a"], point["b"]) not in ((5, 4), (4, 4))]
    chosen = rng.permutation(len(points))[:12]
    return [Evaluation(points[i], truth(points[i]) * math.exp(rng.normal(0, 0.01))) for i in chosen]


def test_a_point_with_one_lucky_run_does_not_win() -> None:
    history = background(np.random.default_rng(1))
    history += [Evaluation(at(0, 8), value) for value in (7.0, 14.0, 14.5)]
    history += [Evaluation(at(5, 4), value) for value in (10.1, 9.9, 10.0)]
    assert won(history) == at(5, 4)


def test_a_run_hit_by_a_burst_does_not_condemn_its_point() -> None:
    history = background(np.random.default_rng(1))
    history += [Evaluation(at(5, 4), value) for value in (10.0, 60.0, 10.0, 10.1)]
    history += [Evaluation(at(0, 1), value) for value in (14.4, 14.6, 14.5, 14.5)]
    assert won(history) == at(5, 4)


def test_points_are_judged_by_the_runs_near_them_in_time() -> None:
    """For a while, all runs take 40 % longer. The best point must win although it is run only during that time."""
    rng, history = np.random.default_rng(2), []
    order = [at(int(index) % 8, (1, 2, 8)[int(index) // 8]) for index in rng.permutation(24)]
    for index, point in enumerate([*order[:12], at(5, 4), at(5, 4), *order[12:], at(1, 4), at(1, 4)]):
        slow = 1.4 if 8 <= index < 20 else 1.0
        history.append(Evaluation(point, truth(point) * slow * math.exp(rng.normal(0, 0.01))))
    assert min(runs(history, at(5, 4))) > max(runs(history, at(1, 4))), (
        "judged by its own runs alone, the best point is slower"
    )
    assert won(history) == at(5, 4)


def test_a_point_that_may_no_longer_be_the_best_gets_no_more_runs() -> None:
    """In the last fifth of the budget, racing repeats several points; nearly all are better than the median point."""
    history = campaign("racing", 4)
    late = history[int(BUDGET * 0.8) :]
    seen = {SPACE.key(one.point) for one in history[: int(BUDGET * 0.8)]}
    again = [one.point for one in late if SPACE.key(one.point) in seen]
    median = float(np.median([truth(point) for point in SPACE.points]))
    assert again and np.mean([truth(point) < median for point in again]) > 0.9
    assert len({SPACE.key(point) for point in again}) > 1


def test_without_noise_the_search_gets_almost_the_whole_budget() -> None:
    for seed in range(6):
        history = campaign("racing", seed, lambda point, _: truth(point))
        assert len({SPACE.key(one.point) for one in history}) >= min(len(SPACE.points), BUDGET - 4)


def race_that_agrees(new: int) -> tuple[list[Evaluation], Parametrization | None]:
    """Return a race's runs and next point, if three repetitions took exactly as long as the first run of their points.

    The repetitions begin after 20 runs of different points. Afterwards, `new` further points are run once.
    """
    rng = np.random.default_rng(5)
    history = [Evaluation(point, noisy(point, rng)) for point in SPACE.points[:20]]
    resampling = build("racing", SPACE, BUDGET, 1, share=0.5)
    for _ in range(3):
        point = resampling.again(history)
        assert point is not None
        history.append(Evaluation(point, runs(history, point)[0]))
    history += [Evaluation(point, 20.0) for point in SPACE.points[20 : 20 + new]]
    return history, resampling.again(history)


def test_runs_agree_only_if_they_took_exactly_the_same_time() -> None:
    points = [at(0), at(3)]
    assert noise_model.agreements(data(points, [0, 1, 0, 1, 1], [1.0, 2.0, 1.0, 2.0, 2.0 + 1e-12])) == 3
    assert noise_model.agreements(data(points, [0, 1, 0, 1, 1], [1.0, 2.0, 1.0, 2.0, 2.0 + 1e-6])) == 0
    assert noise_model.agreements(data(points, [0, 1], [1.0, 2.0])) == 0


def test_runs_that_agree_end_the_race_until_one_disagrees() -> None:
    history, again = race_that_agrees(0)
    assert again is None
    leader = min(history, key=lambda one: one.value or math.inf)
    history.append(Evaluation(leader.point, 0.8 * (leader.value or 0.0)))
    assert build("racing", SPACE, BUDGET, 1, share=0.5).again(history) is not None


def test_the_more_runs_agreement_would_save_the_more_agreement_is_required() -> None:
    assert race_that_agrees(4)[1] is None
    history, again = race_that_agrees(5)
    assert again in [one.point for one in history[:20]]


def test_a_new_leader_is_run_again_though_there_was_no_noise_so_far() -> None:
    history = [Evaluation(point, truth(point)) for point in SPACE.points[:27] for _ in range(1 + (truth(point) < 10.4))]
    best = build("racing", SPACE, BUDGET, 1).again(history)
    assert best is None
    history.append(Evaluation(SPACE.points[31], 9.0))
    assert build("racing", SPACE, BUDGET, 1).again(history) == SPACE.points[31]
    assert build("racing", SPACE, BUDGET, 1).again(history, [SPACE.points[31]]) is None


def test_without_noise_the_best_point_wins() -> None:
    for seed in range(3):
        history = campaign("racing", seed, lambda point, _: truth(point))
        best = min(history, key=lambda one: one.value or math.inf)
        assert won(history) == best.point


def test_a_search_that_was_stopped_early_still_has_its_leaders_repeated() -> None:
    history = campaign("racing", 4)[: BUDGET // 2]
    resampling, stopped = build("racing", SPACE, BUDGET, 4, share=0.4, least=0.0), len(history)
    rng, known = np.random.default_rng(1), {SPACE.key(one.point) for one in history}
    while (point := resampling.again(history, stopped=stopped)) is not None:
        assert SPACE.key(point) in known
        history.append(Evaluation(point, noisy(point, rng)))
    assert len(history) == pytest.approx(stopped / 0.6, abs=1)
    assert len(runs(history, resampling.winner(history))) >= 2


@pytest.mark.slow
def test_racing_chooses_better_than_repeating_blindly() -> None:
    def distance(policy: str) -> float:
        found = [build(policy, SPACE, BUDGET, seed).winner(campaign(policy, seed)) for seed in range(6)]
        return float(np.mean([truth(point) / 10 - 1 for point in found if point is not None]))

    assert distance("racing") < min(distance("static"), distance("none"))


def test_the_model_is_computed_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """On such small matrices, several linear algebra threads would take ten times as long and occupy all processors."""
    seen: list[int] = []
    fit = noise_model.fit

    def watched(given: Data) -> noise_model.Array:
        seen.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return fit(given)

    monkeypatch.setattr(noise_model, "fit", watched)
    history = background(np.random.default_rng(1))
    assert won([*history, history[0]]) is not None
    assert seen and set(seen) == {1}


def test_racing_accepts_negative_objectives() -> None:
    history = campaign("racing", 5, lambda point, rng: noisy(point, rng) - 30)  # type: ignore[operator]
    found = build("racing", SPACE, BUDGET, 5).winner(history)
    assert found is not None and truth(found) < 11


def test_the_posterior_is_that_of_the_formulas() -> None:
    """The posterior of two points and three runs, with heavy-tail weights, equals the conditional of a joint normal."""
    given = data([at(0), at(3)], [0, 1, 0], [1.0, 2.0, 1.2])
    theta = np.log([1.5, 1.0, 0.3, 0.01, 0.05])
    parts = np.exp(theta)
    found = noise_model.posterior(given, theta)
    weights = noise_model.Weights.even(given)
    for _ in range(noise_model.ROUNDS):
        weights = noise_model.reweighted(given, theta, weights)
    sites = encode(SPACE, [at(0), at(3)])
    prior = parts[SMOOTH] * np.exp(-noise_model.squares(sites, sites) / (2 * parts[LENGTH] ** 2)) + np.diag(
        parts[OWN] / weights.points
    )
    pick = prior[:, [0, 1, 0]]
    time = parts[TIME] * np.exp(-np.abs(np.subtract.outer(range(3), range(3))) / noise_model.MEMORY)
    total = pick[[0, 1, 0]] + time + np.diag(parts[NOISE] / weights.runs)
    values, centre, scale = noise_model.standardized(given.values)
    assert found.mean == pytest.approx(pick @ np.linalg.solve(total, values) * scale + centre, abs=1e-6)
    covariance = (prior - pick @ np.linalg.solve(total, pick.T)) * scale**2
    assert found.covariance == pytest.approx(covariance, abs=1e-6)
    assert found.deviation == pytest.approx(np.sqrt(np.diag(covariance)), abs=1e-6)


def test_a_point_whose_runs_agree_is_believed_whatever_its_neighbors_took() -> None:
    """The best point is surrounded by slow points, and some runs take ten times as long."""
    rng, history = np.random.default_rng(3), []
    for index, place in enumerate(rng.integers(len(SPACE.points), size=60)):
        point = SPACE.points[place]
        value = 9.5 if point == at(0, 8) else truth(point)
        history.append(Evaluation(point, value * (10 if index % 12 == 5 else 1)))
    history += [Evaluation(at(0, 8), 9.5)] * 4 + [Evaluation(at(5, 4), truth(at(5, 4)))] * 4
    assert won(history) == at(0, 8)


def test_the_mean_decides_and_not_the_typical_run() -> None:
    """Bursts slow some runs of some points. Without the bursts, one of these points would be the best."""
    rng, history = np.random.default_rng(4), []
    for number, point in enumerate([*SPACE.points[:10], at(1, 2), at(2, 2)]):
        value = {10: 9.9, 11: 10.0}.get(number, 12.0)
        for run in range(12):
            burst = 1.8 if number % 2 == 0 and run % 4 == 0 else 1.0
            history.append(Evaluation(point, value * burst * math.exp(rng.normal(0, 0.01))))
    assert won(history) == at(2, 2)


def test_a_mean_excess_is_shrunk_as_far_as_runs_leave_it_open() -> None:
    """If every point has equally many runs, the result equals that of the analysis of variance."""
    rest = np.log([[1.0, 1.04, 1.2], [1.2, 1.3, 1.4], [1.0, 1.0, 1.01]])
    given = data([at(0), at(3), at(5)], [0, 0, 0, 1, 1, 1, 2, 2, 2], [1.0] * 9)
    before = noise_model.Posterior(np.array([0.1, 0.2, 0.3]), np.zeros((3, 3)), 0.1, rest.ravel())
    excess = np.exp(rest) - 1
    within, means = excess.var(axis=1, ddof=1).mean(), excess.mean(axis=1)
    between = means.var(ddof=1) - within / 3
    assert between > 0
    factor = 3 * between / (3 * between + within)
    after = noise_model.on_average(given, before)
    assert after.mean == pytest.approx(before.mean + np.log1p(means.mean() + factor * (means - means.mean())))
    assert np.diag(after.covariance) == pytest.approx(np.full(3, factor * within / 3))


@pytest.mark.parametrize("estimate", [-0.3, -0.02, 0.0, 0.01, 0.3])
def test_a_variance_is_the_mean_of_its_posterior(estimate: float) -> None:
    of_what_it_may_be = truncnorm(-estimate / 0.02, math.inf, loc=estimate, scale=0.02)
    assert noise_model._not_negative(estimate, 0.02) == pytest.approx(of_what_it_may_be.mean(), rel=1e-3)


def test_a_point_with_a_burst_ranks_behind_similar_points_without_one() -> None:
    """Bursts count even if they may be chance (estimated variance between points below 0). All other runs are equal."""
    rest = np.log([1.0, 1.0, 1.0, 1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.5, 1.0])
    given = data([at(0), at(3), at(5)], [0] * 4 + [1] * 4 + [2] * 4, [1.0] * 12)
    after = noise_model.on_average(given, noise_model.Posterior(np.zeros(3), np.zeros((3, 3)), 0.1, rest))
    assert after.mean[1] < after.mean[0] - 0.01 and after.mean[0] == pytest.approx(after.mean[2])


def test_a_run_under_way_narrows_the_posterior_as_its_result_would() -> None:
    covariance = np.array([[0.5, 0.2], [0.2, 0.4]])
    after = noise_model.Posterior(np.zeros(2), covariance, 0.3, np.zeros(0)).with_run(0)
    joint = np.block([[covariance, covariance[:, [0]]], [covariance[[0]], np.array([[0.8]])]])
    expected = covariance - np.outer(joint[:2, 2], joint[2, :2]) / joint[2, 2]
    assert after.covariance == pytest.approx(expected)
    assert after.deviation == pytest.approx(np.sqrt(np.diag(expected)))


def test_two_runs_that_agree_far_below_all_others_are_believed() -> None:
    """All other points are similar. The point with the two runs is 70 of their standard deviations away from them."""
    rng = np.random.default_rng(6)
    values = 20 * np.exp(rng.normal(0, 0.01, len(SPACE.points) + 1))
    values[[7, -1]] = 10.1, 9.9
    given = data(list(SPACE.points), [*range(len(SPACE.points)), 7], list(np.log(values)))
    found = noise_model.posterior(given, noise_model.fit(given))
    assert found.mean[7] == pytest.approx(math.log(10), abs=0.05)


def test_without_repetitions_the_best_run_wins() -> None:
    """One of six trials took little more than half the time of the others; a model would treat it as an outlier."""
    times = (4.4, 4.5, 2.5, 4.3, 4.4, 4.6)
    assert won([Evaluation(at(place), time) for place, time in enumerate(times)]) == at(2)
