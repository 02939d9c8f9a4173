# SPDX-License-Identifier: Apache-2.0
"""The benchmark that kills coordinators: nothing is lost or doubled, and it would detect either."""

from __future__ import annotations

import pytest

from bench.tuner.kill import damage
from reprise.tuner.definition import component_registry
from reprise.tuner.executors.job_executor import JobExecutor

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(component_registry.KINDS, "fake", "tests.fake_component")


def test_coordinators_killed_at_random_points_lose_and_double_nothing() -> None:
    found = damage(8, seed=2)
    assert (found.kills, found.lost, found.doubled) == (8, 0, 0)


def test_a_coordinator_that_takes_no_job_over_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobExecutor, "resume", lambda *_: ())
    found = damage(8, seed=2)
    assert found.lost + found.doubled > 0
