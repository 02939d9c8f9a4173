# SPDX-License-Identifier: Apache-2.0
"""`reprise tune profile`: show where an application spends its time, and what tuning could gain."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprise.cli import single_run
from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.database.facade import Database
    from reprise.tuner.profile.profile_values import Profile


@click.command()
@single_run.SCRIPT
@single_run.DIRECTORY
@single_run.OPTIONS
@single_run.EXECUTOR
@single_run.TIMEOUT
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the profile to this file as JSON."
)
@click.option(
    "--record", type=int, metavar="ID", help="Store the profile with this record, replacing the record's old profile."
)
@click.option("--json", "as_json", is_flag=True, help="Print profile and verdicts as JSON.")
@click.pass_obj
def profile(
    settings: Settings,
    script: Path,
    directory: Path | None,
    options: tuple[str, ...],
    executor: str,
    timeout_s: float,
    output: Path | None,
    record: int | None,
    as_json: bool,
) -> None:
    """Run a batch script once, and show its profile.

    The profile shows where SCRIPT spends its time, and how much each component could gain.
    """
    from reprise.database.facade import Database
    from reprise.tuner.profile import profile_text, profiled_run
    from reprise.tuner.profile.verdicts import overall, verdicts

    if output:
        single_run.writable(output)
    if record is not None:
        _check(settings, record)
    place = (directory or script.parent).absolute()
    application = profiled_run.Application(script.absolute(), place, options)
    name = single_run.name_of("profile")
    work = settings.config.tuner.work / name
    run_by = single_run.executor(settings.config, executor, name)
    found = profiled_run.profile(application, settings.config, run_by, work, timeout_s)
    judged = verdicts(found, profiled_run.touched(settings.config, single_run.warn))
    if output:
        _write(output, json.dumps(found.to_json(), indent=2) + "\n")
    if record is not None:
        with Database.open(settings.config.database.path) as database:
            keep(database, record, found)
    if as_json:
        document = {"profile": found.to_json(), "verdicts": [asdict(one) for one in judged], "verdict": overall(judged)}
        click.echo(json.dumps(versioned(document), indent=2))
        return
    for line in profile_text.lines(found, judged):
        click.echo(line)


def _check(settings: Settings, record: int) -> None:
    """Raise NotFoundError now, before the run starts, if the record does not exist."""
    from reprise.cli.reading import open_to_read

    with open_to_read(settings.config) as database:
        database.record(record)


def keep(database: Database, record: int, found: Profile) -> None:
    """Store a profile with a record."""
    import time

    from reprise.database.entities import RecordProfile
    from reprise.tuner.profile.profile_text import summary

    database.set_profile(RecordProfile(record, time.time(), summary(found), found.without_names()))


def _write(path: Path, text: str) -> None:
    from reprise.tuner.errors import TunerError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TunerError(f"{path}: cannot be written ({error.strerror}): name another file") from error
