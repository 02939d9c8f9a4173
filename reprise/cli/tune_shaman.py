# SPDX-License-Identifier: Apache-2.0
"""`reprise tune import`, and the options by which `reprise tune run` takes an experiment of SHAMan's as it is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.config import Config

PATH = click.Path(path_type=Path)
NOT_NEEDED = {
    "sbatch_dir": "generated scripts are in the campaign's directory, `reprise tune status` names it",
    "slurm_dir": "outputs are in the campaign's directory, `reprise tune status` names it",
    "result_file": "results are in the database, `reprise tune status --json` prints them",
}


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add SHAMan's options to a command, which gets them together as `said`."""

    @functools.wraps(command)
    def with_said(*args: Any, **kwargs: Any) -> Any:
        from reprise.tuner.shaman.shaman_files import Said

        said = Said(**{name: kwargs.pop(name) for name in Said.__dataclass_fields__})
        for name, instead in NOT_NEEDED.items():
            if kwargs.pop(name):
                say([f"--{name.replace('_', '-')} is not needed: {instead}"])
        return command(*args, said=said, **kwargs)

    found: Callable[..., Any] = with_said
    for name in NOT_NEEDED:
        found = click.option(f"--{name.replace('_', '-')}", type=PATH, hidden=True)(found)
    for option in (
        click.option("--user", help="Whose job it is; the owner of the script if absent."),
        click.option("--experiment-name", help="The campaign's name."),
        click.option("--nbr-iteration", type=click.IntRange(min=1), help="The budget: trials of the search at most."),
        click.option("--sbatch-file", type=PATH, help="The batch script that is tuned, for SHAMan's experiments."),
        click.option("--component-name", help="Which component, for SHAMan's experiments."),
    ):
        found = option(found)
    return found


def say(notes: Sequence[str]) -> None:
    for note in notes:
        click.echo(note, err=True)


def as_campaign(data: Mapping[str, Any], file: Path, said: Any, config: Config) -> Mapping[str, Any]:
    """A campaign file's content as it is; for an experiment of SHAMan's the campaign that it describes."""
    from reprise.tuner.errors import TunerError
    from reprise.tuner.shaman import shaman_component, shaman_experiment, shaman_files

    if shaman_component.is_component_file(data):
        raise TunerError(f"{file}: is a file of SHAMan's components: `reprise tune import {file}` takes it over")
    if not shaman_experiment.is_experiment(data):
        return data
    converted = shaman_files.campaign(data, str(file), said, config)
    say(converted.notes)
    return converted.definition


@click.command("import")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
@options
@click.option("--components", type=PATH, help="Where component files go; [tuner] components if absent.")
@click.option("--output", type=PATH, help="The campaign file to write; NAME.yaml here if absent.")
@click.pass_obj
def import_(settings: Settings, paths: Sequence[Path], said: Any, components: Path | None, output: Path | None) -> None:
    """Take over SHAMan's files: components, several in one, and experiments. What has no counterpart is said."""
    from reprise.tuner.definition.campaign_definition import read_mapping
    from reprise.tuner.errors import TunerError
    from reprise.tuner.shaman import shaman_component, shaman_experiment, shaman_files

    tuner = settings.config.tuner.model_copy(update={"components": components or settings.config.tuner.components})
    config = settings.config.model_copy(update={"tuner": tuner})
    contents = {path: read_mapping(path) for path in paths}
    kinds = {path: shaman_component.is_component_file(data) for path, data in contents.items()}
    for path, data in contents.items():
        if not kinds[path] and not shaman_experiment.is_experiment(data):
            raise TunerError(
                f"{path}: is neither a component file nor an experiment of SHAMan's: see docs/components.md"
            )
    for path in sorted(paths, key=lambda path: not kinds[path]):  # an experiment needs its component
        if kinds[path]:
            written, notes = shaman_files.components(path, tuner.components)
        else:
            converted = shaman_files.campaign(contents[path], str(path), said, config)
            file = output or Path(f"{str(converted.definition['name']).replace('/', '-').replace(' ', '-')}.yaml")
            shaman_files.write({file: shaman_files.dump(converted.definition, path)})
            written, notes = [file], converted.notes
        say(notes)
        for file in written:
            click.echo(f"wrote {file}")
