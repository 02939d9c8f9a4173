# SPDX-License-Identifier: Apache-2.0
"""Test `reprise db`, run in this process as from a command line."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner, Result

from reprise.cli.main import LazyGroup
from reprise.database import Database, NotFoundError, record_listing, schema
from reprise.database.entities import RecordStatus, Scope
from tests.places import ROOT
from tests.unit.database_values import artifact, campaign, record

DB = LazyGroup().get_command(click.Context(click.Command("reprise")), "db")

NOW = len(schema.load_migrations())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "reprise.db"
    Database.open(file, create=True).close()
    return file


def run(path: Path | str, *arguments: str, url: str = "") -> Result:
    """Run `reprise db` on a file, at a site with the central database `url`; or on the central database `path`."""
    if isinstance(path, str):
        return run(Path("/nonexistent"), *arguments, "--central", url=path)
    settings = SimpleNamespace(config=SimpleNamespace(database=SimpleNamespace(path=path, snapshot=None, url=url)))
    assert DB is not None
    return CliRunner().invoke(DB, list(arguments), obj=settings)


def test_init_reports_creation_or_the_present_version(tmp_path: Path) -> None:
    file = tmp_path / "new" / "reprise.db"
    assert run(file, "init").output == f"{file}: created, schema version {NOW}\n"
    assert run(file, "init").output == f"{file}: already at schema version {NOW}\n"


def test_check_reports_a_sound_database(path: Path) -> None:
    with Database.open(path) as database:
        database.add_campaign(campaign())
    result = run(path, "check")
    assert (result.exit_code, result.output) == (0, f"{path}: sound, schema version {NOW}, 1 in campaign rows\n")


def publish(path: Path, file: Path) -> None:
    file.write_text("rules")
    file.chmod(0o644)
    sha256 = hashlib.sha256(b"rules").hexdigest()
    with Database.open(path) as database:
        number = database.add_campaign(campaign())
        database.publish(record(), artifact(sha256=sha256, path=str(file)), campaign_id=number, summary={})


def test_check_reports_missing_changed_and_unreadable_artifacts(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "rules"
    publish(path, file)
    assert run(path, "check").exit_code == 0

    def change() -> None:
        file.chmod(0o644)
        file.write_text("rulez")

    spoils: list[tuple[Callable[[], None], str]] = [
        (lambda: file.chmod(0o600), "is not readable by every user"),
        (change, "was changed after it was published"),
        (lambda: file.unlink(), "No such file"),
        (lambda: file.mkdir(), "not a regular file"),
    ]
    for spoil, words in spoils:
        spoil()
        result = run(path, "check")
        assert result.exit_code == 1
        assert result.output.count("\n") == 1
        assert re.match("record 1: artifact .*tune again$", result.output.strip())
        assert words in result.output


def test_check_ignores_files_of_retired_records(path: Path, tmp_path: Path) -> None:
    publish(path, tmp_path / "rules")
    (tmp_path / "rules").unlink()
    with Database.open(path) as database:
        database.set_record_status(1, RecordStatus.RETIRED, at=1.0)
    assert run(path, "check").exit_code == 0


@pytest.mark.slow
def test_flipped_byte_is_found_or_harmless_to_readers(path: Path) -> None:
    with Database.open(path) as database:
        for _ in range(50):
            database.add_record(record())
    content = path.read_bytes()
    found = 0
    for position in range(100, len(content), 997):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
        result = run(path, "check")
        if result.exit_code == 0:
            with Database.open(path, read_only=True) as database:
                database.records()  # a value may have changed, but the file is readable
        else:
            assert result.exception is None or isinstance(result.exception, SystemExit), position
            assert str(path) in result.output
            found += 1
    assert found > 10


def test_check_finds_dangling_references(path: Path) -> None:
    connection = sqlite3.connect(path)  # SQLite accepts dangling references by default
    connection.execute(
        "INSERT INTO trial (id, campaign_id, problem, number, role, parametrization, state, unit, samples, message)"
        " VALUES (1, 9, 'p', 0, 'search', '{}', 'planned', 's', '[]', '')"
    )
    connection.commit()
    connection.close()
    result = run(path, "check")
    assert result.exit_code == 1
    assert "row 1 of table trial refers to a missing row of table campaign" in result.output


def test_records_are_listed_as_text(path: Path) -> None:
    assert "reprise tune" in run(path, "records", "list").output
    with Database.open(path) as database:
        database.add_record(record(metadata={"user": "eve", "job_name": "a\x1b[31m\nb", "program": "x"}))
        database.add_record(record(scope=Scope.CLUSTER, metadata={}, context={}))
        database.set_record_status(2, RecordStatus.RETIRED, at=1.0)
    lines = run(path, "records", "list").output.splitlines()
    assert len(lines) == 2
    assert lines[0].split() == list(record_listing.HEADINGS)
    for words in (
        "openmpi 4.1.4",
        "eve a\ufffd[31m\ufffdb x",
        "nodes=4, openmpi=4.1.4",
        "79.0 % (75.0 to 83.0)",
        "10 + 12",
    ):
        assert words in lines[1]
    assert "retired" in run(path, "records", "list", "--all").output


def test_a_gain_in_a_benchmark_is_listed_as_such(path: Path) -> None:
    rules = {"rules": [{"problem": f"bcast/{size}", "applied": True} for size in (4096, 65536)]}
    with Database.open(path) as database:
        database.add_record(record(scope=Scope.CLUSTER, metadata={}, context={}, parametrization=rules))
    said = "79.0 % (75.0 to 83.0) of bcast of 4 and 64 KiB in a benchmark"
    assert said in run(path, "records", "list").output
    assert f"measured then: gain {said}" in run(path, "records", "show", "1").output
    document = json.loads(run(path, "records", "list", "--json").output)
    assert document["records"][0]["gain_of"] == "bcast of 4 and 64 KiB in a benchmark"


def test_records_are_listed_as_json(path: Path) -> None:
    with Database.open(path) as database:
        database.add_record(record())
    document = json.loads(run(path, "records", "list", "--json").output)
    assert document["version"] == 1
    assert document["records"][0]["default"] == {"mean": 2.4, "low": 2.3, "high": 2.5, "n": 10, "unit": "ms"}


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "0 s"), (0.5, "0 s"), (59.9, "59 s"), (60, "1 min"), (7200, "2 h"), (9e5, "10 d")]
)
def test_an_age_has_one_unit(seconds: float, text: str) -> None:
    assert record_listing.age(seconds) == text


def test_failure_is_one_line_without_traceback(tmp_path: Path) -> None:
    config = tmp_path / "reprise.toml"
    config.write_text(f'[database]\npath = "{tmp_path}/none.db"\n')
    for command in ("check", "records list"):
        done = subprocess.run(
            [sys.executable, "-m", "reprise", "--config", str(config), "db", *command.split()],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 1
        assert said.count("\n") == 1 and "run `reprise db init`" in said


def test_a_record_is_taken_out_of_use_and_put_back(path: Path) -> None:
    with Database.open(path) as database:
        number = database.add_record(record())
    assert run(path, "records", "retire", str(number)).output == f"record {number} is retired\n"
    with Database.open(path) as database:
        assert database.records() == []
    assert run(path, "records", "release", str(number)).output == f"record {number} is active\n"
    with Database.open(path) as database:
        assert [found.id for found in database.records()] == [number]


def test_a_missing_record_cannot_be_retired(path: Path) -> None:
    assert isinstance(run(path, "records", "retire", "7").exception, NotFoundError)


def test_a_snapshot_is_written_to_the_configured_path(path: Path) -> None:
    told = run(path, "snapshot")
    assert told.exit_code == 1 and "database.snapshot is not set" in str(told.exception)
    snapshot = path.with_name("snapshot.db")
    settings = SimpleNamespace(config=SimpleNamespace(database=SimpleNamespace(path=path, snapshot=snapshot, url="")))
    assert DB is not None
    assert CliRunner().invoke(DB, ["snapshot"], obj=settings).output == f"{snapshot}: a copy of {path}\n"
    with Database.open(snapshot, read_only=True) as copy:
        assert copy.schema_version() == NOW


def test_a_record_that_a_withdrawn_method_measured_is_shown_with_the_remedy(path: Path) -> None:
    rules = {"rules": [{"problem": "bcast/4096", "applied": True, "default_s": 1.0, "tuned_s": 0.5}]}
    with Database.open(path) as database:
        database.add_record(record(scope=Scope.CLUSTER, metadata={}, context={}, parametrization=rules))
    assert "of bcast of 4 KiB in a benchmark by a withdrawn method" in run(path, "records", "list").output
    shown = run(path, "records", "show", "1").output
    assert "measure again with `reprise tune collectives`, or run `reprise records retire 1`" in shown
