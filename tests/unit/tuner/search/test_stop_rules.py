# SPDX-License-Identifier: Apache-2.0
"""Test the stop rules of Robert 2021, section 3.5, and their combinations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.search.stop_rules import Progress, rules_of

LINE = Space((Parameter("a", tuple(range(101))),))


@dataclass(frozen=True)
class Trial:
    point: Parametrization
    value: float | None
    censored: bool = False


def of(values: Sequence[float | None], places: Sequence[int] | None = None, **rest: Any) -> Progress:
    """Return the progress of trials with these values, at the points 0, 1, 2, etc. or at `places`."""
    found = places if places is not None else range(len(values))
    return Progress(LINE, [Trial({"a": place}, value) for place, value in zip(found, values, strict=True)], **rest)


def stops_after(rule: Mapping[str, Any], values: Sequence[float | None], places: Sequence[int] | None = None) -> int:
    found = places if places is not None else range(len(values))
    return next(n for n in range(len(values) + 1) if rules_of([rule]).reached(of(values[:n], found[:n])))


def test_exhaustion_counts_seconds_or_trials_including_repetitions() -> None:
    rule = {"rule": "exhaustion", "trials": 4, "seconds": 60.0}
    assert stops_after(rule, [1.0] * 9, [0] * 9) == 4
    assert not rules_of([rule]).reached(of([1.0], seconds=59.9))
    assert rules_of([rule]).reached(of([1.0], seconds=60.0)) == "the budget of 60 s is spent"


def test_a_reference_is_a_value_or_a_percentage_of_the_default() -> None:
    assert stops_after({"rule": "reference", "value": 2.0}, [5.0, None, 2.1, 2.0]) == 4
    percent = rules_of([{"rule": "reference", "percent": 80}])
    assert not percent.reached(of([8.1], default=10.0))
    assert percent.reached(of([8.0], default=10.0)) == "the best, 8, reached 80 % of the default"
    assert not percent.reached(of([0.1]))
    assert not percent.reached(of([-10.1], default=-10.0)) and percent.reached(of([-12.0], default=-10.0))


def test_a_reference_is_not_reached_by_luck_nor_by_a_trial_that_was_stopped() -> None:
    rule = rules_of([{"rule": "reference", "value": 2.0}])
    assert not rule.reached(of([1.9, 2.3], [7, 7]))
    assert not rule.reached(Progress(LINE, [Trial({"a": 1}, 1.0, censored=True)]))


@pytest.mark.parametrize(
    ("statistic", "values", "expected"),
    [
        ("best", [10.0, 9.0, 8.0, 8.0, 8.0], 5),
        ("best", [10.0, 10.0, None, 10.0], 3),
        ("best", [-1.0, -2.0, -3.0, -3.1, -3.1], 5),
        ("mean", [10.0, 6.0, 8.0, 8.0], 4),
        ("median", [10.0, 6.0, 8.0, 8.0, 8.0], 4),
    ],
)
def test_too_little_improvement_within_the_window_stops(
    statistic: str, values: list[float | None], expected: int
) -> None:
    """The search continues only if 2 trials improve by 10 % or more: from 9 to 8 (11 %), but not from 8 to 8 (0 %)."""
    rule = {"rule": "improvement", "of": statistic, "least": 0.1, "window": 2}
    assert stops_after(rule, values) == expected


def test_improvement_is_first_tested_after_the_initial_design_and_a_window() -> None:
    rule = {"rule": "improvement", "window": 15, "after": 10}
    assert stops_after(rule, [1.0] * 100) == 26


def test_repetitions_do_not_count_in_the_window_of_the_improvement_rule() -> None:
    """Noise policies repeat points, and 15 repetitions must not count as 15 points without improvement."""
    rule = {"rule": "improvement", "window": 3}
    assert stops_after(rule, [5.0, 1.0, *[1.0] * 12, 1.0, 1.0, 1.0], [0, *[1] * 13, 2, 3, 4]) == 17


def test_an_improvement_by_luck_no_longer_counts_once_a_repetition_refutes_it() -> None:
    rule = rules_of([{"rule": "improvement", "window": 2, "least": 0.1}])
    lucky, sober = of([5.0, 5.0, 4.0], [0, 1, 2]), of([5.0, 5.0, 4.0, 6.0], [0, 1, 2, 2])
    assert not rule.reached(lucky)
    assert rule.reached(sober)


def test_a_search_that_moves_between_few_points_stops() -> None:
    rule = {"rule": "count", "least": 3, "window": 5}
    assert stops_after(rule, [1.0] * 9, [1, 2, 3, 3, 2, 3, 2, 4, 5]) == 6


def test_a_search_that_hardly_moves_stops() -> None:
    """A point is a number on one axis; neighboring numbers are a hundredth of the axis's length apart."""
    rule = {"rule": "distance", "least": 0.025, "window": 3}
    assert stops_after(rule, [1.0] * 7, [10, 50, 52, 53, 51, 50, 52]) == 5


def test_rules_are_combined_by_any_and_all() -> None:
    cap, flat = {"rule": "exhaustion", "trials": 6}, {"rule": "improvement", "window": 2}
    values = [1.0] * 9
    assert stops_after({"rule": "any", "rules": [cap, flat]}, values) == 3
    assert stops_after({"rule": "all", "rules": [cap, flat]}, values) == 6
    both = rules_of([{"rule": "all", "rules": [cap, flat]}]).reached(of(values))
    assert both == "the budget of 6 trials is spent and the last 2 points improved the best by less than 0.05"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"rule": "exhaustion"}, "give `trials` or `seconds`"),
        ({"rule": "reference"}, "give `value` or `percent`"),
        ({"rule": "improvement", "windw": 3}, "unknown setting 'rules.0.windw': did you mean 'window'?"),
        ({"rule": "forever"}, "'forever'"),
        ({"rule": "all", "rules": []}, "rules"),
        ({"window": 3}, "rule"),
    ],
)
def test_a_rule_that_is_wrong_is_refused_in_one_line(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        rules_of([rule])
    assert message in str(refused.value) and "\n" not in str(refused.value)
