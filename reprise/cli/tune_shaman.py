# SPDX-License-Identifier: Apache-2.0
"""`reprise tune import`, and the options of `reprise tune run` for SHAMan experiments."""

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
    "sbatch_dir": "generated scripts are in the campaign's directory, which `reprise tune status` names",
    "slurm_dir": "outputs are in the campaign's directory, which `reprise tune status` names",
    "result_file": "results are in the database; `reprise tune status --json` prints them",
}


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add SHAMan's options to a command, which receives their values as one argument, `said`."""

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
        click.option("--user", help="SHAMan: user of the job (default: the owner of the script)."),
        click.option("--experiment-name", help="SHAMan: name of the campaign."),
        click.option("--nbr-iteration", type=click.IntRange(min=1), help="SHAMan: maximum number of trials."),
        click.option("--sbatch-file", type=PATH, help="SHAMan: batch script to tune."),
        click.option("--component-name", help="SHAMan: component to tune."),
    ):
        found = option(found)
    return found


def say(notes: Sequence[str]) -> None:
    """Print notes on standard error."""
    for note in notes:
        click.echo(note, err=True)


def as_campaign(data: Mapping[str, Any], file: Path, said: Any, config: Config) -> Mapping[str, Any]:
    """Return the content of a campaign file unchanged, or convert a SHAMan experiment to a campaign."""
    from reprise.tuner.errors import TunerError
    from reprise.tuner.shaman import shaman_component, shaman_experiment, shaman_files

    if shaman_component.is_component_file(data):
        raise TunerError(f"{file}: is a component file of SHAMan: convert it with `reprise tune import {file}`")
    if not shaman_experiment.is_experiment(data):
        return data
    converted = shaman_files.campaign(data, str(file), said, config)
    say(converted.notes)
    return converted.definition


@click.command("import")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
@options
@click.option("--components", type=PATH, help="Directory for component files (default: [tuner] components).")
@click.option("--output", type=PATH, help="Campaign file to write (default: NAME.yaml here).")
@click.pass_obj
def import_(settings: Settings, paths: Sequence[Path], said: Any, components: Path | None, output: Path | None) -> None:
    """Convert SHAMan's component files and experiments. Entries without a counterpart are reported."""
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
                f"{path}: is neither a component file nor an experiment of SHAMan: see docs/how-to/shaman.md"
            )
    # Component files come first, since an experiment needs its component.
    for path in sorted(paths, key=lambda path: not kinds[path]):
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
