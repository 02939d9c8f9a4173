# SPDX-License-Identifier: Apache-2.0
"""Test which numbers of forwarders jobs are offered, and what these numbers promise."""

from __future__ import annotations

import pytest

from reprise.matcher.arbiter.bandwidth_curve import BandwidthCurve, Point, measured
from reprise.matcher.arbiter.forwarder_options import Option, default_of, of_curve, offer, possible, respects_floor
from reprise.matcher.arbiter.forwarder_policies import Allocation, Policy, allocate
from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share
from reprise.matcher.errors import ArbiterError
from tests.unit.matcher.arbiter.arbiter_values import job, numbers

POOL = Pool(8, 96)


def offered(one: Job, pool: Pool = POOL) -> list[int]:
    return [option.share.forwarders for option in of_curve(one, pool)]


def noisy(points: dict[int, tuple[float, float]], nodes: int = 8) -> Job:
    return Job("a", nodes, 8, BandwidthCurve({number: Point(mean, low, 5) for number, (mean, low) in points.items()}))


def test_a_number_that_does_not_divide_the_nodes_is_not_offered() -> None:
    twelve = job("a", {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0, 4: 5.0, 8: 6.0}, nodes=12)
    assert offered(twelve) == [0, 1, 2, 3, 4]
    assert [possible(twelve, POOL, number) for number in (8, 4, 3, 2, 1, 0)] == [4, 4, 2, 2, 1, 0]


def test_a_number_beyond_the_pool_is_not_offered() -> None:
    assert offered(job("a", {0: 1.0, 4: 2.0, 8: 3.0}), Pool(7, 96)) == [0, 4]


def test_direct_access_is_offered_only_where_it_is_possible_and_was_measured() -> None:
    assert offered(job("a", {0: 1.0, 1: 2.0})) == [0, 1]
    assert offered(job("a", {0: 1.0, 1: 2.0}), Pool(8, 96, direct=False)) == [1]
    assert offered(job("a", {1: 2.0})) == [1]


def test_an_unknown_application_gets_the_default_as_its_only_option() -> None:
    unknown = job("a", nodes=16)
    assert offer([unknown], Pool(12, 96)).options == {"a": [Option(Share(2), 0.0)]}  # the number of STATIC
    assert offer([unknown], Pool(12, 96, default=4)).options == {"a": [Option(Share(4), 0.0)]}
    assert offer([unknown], Pool(12, 96, default=0)).options == {"a": [Option(Share(0), 0.0)]}


def test_a_default_is_reduced_to_a_possible_number() -> None:
    assert default_of(job("a", nodes=12), Pool(12, 96, default=8)) == 4
    assert default_of(job("a", nodes=8), Pool(12, 96, direct=False, default=0)) == 1


def test_a_job_whose_curve_has_no_possible_number_counts_as_unknown() -> None:
    assert offer([job("a", {8: 5.0}, nodes=12)], POOL).options == {"a": [Option(Share(1), 0.0)]}


def test_more_unknown_jobs_than_the_pool_can_serve_get_direct_access_in_order_of_start() -> None:
    options = offer([job(name, nodes=48) for name in "abc"], Pool(8, 96)).options
    assert [one[0].share for one in options.values()] == [Share(4), Share(4), Share(0)]


def test_jobs_share_a_forwarder_if_there_are_more_jobs_than_forwarders_and_no_direct_access() -> None:
    jobs = [job(f"job {number}", {1: 14.0 * number, 2: 14.0 * number + 0.5}) for number in range(1, 15)]
    pool = Pool(12, 96, direct=False)
    found = offer(jobs, pool)
    assert found.capacity == 11
    assert [one[0].share for one in found.options.values()] == [Share(0, shared=True)] * 14
    assert [one[0].bandwidth for one in found.options.values()] == pytest.approx(range(1, 15))
    allocation = allocate(Policy.MCKP, jobs, pool)
    assert isinstance(allocation, Allocation)
    shared = [name for name, share in allocation.shares.items() if share.shared]
    assert shared == ["job 1", "job 2", "job 3"]  # those that lose least
    assert allocation.forwarders == 12


def test_nothing_is_shared_if_each_job_can_have_a_forwarder() -> None:
    found = offer([job(f"job {number}", {1: 10.0}) for number in range(12)], Pool(12, 96, direct=False))
    assert found.capacity == 12
    assert not any(option.share.shared for options in found.options.values() for option in options)


def test_jobs_share_a_forwarder_if_their_smallest_numbers_exceed_the_pool() -> None:
    """Three jobs and four forwarders, but each job was measured with two forwarders only."""
    jobs = [job(name, {2: 30.0}) for name in "abc"]
    allocation = allocate(Policy.MCKP, jobs, Pool(4, 96, direct=False))
    assert isinstance(allocation, Allocation)
    assert sorted(numbers(allocation.shares).values()) == [0, 0, 2]


def test_unknown_jobs_share_too_if_the_pool_is_too_small_for_their_defaults() -> None:
    jobs = [job(f"job {number}") for number in range(14)]
    allocation = allocate(Policy.MCKP, jobs, Pool(12, 96, direct=False))
    assert isinstance(allocation, Allocation)
    assert [share.shared for share in allocation.shares.values()] == [False] * 11 + [True] * 3


def test_one_forwarder_is_shared_by_all_jobs() -> None:
    jobs = [job(name, {1: 30.0}) for name in "ab"]
    allocation = allocate(Policy.MCKP, jobs, Pool(1, 96, direct=False))
    assert isinstance(allocation, Allocation)
    assert list(allocation.shares.values()) == [Share(0, shared=True)] * 2


def test_a_larger_number_is_offered_only_if_its_bound_exceeds_the_mean_of_smaller_ones() -> None:
    assert offered(noisy({0: (100, 90), 1: (110, 99), 2: (150, 130), 4: (160, 149), 8: (200, 151)})) == [0, 2, 8]


def test_one_lucky_run_takes_no_forwarders() -> None:
    curve = measured({0: [100.0, 101.0, 99.0], 1: [5000.0]})
    assert offered(Job("a", 8, 8, curve)) == [0]


def test_no_option_is_below_the_bandwidth_of_direct_access() -> None:
    """The floor holds even for direct access that was measured once."""
    one = noisy({0: (100, 0), 1: (99, 98), 2: (300, 99), 4: (120, 110)})
    assert offered(one) == [0, 4]
    assert [respects_floor(one, POOL, number) for number in (0, 1, 2, 4, 8)] == [True, False, False, True, False]


def test_the_smallest_number_is_valued_by_its_mean_and_larger_ones_by_their_bounds() -> None:
    assert [one.bandwidth for one in of_curve(noisy({0: (100, 60), 2: (150, 130)}), POOL)] == [100, 130]


def test_impossible_jobs_and_pools_are_refused() -> None:
    with pytest.raises(ArbiterError, match="job a: 0 nodes"):
        job("a", nodes=0)
    with pytest.raises(ArbiterError, match="-1 forwarders"):
        Pool(-1, 96)
    with pytest.raises(ArbiterError, match="counts of a pool"):
        Pool(8, 96, counts=(2, 4))
    with pytest.raises(ArbiterError, match="default of -2"):
        Pool(8, 96, default=-2)
