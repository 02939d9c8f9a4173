# SPDX-License-Identifier: Apache-2.0
"""`reprise tune`: run campaigns, resume them, and show their results."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprise.cli import foreground, tune_mca
from reprise.cli import tune_shaman as shaman
from reprise.cli.reading import open_to_read
from reprise.cli.tune_application import application
from reprise.cli.tune_collectives import collectives
from reprise.cli.tune_predict import predict
from reprise.cli.tune_profile import profile
from reprise.cli.tune_proxy import record, replay
from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.config import Config
    from reprise.database.facade import Database
    from reprise.tuner.definition.campaign_definition import Definition

EXECUTORS = (
    "allocation",
    "slurm",
    "local",
    "replay",
)  # kinds of executors; repeated here because tuner.definition.campaign_definition is imported only when needed


@click.group()
def tune() -> None:
    """Run campaigns that find the best settings."""


@tune.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--executor", type=click.Choice(EXECUTORS), help="Run trials with this executor instead of FILE's.")
@click.option(
    "--component",
    "components",
    metavar="A,B,...",
    help="Tune these components instead of FILE's, in this order, with a campaign for each.",
)
@click.option("--yes", is_flag=True, help="Start without asking for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, one line per campaign.")
@shaman.options
@click.pass_obj
def run(
    settings: Settings, file: Path, executor: str | None, components: str | None, yes: bool, as_json: bool, said: Any
) -> None:
    """Run the campaign that FILE describes. FILE may also be an experiment of SHAMan."""
    from reprise.tuner.campaign import session

    definitions = _definitions(file, executor, components, said, settings.config)
    if not yes and sys.stdin.isatty():
        names = ", then ".join(repr(one.name) for one in definitions)
        click.confirm(f"Run the campaign {names} on {definitions[0].executor.kind}?", err=True, abort=True)
    if len(definitions) == 1:
        with _open(settings) as database:
            campaign = session.begin(database, definitions[0], settings.config, time.time())
            foreground.go(database, campaign, settings.config, as_json)
        return
    with _open(settings) as database:
        for definition in definitions:  # so that errors in a later campaign are reported before the first campaign runs
            session.cost(definition, settings.config, database)
    failed = [one.component for one in definitions if not _went_well(settings, one, as_json)]
    if failed:
        click.echo(f"not tuned: {', '.join(failed)}", err=True)
        sys.exit(1)


def _went_well(settings: Settings, definition: Definition, as_json: bool) -> bool:
    """Run one of several campaigns; print an error, so that the next campaign can run; return whether it succeeded."""
    from reprise.errors import RepriseError
    from reprise.tuner.campaign import session

    try:
        with _open(settings) as database:
            campaign = session.begin(database, definition, settings.config, time.time())
            foreground.go(database, campaign, settings.config, as_json)
    except RepriseError as error:
        click.echo(f"{definition.component}: {error}", err=True)
        return False
    return True


@tune.command()
@click.argument("campaign", type=int)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def resume(settings: Settings, campaign: int, as_json: bool) -> None:
    """Resume a stopped or interrupted campaign.

    The campaign may have been stopped, killed or cut off from Slurm. Finished trials are not repeated.
    """
    with _open(settings) as database:
        foreground.go(database, database.campaign(campaign), settings.config, as_json)


@tune.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--executor", type=click.Choice(EXECUTORS), help="Plan for this executor instead of FILE's.")
@click.option("--trials", type=click.IntRange(min=1), default=3, show_default=True, help="Number of scripts to show.")
@click.option(
    "--trial-seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds that a run with default settings takes, for the estimate.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@shaman.options
@click.pass_obj
def plan(
    settings: Settings,
    file: Path,
    executor: str | None,
    trials: int,
    trial_seconds: float | None,
    as_json: bool,
    said: Any,
) -> None:
    """Show a campaign's first scripts, and estimate its cost.

    Nothing is submitted.
    """
    from reprise.tuner.campaign import session

    (definition,) = _definitions(file, executor, None, said, settings.config)
    there = settings.config.database.path.exists()
    with _open(settings, read_only=True) if there else contextlib.nullcontext() as database:
        found = session.plan(definition, settings.config, trials, trial_seconds, database)
    click.echo(json.dumps(versioned(found.to_json()), indent=2) if as_json else str(found))


@tune.command()
@click.argument("campaign", type=int)
@click.option(
    "--for-good", is_flag=True, help="Stop the campaign permanently: it cannot be resumed and counts as failed."
)
@click.pass_obj
def stop(settings: Settings, campaign: int, for_good: bool) -> None:
    """Stop a campaign that runs on this host. Its jobs are cancelled; it can be resumed."""
    import getpass

    from reprise.tuner.campaign import session

    with _open(settings) as database:
        if for_good:
            session.abandon(database, database.campaign(campaign), settings.config, getpass.getuser())
            click.echo(f"campaign {campaign} is stopped permanently", err=True)
            return
        session.stop(database, database.campaign(campaign), settings.config)
    click.echo(f"campaign {campaign} is stopped: continue with `reprise tune resume {campaign}`", err=True)


@tune.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def list_(settings: Settings, as_json: bool) -> None:
    """List all campaigns, newest first."""
    from rich.console import Console
    from rich.table import Table

    from reprise.tuner.report import campaign_overview

    with _open(settings, read_only=True) as database:
        found: list[dict[str, Any]] = [
            {
                "campaign": campaign.id,
                "name": campaign.name,
                "component": campaign.component,
                "begun": campaign.created_at,
                "state": campaign_overview.state_of(campaign, settings.config),
                "trials": len(database.trials(campaign.id)),
            }
            for campaign in database.campaigns()
        ]
    if as_json:
        click.echo(json.dumps(versioned({"campaigns": found}), indent=2))
        return
    rows = Table("id", "name", "component", "begun", "state", "trials", box=None)
    for one in found:
        begun = datetime.fromtimestamp(one["begun"]).astimezone()
        cells = one["campaign"], one["name"], one["component"], f"{begun:%F %R}", one["state"], one["trials"]
        rows.add_row(*map(str, cells))
    Console(highlight=False).print(rows)


@tune.command()
@click.argument("campaign", type=int)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def status(settings: Settings, campaign: int, as_json: bool) -> None:
    """Show a campaign's state, results and record."""
    with _open(settings, read_only=True) as database:
        foreground.show(database, campaign, settings.config, as_json)


@tune.command()
@click.argument("campaign", type=int)
@click.option(
    "--output", type=click.Path(path_type=Path), help="Write to this file or directory; - is standard output."
)
@click.option("--text", "kind", flag_value="txt", help="Print plain text, to standard output unless --output is given.")
@click.option("--json", "kind", flag_value="json", help="Print JSON, to standard output unless --output is given.")
@click.option("--png", "kind", flag_value="png", help="Write the pictures, each to a file in a directory.")
@click.pass_obj
def report(settings: Settings, campaign: int, output: Path | None, kind: str | None) -> None:
    """Write a report of a campaign: results, trials and cost.

    The report is a self-contained page, campaign-ID.html.
    """
    from reprise.tuner.report import report_files

    with _open(settings, read_only=True) as database:
        if kind == "png":
            for picture in report_files.pictures(database, database.campaign(campaign), settings.config, output):
                click.echo(picture)
            return
        path = report_files.report(database, database.campaign(campaign), settings.config, kind or "html", output)
    if path:
        click.echo(path)


@tune.command()
@click.argument("campaign", type=int)
@click.option(
    "--interval", type=click.FloatRange(min=0.2), default=2.0, show_default=True, help="Seconds between updates."
)
@click.pass_obj
def watch(settings: Settings, campaign: int, interval: float) -> None:
    """Follow a campaign until it ends. Ctrl-C only stops following.

    Exit status: 0 complete, 1 failed, 3 stopped or interrupted.
    """
    from reprise.tuner.report import following

    with _open(settings, read_only=True) as database:
        try:
            sys.exit(following.watch(database, campaign, settings.config, interval))
        except KeyboardInterrupt:
            click.echo(f"campaign {campaign} continues: follow it with `reprise tune watch {campaign}`", err=True)
            sys.exit(foreground.INTERRUPTED_STATUS)


tune.add_command(shaman.import_)
tune.add_command(tune_mca.mca)
tune.add_command(collectives)
tune.add_command(application)
tune.add_command(predict)
tune.add_command(record)
tune.add_command(replay)
tune.add_command(profile)


def _definitions(
    file: Path, executor: str | None, components: str | None, said: Any, config: Config
) -> list[Definition]:
    """Return the definition of the campaign that a file describes, or one for each component in `components`.

    The file's `settings` apply to the component that the file names, or to all components if the file does not name
    one.
    """
    from reprise.tuner.definition import campaign_definition as campaign

    data = shaman.as_campaign(campaign.read_mapping(file), file, said, config)
    if components is None:
        return [_checked(data, executor, file)]
    names = [name.strip() for name in components.split(",")]
    if twice := [name for name in names if names.count(name) > 1]:
        raise campaign.CampaignError(f"--component: {twice[0]!r} is repeated: name each component once")
    found = []
    for name in names:
        one = {**data, "component": name}
        if data.get("component", name) != name:
            one.pop("settings", None)
        if len(names) > 1:
            one["name"] = f"{data.get('name')}, {name}"
        found.append(_checked(one, executor, file))
    return found


def _checked(data: Mapping[str, Any], executor: str | None, file: Path) -> Definition:
    from reprise.tuner.definition import campaign_definition as campaign

    definition = campaign.check(data, str(file))
    if executor is None:
        return definition
    chosen = {**definition.model_dump(mode="json"), "executor": {**data.get("executor", {}), "kind": executor}}
    return campaign.check(chosen, str(file))


def _open(settings: Settings, *, read_only: bool = False) -> Database:
    from reprise.database.facade import Database

    return open_to_read(settings.config) if read_only else Database.open(settings.config.database.path)
