# SPDX-License-Identifier: Apache-2.0
"""Test the benchmark that kills coordinators: no trial is lost or repeated unless coordinators forget their jobs."""

from __future__ import annotations

import pytest

from bench.tuner.kill import damage
from reprise.tuner.definition import component_registry
from reprise.tuner.executors.job_executor import JobExecutor

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(component_registry.KINDS, "fake", "tests.fake_component")


def test_campaigns_whose_coordinators_are_killed_at_random_lose_and_repeat_no_trial() -> None:
    found = damage(8, seed=2)
    assert (found.kills, found.lost, found.doubled) == (8, 0, 0)


def test_the_benchmark_detects_a_coordinator_that_does_not_take_over_its_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobExecutor, "resume", lambda *_: ())
    found = damage(8, seed=2)
    assert found.lost + found.doubled > 0
