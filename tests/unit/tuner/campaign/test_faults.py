# SPDX-License-Identifier: Apache-2.0
"""Test that a campaign of trial jobs survives a cluster's faults, on a fake Slurm."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from reprise.database.entities import CampaignState, Trial, TrialState
from reprise.tuner.campaign.trial_journal import Journal
from reprise.tuner.errors import TunerError
from tests.fake_slurm import FakeSlurm
from tests.unit.tuner_site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

TRIALS = 2 + 4 + 2 * 2  # default runs, search trials, and two runs in each final pair


@pytest.fixture
def slurm(tmp_path: Path) -> FakeSlurm:
    return FakeSlurm(tmp_path / "jobs")


def begin(site: Site, before: str = ":", **changes: Any) -> int:
    definition: dict[str, Any] = {
        "search": {"method": "random", "budget": 4, "seed": 3},
        "repetitions": {"default_runs": 2, "final_pairs": 2},
        **changes,
        "executor": {"kind": "slurm", **changes.pop("executor", {})},
        "settings": {"script": True, "problems": ["one"], "before": before, **changes.pop("settings", {})},
    }
    return site.begin(**{**changes, **definition})


def quickly(seconds: float) -> None:
    time.sleep(seconds / 50)


def run(site: Site, campaign: int, slurm: FakeSlurm, **others: Any) -> Sequence[int]:
    return site.run(campaign, slurm=slurm.commands(), sleep=quickly, **others)


def all_is_well(site: Site, campaign: int, slurm: FakeSlurm, interrupted: int = 0) -> None:
    """Check that each trial has one result from one run, and that the campaign leaves nothing on the cluster."""
    states = Counter(trial.state for trial in site.trials(campaign))
    assert states[TrialState.COMPLETE] == TRIALS and states.total() == TRIALS + interrupted
    assert site.campaign(campaign).state is CampaignState.COMPLETE
    assert len(site.runs()) == TRIALS + 1 + interrupted, "one run more than trials, for the proof"
    # The last result appears shortly before its job ends.
    wait_for("the end of the last job", lambda: slurm.active() == [], timeout_s=10)


def once(number: int, what: str) -> str:
    """Return shell code that runs the command `what` only in the run with this number."""
    return f"[ $n != {number} ] || {{ {what}; }}"


def test_a_campaign_of_jobs_runs_each_trial_once(site: Site, slurm: FakeSlurm) -> None:
    campaign = begin(site)
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)
    assert len(slurm.jobs()) == TRIALS + 1
    assert {trial.nodes for trial in site.trials(campaign)} == {2}, "the number of nodes that Slurm reports"


@pytest.mark.parametrize("what", ["refuse", "garbage", "swallow"])
def test_slurm_that_fails_one_in_three_costs_no_trial(site: Site, slurm: FakeSlurm, what: str) -> None:
    slurm.fault = lambda _, number: what if number % 3 == 0 else ""
    campaign = begin(site)
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)


@pytest.mark.parametrize("seed", range(3))
def test_random_failures_of_all_commands_of_slurm_cost_no_trial(site: Site, slurm: FakeSlurm, seed: int) -> None:
    ways = ("refuse", "", "", "garbage", "", "", "swallow", "")
    slurm.fault = lambda _, number: ways[(number + seed) % len(ways)]
    campaign = begin(site, executor={"parallel": 2})
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)


def test_a_submission_that_worked_though_it_seemed_to_fail_is_not_repeated(site: Site, slurm: FakeSlurm) -> None:
    slurm.fault = lambda command, _: "swallow" if command == "sbatch" else ""
    campaign = begin(site)
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)
    assert len(slurm.jobs()) == TRIALS + 1


def test_a_submission_that_works_after_it_was_repeated_runs_once(site: Site, slurm: FakeSlurm) -> None:
    """Some jobs appear in the queue only after the campaign has submitted the same trial a second time."""
    submitted = 0

    def fault(command: str, _: int) -> str:
        nonlocal submitted
        submitted += command == "sbatch"
        return "late" if command == "sbatch" and submitted % 2 == 1 else ""

    slurm.fault = fault
    calls = slurm._late

    def squeue_before_it_comes(argv: Any, environment: Any) -> Any:
        held = slurm._late
        if argv[0] != "sbatch":
            slurm._late = []
        answer = original(argv, environment)
        if argv[0] != "sbatch":
            slurm._late = held
        return answer

    original = slurm.__call__
    commands = slurm.commands()
    commands._run = squeue_before_it_comes
    assert calls == []
    campaign = begin(site, "sleep 0.05")
    assert site.run(campaign, slurm=commands, sleep=quickly)
    assert len(slurm.jobs()) > TRIALS + 1, "some jobs were submitted twice"
    assert len(site.runs()) == TRIALS + 1
    assert Counter(trial.state for trial in site.trials(campaign)) == {TrialState.COMPLETE: TRIALS}


@pytest.mark.parametrize(
    ("fate", "state"),
    [("NODE_FAIL", "cancelled"), ("PREEMPTED", "preempted"), ("CANCELLED", "cancelled"), ("BOOT_FAIL", "cancelled")],
    ids=["node failure", "preemption", "cancelled by hand", "boot failure"],
)
def test_a_trial_whose_job_is_ended_from_outside_is_run_again(
    site: Site, slurm: FakeSlurm, fate: str, state: str
) -> None:
    campaign = begin(site, once(4, "sleep 60"))
    assert run(site, campaign, Fate(slurm, site, 4, fate))
    all_is_well(site, campaign, slurm, interrupted=1)
    states = [str(trial.state) for trial in site.trials(campaign)]
    assert states.count(state) == 1 and len(slurm.jobs()) == TRIALS + 2


class Fate(FakeSlurm):
    """A fake Slurm that ends or requeues the newest job after a given number of benchmark runs."""

    def __init__(self, slurm: FakeSlurm, site: Site, number: int, state: str) -> None:
        super().__init__(slurm.directory)
        self.site, self.number, self.fate = site, number, state

    def _squeue(self, *arguments: Any) -> Any:
        if self.number and len(self.site.runs()) == self.number:
            self.number = 0
            if self.fate == "REQUEUED":
                self.requeue(self.jobs()[-1])
            else:
                self.end(self.jobs()[-1], self.fate)
        return super()._squeue(*arguments)


def test_a_job_at_slurms_time_limit_is_a_failed_trial(site: Site, slurm: FakeSlurm) -> None:
    campaign = begin(site, once(4, "sleep 60"))
    run(site, campaign, Fate(slurm, site, 4, "TIMEOUT"))
    states = Counter(str(trial.state) for trial in site.trials(campaign))
    assert states == {"complete": TRIALS - 1, "timeout": 1}


def test_a_requeued_job_has_one_result(site: Site, slurm: FakeSlurm) -> None:
    """The job's node fails during the run, and Slurm runs the job again under the same id."""
    campaign = begin(site, once(4, "sleep 60"))
    assert run(site, campaign, Fate(slurm, site, 4, "REQUEUED"))
    assert Counter(trial.state for trial in site.trials(campaign)) == {TrialState.COMPLETE: TRIALS}
    assert len(slurm.jobs()) == TRIALS + 1 and len(site.runs()) == TRIALS + 2


def test_the_measurement_of_a_job_that_was_suspended_does_not_count(site: Site, tmp_path: Path) -> None:
    """A job's processes stop while it is suspended (preempted), but the clock that measures its run time continues."""

    class Suspending(FakeSlurm):
        def _squeue(self, *arguments: Any) -> Any:
            answer = super()._squeue(*arguments)
            if len(site.runs()) != 4 or (tmp_path / "resumed").exists():
                return answer
            if self.state(job := self.jobs()[-1]) == "SUSPENDED":
                self.resume(job)
                (tmp_path / "resumed").touch()
            else:
                self.suspend(job)
            return answer

    slurm = Suspending(tmp_path / "jobs")
    campaign = begin(site, once(4, f"until [ -e {tmp_path / 'resumed'} ]; do sleep 0.05; done"))
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm, interrupted=1)
    suspended = next(trial for trial in site.trials(campaign) if trial.state is TrialState.PREEMPTED)
    assert "was suspended while it ran" in suspended.message and suspended.value is None


def test_a_campaign_waits_while_slurmctld_restarts(site: Site, slurm: FakeSlurm) -> None:
    slurm.fault = lambda _, number: "refuse" if number in range(8, 13) else ""
    campaign = begin(site)
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)


def test_a_slurmctld_that_stays_away_stops_the_campaign_which_then_takes_its_job_over(
    site: Site, slurm: FakeSlurm
) -> None:
    slurm.fault = lambda _, number: "refuse" if number > 8 else ""
    campaign = begin(site, once(4, "sleep 0.3"))
    with pytest.raises(TunerError, match=r"does not answer \(.*Unable to contact slurm controller.* then resume"):
        run(site, campaign, slurm)
    assert site.campaign(campaign).state is CampaignState.STOPPED
    slurm.fault = lambda *_: ""
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)


def test_a_clock_that_jumps_changes_neither_the_order_nor_a_run_time(site: Site, slurm: FakeSlurm) -> None:
    times = iter([2e9 - 4e6 * number for number in range(400)])
    campaign = begin(site)
    assert run(site, campaign, slurm, clock=lambda: next(times))
    all_is_well(site, campaign, slurm)
    trials = site.trials(campaign)
    assert [trial.ordinal for trial in trials] == list(range(1, TRIALS + 1))
    assert all(0 < (trial.elapsed_s or 0) < 30 for trial in trials)


def dies(method: str, number: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Return a patch that kills the coordinator just before call `number` of a method of the journal."""

    def arrange(patch: pytest.MonkeyPatch) -> None:
        original, calls = getattr(Journal, method), 0

        def deadly(self: Journal, *arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(self, *arguments)

        patch.setattr(Journal, method, deadly)

    return arrange


@pytest.mark.parametrize("method", ["started", "ended"])
@pytest.mark.parametrize("parallel", [1, 3])
def test_a_coordinator_killed_between_a_submission_and_its_journal_entry_submits_no_second_job(
    site: Site, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch, method: str, parallel: int
) -> None:
    """With `started`, a submitted job's id is not in the journal; with `ended`, an ended job's result is not in it."""
    campaign = begin(site, executor={"parallel": parallel})
    with monkeypatch.context() as patch:
        dies(method, 4)(patch)
        assert site.killed(campaign, slurm=slurm.commands(), sleep=quickly) == -signal.SIGKILL
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)
    assert len(slurm.jobs()) == TRIALS + 1
    assert {trial.attempt for trial in site.trials(campaign)} == {1}


def test_a_coordinator_killed_before_it_submitted_begins_that_trial_again(
    site: Site, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = begin(site)
    with monkeypatch.context() as patch:
        patch.setattr(FakeSlurm, "_sbatch", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert site.killed(campaign, slurm=slurm.commands(), sleep=quickly) == -signal.SIGKILL
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)
    assert [trial.attempt for trial in site.trials(campaign)] == [2] + [1] * (TRIALS - 1)


def test_a_new_attempt_at_a_trial_has_a_directory_separate_from_the_old_attempts(
    site: Site, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = begin(site)
    with monkeypatch.context() as patch:
        dies("started", 4)(patch)
        assert site.killed(campaign, slurm=slurm.commands(), sleep=quickly) == -signal.SIGKILL
    for path in slurm.directory.iterdir():
        (path / "name").write_text("forgotten")  # from here on, the fake Slurm does not know its jobs' names
    result = next((site.directory / "work").glob("*/one/0003")) / "result"
    wait = time.monotonic() + 20
    while not result.exists() and time.monotonic() < wait:
        time.sleep(0.01)
    result.unlink()
    assert run(site, campaign, slurm)
    fourth = site.trials(campaign)[3]
    assert (fourth.attempt, fourth.state) == (2, TrialState.COMPLETE)
    assert len(list((site.directory / "work").glob("*/one/0003*"))) == 2


def most_at_once(trials: list[Trial]) -> int:
    marks = [(t.started_at or 0, 1) for t in trials] + [(t.ended_at or 0, -1) for t in trials]
    now = most = 0
    for _, step in sorted(marks):
        now += step
        most = max(most, now)
    return most


def test_as_many_trials_run_at_once_as_are_allowed(site: Site, slurm: FakeSlurm) -> None:  # SHAMan, defect 9
    campaign = begin(site, "sleep 0.2", executor={"parallel": 3})
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)
    trials = site.trials(campaign)
    assert most_at_once(trials) == 3
    assert most_at_once([trial for trial in trials if trial.role.startswith("final")]) == 1
    points = [tuple(trial.parametrization.values()) for trial in trials if trial.role == "search"]
    assert len(set(points)) == 4


def test_no_more_trials_wait_in_the_queue_than_are_allowed(site: Site, tmp_path: Path) -> None:
    slurm = FakeSlurm(tmp_path / "jobs", queue_s=0.3)
    waiting: list[int] = []
    original = slurm._sbatch

    def counted(*arguments: Any) -> Any:
        waiting.append(sum(slurm.state(job) == "PENDING" for job in slurm.jobs()))
        return original(*arguments)

    slurm._sbatch = counted  # type: ignore[method-assign, assignment]
    campaign = begin(site, "sleep 1", executor={"parallel": 4, "queue": 1})
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)
    assert max(waiting) == 0 and most_at_once(site.trials(campaign)) > 1


def test_while_jobs_of_others_wait_a_campaign_has_one_job_at_a_time(site: Site, slurm: FakeSlurm) -> None:
    (slurm.directory.parent / "others").write_text(f"{os.getuid() + 1}|Resources\n")
    campaign = begin(site, "sleep 0.1", executor={"parallel": 3, "back_off_s": 0.1})
    assert run(site, campaign, slurm)
    all_is_well(site, campaign, slurm)
    assert most_at_once(site.trials(campaign)) == 1


def test_time_in_the_queue_is_neither_measured_nor_pruned(site: Site, tmp_path: Path) -> None:  # SHAMan, defect 1
    slurm = FakeSlurm(tmp_path / "jobs", queue_s=1.5)
    pruning = {
        "policy": "default",
        "settings": {"factor": 6.0},
    }  # a time limit that is shorter than the time in the queue
    campaign = begin(site, "sleep 0.1", pruning=pruning, settings={"time": True})
    run(site, campaign, slurm)
    searched = [trial for trial in site.trials(campaign) if trial.role == "search"]
    assert len(searched) == 4 and {trial.state for trial in searched} == {TrialState.COMPLETE}
    assert all((trial.elapsed_s or 9) < 1.5 and (trial.limit_s or 9) < 6 * 1.5 for trial in searched)


def test_a_pruned_trial_is_a_lower_bound_and_not_a_measurement(
    site: Site, slurm: FakeSlurm
) -> None:  # SHAMan, defect 2
    """Points of `kind` b take far longer than the default, and are also pruned in the initial design (defect 3)."""
    slow = "case $FAKE_POINT in *b) sleep 20 ;; *c) sleep 0.1 ;; *) sleep 0.4 ;; esac"
    pruning = {"policy": "default", "settings": {"factor": 4.0}}
    search = {"method": "exhaustive", "budget": 5}
    campaign = begin(site, slow, search=search, pruning=pruning, settings={"time": True})
    run(site, campaign, slurm)
    pruned = [trial for trial in site.trials(campaign) if trial.state is TrialState.PRUNED]
    assert pruned and {trial.parametrization["kind"] for trial in pruned} == {"b"}
    assert all(trial.value == trial.limit_s and (trial.limit_s or 20) < 20 for trial in pruned)
    problem = site.campaign(campaign).summary["problems"][0]
    assert (problem["pruned"], problem["failed"]) == (len(pruned), 0)
    assert problem["comparison"]["winner"]["kind"] == "c"


def test_a_job_at_slurms_time_limit_is_never_pruned(site: Site, slurm: FakeSlurm) -> None:
    """The trial's run time has no lower bound, because the commands before the application may have hung instead."""
    pruning = {"policy": "default", "settings": {"factor": 5.0}}
    campaign = begin(site, once(4, "sleep 60"), pruning=pruning, settings={"timeout_s": 300})
    run(site, campaign, Fate(slurm, site, 4, "TIMEOUT"))
    fourth = site.trials(campaign)[3]
    assert (fourth.state, fourth.value) == (TrialState.TIMEOUT, None) and fourth.limit_s


def test_a_failed_job_does_not_end_the_campaign(site: Site, slurm: FakeSlurm) -> None:  # SHAMan, defect 8
    campaign = begin(site, once(4, "exit 7"))
    run(site, campaign, slurm)
    states = Counter(str(trial.state) for trial in site.trials(campaign))
    assert states == {"complete": TRIALS - 1, "failed": 1}


def test_a_stopped_campaign_cancels_its_jobs(site: Site, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal arrives when a job is submitted but its id is not yet recorded; this job is canceled, too."""
    campaign = begin(site, "sleep 60", executor={"parallel": 2})

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "started", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(site, campaign, slurm)
    assert len(slurm.jobs()) == 1 and slurm.active() == []


def test_the_campaign_ends_in_order_when_its_node_hours_are_spent(site: Site, slurm: FakeSlurm) -> None:
    """The node-hours pay for 12 runs of 0.5 s on 2 nodes: the defaults, the final pairs and a part of the search.

    A pair is started only if the remaining node-hours pay for two runs as long as the default's; longer runs cannot be
    foreseen.
    """
    search = {"method": "random", "initial": 1, "budget": 50}
    campaign = begin(site, "sleep 0.5", search=search, budget={"node_hours": 12 / 3600})
    run(site, campaign, slurm)
    trials = site.trials(campaign)
    costs = [(trial.elapsed_s or 0) * trial.nodes for trial in trials]
    default = fmean(cost for cost, trial in zip(costs, trials, strict=True) if trial.role == "default")
    assert sum(costs[:-2]) + 2 * default <= 12 and {trial.role for trial in trials} >= {"default", "search"}
    assert site.campaign(campaign).summary["problems"][0]["stopped"] == "its share of the node-hours is spent"
    assert site.campaign(campaign).state is CampaignState.COMPLETE
