# SPDX-License-Identifier: Apache-2.0
"""`reprise report`: report the benefit of settings in production, for those who fund the machine."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprise.cli.moment import moment
from reprise.cli.reading import open_to_read

if TYPE_CHECKING:
    from reprise.cli.main import Settings


DAYS = 30  # days that are reported by default


@click.group()
def report() -> None:
    """Report what settings gain in production."""


@report.command()
@click.option(
    "--output", type=click.Path(path_type=Path), help="Write to this file or directory; - is standard output."
)
@click.option("--png", "kind", flag_value="png", help="Write the pictures, each to a file in a directory.")
@click.option("--json", "kind", flag_value="json", help="Print JSON, to standard output unless --output is given.")
@click.option(
    "--observe",
    is_flag=True,
    help="Print, as text, what settings would have saved in the jobs that were only observed.",
)
@click.option(
    "--since",
    metavar="WHEN",
    callback=moment,
    help="With --observe: count jobs since WHEN, a date, or an age like 12h or 90d (default: 30d).",
)
@click.pass_obj
def benefit(settings: Settings, output: Path | None, kind: str | None, observe: bool, since: float | None) -> None:
    """Write a report on decisions and savings of the last 30 days.

    The report also lists candidates for tuning. It is a self-contained page, benefit.html.

    With --observe, the report is about the jobs that would have got settings, had the site or their users not chosen to
    observe only: which jobs, which records, and how many node-hours the settings would have saved.
    """
    if observe:
        if kind == "png":
            raise click.UsageError("--observe makes no pictures: leave out --png")
        _observed(settings, output, kind, time.time() - DAYS * 86_400 if since is None else since)
        return
    if since is not None:
        raise click.UsageError("--since needs --observe: the other report is about the last 30 days")
    from reprise.matcher.support.jobs import site_summary
    from reprise.matcher.support.staff import reader
    from reprise.web import benefit_page as page

    config = settings.config
    me = reader(config.access.staff)
    with open_to_read(config) as database:
        found = site_summary.read(database, config, time.time())
    if kind == "png":
        from reprise.tuner.report import plots

        for name, draw in page.drawings(found):
            path = (output or Path()) / f"benefit-{name}.png"
            _write(path, plots.png(draw))
            click.echo(path)
        return
    text = json.dumps(site_summary.document(found, me)) + "\n" if kind else page.render(found, config.site.cluster, me)
    if output == Path("-") or (output is None and kind):
        click.echo(text, nl=False)
        return
    path = output or Path()
    path = path / f"benefit.{kind or 'html'}" if path.is_dir() else path
    _write(path, text.encode())
    click.echo(path)


def _observed(settings: Settings, output: Path | None, kind: str | None, since: float) -> None:
    """Print the report on observed jobs, or write it to `output`."""
    from reprise.database.record_listing import plain
    from reprise.matcher.support.jobs import observed_benefit as report
    from reprise.matcher.support.staff import reader

    me = reader(settings.config.access.staff)
    with open_to_read(settings.config) as database:
        found = report.read(database, since)
    if kind == "json":
        text = json.dumps(report.document(found, me), indent=2)
    else:
        parts = ["\n".join(report.texts(found))]
        if found.jobs:
            parts.append(plain(list(report.record_rows(found)), report.OF_RECORDS))
            parts.append(plain(list(report.class_rows(found, me)), report.OF_CLASSES))
        if len(found.classes) > report.CLASSES:
            parts.append(f"{len(found.classes) - report.CLASSES} more classes of jobs: --json lists all")
        text = "\n\n".join(parts)
    if output is None or output == Path("-"):
        click.echo(text)
        return
    path = output / f"observed.{kind or 'txt'}" if output.is_dir() else output
    _write(path, f"{text}\n".encode())
    click.echo(path)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise click.ClickException(
            f"{path}: cannot be written ({error.strerror}): name a file or directory that you may write with --output"
        ) from error
