# SPDX-License-Identifier: Apache-2.0
"""`reprise tune mca`: list the MCA parameters of the installed Open MPI, and the values worth trying."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.tuner.openmpi.mca import MCAParameter


@click.group()
def mca() -> None:
    """List and show the MCA parameters of the installed Open MPI.

    The parameters are read from `ompi_info --all --parsable` ([openmpi] ompi_info in the configuration), with values
    that the environment or a parameter file sets.
    """


_FROM = click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read this output of `ompi_info --all --parsable`, for instance from another machine.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@mca.command(name="list")
@click.argument("words", nargs=-1)
@click.option("--tunable", is_flag=True, help="List only parameters that are worth tuning.")
@click.option(
    "--level", type=click.IntRange(1, 9), default=9, show_default=True, help="List parameters up to this level."
)
@_FROM
@_JSON
@click.pass_obj
def list_(
    settings: Settings, words: Sequence[str], tunable: bool, level: int, source: Path | None, as_json: bool
) -> None:
    """List the parameters with all WORDS in their name or description."""
    from reprise.tuner.openmpi import mca as core

    found = list(core.chosen(_parameters(settings, source), words, tunable, level))
    if as_json:
        click.echo(json.dumps(versioned({"parameters": [_document(parameter) for parameter in found]}), indent=2))
        return
    width = max((len(parameter.name) for parameter in found), default=0)
    for parameter in found:
        click.echo(f"{parameter.name:{width}}  {parameter.value}")


@mca.command()
@click.argument("name")
@_FROM
@_JSON
@click.pass_obj
def show(settings: Settings, name: str, source: Path | None, as_json: bool) -> None:
    """Show one parameter: its meaning, its value and the values to try."""
    from reprise.tuner.openmpi import mca as core

    parameter = core.named(_parameters(settings, source), name)
    if as_json:
        click.echo(json.dumps(versioned(_document(parameter)), indent=2))
        return
    click.echo(f"{parameter.name} ({parameter.kind}, level {parameter.level}), set by {parameter.variable}")
    click.echo(f"  {parameter.help or 'no description'}")
    click.echo(f"  value {parameter.value or 'empty'}, from: {parameter.source}")
    if parameter.synonym_of:
        click.echo(f"  synonym of {parameter.synonym_of}")
    for number, label in sorted(parameter.choices.items()):
        click.echo(f"  {number:4}  {label}")
    if not parameter.tunable:
        click.echo("  not worth tuning")
    elif not parameter.choices:
        click.echo(f"  values to try: {', '.join(map(str, parameter.values())) or 'none known, choose a list'}")


def _parameters(settings: Settings, source: Path | None) -> list[MCAParameter]:
    from reprise.tuner.errors import TunerError
    from reprise.tuner.model.ompi_info import ask
    from reprise.tuner.openmpi import mca as core

    if source is None:
        return core.parse(ask(settings.config.openmpi.ompi_info))
    try:
        return core.parse(source.read_text(errors="replace"))
    except OSError as error:
        raise TunerError(f"{source}: cannot be read ({error.strerror}): name a file with ompi_info's output") from error


def _document(parameter: MCAParameter) -> dict[str, Any]:
    document = asdict(parameter)
    return {**document, "variable": parameter.variable, "tunable": parameter.tunable, "values": parameter.values()}
