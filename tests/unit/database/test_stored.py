# SPDX-License-Identifier: Apache-2.0
"""Test that a stored database of each schema version is migrated to the newest version and keeps all its rows.

`REPRISE_GOLDEN=write pytest tests/unit/database/test_stored.py` stores a database for each version that has none.
Stored databases are never regenerated, because each is what its release wrote.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database, schema
from reprise.database.entities import (
    ForwarderState,
    JobPattern,
    Prediction,
    RecordProfile,
    RecordStatus,
    ServiceRun,
    StatusChange,
    UserQuarantine,
)
from reprise.database.row_codec import Table
from reprise.database.upkeep import TABLES
from tests.places import GOLDEN
from tests.unit.database_values import SHA, artifact, campaign, decision, forwarder_share, outcome, record, trial

STORED = GOLDEN / "schemas"
NEWEST = len(schema.load_migrations())
ROWS: dict[str, Any] = {
    "campaign": campaign(id=1),
    "trial": trial(1, id=1),
    "artifact": artifact(),
    "record": record(id=1, campaign_id=1, artifact_sha256=SHA),
    "decision": decision(record_id=1, job_id=5),
    "outcome": outcome(id=1, decision_id="d1"),
    "service_run": ServiceRun(1.0, 2.0, 3.0, "0.1", 1),
    "record_status": StatusChange(1, 5.0, RecordStatus.RETIRED, "old", id=1),
    "user_quarantine": UserQuarantine(1, 1001, "alice", 5.0, "its jobs take longer"),
    "profile": RecordProfile(1, 6.0, "90.0% compute", {"version": 1}),
    "prediction": Prediction("f", "romio", "1", "write", 1.0, "xgboost 3", {}, [], 0, id=1),
    "forwarder_share": forwarder_share(id=1),
    "forwarder_state": ForwarderState("c", "10.0.1.1:5640", False, 5.0, "Connection refused", id=1),
    "job_pattern": JobPattern(1, "write/shared/strided/64K", 12.5, 10**9, 10**8),
}


def insert(connection: sqlite3.Connection, table: Table[Any], value: Any) -> None:
    """Insert a row, with only the columns that the table has in the connection's schema version."""
    there = [row[1] for row in connection.execute(f"PRAGMA table_info({table.name})")]
    cells = table.encode(value) | ({"id": value.id} if hasattr(value, "id") else {})
    row = {name: cells[name] for name in there if name in cells}
    names, places = ", ".join(row), ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO {table.name} ({names}) VALUES ({places})", row)  # noqa: S608 (names of the schema)


def store(version: int) -> str:
    """Return, as SQL, a database of this schema version with a row in each table."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.migrate(connection, Path("stored"), schema.load_migrations()[:version])
        there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in TABLES:
            if table.name in there:
                insert(connection, table, ROWS[table.name])
        connection.execute("UPDATE migration SET applied_at = 1.0")
        return "-- SPDX-License-Identifier: Apache-2.0\n" + "".join(
            f"{line}\n" for line in connection.iterdump() if "sqlite_sequence" not in line
        )


def stored_database(version: int, file: Path) -> None:
    """Write the stored database of this schema version to `file`."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript((STORED / f"{version}.sql").read_text())
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_a_stored_database_keeps_all_its_rows_in_the_newest_schema(version: int, tmp_path: Path) -> None:
    stored = STORED / f"{version}.sql"
    if os.environ.get("REPRISE_GOLDEN") == "write" and not stored.exists():
        stored.write_text(store(version))
    file = tmp_path / "a.db"
    stored_database(version, file)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    with Database.open(file, create=True) as database:
        assert (database.migrated_from, database.schema_version()) == (version, NEWEST)
        assert database.problems() == []
        assert database.counts() == {table.name: int(table.name in there) for table in TABLES}
        assert database.record(1) == ROWS["record"]
        assert database.decision("d1") == ROWS["decision"]
        assert database.trials(1)[0].parametrization == ROWS["trial"].parametrization
        assert database.outcomes_of_job("c", 5)[0].decision_id == "d1"
        assert database.add_record(record(campaign_id=1)) == 2, "the migrated database can be written to"
