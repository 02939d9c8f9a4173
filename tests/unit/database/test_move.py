# SPDX-License-Identifier: Apache-2.0
"""Test `reprise db move`, and the other commands of `reprise db` on a central database of PostgreSQL."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database, errors, exchange, health, postgresql
from reprise.database.entities import CampaignState
from reprise.database.exchange import move
from reprise.database.secret_masking import MASK
from reprise.doctor import service_checks
from tests.postgresql import Server
from tests.unit.cli.test_db import NOW, run
from tests.unit.database.test_both_engines import answers
from tests.unit.database.test_both_engines import fill as fill_much
from tests.unit.database.test_exchange import COUNT, exported, fill
from tests.unit.database.test_masked_columns import WAYS, secrets_in, unmasked
from tests.unit.database_values import campaign, decision, outcome, record

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "a.db"
    with Database.open(file, create=True) as database:
        fill(database)
        database.set_campaign_state(1, CampaignState.COMPLETE)
    return file


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    one = server.empty()
    yield one
    server.drop(one)


def test_all_rows_are_moved_and_compared(path: Path, url: str) -> None:
    result = run(path, "move", "--to", url)
    assert result.output == f"{url}: {COUNT} rows of {path}, each compared with its copy\n"
    assert exported(url) == exported(path)
    with Database.open(url) as database:
        assert (database.add_record(record()), database.report_start(outcome(9e6))) == (2, 2), "new rows get new ids"


def test_a_moved_database_gives_the_same_answers(tmp_path: Path, url: str) -> None:
    with Database.open(tmp_path / "b.db", create=True) as here, Database.open(url, create=True) as there:
        fill_much(here, 5)
        assert move(here, there) == sum(here.counts().values())
        for (asked, expected), (_, found) in zip(answers(here), answers(there), strict=True):
            if "change" not in asked:  # changes of records are not moved
                assert found == expected, asked


def test_a_row_that_arrives_changed_undoes_the_move(path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Database.add_raw_row

    def spoil(self: Database, table: str, row: Mapping[str, Any]) -> None:
        real(self, table, {**row, "elapsed_ms": 77.0} if table == "decision" else row)

    monkeypatch.setattr(Database, "add_raw_row", spoil)
    error = run(path, "move", "--to", url).exception
    assert isinstance(
        error, errors.CorruptedError
    ) and "nothing was moved, since the row 'd1' of decision changed" in str(error)
    with Database.open(url) as database:
        assert not any(database.counts().values())


@pytest.mark.parametrize("lost", ["decision", "forwarder_state", "artifact"])
def test_a_row_that_is_lost_undoes_the_move(path: Path, url: str, lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Database.add_raw_row
    monkeypatch.setattr(Database, "add_raw_row", lambda self, table, row: table == lost or real(self, table, row))
    error = run(path, "move", "--to", url).exception
    assert isinstance(error, errors.DatabaseError)
    with Database.open(url) as database:
        assert not any(database.counts().values())


def test_a_database_with_rows_is_not_overwritten(path: Path, url: str) -> None:
    with Database.open(url, create=True) as database:
        database.add_campaign(campaign())
    assert "is not empty: import into a new one" in str(run(path, "move", "--to", url).exception)
    with Database.open(url) as database:
        assert [one.name for one in database.campaigns()] == ["night"]


def test_a_database_in_use_is_not_moved_unless_it_is_forced(path: Path, url: str) -> None:
    with Database.open(path) as database:
        database.begin_service_run("1", time.time())
    assert "a daemon used it" in str(run(path, "move", "--to", url).exception)
    assert run(path, "move", "--to", url, "--force").exit_code == 0


def test_secrets_that_an_older_release_stored_are_masked(url: str, tmp_path: Path) -> None:
    with unmasked(tmp_path / "b.db") as old, Database.open(url, create=True) as new:
        assert secrets_in("".join(exchange.lines(old)).encode()) != []
        assert move(old, new) == sum(old.counts().values()) + 1, "with a message of a replica"
        assert secrets_in("".join(exchange.lines(new)).encode()) == []


@pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
def test_every_method_that_writes_masks_secrets(way: Callable[..., None], url: str, tmp_path: Path) -> None:
    with Database.open(url, create=True) as database:
        way(database, tmp_path)
        stored = "".join(exchange.lines(database)).encode()
        assert MASK.encode() in stored and secrets_in(stored) == []


def test_an_invalid_url_is_refused_without_showing_a_password(path: Path) -> None:
    for url in ("postgresql://u:hunter2@h/r", "sqlite:///x", "postgresql://h"):
        error = run(path, "move", "--to", url).exception
        assert isinstance(error, errors.InvalidValueError) and str(error).startswith("--to: ")
        assert "hunter2" not in str(error)


def test_text_with_nul_is_moved_with_a_replacement(path: Path, url: str) -> None:
    with Database.open(path) as database:
        database.add_decision(decision("d9", reason="a\0b", metadata={"program": "c\0d\ud800"}))
    assert run(path, "move", "--to", url).exit_code == 0
    with Database.open(url) as database:
        found = database.decision("d9")
        assert found.reason == "a\N{REPLACEMENT CHARACTER}b"
        assert found.metadata == {"program": "c\0d\ud800"}, "JSON is stored as it was written"


def test_a_central_database_is_created_checked_and_counted(url: str) -> None:
    assert "is empty: run `reprise db init --central`" in run(url, "check").output
    assert run(url, "init").output == f"{url}: created, schema version {NOW}\n"
    with Database.open(url) as database:
        database.add_campaign(campaign())
    assert run(url, "check").output == f"{url}: sound, schema version {NOW}, 1 in campaign rows\n"
    report = json.loads(run(url, "check", "--json").stdout)
    assert report["problems"] == [] and report["rows"]["campaign"] == 1
    failed = run("postgresql:///x?host=/nonexistent", "check")
    assert failed.exit_code == 1 and "cannot be reached" in failed.output


def test_the_file_can_be_used_while_the_central_database_is_away(path: Path) -> None:
    """The matcher's unit runs `reprise db init` before it starts."""
    assert run(path, "init", url="postgresql:///x?host=/nonexistent").exit_code == 0


def test_a_central_database_that_is_not_configured_is_not_used(path: Path) -> None:
    for command in ("init", "check", "export FILE", "import /dev/null"):
        error = run(path, *command.split(), "--central").exception
        assert isinstance(error, errors.AccessError) and str(error).startswith("database.url is not set: ")


def test_the_doctor_reports_a_central_database_that_cannot_be_used(url: str) -> None:
    (found,) = service_checks.database(url, health.examine)
    assert found.level == "problem" and "is empty" in found.text and found.remedy == "run `reprise db init --central`"
    Database.open(url, create=True).close()
    (found,) = service_checks.database(url, health.examine)
    assert found.level == "ok" and found.text == f"{url} is sound"


def test_backups_of_the_central_database_are_left_to_the_tools_of_postgresql(path: Path, tmp_path: Path) -> None:
    backup = str(tmp_path / "backup.db")
    for command, tool in (("backup", "pg_dump"), ("restore", "pg_restore")):
        done = run(path, command, backup, url="postgresql:///r")
        assert done.exit_code == 0 and done.stderr.startswith(f"postgresql:///r: is not included: use `{tool} ")
        assert run(path, command, backup, "--force").stderr == ""


def test_settings_of_the_url_override_those_of_reprise(server: Server) -> None:
    assert postgresql.LIMITS["application_name"] == "reprise"
    with Database.open(f"{server.new()}&application_name=mine") as database:
        assert database._read("SHOW application_name")[0][0] == "mine"
