# SPDX-License-Identifier: Apache-2.0
"""A database as an older release would have left it."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from tests.unit.database.test_stored import stored_database

VERSION = 6
"""Of the schema, before comparisons, replicas and pages."""
FOUND = ("campaign", "artifact", "trial", "record")  # in the order in which they refer to one another


def older(database: Path, file: Path, version: int = VERSION) -> None:
    """The stored database of a release with this schema; what campaigns found is what `database` has of them."""
    stored_database(version, file)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("ATTACH ? AS now", (str(database),))
        connection.execute("BEGIN")
        for table in reversed(FOUND):
            connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 (own names)
        for table in FOUND:
            there, now = (
                [row[1] for row in connection.execute(f"PRAGMA {schema}.table_info({table})")]
                for schema in ("main", "now")
            )
            names = ", ".join(name for name in there if name in now)
            connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM now.{table}")  # noqa: S608
        connection.execute("COMMIT")
