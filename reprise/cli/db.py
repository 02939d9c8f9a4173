# SPDX-License-Identifier: Apache-2.0
"""`reprise db`: create, check, copy and inspect the database, which the configuration names."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

import click

from reprise.cli.aliases import former
from reprise.cli.records import records
from reprise.config import DatabaseSection, database_url
from reprise.database import exchange, health
from reprise.database.backup import back_up, refuse_in_use, take_snapshot
from reprise.database.backup import restore as put_back
from reprise.database.errors import AccessError, InvalidValueError, SchemaError
from reprise.database.facade import Database


@click.group()
def db() -> None:
    """Create, check, copy and inspect the database."""


central_option = click.option("--central", is_flag=True, help="Use the central database, `database.url`.")


@db.command()
@central_option
@click.pass_context
def init(ctx: click.Context, central: bool) -> None:
    """Create the database, or upgrade its schema.

    The schema of an older database is upgraded to that of this release.
    """
    path = _place(ctx.obj.config.database, central)
    with Database.open(path, create=True) as database:
        version = database.schema_version()
        if database.migrated_from == 0:
            click.echo(f"{path}: created, schema version {version}")
        elif database.migrated_from < version:
            click.echo(f"{path}: upgraded from schema version {database.migrated_from} to {version}")
        else:
            click.echo(f"{path}: already at schema version {version}")
        if database.not_erased:
            click.echo(
                f"{path}: unused parts of the file still contain secrets that are now masked ({database.not_erased}): "
                "free as much disk space as the file takes, stop its readers, and run `reprise db init` again",
                err=True,
            )


@db.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.pass_context
def backup(ctx: click.Context, file: Path, force: bool) -> None:
    """Write a checked copy of the database to FILE. The database may be in use."""
    back_up(ctx.obj.config.database.path, file, overwrite=force)
    click.echo(f"{file}: a copy of {ctx.obj.config.database.path}")
    _name_tool(ctx.obj.config.database, "`pg_dump --format=custom --schema=reprise --file=FILE URL`")


@db.command()
@click.pass_context
def snapshot(ctx: click.Context) -> None:
    """Write a copy of the database that its group may read.

    The copy is `database.snapshot` in the configuration. The database may be in use.
    """
    section = ctx.obj.config.database
    if section.snapshot is None:
        raise AccessError("database.snapshot is not set: name a file that members of the group can read")
    take_snapshot(section.path, section.snapshot)
    click.echo(f"{section.snapshot}: a copy of {section.path}")


@db.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Restore even if a daemon or a campaign uses the database.")
@click.pass_context
def restore(ctx: click.Context, file: Path, force: bool) -> None:
    """Replace the database with the backup FILE. The old database is kept under another name."""
    path: Path = ctx.obj.config.database.path
    kept = put_back(path, file, time.time(), force=force)
    click.echo(f"{path}: restored from {file}" + (f"; the old database is {kept}" if kept else ""))
    _name_tool(ctx.obj.config.database, "`pg_restore --clean --if-exists --single-transaction --dbname=URL FILE`")
    with contextlib.suppress(SchemaError):
        Database.open(path, read_only=True).close()
        return
    click.echo("an older Reprise made this backup: run `reprise db init` to upgrade its schema")


@db.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@central_option
@click.pass_context
def export(ctx: click.Context, file: Path, central: bool) -> None:
    """Export the database as lines of JSON.

    FILE may be `-` for standard output.
    """
    with Database.open(_place(ctx.obj.config.database, central), read_only=True) as database:
        if file == Path("-") or (file.exists() and not file.is_file()):  # a pipe or a device cannot be replaced
            with click.open_file(str(file), "w", encoding="utf-8") as out, _named(out, "written"):
                out.writelines(f"{line}\n" for line in exchange.lines(database))
                out.flush()
        else:
            exchange.write(database, file)


@db.command(name="import")
@click.argument("file", type=click.File("rb"))
@central_option
@click.pass_context
def import_(ctx: click.Context, file: BinaryIO, central: bool) -> None:
    """Import FILE, which `reprise db export` wrote, into an empty database.

    FILE may be `-` for standard input. If an error occurs, nothing is imported.
    """
    path = _place(ctx.obj.config.database, central)
    with Database.open(path) as database, _named(file, "read"):
        count = exchange.take(database, file, file.name)
    click.echo(f"{path}: {count} rows")


@contextlib.contextmanager
def _named(file: IO[Any], done: str) -> Iterator[None]:
    """Convert an OSError in the `with` block to an AccessError that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader has closed the pipe
    except OSError as error:
        with contextlib.suppress(OSError):
            file.close()  # discard the buffer, which click would otherwise try to write again
        raise AccessError(f"{file.name}: cannot be {done} ({error.strerror}): name another file") from error


@db.command()
@central_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def check(ctx: click.Context, central: bool, as_json: bool) -> None:
    """Check the database and the files of its active records.

    The exit status is 1 if anything is wrong.
    """
    path = _place(ctx.obj.config.database, central)
    problems = health.examine(path)
    schema: int | None = None
    rows: Mapping[str, int] = {}
    if not problems:
        with Database.open(path, read_only=True) as database:
            schema, rows = database.schema_version(), database.counts()
    if as_json:
        click.echo(json.dumps({"version": 1, "problems": problems, "schema": schema, "rows": rows}, indent=2))
    elif problems:
        click.echo("\n".join(problems))
    else:
        counted = ", ".join(f"{count} in {table}" for table, count in rows.items() if count)
        click.echo(f"{path}: sound, schema version {schema}, {counted or 'no'} rows")
    if problems:
        ctx.exit(1)


@db.command()
@click.option("--to", "url", required=True, metavar="URL", help="Database of PostgreSQL: postgresql://HOST/DATABASE.")
@click.option("--force", is_flag=True, help="Move even if a daemon or a campaign uses the database.")
@click.pass_context
def move(ctx: click.Context, url: str, force: bool) -> None:
    """Copy all rows to an empty database of PostgreSQL, and compare each of them.

    The schema is created if it is missing. If an error occurs, nothing is copied. The file of SQLite is kept.
    """
    path: Path = ctx.obj.config.database.path
    try:
        database_url(url)
    except ValueError as error:
        raise InvalidValueError(f"--to: {error}") from error
    if not force:
        refuse_in_use(path, time.time())
    with Database.open(path, read_only=True) as source, Database.open(url, create=True) as target:
        count = exchange.move(source, target)
    click.echo(f"{url}: {count} rows of {path}, each compared with its copy")


def _place(section: DatabaseSection, central: bool) -> Path | str:
    """Return the path of the file or, with `central`, the URL of the central database."""
    if central and not section.url:
        raise AccessError("database.url is not set: name a database of PostgreSQL, such as postgresql://HOST/DATABASE")
    return section.url if central else section.path


def _name_tool(section: DatabaseSection, tool: str) -> None:
    if section.url:
        click.echo(f"{section.url}: is not included: use {tool}", err=True)


db.add_command(former(records, "records"))
