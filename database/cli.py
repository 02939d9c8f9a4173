# SPDX-License-Identifier: Apache-2.0
"""`reprise db`: create, check and look into the database. The context's object has the configuration as `config`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from database import health, listing
from database.facade import Database
from database.model import RecordStatus


@click.group()
def db() -> None:
    """Create, check and look into the database."""


@db.command()
@click.pass_context
def init(ctx: click.Context) -> None:
    """Create the database, or bring an older one to this version's schema."""
    path: Path = ctx.obj.config.database.path
    with Database.open(path, create=True) as database:
        version = database.schema_version()
        if database.migrated_from == 0:
            click.echo(f"{path}: created, schema version {version}")
        elif database.migrated_from < version:
            click.echo(f"{path}: brought from schema version {database.migrated_from} to {version}")
        else:
            click.echo(f"{path}: already at version {version}")


@db.command()
@click.pass_context
def check(ctx: click.Context) -> None:
    """Check the database and the files that its active records give to jobs; exit status 1 if anything is wrong."""
    path: Path = ctx.obj.config.database.path
    problems = health.examine(path)
    for problem in problems:
        click.echo(problem)
    if problems:
        ctx.exit(1)
    with Database.open(path, read_only=True) as database:
        rows = ", ".join(f"{count} in {table}" for table, count in database.counts().items() if count)
        click.echo(f"{path}: sound, schema version {database.schema_version()}, {rows or 'no'} rows")


@db.command()
@click.option("--json", "as_json", is_flag=True, help="Print all there is to know, as JSON.")
@click.option("--all", "show_all", is_flag=True, help="Also those that are quarantined or retired.")
@click.pass_context
def records(ctx: click.Context, as_json: bool, show_all: bool) -> None:
    """List what is known: the records that jobs may be given."""
    with Database.open(ctx.obj.config.database.path, read_only=True) as database:
        found = database.records(status=None if show_all else RecordStatus.ACTIVE)
    if as_json:
        click.echo(json.dumps(listing.document(found), indent=2))
        return
    rows = [listing.row(record, time.time()) for record in found]
    if not rows:
        click.echo("no records: `reprise tune` makes them")
    elif sys.stdout.isatty():
        _draw(rows)
    else:
        click.echo(listing.plain(rows))


@db.command()
@click.argument("record_id", metavar="ID", type=click.IntRange(1, 2**63 - 1))
@click.pass_context
def retire(ctx: click.Context, record_id: int) -> None:
    """Take record ID out of use: no job is given it any more. The daemon notices within a second."""
    _set_status(ctx, record_id, RecordStatus.RETIRED)


@db.command()
@click.argument("record_id", metavar="ID", type=click.IntRange(1, 2**63 - 1))
@click.pass_context
def activate(ctx: click.Context, record_id: int) -> None:
    """Put record ID (back) into use."""
    _set_status(ctx, record_id, RecordStatus.ACTIVE)


def _set_status(ctx: click.Context, record_id: int, status: RecordStatus) -> None:
    with Database.open(ctx.obj.config.database.path) as database:
        database.set_record_status(record_id, status)
    click.echo(f"record {record_id} is {status}")


def _draw(rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold")
    for heading in listing.HEADINGS:
        table.add_column(heading, overflow="fold")
    for cells in rows:
        table.add_row(*(Text(listing.printable(cell)) for cell in cells))
    Console().print(table)
