# SPDX-License-Identifier: Apache-2.0
"""Test the numbers that `bench.collectives` reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from bench.collectives import __main__ as bench
from reprise.tuner.model.space import Parametrization
from reprise.tuner.openmpi.collective_spaces import DEFAULT, space
from tests.unit.collectives_values import BUILD


def point(algorithm: int) -> Parametrization:
    return {**DEFAULT, "algorithm": algorithm}


def exhaustive(*problems: dict[int, list[float]]) -> bench.Exhaustive:
    """Return a search of problems a, b and c (in this order) with each algorithm's values; each run took 2 s."""
    found = {
        key: [[bench.Measured(point(algorithm), value, 2.0) for value in values] for algorithm, values in of.items()]
        for key, of in zip("abc", problems, strict=False)
    }
    return bench.Exhaustive(found)


def test_the_leaders_at_each_rank_are_the_points_of_that_rank_in_every_problem() -> None:
    found = exhaustive({1: [3.0], 2: [1.0, 1.2], 3: [math.nan]}, {4: [2.0]})
    first, second = bench.leaders(found, 2)
    assert (first["a"]["algorithm"], first["b"]["algorithm"]) == (2, 4)
    assert (second["a"]["algorithm"], second["b"]["algorithm"]) == (1, 4), (
        "a problem with fewer points repeats its last point"
    )


def test_an_exhaustive_search_runs_every_point_of_the_grid_including_equivalent_points() -> None:
    searched = space("allreduce", 1024, 4, BUILD, (0, 64, 256), (2, 3))
    points = list(searched.grid())
    assert len(points) == 5 * 3 * 2
    assert {searched.key(one) for one in points} == {searched.key(one) for one in searched.points}
    found = exhaustive({1: [3.0, 3.1, 2.9], 2: [1.0, 1.2]})
    assert (found.runs, found.seconds, found.seconds_of_distinct) == (5, 10.0, 4.0)


def test_the_best_point_has_the_lowest_mean_and_did_not_fail() -> None:
    variants = {"x": {"a": point(1)}, "y": {"a": point(2)}, "z": {"a": point(3)}}
    times = {"x": {"a": [1.0, math.nan]}, "y": {"a": [2.0, 2.2]}, "z": {"a": [1.9, 2.5]}}
    assert bench.best_of(variants, times) == {"a": point(2)}


def test_a_distance_counts_only_beyond_noise() -> None:
    best = [1.0, 1.1, 0.9, 1.0]
    assert bench.distance(best, [1.2 * one for one in best]) == pytest.approx(20)
    assert bench.distance(best, [0.9, 1.2, 1.1, 0.9]) == 0
    assert bench.distance(best, [0.8 * one for one in best]) == 0, "a point faster than the best has distance 0"
    assert bench.distance([*best, 1.0], [*(1.2 * one for one in best), math.nan]) == pytest.approx(20)


def test_jobs_get_the_applied_rules_and_otherwise_the_default() -> None:
    rules = [
        {"problem": "a", **point(3), "applied": True, "gain": 0.5},
        {"problem": "b", **point(0), "applied": False, "gain": 0.1},
    ]
    told: dict[str, Any] = {
        "problems": [{"problem": "a"}, {"problem": "b"}, {"problem": "c"}],
        "records": [{"parametrization": {"rules": rules}}],
    }
    found = bench.chosen(bench.Campaign(1.0, 1, [], told))
    assert {key: one["algorithm"] for key, one in found.items()} == {"a": 3, "b": 0, "c": 0}


def test_only_rules_slower_beyond_noise_are_counted() -> None:
    defaults = {key: [1.0, 1.1, 0.9] for key in "abc"}
    taken = {"a": [1.5, 1.6, 1.4], "b": [1.0, 1.2, 0.9], "c": [1.5, 1.6, 1.4]}
    assert bench.slower(defaults, taken, {"a": point(1), "b": point(1), "c": point(0)}) == ["a"]


def test_the_last_line_has_every_key() -> None:
    told: dict[str, Any] = {"problems": [{"problem": "a"}], "records": []}
    campaigns = {
        bench.SHARED: bench.Campaign(2.0, 10, [], told),
        bench.PER_SIZE: bench.Campaign(30.0, 40, [], told),
    }
    names = (bench.SHARED, bench.PER_SIZE, bench.DEFAULT, bench.EXHAUSTIVE)
    every = exhaustive({1: [1.0] * 40, 0: [1.0] * 10})
    result = bench.summary(every, campaigns, {name: {"a": [1.0, 1.1]} for name in names})
    assert (result["time_vs_exhaustive"], result["runs_ratio"], result["distance_mean"]) == (2, 4, 0)
    assert (result["time_vs_distinct"], result["distinct"], result["runs"]["exhaustive"]) == (50, 2, 50)
    assert result["distance_median"] == result["slower_rules"] == 0


def test_a_launch_that_hung_is_repeated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches 0 and 2 hang; in the repetition, only launch 2 hangs again, and it gets no value."""
    asked: list[list[int]] = []

    def once(_: bench.Bench, place: str, launches: Mapping[int, object]) -> dict[int, bench.Launched]:
        asked.append(list(launches))
        hangs = {0: (0, 2), 1: (2,)}[int(place[-1])]
        return {
            n: bench.Launched("srun: forced", 60.0, hung=True) if n in hangs else bench.Launched(f"{n}", 0.5)
            for n in launches
        }

    monkeypatch.setattr(bench.Bench, "_launch_once", once)
    done = object.__new__(bench.Bench)._launch("every", [[("bcast/4", DEFAULT)]] * 4)
    assert asked == [[0, 1, 2, 3], [0, 2]]
    assert [one.output for one in done] == ["0", "1", "srun: forced", "3"]
