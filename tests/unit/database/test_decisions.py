# SPDX-License-Identifier: Apache-2.0
"""Test that decisions, outcomes and daemon runs are found again, whatever jobs report and in whatever order."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.database import Database, NotFoundError, errors
from reprise.database.entities import Outcome
from reprise.database.outcomes import SAME_RUN_S
from tests.examples import examples
from tests.unit.database_values import decision, outcome, record


def ended(started_at: float, elapsed_s: float, **changes: Any) -> Outcome:
    return outcome(started_at, ended_at=started_at + elapsed_s, elapsed_s=elapsed_s, **{"exit_status": 0, **changes})


def test_a_decision_with_all_values_is_read_back(database: Database) -> None:
    number = database.add_record(record())
    full = decision(
        verdict="apply",
        score=0.93,
        record_id=number,
        fields=({"name": "user", "similarity": 1.0, "weight": 0.2},),
        alternatives=({"record": 3, "score": 0.5},),
        injected={"OMPI_MCA_a": "1"},
        elapsed_ms=1.5,
    )
    database.add_decision(full)
    assert database.decision("d1") == full


@pytest.mark.parametrize(
    "changes", [{"name": ""}, {"name": "a" * 65}, {"name": "a/b"}, {"record_id": 99}, {"verdict": "off"}, {"uid": -1}]
)
def test_bad_decisions_are_refused(database: Database, changes: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidValueError):
        database.add_decision(decision(**changes))
    assert database.counts()["decision"] == 0


def test_decision_id_is_unique_and_unknown_ones_are_named(database: Database) -> None:
    database.add_decision(decision())
    with pytest.raises(errors.InvalidValueError, match=r"UNIQUE|unique"):
        database.add_decision(decision())
    with pytest.raises(NotFoundError, match="'d2'"):
        database.decision("d2")


def test_a_decision_stays_linked_to_its_first_job(database: Database) -> None:
    database.add_decision(decision())
    assert database.link_job("d1", "c", 5, None)
    assert not database.link_job("d1", "c", 6, 2)
    assert not database.link_job("unknown", "c", 6, None)
    assert [found.job_id for found in database.decisions_of_job("c", 5)] == [5]
    assert database.decisions_of_job("c", 6) == database.decisions_of_job("other", 5) == []


def test_a_decision_belongs_to_the_cluster_on_which_its_job_started(database: Database) -> None:
    """A job may be submitted on one cluster to another cluster, or to whichever of several clusters starts it."""
    for name, cluster in (("d1", "c"), ("d2", "far")):
        database.add_decision(decision(name))
        assert database.link_job(name, cluster, 5, None)
        database.report_start(outcome(cluster=cluster, decision_id=name))
    for name, cluster in (("d1", "c"), ("d2", "far")):
        assert [found.id for found in database.decisions_of_job(cluster, 5)] == [name]
        assert [found.decision_id for found in database.outcomes_of_job(cluster, 5)] == [name]


def test_users_cannot_claim_decisions_of_others(database: Database) -> None:
    database.add_decision(decision())
    assert not database.link_job("d1", "c", 5, None, uid=4242)
    database.report_start(outcome(uid=4242, decision_id="d1"))
    assert database.decisions_of_job("c", 5) == []
    assert database.link_job("d1", "c", 5, None, uid=1001)


JOB = {"user": "alice", "program": "a.out", "options": {}, "build_id": "", "contents": ""}
TOLD = {"build_id": "15dfff3239aa7c3b16a71e6b2e3b6e4009dab998", "contents": "9gGmFz0VfkbK5xQZ1mSvXhT3yq8dRw2L"}


def test_a_program_reported_by_a_job_is_stored_in_its_decisions_metadata(database: Database) -> None:
    database.add_decision(decision(metadata=JOB))
    database.tell_program("d1", 1002, TOLD, 200.0)
    database.tell_program("d2", 1001, TOLD, 200.0)
    assert database.decision("d1").metadata == JOB, "reports by another user, or for another decision, change nothing"
    assert database.told_programs(1001, 0.0, 10) == []
    database.tell_program("d1", 1001, TOLD, 200.0)
    assert database.decision("d1").metadata == {**JOB, **TOLD, "told_at": 200.0}


def test_programs_reported_by_a_users_jobs_are_returned_oldest_first(database: Database) -> None:
    for number in range(4):
        database.add_decision(decision(f"d{number}", at=100.0 + number, metadata={**JOB, "path": f"/{number}"}))
        database.tell_program(f"d{number}", 1001, TOLD, 300.0 - number)

    def paths(uid: int, since: float, latest: int) -> list[str]:
        return [told["path"] for told in database.told_programs(uid, since, latest)]

    assert paths(1001, 0.0, 10) == ["/3", "/2", "/1", "/0"]
    assert paths(1001, 0.0, 2) == ["/3", "/2"], "only the latest two decisions are read"
    assert paths(1001, 102.0, 10) == ["/3", "/2"]
    assert paths(1002, 0.0, 10) == []


def test_all_tasks_of_an_array_have_the_same_decision(database: Database) -> None:
    database.add_decision(decision())
    for task, job in enumerate((50, 51, 52)):
        database.link_job("d1", "c", job, task)
        database.report_start(outcome(job_id=job, array_task=task, decision_id="d1"))
    for job in (50, 51, 52):
        assert [found.id for found in database.decisions_of_job("c", job)] == ["d1"]


def test_decisions_of_a_job_come_newest_first_and_once(database: Database) -> None:
    for name, at in (("submit", 100.0), ("start", 200.0)):
        database.add_decision(decision(name, at=at))
        database.link_job(name, "c", 5, None)
        database.report_start(outcome(at * 10, decision_id=name))
    assert [found.id for found in database.decisions_of_job("c", 5)] == ["start", "submit"]


def test_end_completes_the_start(database: Database) -> None:
    number = database.report_start(outcome(1000.0, decision_id="d1", applied=2))
    assert database.report_end(ended(1000.4, 30.0, applied=2, exit_status=256)) == number
    assert database.outcomes_of_job("c", 5) == [
        outcome(1000.0, id=number, decision_id="d1", applied=2, ended_at=1030.4, elapsed_s=30.0, exit_status=256)
    ]


def test_repeated_reports_change_nothing(database: Database) -> None:
    database.report_start(outcome(1000.0))
    database.report_start(outcome(1000.5))
    database.report_end(ended(1000.0, 30.0))
    database.report_end(ended(1000.7, 30.0))
    database.report_start(outcome(1000.9))
    assert [found.started_at for found in database.outcomes_of_job("c", 5)] == [1000.0]


def test_a_resent_batch_adds_no_row(database: Database) -> None:
    """If the primary stores a batch only after the replica's timeout, the replica sends the batch again."""
    for _ in range(3):
        database.report_start(outcome(1000.0, decision_id="d1", applied=2))
        database.report_step(outcome(1020.0, decision_id="d1", applied=2, present=2))
        database.report_end(ended(1000.3, 300.0, decision_id="d1", applied=2))
    (row,) = database.outcomes_of_job("c", 5)
    assert (row.started_at, row.elapsed_s, row.present) == (1000.0, 300.0, 2)


@dataclasses.dataclass(frozen=True)
class Run:
    """A run of a job, with methods to report it.

    The start time computed from the report of its end is off by `off_s`.
    """

    began: float
    took: float
    step: float
    off_s: float

    def report(self, database: Database, job: int, kind: str, late_s: float) -> None:
        common: dict[str, Any] = {"job_id": job, "decision_id": "d1", "applied": 2}
        if kind == "start":
            database.report_start(outcome(self.began + late_s, **common))
        elif kind == "step":
            database.report_step(outcome(self.began + self.step + late_s, present=1, unreadable=3, **common))
        else:
            database.report_end(ended(self.began + self.off_s + late_s, self.took, **common))

    def is_told_by(self, row: Outcome, kinds: set[str]) -> bool:
        """Return whether the row has exactly the values that reports of these kinds contain."""
        ends = (self.took, 0) if "end" in kinds else (None, None)
        steps = (1, 3) if "step" in kinds else (None, 0)
        begun = self.began + (self.step if kinds == {"step"} else 0)
        return (
            (row.elapsed_s, row.exit_status, row.present, row.unreadable, row.applied) == (*ends, *steps, 2)
            and (row.ended_at is None) == (row.elapsed_s is None)
            and abs(row.started_at - begun) <= SAME_RUN_S
        )


@st.composite
def runs(draw: st.DrawFn, began: float = 1000.0) -> Run:
    took = draw(st.sampled_from((0.1, 20.0, 300.0, 90_000.0)))
    step = took * draw(st.floats(0, 1))
    return Run(began, took, step, draw(st.sampled_from((-3.0, 0.0, 0.4, 20.0, SAME_RUN_S - 5))))


REPORTS = st.lists(st.tuples(st.sampled_from(("start", "step", "end")), st.floats(0, 1)), min_size=1, max_size=9)


def test_reports_of_a_run_in_any_order_and_number_give_one_row(database: Database) -> None:
    jobs = itertools.count(1)

    @settings(max_examples=examples(300))
    @given(run=runs(), reports=REPORTS)
    def hold(run: Run, reports: list[tuple[str, float]]) -> None:
        job = next(jobs)
        for kind, late_s in reports:
            run.report(database, job, kind, late_s)
        (row,) = database.outcomes_of_job("c", job)
        assert run.is_told_by(row, {kind for kind, _ in reports})

    hold()


def test_reports_of_a_requeued_job_give_two_rows_even_if_the_first_runs_are_repeated(
    database: Database,
) -> None:
    """Slurm starts a requeued job at least two minutes after the end of its previous run."""
    jobs = itertools.count(1)

    @settings(max_examples=examples(300))
    @given(first=runs(), second=runs(), early=REPORTS, late=REPORTS, again=REPORTS, order=st.randoms())
    def hold(first: Run, second: Run, early: Any, late: Any, again: Any, order: Any) -> None:
        job = next(jobs)
        second = dataclasses.replace(second, began=first.began + first.off_s + first.took + 120)
        mixed = [(second, *report) for report in late] + [(first, *report) for report in again]
        order.shuffle(mixed)
        for run, kind, late_s in [*((first, *report) for report in early), (first, "end", 0.0), *mixed]:
            run.report(database, job, kind, late_s)
        newer, older = database.outcomes_of_job("c", job)
        assert second.is_told_by(newer, {kind for kind, _ in late})
        assert first.is_told_by(older, {kind for kind, _ in early + again} | {"end"})

    hold()


def test_the_report_of_a_first_step_completes_the_running_start(database: Database) -> None:
    database.report_end(ended(10.0, 30.0, decision_id="d1"))  # an earlier run of the same job, before it was requeued
    number = database.report_start(outcome(1000.0, decision_id="d1", applied=2))
    assert database.report_step(outcome(1003.0, decision_id="d1", present=1, unreadable=1)) == number
    database.report_end(ended(1000.4, 30.0, decision_id="d1", applied=2))
    assert [(row.applied, row.present, row.unreadable) for row in database.outcomes_of_job("c", 5)] == [
        (2, 1, 1),
        (0, None, 0),
    ]


def test_a_first_step_without_a_batch_step_is_a_start(database: Database) -> None:
    number = database.report_step(outcome(1000.0, decision_id="d1", applied=2, present=2))
    told = outcome(1000.0, id=number, decision_id="d1", applied=2, present=2)
    assert database.outcomes_of_job("c", 5) == [told]


def test_an_end_without_a_start_is_stored_completely(database: Database) -> None:
    number = database.report_end(ended(1000.0, 30.0))
    assert database.outcomes_of_job("c", 5) == [dataclasses.replace(ended(1000.0, 30.0), id=number)]


def test_requeued_job_has_a_row_per_start(database: Database) -> None:
    database.report_start(outcome(1000.0))  # the node then fails, so the end is never reported
    database.report_start(outcome(1300.0))
    database.report_end(ended(1300.2, 60.0))
    assert [(found.started_at, found.elapsed_s) for found in database.outcomes_of_job("c", 5)] == [
        (1300.0, 60.0),
        (1000.0, None),
    ]


def test_job_id_used_again_does_not_end_an_old_job(database: Database) -> None:
    database.report_start(outcome(1000.0))
    database.report_end(ended(9_000_000.0, 60.0))  # the start of the new job was never reported
    assert [found.ended_at for found in database.outcomes_of_job("c", 5)] == [9_000_060.0, None]


@pytest.mark.parametrize("changes", [{"uid": 1002}, {"array_task": 3}, {"cluster": "other"}, {"job_id": 6}])
def test_another_job_does_not_end_this_one(database: Database, changes: dict[str, Any]) -> None:
    database.report_start(outcome(1000.0))
    database.report_end(ended(1000.0, 30.0, **changes))
    assert database.counts()["outcome"] == 2
    assert [found.ended_at for found in database.outcomes_of_job("c", 5) if found.uid == 1001][-1] is None


def test_the_daemons_run_at_a_time_is_found(database: Database) -> None:
    first = database.begin_service_run("1.0", 1000.0)  # this run was killed, so it has no end
    database.touch_service_run(first, 1500.0)
    second = database.begin_service_run("1.1", 3000.0)
    database.end_service_run(second, 4000.0)
    versions = {
        time: run.version if (run := database.service_run_at(time)) else None
        for time in (999.0, 1000.0, 1500.0, 1559.0, 1600.0, 2999.0, 3000.0, 4000.0, 4001.0)
    }
    assert versions == {
        999.0: None,
        1000.0: "1.0",
        1500.0: "1.0",
        1559.0: "1.0",
        1600.0: None,
        2999.0: None,
        3000.0: "1.1",
        4000.0: "1.1",
        4001.0: None,
    }


def test_the_daemons_runs_around_a_time_are_found(database: Database) -> None:
    for version, at in (("1.0", 1000.0), ("1.1", 3000.0)):
        database.begin_service_run(version, at)
    around = {time: database.service_runs_around(time) for time in (999.0, 1000.0, 2000.0, 3000.0)}
    assert {time: tuple(run.version if run else None for run in runs) for time, runs in around.items()} == {
        999.0: (None, "1.0"),
        1000.0: ("1.0", "1.1"),
        2000.0: ("1.0", "1.1"),
        3000.0: ("1.1", None),
    }


def test_clock_set_back_does_not_break_a_run(database: Database) -> None:
    number = database.begin_service_run("1.0", 1000.0)
    database.touch_service_run(number, 900.0)
    database.end_service_run(number, 900.0)
    run = database.service_run_at(1000.0)
    assert run is not None and (run.seen_at, run.stopped_at) == (1000.0, 1000.0)


def test_purge_deletes_old_rows_and_keeps_records(database: Database) -> None:
    database.add_record(record())
    database.add_decision(decision("old", at=10.0))
    database.add_decision(decision("new", at=1000.0))
    database.report_end(ended(10.0, 5.0))
    database.report_end(ended(10.0, 2000.0, job_id=6))
    database.begin_service_run("1.0", 10.0)
    assert database.purge(500.0) == 3
    assert {name: count for name, count in database.counts().items() if count} == {
        "record": 1,
        "decision": 1,
        "outcome": 1,
    }
    assert database.purge(500.0) == 0


def test_purge_deletes_a_limited_number_of_rows_and_returns_their_number(database: Database) -> None:
    for number in range(5):
        database.add_decision(decision(f"d{number}", at=10.0 + number))
    assert [database.purge(500.0, 2) for _ in range(4)] == [2, 2, 1, 0]


def test_purge_keeps_jobs_that_ended_after_the_limit(database: Database) -> None:
    database.report_end(ended(10.0, 2000.0, job_id=6))
    assert database.purge(500.0) == 0 and database.purge(2011.0) == 1
