# SPDX-License-Identifier: Apache-2.0
"""Test the database on a server of PostgreSQL: errors in one line, writers that take turns, and users' odd text."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database, errors, exchange, postgresql, schema
from reprise.database.comparisons import BLOCK_SQL, LATEST_SQL, USER_SQL
from reprise.database.decisions import DECISION
from reprise.database.entities import RecordStatus
from reprise.database.job_search import Wanted, decided_sql
from tests.postgresql import Server, running
from tests.unit.database.test_exchange import exported, fill
from tests.unit.database_values import campaign, decision, outcome, record

pytestmark = pytest.mark.slow
NEWEST = len(schema.load_migrations())


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    one = server.new()
    yield one
    server.drop(one)


def refused(url: str, kind: type[errors.DatabaseError], said: str, **how: bool) -> None:
    """Assert that the database cannot be opened, with an error in one line that names the URL."""
    with pytest.raises(kind) as caught:
        Database.open(url, **how)
    assert type(caught.value) is kind
    assert said in str(caught.value) and "\n" not in str(caught.value) and str(caught.value).startswith(url)


def test_a_database_without_a_schema_is_refused_until_it_is_created(server: Server) -> None:
    url = server.empty()
    refused(url, errors.MissingError, "is empty: run `reprise db init --central`")
    refused(url, errors.MissingError, "is empty: run `reprise db init --central`", read_only=True)
    with Database.open(url, create=True) as database:
        assert (database.migrated_from, database.schema_version()) == (0, NEWEST)
    with Database.open(url, create=True) as database:
        assert database.migrated_from == NEWEST and database.problems() == []
    server.drop(url)


def test_a_server_that_cannot_be_reached_is_named_with_the_cause(server: Server) -> None:
    refused("postgresql:///x?host=/nonexistent", errors.UnreachableError, "No such file or directory")
    refused("postgresql://localhost:1/x", errors.UnreachableError, "onnection refused")
    refused(server.url("missing"), errors.UnreachableError, 'database "missing" does not exist')
    refused(server.url("postgres", user="stranger"), errors.UnreachableError, "stranger")
    refused(
        server.url("postgres", hots="x"), errors.AccessError, 'invalid URI query parameter: "hots"): correct the URL'
    )


def test_a_missing_driver_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    refused(url, errors.MissingError, "install Reprise with the extra `postgresql`")


def test_an_older_server_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "OLDEST", 99)
    refused(url, errors.SchemaError, "Reprise needs 99 or newer: upgrade it")


def test_another_encoding_is_refused(server: Server) -> None:
    server.sql(
        "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    refused(server.url("latin"), errors.SchemaError, "encoding is LATIN1: create one with `createdb", create=True)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("DELETE FROM reprise.migration WHERE version > 13", "an older Reprise made this database"),
        ("INSERT INTO reprise.migration VALUES (9999, 'x', 1)", "a newer Reprise made this database"),
    ],
)
def test_another_version_of_the_schema_is_refused(server: Server, url: str, version: str, said: str) -> None:
    server.sql(version, url.partition("///")[2].partition("?")[0])
    refused(url, errors.SchemaError, said)


def test_a_role_without_rights_is_refused_and_a_reader_cannot_write(server: Server, url: str) -> None:
    name = url.partition("///")[2].partition("?")[0]
    server.sql("CREATE ROLE reader LOGIN")
    server.sql("CREATE ROLE maker LOGIN")
    ident = server.directory / "data" / "pg_ident.conf"
    with ident.open("a") as file:
        file.writelines(f"tests /^.*$ {role}\n" for role in ("reader", "maker"))
    access = server.directory / "data" / "pg_hba.conf"
    access.write_text(f"local all reader,maker peer map=tests\n{access.read_text()}")
    server.sql("SELECT pg_reload_conf()")
    mine = server.url(name, user="reader")
    refused(mine, errors.AccessError, "the role reader may not use the schema reprise")
    server.sql("GRANT USAGE ON SCHEMA reprise TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA reprise TO reader", name)
    with Database.open(mine) as database:
        assert database.campaigns() == []
        with pytest.raises(errors.AccessError, match="permission denied for table campaign"):
            database.add_campaign(campaign())
    with Database.open(url, read_only=True) as database:
        with pytest.raises(errors.AccessError, match="read-only transaction"):
            database.add_campaign(campaign())
        assert database.campaigns() == [], "the connection can be used after an error"
    other = server.empty().partition("///")[2].partition("?")[0]
    refused(server.url(other, user="maker"), errors.AccessError, "permission denied for database", create=True)


def test_an_error_shows_no_cells_of_the_row(url: str) -> None:
    with Database.open(url) as database, pytest.raises(errors.InvalidValueError) as caught:
        database.add_decision(decision("d1", reason="secret-reason", record_id=99))
    assert "violates foreign key" in str(caught.value) and "secret" not in str(caught.value)
    with Database.open(url) as database, pytest.raises(errors.InvalidValueError) as caught:
        database.add_decision(decision("d1", reason="secret-reason", uid=-1))
    assert "violates check constraint" in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("DiskFull", errors.StorageError),
        ("IoError", errors.StorageError),
        ("OutOfMemory", errors.StorageError),
        ("TooManyConnections", errors.BusyError),
        ("LockNotAvailable", errors.BusyError),
        ("DeadlockDetected", errors.BusyError),
        ("ReadOnlySqlTransaction", errors.AccessError),
        ("InsufficientPrivilege", errors.AccessError),
        ("AdminShutdown", errors.UnreachableError),
        ("ConnectionFailure", errors.UnreachableError),
        ("OperationalError", errors.UnreachableError),
        ("NumericValueOutOfRange", errors.InvalidValueError),
        ("ProgramLimitExceeded", errors.InvalidValueError),
        ("ProgrammingError", errors.InvalidValueError),
        ("UndefinedTable", errors.DatabaseError),
        ("IndexCorrupted", errors.DatabaseError),
    ],
)
def test_each_error_of_the_server_is_one_line_with_a_remedy(name: str, kind: type[errors.DatabaseError]) -> None:
    from psycopg import errors as of_server

    found = postgresql.translate(getattr(of_server, name)("said\nso"), "postgresql:///r")
    assert type(found) is kind and str(found).startswith("postgresql:///r: ") and "(said so)" in str(found)
    assert str(found).count(": ") >= 2


def test_writers_take_turns_and_readers_do_not_wait(url: str) -> None:
    with Database.open(url) as first, Database.open(url, busy_timeout_s=0.05) as second:
        with first.transaction():
            first.add_campaign(campaign())
            with pytest.raises(errors.BusyError, match="locked by another process"):
                second.add_campaign(campaign())
            assert second.campaigns() == []
        assert second.add_campaign(campaign()) == 2


def test_a_start_that_two_matchers_report_at_once_is_one_row(url: str) -> None:
    def report(number: int) -> None:
        with Database.open(url) as database:
            for job in range(20):
                database.report_start(outcome(1000.0 + number / 10, job_id=job))

    threads = [threading.Thread(target=report, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Database.open(url) as database:
        assert database.counts()["outcome"] == 20


def test_decisions_and_reports_that_are_sent_twice_are_stored_once(url: str) -> None:
    with Database.open(url) as database:
        for _ in range(2):
            with database.transaction():
                database.take_decision_row(DECISION.encode(decision("d1", record_id=77)))
                database.report_start(outcome(1000.0, decision_id="d1"))
                database.report_step(outcome(1020.0, decision_id="d1", present=2))
                ends: Any = {"ended_at": 1300.0, "elapsed_s": 300.0, "exit_status": 0, "confirmed": True}
                database.report_end(outcome(1000.0, decision_id="d1", **ends))
                database.link_job("d1", "c", 5, None, uid=1001, confirmed=True)
        (row,) = database.outcomes_of_job("c", 5)
        assert (row.elapsed_s, row.present, row.confirmed) == (300.0, 2, True)
        assert [(one.id, one.record_id) for one in database.decisions_of_job("c", 5)] == [("d1", None)]


def test_a_schema_that_several_processes_create_at_once_is_created_once(server: Server) -> None:
    url = server.empty()
    found: list[int] = []

    def create() -> None:
        with Database.open(url, create=True) as database:
            found.append(database.migrated_from)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, NEWEST, NEWEST, NEWEST]
    server.drop(url)


def test_a_creation_that_fails_leaves_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url, newest = server.empty(), schema.load_migrations()
    wrong = schema.Migration(NEWEST + 1, "wrong", "CREATE TABLE wrong (a GEOMETRY);")
    monkeypatch.setattr(schema, "load_migrations", lambda: (*newest, wrong))
    with pytest.raises(errors.DatabaseError, match='type "geometry" does not exist'):
        Database.open(url, create=True)
    monkeypatch.undo()
    refused(url, errors.MissingError, "is empty: run `reprise db init --central`")
    server.drop(url)


MANY = """
INSERT INTO reprise.decision SELECT 'n' || g, g * 10.0, 'submit', 'c', g % 500, 'u' || g % 500, 'on',
  (ARRAY['apply', 'none', 'holdout'])[1 + g % 3], 'reason', 'm', 0.8,
  '{"user": "u' || g % 500 || '", "program": "p' || g % 300 || '", "job_name": "j' || g % 700 || '", "nodes": 2}',
  0.5, 1 + g % 20, '[]', '[]', '{}', 1.0, g, NULL, 'b' || g / 6, 1 + g % 20, 0, 2
FROM generate_series(1, 20000) AS g;
INSERT INTO reprise.outcome (cluster, job_id, uid, verdict, started_at, decision_id, applied, ended_at, elapsed_s)
SELECT 'c', g, g % 500, 'apply', g * 10.0 + 5, 'n' || g, 2, g * 10.0 + 50, 45.0 FROM generate_series(1, 20000) AS g
"""


def test_a_page_of_a_long_log_is_read_by_an_index(server: Server, url: str) -> None:
    searches: Mapping[str, Wanted] = {
        "all": Wanted(limit=30),
        "of a user": Wanted(user="u3", uid=3, limit=30),
        "of only one user": Wanted(only=3, limit=30),
        "of a verdict": Wanted(verdict="none", limit=30),
        "of an application": Wanted(application="p7", limit=30),
        "of a record": Wanted(main_record=3, limit=30),
    }
    with Database.open(url) as database:
        database.add_records(record() for _ in range(20))
        for statement in (MANY, "ANALYZE"):
            server.sql(statement, url.partition("///")[2].partition("?")[0])
        assert database.about_rows() == {"decision": 20_000, "outcome": 20_000}
        for name, wanted in searches.items():
            plan = [row[0] for row in database._read(f"EXPLAIN {decided_sql(wanted)}", asdict(wanted))]
            assert not [step for step in plan if "Seq Scan" in step], (name, plan)
            assert len(database.jobs(wanted)) == 30, name
        block = {"record": 3, "since": 0.0, "block": "b7", "uid": 3, "most": 50}
        for sql in (BLOCK_SQL, LATEST_SQL, USER_SQL):
            plan = [row[0] for row in database._read(f"EXPLAIN {sql}", block)]
            assert not [step for step in plan if "Seq Scan" in step], plan


def test_a_connection_that_ends_in_a_transaction_writes_nothing(server: Server, url: str) -> None:
    with Database.open(url) as database:
        with pytest.raises(errors.UnreachableError, match=r"terminating connection|closed"), database.transaction():
            database.add_campaign(campaign())
            process = database._read("SELECT pg_backend_pid()")[0][0]
            server.sql(f"SELECT pg_terminate_backend({process}, 5000)")
            database.add_campaign(campaign())
        with pytest.raises(errors.UnreachableError, match="closed"):
            database.campaigns()
    with Database.open(url) as database:
        assert database.campaigns() == []


def test_acknowledged_rows_survive_a_crash_of_the_server() -> None:
    with running() as server:
        url = server.new()
        with Database.open(url) as database:
            for number in range(20):
                database.add_decision(decision(f"d{number}"))
            server.stop()
            with pytest.raises(errors.UnreachableError):
                database.add_decision(decision("late"))
        refused(url, errors.UnreachableError, "No such file or directory")
        server.start()
        with Database.open(url) as database:
            assert database.counts()["decision"] == 20


ODD = {
    "NUL": "a\0b",
    "half a pair": "a\ud83d",
    "the other half": "\ude00\ud83d\ud83d\ude00",
    "escaped backslash": "a\\u0000 \\ud83d",
    "longer than an index allows": "".join(chr(0x4E00 + 7 * number % 20_000) for number in range(10_000)),
    "wildcards": "100 % %s :a ?",
    "quotes": "'\"$$\\'; DROP TABLE record; --",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_text_of_a_user_can_be_stored_and_makes_no_query_fail(url: str, text: str) -> None:
    with Database.open(url) as database:
        for number, as_ascii in enumerate((True, False)):
            metadata = {"user": text, "program": text, "job_name": text, "nodes": 2, "script_path": text}
            row = {"metadata": json.dumps(metadata, ensure_ascii=as_ascii).encode(errors="replace").decode()}
            one = decision(f"d{number}", at=100.0 + number)
            database.add_raw_row("decision", DECISION.encode(one) | row)
            database.report_start(outcome(1000.0, job_id=number, decision_id=one.id))
        database.add_record(record(metadata=metadata))
        database.jobs(Wanted(application=text.encode(errors="replace").decode()))
        assert len(database.jobs(Wanted())) == 2
        assert len(database.unmatched(0.0, refused="r")) <= 2 and len(list(database.record_texts())) == 1
        assert len(list(database.gains_of_jobs(None))) == 1
        database.unread_scripts(0.0, 5)
        assert database.decision("d0").metadata["nodes"] == 2


def test_a_program_with_an_astral_character_is_found_by_its_name(url: str) -> None:
    with Database.open(url) as database:
        number = database.add_record(record(metadata={"program": "\U0001f600", "user": "a", "job_name": "b"}))
        assert '"\\ud83d\\ude00"' in database._read("SELECT metadata FROM record")[0][0], "stored as a pair"
        assert [one[3] for one in database.gains_of_jobs(None)] == ["\U0001f600"] and number == 1


def test_listeners_are_told_of_changed_records(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as listener, Database.open(url) as database:
        listener.execute("LISTEN reprise_records")
        number = database.add_record(record())
        database.set_record_status(number, RecordStatus.QUARANTINED, at=1.0)
        told = [one.payload for one in listener.notifies(timeout=5, stop_after=2)]
        assert told == ["1", "2"] and database.last_record_change() == 2


def test_ids_of_changes_are_in_the_order_of_their_commits(url: str) -> None:
    """A reader that has seen change 5 never misses a change 4, because writers take turns."""
    with Database.open(url) as first, Database.open(url) as second:
        seen: list[int] = []
        done = threading.Event()

        def add() -> None:
            with Database.open(url) as database:
                for _ in range(60):
                    database.add_record(record())

        def watch() -> None:
            since = 0
            while not done.is_set() or second.record_changes(since):
                if changes := second.record_changes(since):
                    seen.extend(one.id for one in changes.changed)
                    since = changes.number

        threads = [threading.Thread(target=add) for _ in range(3)]
        watcher = threading.Thread(target=watch)
        for thread in (watcher, *threads):
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        watcher.join()
        assert set(seen) == set(first.record_ids()) and len(first.record_ids()) == 180


def test_a_backup_by_pg_dump_is_restored_by_pg_restore(server: Server, url: str) -> None:
    with Database.open(url) as database:
        fill(database)
    before = exported(url)
    name, other = (one.partition("///")[2].partition("?")[0] for one in (url, server.empty()))
    file = str(server.directory / f"{name}.dump")
    as_me = ("--username", server.me, "--host", str(server.directory))
    server.run("pg_dump", "--format=custom", "--schema=reprise", f"--file={file}", *as_me, name, as_me=True)
    restore = ("pg_restore", "--clean", "--if-exists", "--single-transaction", *as_me)
    for target in (other, name):  # into an empty database, and over the old one
        server.run(*restore, f"--dbname={target}", file, as_me=True)
        assert exported(server.url(target)) == before
        with Database.open(server.url(target)) as database:
            assert database.add_record(record()) == 2, "new rows get new ids"


def test_an_older_database_gets_the_migrations_that_it_lacks(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    older = schema.load_migrations()
    portable = "ALTER TABLE outcome ADD COLUMN extra INTEGER NOT NULL DEFAULT 7 CHECK (extra >= 0);"
    newer = [*older, schema.Migration(NEWEST + 1, "extra", portable)]
    for_both = schema.Migration(NEWEST + 2, "more", "CREATE TABLE more (a TEXT);", 'CREATE TABLE more ("a" jsonb);')
    urls = server.new(), server.empty()
    with Database.open(urls[0]) as database:
        database.report_start(outcome())
    monkeypatch.setattr(schema, "load_migrations", lambda: (*newer, for_both))
    for url, found in zip(urls, (NEWEST, 0), strict=True):
        with Database.open(url, create=True) as database:
            assert (database.migrated_from, database.schema_version()) == (found, NEWEST + 2)
            assert {one["extra"] for one in database.raw_rows("outcome")} <= {7}
    with Database.open(urls[0]) as old, Database.open(urls[1]) as new:
        assert described(old) == described(new)


def described(database: Database) -> list[tuple[str, ...]]:
    sql = (
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_schema = 'reprise' AND table_name <> 'more' ORDER BY 1, ordinal_position"
    )
    return [tuple(row) for row in database._read(sql)]


def test_every_table_and_index_of_sqlite_exists(url: str, tmp_path: Path) -> None:
    with Database.open(url) as there, Database.open(tmp_path / "a.db", create=True) as here:
        sql = (
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'index') AND name NOT LIKE 'sqlite%' ORDER BY name"
        )
        expected = [row[0] for row in here._read(sql)]
        sql = "SELECT relname FROM pg_class WHERE relnamespace = 'reprise'::regnamespace AND relkind IN ('r', 'i')"
        found = [row[0] for row in there._read(f"{sql} AND relname NOT LIKE '%_key' AND relname NOT LIKE '%_pkey'")]
        assert sorted(found) == expected
        for name in exchange.ORDER:
            here_columns = [row["name"] for row in here._read(f"PRAGMA table_info({name})")]
            sql = "SELECT column_name FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position"
            assert [row[0] for row in there._read(sql, (name,))] == here_columns
