# SPDX-License-Identifier: Apache-2.0
"""Test the timeline of the pool: periods of jobs, failures, and numbers of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from reprise.database.entities import ForwarderState
from reprise.matcher.forwarding.pool_timeline import MOMENTS, longest, timeline
from tests.unit.database_values import forwarder_share

A, B, C = "10.0.1.1:5640", "10.0.1.2:5640", "10.0.1.3:5640"


def made(*shares: Any, states: Any = (), since: float = 0.0, until: float = 240.0) -> dict[str, Any]:
    return timeline([A, B], shares, states, since, until)


def test_a_forwarder_has_the_periods_of_its_jobs_in_order() -> None:
    newest = forwarder_share(2, at=50.0, forwarders=(A,), shared=True)
    rows = made(newest, forwarder_share(1, at=-5.0, until=50.0, forwarders=(A, B)))["forwarders"]
    assert [row["address"] for row in rows] == [A, B]
    first = {"job": 1, "from": -5.0, "until": 50.0, "shared": False}
    assert rows[0]["jobs"] == [first, {"job": 2, "from": 50.0, "until": None, "shared": True}]
    assert rows[1]["jobs"] == [first]


def test_a_forwarder_has_the_times_in_which_it_failed() -> None:
    states = [
        ForwarderState("c", A, works, at, why, at + 10.0) for works, at, why in ((True, 30.0, ""), (False, 20.0, "x"))
    ]
    assert [row["failures"] for row in made(states=states)["forwarders"]] == [
        [{"from": 20.0, "until": 30.0, "reason": "x"}],
        [],
    ]


def test_forwarders_that_left_the_pool_follow_if_they_served_a_job_or_failed() -> None:
    states = [ForwarderState("c", "/run/old", False, 1.0), ForwarderState("c", "/run/good", True, 1.0)]
    rows = made(forwarder_share(1, at=1.0, forwarders=(C,)), states=states)["forwarders"]
    assert [row["address"] for row in rows] == [A, B, "/run/old", C]


def test_jobs_with_direct_access_are_no_forwarders_jobs() -> None:
    found = made(forwarder_share(1, at=1.0, forwarders=()))
    assert found["direct"] == [{"job": 1, "from": 1.0, "until": None}]
    assert [row["jobs"] for row in found["forwarders"]] == [[], []]


def test_jobs_are_counted_at_equally_distant_moments() -> None:
    counts = made(
        forwarder_share(1, at=-100.0, until=60.0),
        forwarder_share(2, at=59.5),
        forwarder_share(3, at=120.0, until=180.0, forwarders=()),
    )["counts"]
    assert len(counts) == MOMENTS + 1 and [one["at"] for one in counts] == list(range(241))
    assert [counts[at]["forwarders"] for at in (0, 59, 60, 240)] == [1, 1, 1, 1]
    assert [counts[at]["direct"] for at in (119, 120, 179, 180)] == [0, 1, 1, 0]


@pytest.mark.parametrize("most", [2, 3])
def test_the_longest_visible_periods_are_kept(most: int) -> None:
    found = made(
        forwarder_share(1, at=-1000.0, until=1.0, forwarders=(A,)),  # one second is visible
        forwarder_share(2, at=1.0, until=20.0, forwarders=(A,)),
        forwarder_share(3, at=200.0, forwarders=(B,)),
    )
    kept, left_out = longest(found, most)
    jobs = [period["job"] for row in kept["forwarders"] for period in row["jobs"]]
    assert (jobs, left_out) == (([2, 3], 1) if most == 2 else ([1, 2, 3], 0))


def test_the_longest_failures_are_kept_too() -> None:
    states = [ForwarderState("c", A, False, at, "", until) for at, until in ((1.0, 2.0), (5.0, 9.0), (20.0, 30.0))]
    kept, left_out = longest(made(forwarder_share(1, at=1.0), states=states), 2)
    assert [failure["from"] for failure in kept["forwarders"][0]["failures"]] == [5.0, 20.0]
    assert (len(kept["forwarders"][0]["jobs"]), left_out) == (1, 1)


def test_some_periods_of_equal_length_are_kept() -> None:
    kept, left_out = longest(made(*(forwarder_share(job, at=1.0) for job in range(1, 6))), 2)
    assert (sum(len(row["jobs"]) for row in kept["forwarders"]), left_out) == (2, 3)
