# SPDX-License-Identifier: Apache-2.0
"""`reprise records`: list records, show their gain in production, and enable or disable them."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from reprise.cli.aliases import named
from reprise.cli.reading import open_to_read
from reprise.database import record_listing
from reprise.database.entities import Record, RecordStatus, StatusChange, UserQuarantine
from reprise.database.facade import Database
from reprise.database.gain_subject import is_withdrawn, subject

if TYPE_CHECKING:
    from reprise.cli.main import Settings

WHICH = click.argument("record_id", metavar="ID", type=click.IntRange(1, 2**63 - 1))
WHY = click.option("--reason", default="", help="Reason to keep in the record's history.")


@click.group()
def records() -> None:
    """List records, show their gain, and enable or disable them."""


@records.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print all fields of the records as JSON.")
@click.option("--all", "show_all", is_flag=True, help="Include quarantined and retired records.")
@click.option("--component", help="List only records of this component.")
@click.pass_obj
def list_(settings: Settings, as_json: bool, show_all: bool, component: str | None) -> None:
    """List the records that are in use."""
    with open_to_read(settings.config) as database:
        found = database.records(status=None if show_all else RecordStatus.ACTIVE, component=component)
        quarantined_for = Counter(one.record_id for one in database.user_quarantines())
    if as_json:
        click.echo(json.dumps(record_listing.document(found), indent=2))
        return
    rows = [record_listing.row(record, time.time(), quarantined_for[record.id]) for record in found]
    if not rows:
        click.echo("no records: `reprise tune` makes them")
    elif sys.stdout.isatty():
        _draw(rows)
    else:
        click.echo(record_listing.plain(rows))


@records.command()
@WHICH
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def show(settings: Settings, record_id: int, as_json: bool) -> None:
    """Show a record, and its gain in its campaign and in production."""
    from reprise.matcher.benefit import record_benefit

    with open_to_read(settings.config) as database:
        record = database.record(record_id)
        compared = database.compared(record_id, since=record_benefit.since(record))
        history = database.status_changes(record_id)
        quarantines = database.user_quarantines(record_id)
        profile = database.profile(record_id)
    found = record_benefit.production(compared, time.time())
    if as_json:
        about = {"record": record_listing.document([record])["records"][0], "history": record_listing.history(history)}
        of_users = [dataclasses.asdict(one) for one in quarantines]
        spent = profile.document if profile else None
        click.echo(
            json.dumps({"version": 1, **about, **found, "quarantined_for": of_users, "profile": spent}, indent=2)
        )
        return
    click.echo("\n".join(_in_words(record, history, quarantines, found)))
    if profile:
        click.echo(f"  time of its application: {record_listing.printable(profile.summary)}")


@records.command()
@WHICH
@WHY
@click.pass_obj
def release(settings: Settings, record_id: int, reason: str) -> None:
    """Put record ID into use, or back into use.

    Earlier jobs no longer count for the record's gain. `release` and `enable` are the same command.
    """
    _set_status(settings, record_id, RecordStatus.ACTIVE, reason)


@records.command()
@WHICH
@WHY
@click.pass_obj
def retire(settings: Settings, record_id: int, reason: str) -> None:
    """Take record ID out of use.

    The daemon stops giving its settings to jobs within a second. `retire` and `disable` are the same command.
    """
    _set_status(settings, record_id, RecordStatus.RETIRED, reason)


records.add_command(named(release, "enable"))
records.add_command(named(retire, "disable"))


def _set_status(settings: Settings, record_id: int, status: RecordStatus, reason: str) -> None:
    with Database.open(settings.config.database.path) as database:
        database.set_record_status(record_id, status, at=time.time(), reason=reason)
    click.echo(f"record {record_id} is {status}")


def _in_words(
    record: Record, history: Sequence[StatusChange], quarantines: Sequence[UserQuarantine], found: dict[str, Any]
) -> list[str]:
    def moment(at: float) -> str:
        return f"{datetime.fromtimestamp(at).astimezone():%F %R %Z}"

    def percent(value: dict[str, Any]) -> str:
        if value["gain"] is None:
            return f"unknown yet, {jobs(value)}"
        return f"{value['gain']:.1%} ({value['gain_low']:.1%} to {value['gain_high']:.1%}), {jobs(value)}"

    def jobs(value: dict[str, Any]) -> str:
        return f"{value['given']} jobs with these settings, compared with {value['held_out']} held-out jobs"

    cells = [record_listing.printable(cell) for cell in record_listing.row(record, time.time())]
    about = dict(zip(record_listing.HEADINGS, cells, strict=True))
    campaign = f", campaign {record.campaign_id}" if record.campaign_id else ""
    lines = [
        f"record {record.id}: {about['component']}, for {about['application']} ({about['context']})",
        f"  made {moment(record.created_at)}{campaign}",
        f"  measured then: gain {about['gain']}, samples {about['samples']}",
        f"  {record.status}"
        + (f" since {moment(record.status_at)}" if record.status_at else "")
        + (f": {record_listing.printable(record.status_reason)}" if record.status_reason else ""),
    ]
    lines += [
        f"  quarantined for {record_listing.printable(one.user)} since {moment(one.at)}: "
        f"{record_listing.printable(one.reason)}"
        for one in quarantines
    ]
    lines += [
        f"    before, from {moment(one.at)}: {one.status}"
        + (f": {record_listing.printable(one.reason)}" if one.reason else "")
        for one in reversed(history)
        if one.at != record.status_at
    ]
    lines += [f"  {name}={record_listing.printable(value)}" for name, value in sorted(record.environment.items())]
    if is_withdrawn(subject(record.parametrization)):
        lines.append(
            "  the gain was measured by a method that is withdrawn: measure again with `reprise tune collectives`, or "
            f"run `reprise records retire {record.id}`"
        )
    if not found["blocks"]:
        return [*lines, "  in production: no comparison yet (see holdout in [matcher] of the configuration)"]
    lines.append(f"  in production: gain {percent(found)}")
    lines += [
        f"    on {one['nodes']:g} nodes: {percent(one)}" if one["nodes"] else f"    unknown nodes: {percent(one)}"
        for one in found["by_nodes"]
    ]
    failed = found["failed"]
    lines.append(
        f"    failed: {failed['given']} of {found['ended']['given']} jobs with these settings, {failed['held_out']} of "
        f"{found['ended']['held_out']} held-out jobs"
    )
    lines.append(
        f"    evidence of harm (quarantined at {found['limit']:g}): slower {found['slower']:.3g}, failing "
        f"{found['failing']:.3g}, from {found['blocks']} blocks"
    )
    return lines


def _draw(rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold")
    for heading in record_listing.HEADINGS:
        table.add_column(heading, overflow="fold")
    for cells in rows:
        table.add_row(*(Text(record_listing.printable(cell)) for cell in cells))
    Console().print(table)
