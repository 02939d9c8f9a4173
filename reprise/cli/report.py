# SPDX-License-Identifier: Apache-2.0
"""`reprise report`: report the benefit of settings in production, for those who fund the machine."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprise.cli.reading import open_to_read

if TYPE_CHECKING:
    from reprise.cli.main import Settings


@click.group()
def report() -> None:
    """Report what settings gain in production."""


@report.command()
@click.option(
    "--output", type=click.Path(path_type=Path), help="Write to this file or directory; - is standard output."
)
@click.option("--png", "kind", flag_value="png", help="Write the pictures, each to a file in a directory.")
@click.option("--json", "kind", flag_value="json", help="Print JSON, to standard output unless --output is given.")
@click.pass_obj
def benefit(settings: Settings, output: Path | None, kind: str | None) -> None:
    """Write a report on decisions and savings of the last 30 days.

    The report also lists candidates for tuning. It is a self-contained page, benefit.html.
    """
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


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise click.ClickException(
            f"{path}: cannot be written ({error.strerror}): name a file or directory that you may write with --output"
        ) from error
