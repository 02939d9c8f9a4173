# SPDX-License-Identifier: Apache-2.0
"""Test that SQLite and PostgreSQL give the same answers: the same writes, then every method that reads."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database
from reprise.database.connection import ALL_ROWS
from reprise.database.entities import (
    CampaignState,
    ForwarderState,
    Prediction,
    RecordProfile,
    RecordStatus,
    UserQuarantine,
)
from reprise.database.gain_subject import subject_in
from reprise.database.job_patterns import Seen
from reprise.database.job_search import Wanted
from reprise.database.record_io_kinds import PATTERNS, kinds_in_text
from reprise.database.totals import WantedRecords
from tests import postgresql
from tests.unit.database_values import artifact, campaign, decision, forwarder_share, outcome, record, trial

pytestmark = pytest.mark.slow

USERS = ((1001, "alice"), (1002, "bob"), (1003, "Zoë"))
# programs with characters of several bytes, with wildcards, and with a name of Python's format
PROGRAMS = ("lattice", "Solver", "a%s'b\\", "größe", "\U0001f600", "", None)
JOB_NAMES = ("night", "lattice", ":name", "x" * 500)
COMPONENTS = ("openmpi", "romio", "forwarders", "forwarders+romio")


def fill(database: Database, seed: int) -> None:
    """Write the rows that belong to a seed, by all methods that write."""
    rng = random.Random(seed)  # noqa: S311 (not for security)
    for number in range(6):
        metadata = {"user": rng.choice(USERS)[1], "program": rng.choice(PROGRAMS), "job_name": rng.choice(JOB_NAMES)}
        one = database.add_campaign(campaign(component=rng.choice(COMPONENTS), spec={"metadata": metadata}))
        database.add_trial(trial(one, number, metrics={"read": 1.5}))
        if number == 0:
            database.publish(record(metadata=metadata), artifact(), campaign_id=one, summary={"gain": 0.5})
        elif number < 4:
            database.set_campaign_state(one, rng.choice(list(CampaignState)), {"n": number})
        database.campaign_lives(one, 5.0 + number)
    for _ in range(12):
        user = rng.choice(USERS)[1]
        metadata = {"user": user, "program": rng.choice(PROGRAMS), "job_name": rng.choice(JOB_NAMES)}
        parametrization: Mapping[str, Any] = rng.choice(
            (
                {"a": 1},
                {"gain_of": "bytes read"},
                {"rules": [{"problem": "bcast/8"}]},
                {"gain_of": None, "rules": "odd", PATTERNS: ["read/shared/strided"]},
                {"parts": {"forwarders": {"parametrization": {PATTERNS: ["a.b", "c"]}}, "romio": 3}},
            )
        )
        gain = rng.random()
        number = database.add_record(
            record(
                component=rng.choice(COMPONENTS),
                created_at=float(rng.randrange(100)),
                metadata=metadata,
                parametrization=parametrization,
                gain=gain,
                gain_low=gain / 2,
                gain_high=2 * gain,
            )
        )
        if rng.random() < 0.3:
            database.set_record_status(number, rng.choice(list(RecordStatus)), at=rng.random(), reason="because")
        if rng.random() < 0.3:
            database.quarantine_for(UserQuarantine(number, *rng.choice(USERS), 7.0, "slow"))
            database.quarantine_for(UserQuarantine(number, *USERS[0], 7.0, "slower"))
        if rng.random() < 0.3:
            database.set_profile(RecordProfile(number, 6.0, "90.0% compute", {"version": 1}))
        database.add_prediction(Prediction("f", "romio", "1", "write", float(number), "x", {"b": 1, "a": 2}, [], 0))
    for number in range(200):
        add_job(database, rng, number)
    run = database.begin_service_run("1", 10.0)
    database.touch_service_run(run, 5.0)
    database.touch_service_run(run, 50.0)
    database.end_service_run(run, 40.0)
    for at in (10.0, 20.0, 30.0):
        shares = [forwarder_share(job, nodes=1 + int(at)) for job in range(rng.randrange(4))]
        database.set_forwarding("c", shares, [ForwarderState("c", "10.0.1.1:5640", rng.random() < 0.5, 0.0)], at)


def add_job(database: Database, rng: random.Random, number: int) -> None:
    """Add a decision, and the reports of its job."""
    uid, user = rng.choice(USERS)
    record_id = rng.choice((None, *range(1, 14)))
    in_block = record_id is not None and rng.random() < 0.5
    name, job = f"d{number}", number // 2
    alternatives = [
        {"record": rng.randrange(1, 14), "used": rng.choice((True, False)), "component": rng.choice(COMPONENTS)}
        for _ in range(rng.randrange(3))
    ]
    metadata = {
        "user": user,
        "program": rng.choice(PROGRAMS),
        "job_name": rng.choice(JOB_NAMES),
        "nodes": rng.choice((None, 1, 2)),
        "script_path": rng.choice(("", "/home/a.sh", None)),
        "account": "acc",
    }
    database.add_decision(
        decision(
            name,
            at=86_400.0 * rng.randrange(10) + number,  # times are unique, so that the order is defined
            uid=uid,
            user=user,
            verdict=rng.choice(("apply", "none", "holdout")),
            reason=rng.choice(("nothing", "refused: no")),
            score=rng.choice((None, 0.5, 0.9)),
            record_id=record_id,
            metadata=metadata,
            alternatives=alternatives,
            block=f"{rng.choice('bB')}{rng.randrange(5)}" if in_block else None,
            compared_id=record_id if in_block else None,
            held_out=rng.random() < 0.3,
            block_size=2 if in_block else None,
        )
    )
    if rng.random() < 0.3:
        database.tell_program(name, uid, {"build_id": "ab"}, 300.0 + number)
    reporter = uid if rng.random() < 0.9 else 4242
    confirmed, cluster = rng.random() < 0.8, rng.choice(("c", "c", "far"))
    common: Any = {"job_id": job, "uid": reporter, "decision_id": name, "cluster": cluster}
    common["verdict"] = rng.choice(("apply", "off"))
    began = 1000.0 * number
    if rng.random() < 0.7:
        database.report_start(outcome(began, **common))
    if rng.random() < 0.3:  # another task of a job array, which has not ended
        database.report_start(outcome(began, **{**common, "job_id": 1000 + job, "array_task": 1}))
    pattern, moved, owner = rng.choice(("a", "b")), number + 1, rng.choice((None, uid, 4242))
    seen = [Seen(one, pattern, 1.0, moved, owner) for one in (job, 1000 + job)]
    database.add_job_patterns(cluster, seen, began + 10)
    if rng.random() < 0.3:
        database.report_step(outcome(began + 1, present=1, unreadable=rng.randrange(3), **common))
    if rng.random() < 0.7:
        took = float(rng.randrange(1, 100))  # sums do not depend on the order
        ends: Any = {"ended_at": began + took, "elapsed_s": took, "exit_status": rng.choice((0, 256))}
        ends["confirmed"] = confirmed
        database.report_end(outcome(began, **common, **ends))
    database.link_job(name, cluster, job, None, uid=reporter, confirmed=confirmed)


def ask(method: Callable[..., Any], *arguments: Any, **how: Any) -> tuple[str, Any]:
    """Return the result of a method, with what was asked."""
    return f"{method.__name__}{arguments}{how}", method(*arguments, **how)


def found_jobs(database: Database, wanted: Wanted) -> tuple[str, Any]:
    """Return the result of a search for jobs; the tasks of a job array have one time, so that their order is open."""
    found = sorted(database.jobs(wanted), key=lambda one: (one.at, repr(one)))
    return f"jobs{wanted}", found if wanted.limit == ALL_ROWS else [one.at for one in found]


def answers(database: Database) -> Iterator[tuple[str, Any]]:
    """Yield the results of all methods that read, and last of the one that deletes."""
    yield from totals(database)
    yield from listings(database)
    yield from of_records(database)
    yield from of_jobs(database)
    yield "purged", [database.purge(300_000.0, 10), database.purge(300_000.0)]
    yield ask(database.counts)


def totals(database: Database) -> Iterator[tuple[str, Any]]:
    """Yield what is found without a search."""
    yield ask(database.counts)
    yield ask(database.record_counts)
    yield ask(database.newest_record_at)
    yield ask(database.record_ids)
    yield ask(database.last_record_change)
    yield ask(database.running_campaigns)
    yield ask(database.campaigns)
    yield ask(database.some_campaigns, 4, 2)
    yield ask(database.trial_counts, [1, 2, 99])
    yield ask(database.predictions, "f")
    yield ask(database.user_quarantines)
    yield ask(database.newest_outcome)
    yield ask(database.compared_records)
    yield ask(database.service_run_at, 45.0)
    yield ask(database.service_runs_around, 5.0)
    yield ask(database.given_by_record, 0.0)
    yield ask(database.unread_scripts, 0.0, 10)
    yield ask(database.forwarded_since, "c", 0)
    yield ask(database.shares_between, "c", 0.0, 25.0)
    yield ask(database.states_between, "c", 0.0, 25.0)
    for offset in (0.0, 3600.0, -80_000.5):
        yield "days", sorted(database.decisions_by_day(0.0, offset))


def listings(database: Database) -> Iterator[tuple[str, Any]]:
    """Yield the results of searches."""
    for refused in ("refused", "%"):
        yield ask(database.unmatched, 0.0, refused=refused)
    for component in (None, *COMPONENTS, "c%"):
        yield "gains", sorted(map(repr, map(plain, database.gains_of_jobs(component))))
        yield "vain", sorted(map(repr, database.campaigns_in_vain(component)))
        yield ask(database.records, status=None, component=component)
    for uid, user in USERS:
        yield ask(database.told_programs, uid, 0.0, 50)
        yield ask(database.patterns_of_user, uid, 86_400.0, 60)
        yield ask(database.decisions_without_job, user, 0.0, 1e9)
        for only, verdict in itertools.product((None, uid), (None, "apply")):
            yield found_jobs(database, Wanted(user=user, uid=uid, verdict=verdict, only=only))
        yield ask(database.some_records, WantedRecords(job=user))
    for program in (*filter(None, PROGRAMS), *JOB_NAMES):
        yield found_jobs(database, Wanted(application=program, limit=7))
        yield ask(database.some_records, WantedRecords(job=program, status="active", before=9, limit=3))
    for wanted in ({}, {"limit": 5}, {"failed": True}, {"account": "acc", "limit": 9}, {"component": "romio"}):
        yield found_jobs(database, Wanted(**wanted))


def of_records(database: Database) -> Iterator[tuple[str, Any]]:
    """Yield what is found of each record."""
    for one in database.record_texts():
        subject, kinds = subject_in(one.subject), kinds_in_text(one.io_kinds)
        yield "text", (one[:-3], sorted(json.loads(one.quarantined_for)), subject, kinds)
    changes = database.record_changes(3)
    yield "changes", changes and (sorted(one.id for one in changes.changed), changes.gone, changes.number)
    for number in range(1, 14):
        yield ask(database.record, number)
        yield ask(database.profile, number)
        yield ask(database.status_changes, number)
        yield found_jobs(database, Wanted(record=number))
        yield found_jobs(database, Wanted(main_record=number))
        yield ask(database.compared, number)
        yield ask(database.compared, number, uid=1001, since=86_400.0)
        yield ask(database.compared, number, block="B3")
        yield ask(database.lately_compared, number, 4)
        yield ask(database.lately_compared_of, number, 1002, 3)
        yield ask(database.users_measured, number, 1)
        for nodes in (None, 1):
            yield "alike", [sorted(times) for times in database.alike(number, nodes, but="d5", uid=None)]


def of_jobs(database: Database) -> Iterator[tuple[str, Any]]:
    """Yield what is found of single jobs."""
    for number in range(0, 200, 9):
        one = database.decision(f"d{number}")
        yield "decision", one
        yield ask(database.clusters_of_job, number // 2)
        yield ask(database.place_of, one.id)
        yield ask(database.outcomes_of_decision, one, limit=3)
        yield ask(database.decisions_of_job, "c", number // 2, limit=2)
        yield ask(database.outcomes_of_job, "c", number // 2, uid=1001)
        yield ask(database.forwarded_jobs, "c", [number // 2, 5, 7])
        yield ask(database.ended_outcomes, [number, 1, 2, 9999])
        yield ask(database.verdicts_of, "c", [number // 2, 5, 7])
        yield ask(database.job_patterns, range(number, number + 9))


def plain(row: Any) -> list[Any]:
    """Return a row with 0 and 1 in place of False and True."""
    return [int(cell) if isinstance(cell, bool) else cell for cell in row]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_writes_give_the_same_answers(seed: int, server: postgresql.Server, tmp_path: Path) -> None:
    url = server.new()
    with Database.open(tmp_path / "a.db", create=True) as here, Database.open(url) as there:
        fill(here, seed)
        fill(there, seed)
        for (asked, expected), (_, found) in zip(answers(here), answers(there), strict=True):
            assert found == expected, asked
    server.drop(url)
