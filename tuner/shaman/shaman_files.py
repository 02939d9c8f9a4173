# SPDX-License-Identifier: Apache-2.0
"""Conversion of SHAMan's files: components become files in a directory, and experiments become campaign files."""

from __future__ import annotations

import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reprise.config import Config
from reprise.tuner.definition import component_registry
from reprise.tuner.definition.campaign_definition import check, read_mapping
from reprise.tuner.errors import TunerError
from reprise.tuner.shaman import shaman_component, shaman_experiment
from reprise.tuner.shaman.shaman_component import Converted


@dataclass(frozen=True)
class Said:
    """Input from the command line in addition to the files. The names are those of SHAMan's options."""

    component_name: str | None = None
    sbatch_file: Path | None = None
    nbr_iteration: int | None = None
    experiment_name: str | None = None
    user: str | None = None


def campaign(data: Mapping[str, Any], where: str, said: Said, config: Config) -> Converted:
    """Return the checked campaign of an experiment. Raise TunerError if it is invalid or its component is missing."""
    name = shaman_experiment.component_of(data, said.component_name, where)
    if said.sbatch_file is None:
        raise TunerError(f"{where}: is a SHAMan experiment, which does not name the script to run: set --sbatch-file")
    script = Path.cwd() / said.sbatch_file
    described = component_registry.read(shaman_experiment.our_name(name), config)
    if described["kind"] != "application":
        raise TunerError(f"{where}: component {name} is of kind {described['kind']}, which experiments cannot describe")
    title = said.experiment_name or Path(where).stem
    job = shaman_experiment.Job(name, str(script), said.user or _owner(script), title, said.nbr_iteration)
    converted = shaman_experiment.convert(data, where, job, described["parameters"])
    check(converted.definition, where)
    return converted


def components(path: Path, directory: Path) -> tuple[list[Path], list[str]]:
    """Write each component of SHAMan's file into a separate file; existing files stay unchanged.

    Return the files and the notes. Raise TunerError, and write no file, if a component is invalid or an existing file
    has other contents.
    """
    data = read_mapping(path)
    notes = [f"{path}: {key!r} is unknown and left out" for key in data if key != "components"]
    texts: dict[Path, str] = {}
    for name, content in data["components"].items():
        converted = shaman_component.convert(str(name), content, str(path))
        notes += converted.notes
        file = directory / f"{converted.definition['name']}.yaml"
        if file in texts:
            raise TunerError(f"{path}: two components would be named {file.name}: rename one of them")
        texts[file] = dump(converted.definition, path)
    write(texts)
    return list(texts), notes


def dump(definition: Mapping[str, Any], source: Path) -> str:
    """Return the text of a Reprise file: YAML, with a comment that names the source."""
    return f"# From SHAMan's {source.name}, by `reprise tune import`.\n" + yaml.safe_dump(
        dict(definition), sort_keys=False, allow_unicode=True, width=120
    )


def write(texts: Mapping[Path, str]) -> None:
    """Write the texts to their files, but write no file if an existing file has another text.

    Raise TunerError if a file cannot be written.
    """
    try:
        for file, text in texts.items():
            if file.exists() and file.read_text(encoding="utf-8") != text:
                raise TunerError(f"{file}: exists with other contents: move it away, or choose another place")
        for file, text in texts.items():
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TunerError(
            f"{error.filename}: cannot be written ({error.strerror}): run this as its owner, or choose another place"
        ) from error


def _owner(script: Path) -> str:
    try:
        return pwd.getpwuid(script.stat().st_uid).pw_name
    except OSError as error:
        raise TunerError(f"{script}: cannot be read ({error.strerror}): correct --sbatch-file") from error
    except KeyError:
        raise TunerError(f"{script}: its owner has no name on this host: set --user to the job's owner") from None
