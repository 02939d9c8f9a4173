# SPDX-License-Identifier: Apache-2.0
"""Test that several processes that load many records give the same result as one process, even if some die."""

from __future__ import annotations

import os
import pickle
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database
from reprise.database.entities import Record, RecordStatus, Scope
from reprise.matcher.daemon import record_loaders
from reprise.matcher.decision.decide import Knowledge
from reprise.matcher.decision.known_records import readable
from reprise.matcher.decision.record_batch import Batch, batch
from reprise.matcher.linkage.linkage_model import load as load_model
from tests.processes import lives
from tests.unit.matcher_daemon import Daemon, job, mine, record, request
from tests.waiting import wait_for

RECORDS = 60


def various(rng: random.Random) -> Iterator[Record]:
    """Yield records of few distinct jobs, so that matches tie. Some are retired, unreadable, or cluster-wide."""
    for number in range(RECORDS):
        options = {"steps": (str(rng.randrange(3)),), "size": ("64", "32")[: rng.randrange(3)]}
        metadata = job(rng.choice(["alice", "bob"])).to_json() | {"options": options, "nodes": rng.choice([2, 4])}
        values: dict[str, Any] = {
            "metadata": metadata,
            "gain": rng.choice([0.1, 0.3]),
            "created_at": rng.choice([1, 2]),
        }
        if number % 10 == 3:
            values["status"] = RecordStatus.RETIRED
        if number % 10 == 5:
            values["metadata"] = {"user": None}
        if number % 10 == 7:
            values |= {"scope": Scope.CLUSTER, "metadata": {}}
        yield record(**values)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "reprise.db"
    with Database.open(path, create=True) as database:
        database.add_records(various(random.Random(1)))  # noqa: S311 - not used for security
    return path


@pytest.fixture
def plan(database: Path, monkeypatch: pytest.MonkeyPatch) -> record_loaders.Plan:
    monkeypatch.setattr(record_loaders, "MINIMUM", RECORDS)
    monkeypatch.setattr(record_loaders, "PIECE", 7)
    # forking is safe here, because the test runner's threads hold no locks
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    found = record_loaders.plan(database, {})
    assert found
    return found


def loaded(plan: record_loaders.Plan) -> Knowledge:
    knowledge = Knowledge((), load_model("site"), cluster_nodes=8, timezone="UTC")
    knowledge.take(plan.batches(knowledge.engine.prepare))
    return knowledge


def assert_is_as_in_one_process(knowledge: Knowledge, path: Path) -> None:
    with Database.open(path, read_only=True) as database:
        plain = Knowledge(readable(database.record_texts()), load_model("site"), cluster_nodes=8, timezone="UTC")
    assert len(knowledge) == len(plain)
    assert knowledge.cluster_wide == plain.cluster_wide and plain.cluster_wide
    assert knowledge.alike == plain.alike
    for user in ("alice", "bob", "carol"):
        linked = knowledge.engine.link(job(user), RECORDS)
        assert linked == plain.engine.link(job(user), RECORDS)
        assert len({match.score for match in linked.matches}) < len(linked.matches), "there are ties"


def test_several_processes_load_the_same_records_as_one(
    plan: record_loaders.Plan, database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert_is_as_in_one_process(loaded(plan), database)
    assert "workers-failed" not in caplog.text


def test_a_record_that_changes_during_the_load_is_reported_as_changed(
    plan: record_loaders.Plan, database: Path
) -> None:
    knowledge = Knowledge((), load_model("site"), cluster_nodes=8)
    batches = plan.batches(knowledge.engine.prepare)
    first = next(batches)
    number = int(first.linkable.ids[0])
    with Database.open(database) as written:
        written.set_record_status(number, RecordStatus.RETIRED, at=1.0)
        knowledge.take([first, *batches])
        changes = written.record_changes(plan.number)
        assert changes and [text.id for text in changes.changed] == [number]


@pytest.mark.parametrize("survives", [0, 3])
def test_records_that_a_killed_process_did_not_load_are_loaded_by_the_parent(
    plan: record_loaders.Plan,
    database: Path,
    survives: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = os.getpid()
    fatal = plan.pieces[survives][0]

    def dies(records: Any, prepare: Any) -> Batch:
        records = list(records)
        if os.getpid() != here and records[0][0] >= fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return batch(records, prepare)

    monkeypatch.setattr(record_loaders, "batch", dies)
    assert_is_as_in_one_process(loaded(plan), database)
    assert caplog.text.count("workers-failed") == 1


def test_the_parent_loads_all_records_if_it_cannot_fork(
    plan: record_loaders.Plan, database: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refused)
    assert_is_as_in_one_process(loaded(plan), database)
    assert caplog.text.count("workers-failed") == 1


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (record_loaders, "MINIMUM", RECORDS + 1),
        (threading, "active_count", lambda: 2),
        (os, "sched_getaffinity", lambda _: {0}),
    ],
    ids=["few records", "a thread", "one processor"],
)
def test_one_process_loads_where_more_are_slower_or_might_hang(
    plan: record_loaders.Plan, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, value: Any
) -> None:
    assert record_loaders.plan(plan.path, {}) is not None
    monkeypatch.setattr(module, name, value)
    assert record_loaders.plan(plan.path, {}) is None


def test_unpickled_terms_are_the_identical_object(database: Path) -> None:
    with Database.open(database, read_only=True) as opened:
        known = next(known for _, known in readable(opened.record_texts()) if known)
    assert pickle.loads(pickle.dumps(known)).terms is known.terms  # noqa: S301 - just made


@pytest.fixture
def full(daemon: Daemon) -> Daemon:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    with Database.open(daemon.database) as database:
        database.add_records([mine()] * record_loaders.MINIMUM)
    return daemon


def children(daemon: Daemon) -> list[int]:
    assert daemon.process
    return [
        int(number)
        for number in Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()
    ]


def at_work(daemon: Daemon) -> list[int]:
    """Return the pids of all children once all of them ignore SIGINT; until then, return an empty list."""
    assert daemon.running()
    found = children(daemon)
    return found if len(found) > 1 and all(map(ignores_sigint, found)) else []


def ignores_sigint(process: int) -> bool:
    status = Path(f"/proc/{process}/status").read_text()
    (ignored,) = (text.split()[1] for text in status.splitlines() if text.startswith("SigIgn:"))
    return bool(int(ignored, 16) >> (signal.SIGINT - 1) & 1)


@pytest.mark.slow
def test_a_daemon_loads_many_records_once_and_leaves_no_child(full: Daemon) -> None:
    full.spawn()
    wait_for("the processes that load", lambda: full.running() and children(full), every_s=0.001)
    full.wait_until_up()
    assert not children(full)
    assert full.ask(request())["verdict"] == "apply"
    full.stop()
    assert full.text().count("event=records ") == 1 and f"count={record_loaders.MINIMUM}" in full.text()
    assert "workers-failed" not in full.text()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_daemon_that_ends_during_the_load_leaves_no_child(full: Daemon, number: signal.Signals) -> None:
    full.spawn()
    found = wait_for("the processes that load", lambda: at_work(full), every_s=0.001)
    for process in found:
        os.kill(process, signal.SIGSTOP)  # a suspended process cannot finish loading records
    full.signal(number)
    assert full.process and full.process.wait(10) == -number
    wait_for("their end", lambda: not any(lives(process) for process in found))
    assert not full.log_contains("event=records ")
