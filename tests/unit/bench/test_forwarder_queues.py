# SPDX-License-Identifier: Apache-2.0
"""Test the curves of the simulated queues, and their results against those printed."""

from __future__ import annotations

import pytest

from bench.forwarder_queues.__main__ import VARIANTS, result, simulated
from bench.forwarder_queues.decisions import decide_ms, fixture
from bench.forwarder_queues.printed_results import APPLICATIONS, PRINTED, QUEUE_2, Fill, live_curve
from bench.forwarder_queues.published_patterns import MACHINES, PATTERNS
from bench.forwarder_queues.random_queues import compared


def test_printed_bandwidths_are_kept_and_gaps_are_filled_as_assumed() -> None:
    power = {number: live_curve("IOR-MPI")[number].mean for number in (1, 2, 4, 8)}
    assert power == pytest.approx({1: 268.4, 2: 715.7, 4: 1908.7, 8: 5089.9}, abs=0.1)
    assert [live_curve("IOR-MPI", Fill.LOW)[number].mean for number in (1, 2, 4, 8)] == [268.4, 268.4, 268.4, 5089.9]
    assert [live_curve("IOR-MPI", Fill.HIGH)[number].mean for number in (1, 2, 4, 8)] == [268.4, *[5089.9] * 3]
    assert live_curve("POSIX-S")[8].mean == 1049.9
    assert live_curve("POSIX-S")[1].mean == pytest.approx(180.5**2 / 1049.9)
    assert [live_curve("SIM")[number].mean for number in (1, 2, 4, 8)] == pytest.approx([146.13] * 4, abs=0.01)


def test_the_second_queue_has_each_application() -> None:
    assert set(QUEUE_2) == set(APPLICATIONS)
    assert len(QUEUE_2) == 14


def test_static_moves_the_second_queue_as_fast_as_printed() -> None:
    found = simulated(QUEUE_2)
    assert set(found) == set(VARIANTS)
    assert found["static"].bandwidth == pytest.approx(PRINTED["queue_2"]["static"], rel=0.02)
    assert found["static"].bandwidth < found["mckp"].bandwidth < found["oracle"].bandwidth


def test_results_are_the_same_in_every_run() -> None:
    found = result(orders=1)
    assert found == result(orders=1)
    assert found["queue_1"]["simulated"]["static"] == pytest.approx(PRINTED["queue_1"]["static"], rel=0.02)
    assert found["queue_1"]["jobs"]["HACC"]["printed"] == {"static": 1070.5, "mckp": 2135.0}
    assert "printed" not in found["queue_2"]["jobs"]["HACC"]


def test_the_fixture_has_the_printed_ratio() -> None:
    assert fixture() == pytest.approx({"static": 1478.0, "mckp": 6791.9, "ratio": 4.595}, rel=1e-4)


def test_the_time_of_decisions_is_measured() -> None:
    found = decide_ms(decisions=1)
    assert 0 < found["median"] == found["largest"]


@pytest.mark.parametrize("direct", [True, False])
def test_no_policy_except_oracle_is_better_than_mckp_on_random_queues(direct: bool) -> None:
    for machine in MACHINES:
        found = compared(machine, 3, direct=direct)
        assert set(found) == {"one", "static", "size", "process", "oracle"} | ({"zero"} if direct else set())
        assert all(ratios["least"] >= 1 for policy, ratios in found.items() if policy != "oracle"), machine
        assert found["static"]["median"] >= 1.25


def test_published_bandwidths_agree_with_the_choices_of_the_thesis() -> None:
    """Section 5.1 names the best number on one machine, and the first that beats direct access on the other."""
    best = {"A": 0, "L": 1, "M": 1, "J": 4, "O": 4, "B": 8, "G": 8, "H": 8, "R": 8}
    first = dict.fromkeys("ABH", 0) | dict.fromkeys("CENQS", 2) | dict.fromkeys("DGIJKLMOPT", 4) | {"F": 8, "R": 8}
    for pattern, one, two in zip(PATTERNS, *MACHINES.values(), strict=True):
        assert max(one, key=lambda number: one[number]) == best.get(pattern.letter, 2)
        beating = [number for number in (1, 2, 4, 8) if two[number] > two[0]]
        assert min(beating, default=0) == first[pattern.letter]
