# SPDX-License-Identifier: Apache-2.0
"""`reprise tune predict`: train and show models, and predict settings for configurations that were never run."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprise.cli.reading import open_to_read
from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.database.entities import Prediction


@click.group()
def predict() -> None:
    """Predict run times of settings from the trials of campaigns."""


@predict.command()
@click.argument("family")
@click.option("--component", help="Component, if the family has several (default: that of the newest campaign).")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def train(settings: Settings, family: str, component: str | None, as_json: bool) -> None:
    """Train models on all trials of FAMILY's campaigns.

    Each part of the objective gets a model.
    """
    from reprise.database.facade import Database
    from reprise.tuner.predict import train as training

    with Database.open(settings.config.database.path) as database:
        made = training.train(database, family, component, time.time())
    _print(made, as_json)


@predict.command()
@click.argument("which", required=False, default="")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def show(settings: Settings, which: str, as_json: bool) -> None:
    """Show the models of a family, newest first, or one model by its id."""
    with open_to_read(settings.config) as database:
        found = [database.prediction(int(which))] if which.isdecimal() else list(database.predictions(which or None))
    _print(found, as_json)


@predict.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--verify",
    is_flag=True,
    help="Compare the setting with the default in real runs; make a record if there is a gain.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def search(settings: Settings, file: Path, verify: bool, as_json: bool) -> None:
    """Predict the best setting for the application of a campaign.

    FILE is a campaign file that names the application's family and features.
    """
    from reprise.cli import foreground
    from reprise.database.facade import Database
    from reprise.tuner.campaign import session
    from reprise.tuner.definition import campaign_definition
    from reprise.tuner.predict import boosted_model, practice

    definition = campaign_definition.load(file)
    # Load the learning library, which takes a second or two, before the search is timed.
    boosted_model.version(boosted_model.engine())
    with Database.open(settings.config.database.path) if verify else open_to_read(settings.config) as database:
        begun = time.monotonic()
        chosen = practice.choose(database, definition, settings.config)
        told = {
            "parametrization": dict(chosen.found.point),
            "seconds": chosen.found.seconds,
            "default_seconds": chosen.found.default_seconds,
            "gain": chosen.found.gain,
            "models": chosen.models,
            "search_s": round(time.monotonic() - begun, 3),
        }
        if not verify or chosen.found.gain <= 0:
            click.echo(json.dumps(versioned(told)) if as_json else _in_words(told))
            return
        if not as_json:
            click.echo(_in_words(told), err=True)
        verified = practice.verification(definition, chosen)
        compared = session.begin(database, verified, settings.config, time.time())
        foreground.go(database, compared, settings.config, as_json)


def _in_words(told: dict[str, Any]) -> str:
    if told["gain"] <= 0:
        return "no setting is predicted to be faster than the default"
    values = ", ".join(f"{name}={value}" for name, value in told["parametrization"].items())
    return (
        f"{values}: {told['seconds']:.3g} s predicted, the default {told['default_seconds']:.3g} s (gain "
        f"{told['gain']:.0%}, models {', '.join(map(str, told['models']))}, {told['search_s']:.1f} s)"
    )


def _print(models: list[Prediction], as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    if as_json:
        click.echo(json.dumps(versioned({"models": [_about(one) for one in models]})))
        return
    rows = Table("id", "family", "component", "part", "trained", "sizes", "trials", "MdAPE", "R²", "used", box=None)
    for one in models:
        trained = datetime.fromtimestamp(one.created_at).astimezone()
        rows.add_row(
            str(one.id),
            one.family,
            one.component,
            one.target,
            f"{trained:%F %R}",
            str(one.configurations),
            str(len(one.rows)),
            "" if one.mdape is None else f"{one.mdape:.1f} %",
            "" if one.r2 is None else f"{one.r2:.2f}",
            "no" if one.refused else "yes",
        )
    Console(highlight=False).print(rows)
    for one in models:
        if one.refused:
            click.echo(f"model {one.id} is not used: {one.refused}")


def _about(one: Prediction) -> dict[str, Any]:
    return {
        "id": one.id,
        "family": one.family,
        "component": one.component,
        "component_version": one.component_version,
        "target": one.target,
        "created_at": one.created_at,
        "engine": one.engine,
        "configurations": one.configurations,
        "trials": len(one.rows),
        "mdape": one.mdape,
        "r2": one.r2,
        "refused": one.refused,
    }
