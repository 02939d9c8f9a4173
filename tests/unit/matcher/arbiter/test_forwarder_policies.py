# SPDX-License-Identifier: Apache-2.0
"""Test policies on the six jobs of table 5.3 of Bez 2020, against the shares and sums that it prints."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bench.forwarder_queues.printed_results import TABLE_5_3_NODES, table_5_3_jobs
from reprise.matcher.arbiter.aggregate_bandwidth import Run, aggregate, expected
from reprise.matcher.arbiter.forwarder_policies import Allocation, Infeasible, Policy, allocate, proportional
from reprise.matcher.arbiter.forwarding_job import Job, Pool
from tests.unit.matcher.arbiter.arbiter_values import job, numbers

TABLE = table_5_3_jobs()
POOL = Pool(12, TABLE_5_3_NODES)
BEST = {"BT-C": 0, "BT-D": 1, "IOR-MPI": 8, "POSIX-L": 2, "MAD": 0, "S3D": 0}


def shares(policy: Policy, jobs: list[Job], pool: Pool) -> Mapping[str, int]:
    allocation = allocate(policy, jobs, pool)
    assert isinstance(allocation, Allocation)
    return numbers(allocation.shares)


def bandwidth(policy: Policy, pool: Pool = POOL) -> float:
    allocation = allocate(policy, TABLE, pool)
    assert isinstance(allocation, Allocation)
    found = expected(TABLE, allocation.shares, pool.forwarders)
    assert not found.unknown
    return found.bandwidth


@pytest.mark.parametrize("forwarders", [11, 12, 13, 100])
def test_mckp_finds_the_printed_solution_with_11_forwarders_or_more(forwarders: int) -> None:
    allocation = allocate(Policy.MCKP, TABLE, Pool(forwarders, TABLE_5_3_NODES))
    assert isinstance(allocation, Allocation)
    assert numbers(allocation.shares) == BEST
    assert allocation.forwarders == 11
    assert expected(TABLE, allocation.shares).bandwidth == pytest.approx(6791.9)


@pytest.mark.parametrize("forwarders", range(4, 11))
def test_mckp_leaves_one_forwarder_to_ior_if_8_do_not_fit(forwarders: int) -> None:
    pool = Pool(forwarders, TABLE_5_3_NODES)
    assert shares(Policy.MCKP, TABLE, pool) == BEST | {"IOR-MPI": 1}
    assert bandwidth(Policy.MCKP, pool) == pytest.approx(1970.4)


@pytest.mark.parametrize(("forwarders", "needed"), [(1, 3), (2, 4), (3, 4)])
def test_mckp_reports_that_3_forwarders_do_not_suffice(forwarders: int, needed: int) -> None:
    found = allocate(Policy.MCKP, TABLE, Pool(forwarders, TABLE_5_3_NODES))
    assert isinstance(found, Infeasible)
    assert f"need {needed} forwarders at least, and the pool has {forwarders}" in found.reason


def test_all_jobs_have_direct_access_if_no_forwarder_works() -> None:
    for policy in Policy:
        assert shares(policy, TABLE, Pool(0, TABLE_5_3_NODES)) == dict.fromkeys(BEST, 0)


@pytest.mark.parametrize(("nodes", "forwarders"), [(8, 1), (16, 2), (32, 4), (64, 8)])
def test_static_gives_forwarders_by_share_of_the_system(nodes: int, forwarders: int) -> None:
    assert shares(Policy.STATIC, [job("a", nodes=nodes)], Pool(12, 96)) == {"a": forwarders}


def test_static_gives_the_printed_shares_in_systems_of_384_to_767_nodes() -> None:
    printed = dict(zip(BEST, [1, 2, 1, 2, 1, 2], strict=True))
    right = [nodes for nodes in range(300, 900) if shares(Policy.STATIC, TABLE, Pool(12, nodes)) == printed]
    assert (min(right), max(right), len(right)) == (384, 767, 384)


def test_size_rounds_to_the_nearest_number_and_then_down_to_a_possible_one() -> None:
    nodes = [one.nodes for one in TABLE]
    assert [proportional(12, one, sum(nodes)) for one in nodes] == [1, 3, 1, 3, 1, 3]
    assert list(shares(Policy.SIZE, TABLE, POOL).values()) == [1, 2, 1, 2, 1, 2]


def test_process_gives_shares_by_processes() -> None:
    processes = [one.processes for one in TABLE]
    assert [proportional(12, one, sum(processes)) for one in processes] == [1, 3, 1, 3, 0, 3]
    assert list(shares(Policy.PROCESS, TABLE, POOL).values()) == [1, 2, 1, 2, 0, 2]
    assert bandwidth(Policy.PROCESS) == pytest.approx(1656.1)


def test_halves_are_rounded_up() -> None:
    assert [proportional(1, 1, 2), proportional(5, 1, 2), proportional(5, 3, 10)] == [1, 3, 2]


def test_bandwidths_and_their_ratio_are_those_printed() -> None:
    static, size, mckp = (bandwidth(policy) for policy in (Policy.STATIC, Policy.SIZE, Policy.MCKP))
    assert (static, size, mckp) == pytest.approx((1478.0, 1478.0, 6791.9))
    assert mckp / static == pytest.approx(4.595, abs=5e-4)
    assert mckp / bandwidth(Policy.PROCESS) == pytest.approx(4.10, abs=5e-3)


def test_the_aggregate_bandwidth_averages_each_run_over_its_own_duration() -> None:
    assert aggregate([Run(100.0, 50.0, 10.0), Run(0.0, 40.0, 2.0)]) == pytest.approx(35.0)


def test_one_gives_a_forwarder_to_each_job_even_if_the_pool_is_smaller() -> None:
    jobs = [job(name, {0: 10.0, 1: 30.0}) for name in "abc"]
    allocation = allocate(Policy.ONE, jobs, Pool(2, 96))
    assert isinstance(allocation, Allocation)
    assert numbers(allocation.shares) == {"a": 1, "b": 1, "c": 1}
    assert expected(jobs, allocation.shares, 2).bandwidth == pytest.approx(60.0)
    assert expected(jobs, allocation.shares).bandwidth == pytest.approx(90.0)


def test_zero_needs_direct_access() -> None:
    assert shares(Policy.ZERO, TABLE, POOL) == dict.fromkeys(BEST, 0)
    assert isinstance(allocate(Policy.ZERO, TABLE, Pool(12, 96, direct=False)), Infeasible)


def test_a_formula_that_gives_0_gives_1_if_direct_access_is_impossible() -> None:
    assert shares(Policy.PROCESS, TABLE, Pool(12, 96, direct=False))["MAD"] == 1


def test_oracle_takes_the_fastest_number_whatever_the_pool_and_the_smaller_of_equals() -> None:
    jobs = [job("a", {0: 10.0, 2: 30.0, 4: 30.0}), job("b", {0: 50.0, 1: 40.0}), job("c", {0: 1.0, 4: 2.0})]
    assert shares(Policy.ORACLE, jobs, Pool(4, 96)) == {"a": 2, "b": 0, "c": 4}


def test_no_job_needs_no_forwarder() -> None:
    for policy in Policy:
        assert allocate(policy, [], Pool(0, 96)) == Allocation({})


def test_a_pool_without_forwarders_and_without_direct_access_has_no_allocation() -> None:
    for policy in Policy:
        for jobs in (TABLE, [job("unknown")]):
            found = allocate(policy, jobs, Pool(0, 96, direct=False))
            assert isinstance(found, Infeasible) and "direct access is not possible" in found.reason
