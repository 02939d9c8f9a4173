# SPDX-License-Identifier: Apache-2.0
"""Test on which jobs the council may explore."""

from __future__ import annotations

import pytest

from reprise.database import Database
from reprise.matcher.windows.job_consent import REMEMBERED_S, Consents, Explore
from tests.unit.database_values import outcome

VERDICTS = {1: {"apply"}, 2: {"off"}, 3: {"observe"}, 4: {"none"}, 5: {"apply", "off"}, 6: {"holdout"}}


def asked(explore: Explore) -> Consents:
    made = Consents(explore)
    made.learned([1, 2, 3, 4, 5, 6, 7], VERDICTS)
    return made


@pytest.mark.parametrize("explore", ["known", "all"])
def test_jobs_that_the_matcher_knows_are_explored_on_unless_they_opted_out(explore: Explore) -> None:
    of = asked(explore)
    assert [name for name in "123456" if not of.opted_out([name], 0)] == ["1", "4", "6"]
    assert of.opted_out(["1", "4", "2"], 0) and not of.opted_out(["1", "4"], 0)
    assert of.opted_out(["1-steady"], 0)


def test_other_users_of_forwarders_are_explored_on_only_if_all_may_be() -> None:
    for name in ("7", "alice", "", "0", "-1", "007", "7-", "7-other", "4294967296", "²"):
        assert asked("known").opted_out([name], 0), name
        assert not asked("all").opted_out([name], 0), name
    assert not asked("known").opted_out([], 0)


@pytest.mark.parametrize("name", ["8", "other", "alice-steady", "-steady"])
def test_jobs_that_were_not_looked_up_or_counted_are_never_explored_on(name: str) -> None:
    assert asked("all").opted_out([name], 0)


def test_exploring_can_be_forbidden() -> None:
    assert asked("none").opted_out(["1"], 0) and asked("none").opted_out([], 0)
    assert not asked("none").wanted(0)


def test_jobs_are_looked_up_as_long_as_forwarders_name_them() -> None:
    of = Consents("known")
    of.opted_out(["4711", "4712-steady", "alice"], 0)
    of.opted_out(["4711"], REMEMBERED_S - 1)
    assert sorted(of.wanted(REMEMBERED_S - 1)) == [4711, 4712]
    assert of.wanted(REMEMBERED_S + 1) == [4711]


def test_the_database_has_all_verdicts_of_a_job(tmp_path: object) -> None:
    with Database.open(tmp_path / "reprise.db", create=True) as database:  # type: ignore[operator]
        for uid, verdict, job in ((1001, "apply", 7), (1002, "off", 7), (1001, "none", 8)):
            database.report_start(outcome(uid=uid, verdict=verdict, job_id=job))
        database.report_start(outcome(job_id=9, cluster="another"))
        assert database.verdicts_of("c", [7, 8, 9, 10]) == {7: {"apply", "off"}, 8: {"none"}}
