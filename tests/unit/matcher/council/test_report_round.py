# SPDX-License-Identifier: Apache-2.0
"""Test the barrier on reports: who is waited for, and for how long."""

from __future__ import annotations

from reprise.matcher.council.report_round import Round
from tests.unit.matcher.council.council_values import report


def test_two_reports_of_one_host_do_not_end_a_round_and_the_later_one_counts() -> None:
    one = Round(["a", "b"], timeout=5)
    one.receive(report("a", 1000, 10), 0)
    one.receive(report("a", 1000, 20), 1)
    assert not one.is_over(1)
    one.receive(report("b", 1000, 30), 2)
    assert one.is_over(2)
    assert [(each.host, each.bandwidth) for each in one.close()[0]] == [("a", 20), ("b", 30)]


def test_the_timeout_begins_with_the_first_report() -> None:
    one = Round(["a", "b"], timeout=5)
    assert one.deadline is None and not one.is_over(1000)
    one.receive(report("a", 1000), 1000)
    one.receive(report("a", 1000), 1003)
    assert one.deadline == 1005
    assert not one.is_over(1004.9) and one.is_over(1005)


def test_a_dead_host_is_waited_for_once() -> None:
    one = Round(["a", "b", "dead"], timeout=5)
    for host in ("a", "b"):
        one.receive(report(host, 1000), 0)
    assert not one.is_over(4) and one.is_over(5)
    assert one.close()[1] == ["dead"]
    for host in ("a", "b"):
        one.receive(report(host, 1000), 6)
    assert one.is_over(6)


def test_a_host_that_returns_is_waited_for_again() -> None:
    one = Round(["a", "b"], timeout=5)
    one.receive(report("a", 1000), 0)
    assert one.close()[1] == ["b"]
    one.receive(report("b", 1000), 6)
    assert not one.is_over(6)
    one.receive(report("a", 1000), 6)
    assert one.is_over(6)
    assert one.close()[1] == []


def test_any_member_may_leave() -> None:
    for leaver, other in (("a", "b"), ("b", "a")):
        one = Round(["a", "b"], timeout=5)
        one.receive(report(other, 1000), 0)
        one.leave(leaver)
        assert one.is_over(0)
        one.close()
        one.leave(other)
        assert not one.is_over(100)  # nobody reports, so there is nothing to decide


def test_a_new_host_joins_with_its_first_report() -> None:
    one = Round([], timeout=5)
    one.receive(report("new", 1000), 0)
    assert one.is_over(0) and one.alive == {"new"}


def test_a_silent_host_still_has_its_job_that_opted_out_until_it_leaves() -> None:
    one = Round(["a", "b"], timeout=5)
    one.receive(report("a", 1000, opted_out=True), 0)
    one.close()
    one.receive(report("b", 1000), 1)
    one.close()
    assert one.opted_out == ["a"]
    one.leave("a")
    assert one.opted_out == []
    one.receive(report("b", 1000, opted_out=True), 2)
    one.receive(report("b", 1000), 3)
    assert one.opted_out == []
