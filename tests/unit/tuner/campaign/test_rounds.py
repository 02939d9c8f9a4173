# SPDX-License-Identifier: Apache-2.0
"""Test campaigns in which one run evaluates several problems, each at a point of its own."""

from __future__ import annotations

from collections import Counter

import pytest

from reprise.database.entities import CampaignState, Trial, TrialRole, TrialState
from reprise.tuner.campaign.trials import NOT_REACHED
from reprise.tuner.errors import CampaignFailedError
from tests.unit.tuner_site import Site

PROBLEMS = ["p/1", "p/2", "q/1"]


def begun(site: Site, before: str = ":", method: str = "random", **changes: object) -> int:
    settings = {"problems": PROBLEMS, "together": True, "before": before}
    return site.begin(**{"settings": settings, "search": {"method": method, "budget": 8, "initial": 3}, **changes})


def runs(site: Site) -> int:
    return site.runs().count("run")


def ended(trials: list[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.state is not TrialState.CANCELLED]


def test_one_run_evaluates_a_point_of_each_problem(site: Site) -> None:
    site.run(campaign := begun(site))
    trials = site.trials(campaign)
    assert runs(site) == 2 + 8 + 2 * 3
    assert Counter(trial.problem for trial in trials) == dict.fromkeys(PROBLEMS, 16)
    assert all(trial.state is TrialState.COMPLETE for trial in trials)
    assert len({tuple(trial.parametrization.values()) for trial in trials if trial.number == 2}) > 1
    assert site.campaign(campaign).state is CampaignState.COMPLETE


@pytest.mark.slow
def test_the_cost_of_a_run_is_divided_among_its_trials(site: Site) -> None:
    site.run(campaign := begun(site, before="sleep 0.1"))
    shares = [
        {trial.elapsed_s or 0 for trial in site.trials(campaign) if trial.number == number} for number in range(8)
    ]
    assert {len(of_a_run) for of_a_run in shares} == {1}
    assert 0.1 <= min(min(shares)) < 0.25, "the minimum, because a busy machine may slow some runs"


@pytest.mark.slow
def test_each_trial_links_to_the_output_of_its_run(site: Site) -> None:
    site.run(campaign := begun(site))
    work = next((site.directory / "work").glob(f"{campaign}*"))
    assert (work / "p_2/0003/stdout").read_text() == (work / "p_1/0003/stdout").read_text()


@pytest.mark.slow
def test_results_at_other_sizes_replace_the_initial_design(site: Site) -> None:
    settings = {"problems": ["p/1", "p/2"], "together": True, "rounds": ["first", "then"]}

    def searched(method: str) -> dict[str, list[object]]:
        search = {"method": method, "budget": 6, "initial": 6, "window": 0}
        site.run(campaign := site.begin(settings=settings, search=search))
        found = [trial for trial in site.trials(campaign) if trial.role is TrialRole.SEARCH]
        return {key: [one.parametrization for one in found if one.problem == key] for key in ("p/1", "p/2")}

    shared, design = searched("gp-shared"), searched("gp-ei")
    assert shared["p/1"] == design["p/1"]
    assert len(shared["p/2"]) == len(design["p/2"]) == 6
    assert shared["p/2"] != design["p/2"]


@pytest.mark.parametrize("fault", ["exit 3", "kill -9 $$"])
def test_a_point_that_ends_its_run_costs_the_other_points_of_the_run_only_time(site: Site, fault: str) -> None:
    site.run(campaign := begun(site, before=f'case "$FAKE_POINT" in "p/2 8 "*) {fault};; esac'))
    trials = site.trials(campaign)
    failed = [trial for trial in trials if trial.state is TrialState.FAILED]
    assert {(trial.problem, trial.parametrization["size"]) for trial in failed} == {("p/2", 8)}
    assert {trial.problem for trial in trials if trial.message == NOT_REACHED} == {"q/1"}
    searched = Counter(trial.problem for trial in ended(trials) if trial.role is TrialRole.SEARCH)
    assert searched == dict.fromkeys(PROBLEMS, 8)
    assert site.campaign(campaign).state is CampaignState.COMPLETE


@pytest.mark.slow
def test_measurements_before_the_timeout_of_a_run_count(site: Site) -> None:
    before = 'case "$FAKE_POINT" in "p/2 8 c") sleep 60;; esac'
    settings = {"problems": PROBLEMS, "together": True, "before": before, "timeout_s": 1}
    site.run(campaign := begun(site, search={"method": "exhaustive", "budget": 15}, settings=settings))
    (late,) = [trial for trial in site.trials(campaign) if trial.state is TrialState.TIMEOUT]
    assert (late.problem, late.parametrization) == ("p/2", {"size": 8, "kind": "c"})
    same_run = [trial for trial in site.trials(campaign) if trial.number == late.number]
    assert {trial.problem: trial.state for trial in same_run} == {
        "p/1": TrialState.COMPLETE,
        "p/2": TrialState.TIMEOUT,
        "q/1": TrialState.CANCELLED,
    }


def test_a_default_that_does_not_run_fails_the_campaign(site: Site) -> None:
    campaign = begun(site, before='case "$FAKE_POINT" in "p/2 "*) exit 3;; esac')
    with pytest.raises(CampaignFailedError, match="p/2: the default itself did not run"):
        site.run(campaign)


@pytest.mark.slow
def test_hopeless_points_are_given_up_within_the_run(site: Site) -> None:
    pruning = {"policy": "default", "settings": {"factor": 1, "margin": 1}}
    settings = {"problems": PROBLEMS, "together": True, "slow": True}
    search = {"method": "exhaustive", "budget": 15}
    site.run(campaign := begun(site, search=search, pruning=pruning, settings=settings))
    pruned = [trial for trial in site.trials(campaign) if trial.state is TrialState.PRUNED]
    assert {trial.parametrization["kind"] for trial in pruned} == {"b"}
    assert all((trial.value or 0) > (trial.limit_s or 9) and trial.role is TrialRole.SEARCH for trial in pruned)
    assert runs(site) == 2 + 14 + 2 * 3  # 14 of 15 points, because the search does not repeat the default


def test_a_killed_campaign_is_resumed_with_whole_runs(site: Site) -> None:
    campaign = begun(site, before="[ $n != 20 ] || kill -9 $PPID")
    assert site.killed(campaign) != 0
    site.run(campaign)
    trials = site.trials(campaign)
    assert Counter(trial.problem for trial in trials) == dict.fromkeys(PROBLEMS, 16)
    assert all(trial.state is TrialState.COMPLETE for trial in trials)
    assert runs(site) == 16 + 1
    assert {trial.attempt for trial in trials} == {1, 2}


def test_a_model_is_shared_by_the_problems_of_a_family(site: Site) -> None:
    site.run(campaign := begun(site, method="gp-shared"))
    best = {
        trial.problem: trial.parametrization for trial in site.trials(campaign) if trial.role is TrialRole.FINAL_TUNED
    }
    assert best == {problem: {"size": 4, "kind": "c"} for problem in PROBLEMS}
