# SPDX-License-Identifier: Apache-2.0
"""Open the database for reading, or its snapshot if the user may not open the database."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprise.config import Config
    from reprise.database import Database


def open_to_read(config: Config) -> Database:
    """Open the database or its snapshot; if it is the snapshot, print on standard error when it was made.

    Raise DatabaseError if neither the database nor a snapshot can be read.
    """
    from reprise.database import Database

    database = Database.open_to_read(config.database.path, config.database.snapshot)
    if database.path != config.database.path:
        made = datetime.fromtimestamp(database.path.stat().st_mtime).astimezone()
        click.echo(f"as of {made:%F %T}: {database.path}", err=True)
    return database
