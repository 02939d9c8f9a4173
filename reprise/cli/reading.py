# SPDX-License-Identifier: Apache-2.0
"""The database as commands read it: itself, or its snapshot where this user may not open it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprise.config import Config
    from reprise.database import Database


def open_to_read(config: Config) -> Database:
    """Open it, and say on standard error of when a snapshot is. Raises a DatabaseError where it cannot be read."""
    from reprise.database import Database

    database = Database.open_to_read(config.database.path, config.database.snapshot)
    if database.path != config.database.path:
        made = datetime.fromtimestamp(database.path.stat().st_mtime).astimezone()
        click.echo(f"as of {made:%F %T}: {database.path}", err=True)
    return database
