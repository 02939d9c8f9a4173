# SPDX-License-Identifier: Apache-2.0
"""Test the steps from reports to decisions."""

from __future__ import annotations

import logging

import pytest

from reprise.database.job_patterns import Seen
from reprise.matcher.council.council_settings import CouncilSettings, Learner
from reprise.matcher.council.window_council import Council, Mode
from reprise.matcher.windows.deliberation import Deliberation
from reprise.matcher.windows.job_consent import Consents, Explore
from tests.unit.matcher.council.council_values import seeded
from tests.unit.matcher.windows.simple_detector import SimpleDetector
from tests.unit.matcher.windows.windows_values import message, pattern

ALWAYS = CouncilSettings(Learner.EPSILON, epsilon=1, first_epsilon=1, harm_share=1)


def made(settings: CouncilSettings = ALWAYS, explore: Explore = "all") -> Deliberation:
    consents = Consents(explore)
    consents.learned([4711], {4711: {"apply"}})
    return Deliberation(Council(settings, seeded(1)), SimpleDetector(), consents)


def test_a_round_of_two_forwarders_is_decided_when_both_have_reported() -> None:
    of = made()
    assert of.deadline is None
    of.take(message(0), 10)
    assert of.is_over(10)  # nothing is known of another one
    first = of.decide(10)
    of.take(message(0), 11)
    of.take(message(1), 11.2)
    second = of.decide(11.2)
    of.take(message(1), 12)
    assert not of.is_over(12) and of.deadline == 13
    of.take(message(0), 12.3)
    assert of.is_over(12.3)
    assert (first.number, second.number, of.decide(12.3).number) == (1, 2, 3)
    assert of.counts.reports == 5 and of.counts.waited_s == pytest.approx(0.5)
    assert of.counts.decisions[Mode.EXPLORE] == 3


def test_an_experiment_names_the_window_to_keep() -> None:
    of = made()
    of.take(message(0), 0)
    decision = of.decide(0)
    assert decision.window != 0 and decision.keep == 0


def test_a_forwarder_that_hangs_is_counted_and_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    of = made()
    for now in (0, 1):
        for number in (0, 1):
            of.take(message(number), now)
        of.decide(now)
    of.take(message(0), 2)
    assert not of.is_over(2.9) and of.is_over(3)
    with caplog.at_level(logging.WARNING):
        of.decide(3)
    assert of.counts.missed == 1 and "event=missing forwarders=ion1:1" in caplog.text


def test_a_forwarder_that_leaves_is_not_waited_for() -> None:
    of = made()
    for number in (0, 1):
        of.take(message(number), 0)
    of.decide(0)
    of.take(message(0), 1)
    of.leave("ion1:1")
    assert of.is_over(1)


@pytest.mark.parametrize("jobs", [["4712"], ["4711", "4711-steady"], ["4711", "other"]])
def test_a_job_that_opted_out_is_never_explored_on(jobs: list[str]) -> None:
    of = made(explore="known")
    for now in range(20):
        assert of.take(message(0, jobs=jobs), now).opted_out
        decision = of.decide(now)
        assert decision.window == decision.keep
    assert of.counts.decisions == {Mode.EXPLOIT: 20}


def test_a_changed_vote_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    of = made(CouncilSettings(Learner.EPSILON, epsilon=0, first_epsilon=0))
    with caplog.at_level(logging.INFO):
        for window, bandwidth in ((0, 50.0), (500, 100.0), (500, 100.0)):
            of.take(message(0, window=window, bandwidth=bandwidth, patterns=[pattern()]), 0)
            of.decide(0)
    assert caplog.messages == ["event=window microseconds=500 before=0 votes=500:1"]


def test_the_reason_for_not_exploring_is_logged_once_a_minute_at_most(caplog: pytest.LogCaptureFixture) -> None:
    of = made(explore="known")
    with caplog.at_level(logging.INFO):
        for now in range(200):
            of.take(message(0, jobs=["4711"] if now % 2 else ["4712"], load=None if now % 4 else 0.0), now)
            of.decide(now)
    lines = [text for text in caplog.messages if "not-exploring" in text]
    assert 1 <= len(lines) <= 4
    assert lines[0] == 'event=not-exploring why="ion1:0 serves a job that opted out"'


def test_the_patterns_of_jobs_are_kept_until_they_are_taken() -> None:
    of = made()
    others = [pattern("7", 50, operation="read"), pattern("4711", 10, distance_mean=None), pattern("alice", 5)]
    for number in (0, 1):
        of.take(message(number, patterns=[pattern("4711", 100, seconds=0.5), *others]), 0)
    of.take(message(2, patterns=[pattern("4711", 1, user=1000)]), 0)
    assert sorted(of.seen.taken(), key=lambda one: one.bytes) == [
        Seen(4711, "write/shared/strided/16K", 1.0, 1, 1000),
        Seen(4711, "unknown", 2.0, 20),
        Seen(7, "read/shared/strided/16K", 2.0, 100),
        Seen(4711, "write/shared/strided/16K", 1.0, 200),
    ]
    assert of.seen.taken() == []
