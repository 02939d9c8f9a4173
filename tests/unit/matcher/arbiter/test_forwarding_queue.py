# SPDX-License-Identifier: Apache-2.0
"""Test the simulation of a queue on cases small enough to compute by hand."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from reprise.matcher.arbiter.forwarder_policies import Policy
from reprise.matcher.arbiter.forwarding_job import Pool
from reprise.matcher.arbiter.forwarding_queue import QueuedJob, Simulation, Timing, simulate
from reprise.matcher.arbiter.remap_cost import RemapCost
from reprise.matcher.errors import ArbiterError
from tests.unit.matcher.arbiter.arbiter_values import job, numbers

POOL = Pool(8, 32)
CURVE = {0: 10.0, 1: 20.0, 2: 30.0, 4: 50.0, 8: 80.0}
FREE = RemapCost(0, 0)


def queued(name: str, megabytes: float, nodes: int = 8, curve: Mapping[int, float] = CURVE) -> QueuedJob:
    return QueuedJob(job(name, curve, nodes), megabytes)


def counts(result: Simulation) -> list[tuple[float, dict[str, int]]]:
    return [(event.seconds, numbers(event.decision.state.shares)) for event in result.events]


def test_the_policy_decides_when_a_job_ends_and_the_next_does_not_fit() -> None:
    queue = [queued("a", 500), queued("b", 1000), queued("whole system", 800, nodes=32)]
    result = simulate(queue, POOL, Policy.MCKP, cost=FREE)
    assert (
        counts(result)
        == [
            (0.0, {"a": 4, "b": 4}),
            (10.0, {"b": 8}),
            (pytest.approx(16.25), {"whole system": 8}),
            (pytest.approx(26.25), {}),
        ][:3]
    )
    event = result.events[1]
    assert (event.started, event.ended, event.decision.changed) == ([], ["a"], ["b"])
    assert result.jobs["b"].run.seconds == pytest.approx(16.25)  # 500 MB at 50 MB/s, 500 MB at 80 MB/s


def test_static_never_changes_running_jobs() -> None:
    queue = [queued("a", 500), queued("b", 1000), queued("c", 100, nodes=16), queued("d", 100, nodes=24)]
    result = simulate(queue, POOL, Policy.STATIC)
    given = {name: share for _, shares in reversed(counts(result)) for name, share in shares.items()}
    assert given == {"a": 2, "b": 2, "c": 4, "d": 4}
    assert all(given[name] == share for _, shares in counts(result) for name, share in shares.items())
    assert not any(event.decision.changed for event in result.events)


def test_a_job_that_does_not_fit_delays_those_behind_it() -> None:
    queue = [queued("a", 100, nodes=24), queued("b", 100, nodes=16), queued("c", 100, nodes=8)]
    starts = {name: ended.start for name, ended in simulate(queue, POOL, Policy.ZERO).jobs.items()}
    assert starts == {"a": 0, "b": 10, "c": 10}


def test_a_running_job_notices_a_change_after_the_delay() -> None:
    result = simulate([queued("a", 500), queued("b", 1000)], POOL, Policy.MCKP, Timing(delay=2), FREE)
    assert result.jobs["b"].run.seconds == pytest.approx(12 + 400 / 80)  # 50 MB/s until 2 s after the end of a


def test_a_job_that_ends_before_it_notices_a_change_is_not_changed() -> None:
    result = simulate([queued("a", 500), queued("b", 510)], POOL, Policy.MCKP, Timing(delay=2), FREE)
    assert result.jobs["b"].run.seconds == pytest.approx(10.2)


def test_jobs_start_at_intervals() -> None:
    result = simulate([queued(name, 500) for name in "abc"], POOL, Policy.ONE, Timing(interval=3))
    assert [ended.start for ended in result.jobs.values()] == [0, 3, 6]


def test_jobs_that_start_apart_are_given_forwarders_one_after_another() -> None:
    result = simulate([queued("a", 800), queued("b", 500)], POOL, Policy.MCKP, Timing(interval=5), FREE)
    assert counts(result)[:2] == [(0, {"a": 8}), (5, {"a": 4, "b": 4})]
    assert result.jobs["a"].run.seconds == pytest.approx(5 + 400 / 50)


def test_a_job_that_was_changed_recently_changes_once_it_has_settled() -> None:
    cost = RemapCost(pause_seconds=0, settle_seconds=20)
    result = simulate([queued("a", 5000), queued("b", 500)], POOL, Policy.MCKP, Timing(interval=5), cost)
    assert counts(result) == [(0, {"a": 8}), (5, {"a": 4, "b": 4}), (15, {"a": 4}), (25, {"a": 8})]


def test_all_bytes_are_moved_and_the_aggregate_is_that_of_the_runs() -> None:
    queue = [queued(name, 100 * number) for number, name in enumerate("abcdefg", 1)]
    for policy in Policy:
        result = simulate(queue, POOL, policy, Timing(0.5, 1.5))
        assert sorted(result.jobs) == list("abcdefg")
        assert result.bandwidth == pytest.approx(
            sum(one.job.curve is not None and one.written / result.jobs[one.job.id].run.seconds for one in queue)
        )


def test_forwarders_that_serve_several_jobs_are_credited_in_parts_except_for_oracle() -> None:
    queue = [queued(name, 100, curve={1: 20.0}) for name in "abcd"]
    assert simulate(queue, Pool(2, 32), Policy.ONE).bandwidth == pytest.approx(4 * 10.0)
    assert simulate(queue, Pool(2, 32), Policy.ORACLE).bandwidth == pytest.approx(4 * 20.0)


def test_jobs_that_can_never_start_or_move_bytes_are_refused() -> None:
    with pytest.raises(ArbiterError, match="job a needs 64 nodes and the system has 32"):
        simulate([queued("a", 1, nodes=64)], POOL, Policy.ONE)
    with pytest.raises(ArbiterError, match="job a: its curve has no bandwidth"):
        simulate([queued("a", 1, curve={8: 10.0})], POOL, Policy.ONE)
