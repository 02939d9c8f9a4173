# SPDX-License-Identifier: Apache-2.0
"""A database of an older release, for tests of upgrades."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from tests.unit.database.test_stored import stored_database

VERSION = 6
"""The schema version of a release that had no comparisons, replicas or web pages."""
FOUND = ("campaign", "artifact", "trial", "record")  # a table comes after the tables to which it refers


def older(database: Path, file: Path, version: int = VERSION) -> None:
    """Create a database with the old schema in `file`, and copy the results of campaigns from `database` to it."""
    stored_database(version, file)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("ATTACH ? AS now", (str(database),))
        connection.execute("BEGIN")
        for table in reversed(FOUND):
            connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 (names in this file)
        for table in FOUND:
            there, now = (
                [row[1] for row in connection.execute(f"PRAGMA {schema}.table_info({table})")]
                for schema in ("main", "now")
            )
            names = ", ".join(name for name in there if name in now)
            connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM now.{table}")  # noqa: S608
        connection.execute("COMMIT")
