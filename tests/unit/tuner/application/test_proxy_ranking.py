# SPDX-License-Identifier: Apache-2.0
"""Test the results that a campaign on a proxy passes to the campaign on the application."""

from __future__ import annotations

import pytest

from reprise.database.entities import Trial, TrialRole, TrialState
from reprise.tuner.application.proxy_ranking import DEFAULT, Ranked, in_words, times, to_json, to_try, verdict
from reprise.tuner.model.space import Parametrization

BASE: Parametrization = {"a.x": 0, "b.y": "off"}


def trials(*runs: tuple[Parametrization, float | None]) -> list[Trial]:
    """Return a trial for each pair (changes of BASE, value). Trials without changes are runs of the default."""
    return [
        Trial(
            1,
            "app.sh",
            number,
            TrialRole.DEFAULT if not point else TrialRole.SEARCH,
            {**BASE, **point},
            state=TrialState.COMPLETE if value else TrialState.FAILED,
            value=value,
        )
        for number, (point, value) in enumerate(runs)
    ]


ON_PROXY = trials(
    ({}, 10.0), ({}, 10.2), ({"a.x": 1}, 7.0), ({"a.x": 2}, 8.0), ({"b.y": "on"}, 14.0), ({"a.x": 3}, None)
)


def test_points_are_named_by_what_they_change() -> None:
    assert in_words(BASE, BASE) == DEFAULT
    assert in_words({"a.x": 1, "b.y": "on"}, BASE) == "a.x=1, b.y=on"


def test_the_best_the_worst_and_the_next_best_are_tried_in_this_order() -> None:
    assert [in_words(point, BASE) for point in to_try(ON_PROXY, BASE, 3)] == ["a.x=1", "b.y=on", "a.x=2"]


def test_the_simplest_of_the_points_that_noise_does_not_distinguish_is_tried_first() -> None:
    both: Parametrization = {"a.x": 1, "b.y": "on"}
    noisy = trials(({}, 10.0), ({}, 10.3), (both, 7.0), ({"a.x": 1}, 7.1), ({"b.y": "on"}, 10.1))
    assert [in_words(point, BASE) for point in to_try(noisy, BASE, 3)] == ["a.x=1", "b.y=on", "a.x=1, b.y=on"]
    exact = trials(({}, 10.0), ({}, 10.01), (both, 7.0), ({"a.x": 1}, 7.1), ({"b.y": "on"}, 10.1))
    assert in_words(to_try(exact, BASE, 3)[0], BASE) == "a.x=1, b.y=on"


def test_a_proxy_without_a_better_point_has_one_point_tried_and_a_proxy_without_trials_has_none() -> None:
    assert [in_words(point, BASE) for point in to_try(trials(({}, 1.0), ({"a.x": 1}, 2.0)), BASE, 3)] == ["a.x=1"]
    assert to_try(trials(({}, 1.0)), BASE, 3) == []


def test_failed_trials_are_left_out() -> None:
    assert set(times(ON_PROXY, BASE)) == {DEFAULT, "a.x=1", "a.x=2", "b.y=on"}


def test_the_verdict_says_whether_the_application_ranks_points_as_its_proxy_did() -> None:
    ranked = Ranked.of(ON_PROXY, BASE, 3)
    same = trials(({}, 20.0), ({"a.x": 1}, 15.0), ({"b.y": "on"}, 25.0))
    assert verdict(ranked.agreement(same, BASE)).startswith("the proxy ranks as the application does")
    other = trials(({}, 20.0), ({"a.x": 1}, 25.0), ({"b.y": "on"}, 15.0))
    assert verdict(ranked.agreement(other, BASE)).startswith("the proxy does not rank as the application does")
    assert "cannot be judged" in verdict(ranked.agreement(trials(({"a.x": 7}, 1.0)), BASE))


def test_the_json_has_what_the_proxys_best_setting_costs_the_application() -> None:
    ranked = Ranked.of(ON_PROXY, BASE, 3)
    ran = trials(({}, 20.0), ({"a.x": 1}, 15.6), ({"a.x": 2}, 15.0))
    told = to_json(ranked.agreement(ran, BASE), ranked.ratios(ran, BASE), used=True)
    assert (told["best"], told["own"], told["agrees"], told["used"]) == ("a.x=1", "a.x=2", False, True)
    assert told["noise"] is None
    assert told["loss"] == pytest.approx(0.04)
    ratios = {"gain": 20 / 15, "proxy_gain": 20 / 15.6, "saved": 1 - 10.1 / 20, "fidelity": 15 / 15.6}
    assert told["ratios"] == pytest.approx(ratios)
    assert ranked.ratios(trials(({"a.x": 1}, 15.6), ({"a.x": 2}, 15.0)), BASE) is None, (
        "without a run of the default, there are no ratios"
    )
    unknown = to_json(None, None, used=False)
    assert (
        unknown["loss"] is None
        and unknown["ratios"] is None
        and unknown["agrees"] is None
        and "cannot be judged" in unknown["reason"]
    )


def test_runs_of_the_final_comparison_count_since_single_runs_are_partly_luck() -> None:
    ranked = Ranked.of(ON_PROXY, BASE, 3)
    ran = trials(({}, 20.0), ({}, 20.6), ({"a.x": 1}, 19.8), ({"b.y": "on"}, 19.0))
    lucky = ranked.agreement(ran, BASE)
    assert lucky and not lucky.agrees and lucky.loss == pytest.approx(0.042, abs=0.001)
    point: Parametrization = {**BASE, "b.y": "on"}
    later = [
        Trial(1, "app.sh", 9 + number, role, parametrization, state=TrialState.COMPLETE, value=value)
        for number, (role, parametrization, value) in enumerate(
            [(TrialRole.FINAL_TUNED, point, 20.5), (TrialRole.FINAL_DEFAULT, BASE, 20.2)] * 3
        )
    ]
    found = ranked.agreement([*ran, *later], BASE)
    assert found and found.agrees and found.loss == 0
    assert {len(seconds) for seconds in times(later, BASE).values()} == set(), "the search's trials are counted alone"


def test_a_ranking_is_used_unless_the_first_runs_refute_it() -> None:
    ranked = Ranked.of(ON_PROXY, BASE, 3)
    for best, worst, used in ((15.0, 25.0, True), (20.5, 20.0, True), (20.7, 25.0, False), (15.0, 14.0, False)):
        ran = trials(({}, 20.0), ({"a.x": 1}, best), ({"b.y": "on"}, worst))
        assert ranked.is_used(ran, BASE) is used
    assert ranked.is_used(trials(({}, 20.0), ({"a.x": 1}, None)), BASE), "a run that failed refutes nothing"
    assert not Ranked.of([], BASE, 3).is_used(trials(({}, 20.0)), BASE)


def test_settings_that_only_the_application_has_are_ignored_in_the_comparison() -> None:
    ranked = Ranked.of(ON_PROXY, BASE, 3)
    ran = trials(({"file.z": 0}, 20.0), ({"file.z": 0, "a.x": 1}, 15.0), ({"file.z": 1, "a.x": 1}, 9.0))
    found = ranked.agreement(ran, {"file.z": 0, **BASE})
    assert found and found.best == "a.x=1"
