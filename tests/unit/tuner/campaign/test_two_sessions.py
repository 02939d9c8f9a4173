# SPDX-License-Identifier: Apache-2.0
"""Test a campaign's second session: it follows all first sessions, has new nodes, and survives interruptions."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection

import pytest

from reprise.database.entities import Trial, TrialRole
from reprise.tuner.executors.local_executor import LocalExecutor
from reprise.tuner.model.trial_rows import FINAL
from reprise.tuner.report.progress import LineReport
from tests.unit.tuner_site import Site

REPETITIONS = {"default_runs": 1, "final_pairs": 3, "confirm_pairs": 2, "confirm_after_s": 3600}

pytestmark = pytest.mark.slow


class Clock:
    """A fake clock; `sleep` moves the clock ahead without waiting."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.on_sleep: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        self.now += 0.001
        return self.now

    def sleep(self, seconds: float) -> None:
        self.on_sleep()
        self.now += seconds


def finals(trials: list[Trial], problem: str) -> list[Trial]:
    found = [trial for trial in trials if trial.problem == problem and trial.role in FINAL]
    return sorted(found, key=lambda trial: trial.ordinal or 0)


def test_winners_are_compared_again_in_a_later_session(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, said = Clock(), io.StringIO()
    given_back: list[float] = []
    rest = LocalExecutor.rest

    def noted(executor: LocalExecutor) -> Collection[str]:
        given_back.append(clock.now)
        return rest(executor)

    monkeypatch.setattr(LocalExecutor, "rest", noted)
    records = site.run(
        campaign := site.begin(repetitions=REPETITIONS), LineReport(said), clock=clock, sleep=clock.sleep
    )
    trials = site.trials(campaign)
    of_first = [trial.ended_at or 0.0 for key in ("p/1", "p/2") for trial in finals(trials, key)[:6]]
    of_second = [trial.started_at or 0.0 for key in ("p/1", "p/2") for trial in finals(trials, key)[6:]]
    assert len(of_first) == 12 and len(of_second) == 8
    assert min(of_second) >= max(of_first) + 3600
    assert given_back and max(of_first) <= min(given_back) < min(of_second)
    assert "a second session in 60 minutes" in said.getvalue()
    assert len(records) == 1
    comparison = site.campaign(campaign).summary["problems"][0]["comparison"]
    assert comparison["tuned"]["n"] == 5


def test_a_campaign_interrupted_between_its_sessions_is_resumed_at_the_second_session(site: Site) -> None:
    clock = Clock()
    campaign = site.begin(repetitions=REPETITIONS)

    def interrupt() -> None:
        raise KeyboardInterrupt

    clock.on_sleep = interrupt
    with pytest.raises(KeyboardInterrupt):
        site.run(campaign, clock=clock, sleep=clock.sleep)
    before = len(site.trials(campaign))
    clock.on_sleep = lambda: None
    site.run(campaign, clock=clock, sleep=clock.sleep)
    after = site.trials(campaign)
    assert len(after) == before + 8
    assert {trial.role for trial in after[before:]} == {TrialRole.FINAL_DEFAULT, TrialRole.FINAL_TUNED}


def test_a_second_session_without_delay_follows_at_once(site: Site) -> None:
    clock = Clock()
    campaign = site.begin(repetitions={**REPETITIONS, "confirm_after_s": 0})
    site.run(campaign, clock=clock, sleep=clock.sleep)
    assert len(finals(site.trials(campaign), "p/1")) == 10
