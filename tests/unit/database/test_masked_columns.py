# SPDX-License-Identifier: Apache-2.0
"""Test that every method that writes masks secrets: none is in the database's file, its log, or derived files."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reprise.cli import main
from reprise.database import Database, exchange, schema
from reprise.database.decisions import DECISION
from reprise.database.entities import CampaignState, Prediction, RecordStatus
from reprise.database.secret_masking import MASK
from reprise.database.upkeep import TABLES
from tests.unit.database.test_stored import insert, stored_database
from tests.unit.database_values import artifact, campaign, decision, outcome, record, trial

SECRET = "hunter2x"  # noqa: S105 (an example)
TOKEN = "ghp_k3J9vQ2mX7pL4tR8wB5nY1cZ6hD0fG3sA9uE"  # noqa: S105 (an example)
JOB = {
    "user": "alice",
    "job_name": f"token={SECRET}",
    "program": "mysql",
    "path": "/usr/bin/mysql",
    "options": {f"p{SECRET}": ["runs"], "password": [SECRET], "": [f"https://alice:{SECRET}@h/x", TOKEN]},
    "directory": f"/work/{TOKEN}",
    "script": "LgPHfMinWSWaWFq6mlMAbEnKTu7nz4or",
}
FIELDS = [
    {
        "name": "options",
        "left": {"password": [SECRET], f"p{SECRET}": []},
        "right": {},
        "parts": [{"name": "option_keys", "left": {f"p{SECRET}": []}, "right": {}, "weight": 1.5}],
    },
    {"name": "script", "left": JOB["script"], "right": None, "parts": []},
]
TEXT = f"failed: app --password {SECRET} with {TOKEN}"
SPEC = {
    "definition": {"application": {"options": [f"--export=ALL,API_TOKEN={SECRET}"]}, "settings": {"apiKey": SECRET}},
    "component": {"command": f"curl -u alice:{SECRET} https://h"},
    "metadata": JOB,
    "size": {"seed": 7},
}
WRONG_DECISION: dict[str, Any] = {"metadata": JOB, "reason": TEXT, "fields": FIELDS, "alternatives": [{"why": TEXT}]}


def add_campaigns(database: Database, _: Path) -> None:
    number = database.add_campaign(campaign(name=f"night {TOKEN}", spec=SPEC, summary={"note": TEXT}))
    database.set_campaign_state(number, CampaignState.STOPPED, {"error": TEXT, "remarks": [TEXT]})
    database.add_trial(trial(number, message=TEXT))
    database.update_trial(trial(number, message=TEXT + ".", id=1))
    database.publish(record(metadata=JOB), artifact(), campaign_id=number, summary={"error": TEXT})


def add_records(database: Database, _: Path) -> None:
    (number, _other) = database.add_records([record(metadata=JOB, status_reason=TEXT), record(metadata=JOB)])
    database.set_record_status(number, RecordStatus.QUARANTINED, at=5.0, reason=TEXT)


def add_decisions(database: Database, _: Path) -> None:
    database.add_decision(decision(**WRONG_DECISION))
    database.add_decision_rows([DECISION.encode(decision("d2", **WRONG_DECISION))])


def forwarded(**changes: Any) -> dict[str, Any]:
    """Return a decision's row in the form in which another host forwards it."""
    row = DECISION.encode(decision("d3"))
    given = WRONG_DECISION | changes
    return row | {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}


def take_forwarded(database: Database, _: Path) -> None:
    database.take_decision_row(forwarded())


def put_out(database: Database, _: Path) -> None:
    database.put_out(json.dumps({"kind": "decision", "row": forwarded()}))
    database.put_out(json.dumps({"kind": "outcome", "state": "ended", "row": {"user": TOKEN}}))
    database.put_out(json.dumps({"else": TEXT}))


def add_prediction(database: Database, _: Path) -> None:
    rows = [{"password": SECRET, "command": TEXT, "nodes": 4}]
    database.add_prediction(
        Prediction("f", "romio", "1", "write", 1.0, "xgboost 3", {"token": SECRET}, rows, 0, refused=TEXT)
    )


def import_lines(database: Database, directory: Path) -> None:
    with unmasked(directory / "other.db") as other:
        lines = [line.encode() for line in exchange.lines(other)]
    assert any(SECRET.encode() in line for line in lines)
    exchange.take(database, lines, "export.json")


def take_published(database: Database, directory: Path) -> None:
    with unmasked(directory / "other.db") as other:
        other.publish_records(directory / "records.db")
    assert SECRET.encode() in (directory / "records.db").read_bytes()
    assert database.take_published(directory / "records.db", (directory / "records.db").read_bytes()) == 1


WAYS: list[Callable[[Database, Path], None]] = [
    add_campaigns,
    add_records,
    add_decisions,
    take_forwarded,
    put_out,
    add_prediction,
    import_lines,
    take_published,
]


@contextlib.contextmanager
def unmasked(path: Path) -> Any:
    """Yield a new database with unmasked secrets, which this release itself would not write."""
    Database.open(path, create=True).close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        fill(connection)
    with Database.open(path) as database:
        yield database


def fill(connection: sqlite3.Connection) -> None:
    """Insert a row with secrets into each table that can contain secrets and that exists in the connection's schema."""
    values: dict[str, Any] = {
        "campaign": campaign(id=1),
        "trial": trial(1, id=1),
        "record": record(id=1),
        "decision": decision(),
        "outcome": outcome(id=1),
        "prediction": Prediction("f", "romio", "1", "write", 1.0, "x", {}, [], 0, id=1),
    }
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in TABLES:
        if table.name in values and table.name in there:
            insert(connection, table, values[table.name])
    job, spec, fields, text = map(json.dumps, (JOB, SPEC, FIELDS, TEXT))
    connection.execute("UPDATE campaign SET name = ?, spec = ?, summary = ?", (TOKEN, spec, f'{{"error":{text}}}'))
    connection.execute("UPDATE trial SET message = ?", (TEXT,))
    connection.execute("UPDATE record SET metadata = ?", (job,))
    connection.execute(
        "UPDATE decision SET metadata = ?, reason = ?, fields = ?, alternatives = ?", (job, TEXT, fields, f"[{text}]")
    )
    if "prediction" in there:
        connection.execute("UPDATE prediction SET settings = ?, refused = ?", (f'{{"apiKey":"{SECRET}"}}', TEXT))
    if "outbox" in there:
        message = json.dumps({"kind": "decision", "row": forwarded()})
        connection.execute("INSERT INTO outbox (message) VALUES (?)", (message,))


def bytes_of(path: Path) -> bytes:
    """Return all bytes of the database's files, including its log."""
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


def secrets_in(data: bytes) -> list[str]:
    return [one for one in (SECRET, TOKEN, TOKEN[4:20]) if one.encode() in data]


@pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
def test_every_method_that_writes_masks_secrets(way: Callable[..., None], tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with Database.open(file, create=True) as database:
        way(database, tmp_path)
        assert MASK.encode() in bytes_of(file), "something was stored"
        assert secrets_in(bytes_of(file)) == [], "no secret is in the database's file or log"
    assert secrets_in(file.read_bytes()) == []


def test_values_without_secrets_are_stored_unchanged(tmp_path: Path) -> None:
    job = {**JOB, "job_name": "solve", "options": {"n": ["3"], "label-key": ["REF"]}, "directory": "/work"}
    with Database.open(tmp_path / "a.db", create=True) as database:
        number = database.add_record(
            record(metadata=job, environment={"X_TOKEN": SECRET}, parametrization={"key": "a"})
        )
        found = database.record(number)
    assert (found.metadata, found.environment, found.parametrization) == (job, {"X_TOKEN": SECRET}, {"key": "a"})


def test_sketches_of_scripts_are_not_masked(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db", create=True) as database:
        database.add_decision(decision(**WRONG_DECISION))
        found = database.decision("d1")
    assert found.metadata["script"] == found.fields[1]["left"] == JOB["script"]
    assert found.fields[0]["left"] == {"password": [MASK], f"p{MASK}": []}


def test_the_list_of_unmasked_columns_has_only_existing_columns() -> None:
    from reprise.database.masked_columns import OURS

    assert OURS.keys() == {table.name for table in TABLES}
    assert {table.name: OURS[table.name] - set(table.columns()) - {"default", "tuned"} for table in TABLES} == {
        table.name: set() for table in TABLES
    }


@pytest.mark.parametrize("version", [1, 5, 10, 11])  # the migration to schema 12 masks rows stored by older releases
def test_secrets_stored_by_older_releases_are_masked_and_erased(version: int, tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    stored_database(version, file)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = OFF")
        with connection:
            for table in (
                "outcome",
                "decision",
                "record",
                "trial",
                "campaign",
                *(["prediction"] if version > 5 else []),
            ):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 (names of this test)
            fill(connection)
        with connection:  # longer values, which remain in unused pages after they are replaced
            connection.executemany(
                "UPDATE decision SET reason = ?", [(f"{TEXT} {number} {'x' * 5000}",) for number in range(9)]
            )
            connection.execute("UPDATE decision SET reason = ?", (TEXT,))
        assert secrets_in(bytes_of(file))
        with Database.open(file, create=True) as database:
            assert database.decision("d1").metadata["options"][f"p{MASK}"] == ["runs"]
            assert database.record(1).metadata["job_name"] == f"token={MASK}"
            assert database.campaign(1).spec["size"] == {"seed": 7}
            assert database.problems() == []
            assert secrets_in(bytes_of(file)) == []
    assert secrets_in(bytes_of(file)) == []


def test_an_interrupted_erasure_is_completed_by_the_next_init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.db"
    stored_database(11, file)
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("UPDATE decision SET reason = ?", (f"{'x' * 6000} {TEXT} {'x' * 6000}" * 9,))
        connection.execute("UPDATE decision SET reason = ?", (TEXT,))
    with monkeypatch.context() as patch:
        patch.setattr(schema, "erase_replaced", lambda _: "")  # as if the process was killed before the erasure
        Database.open(file, create=True).close()
    assert secrets_in(bytes_of(file))
    Database.open(file).close()
    Database.open(file, create=True).close()
    assert secrets_in(bytes_of(file)) == []
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 0


def test_erasure_waits_for_readers_while_the_database_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening: Any = Database.open
    monkeypatch.setitem(opening.__func__.__kwdefaults__, "busy_timeout_s", 0.1)
    file = tmp_path / "a.db"
    stored_database(10, file)
    with contextlib.closing(sqlite3.connect(file)) as reader:
        reader.execute("PRAGMA journal_mode = WAL")
        with reader:
            reader.execute("UPDATE decision SET reason = ?", (TEXT,))
        reader.execute("BEGIN")
        assert reader.execute("SELECT reason FROM decision").fetchone() == (TEXT,)
        result = init(tmp_path)
        assert "unused parts of the file still contain secrets that are now masked (another process reads it)" in result
        with Database.open(file) as database:
            assert SECRET not in database.decision("d1").reason
    assert "still" not in init(tmp_path)
    assert secrets_in(bytes_of(file)) == []


def init(directory: Path) -> str:
    """Run `reprise db init`, check that it succeeds, and return its output."""
    config = directory / "reprise.toml"
    config.write_text(f'[database]\npath = "{directory}/a.db"\n')
    result = CliRunner().invoke(main.reprise, ["--config", str(config), "db", "init"])
    assert result.exit_code == 0, result.output
    return result.output
