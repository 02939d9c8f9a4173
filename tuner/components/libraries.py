# SPDX-License-Identifier: Apache-2.0
"""The libraries that a component loads into its application, as files of `[tuner] preload_directory`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from reprise.allowlist import PRELOAD_VARIABLE
from reprise.tuner.components.described_component import ComponentParameter, Description
from reprise.tuner.errors import TunerError


def file_of(name: str, directory: Path) -> Path:
    """The library of this name, as the plugin finds it for jobs."""
    return directory / f"libreprise_{name}.so"


def required(name: str, directory: Path) -> list[str]:
    """Its file, where there is a name. Raises TunerError where there is no file: all trials would be the same."""
    if not name:
        return []
    path = file_of(name, directory)
    if not path.exists():
        raise TunerError(f"{path}: there is no such library: {_remedy()}")
    return [str(path)]


def with_present(description: Description, directory: Path) -> Description:
    """Without the choices of a library that is not installed: its trials would be runs without any, with a warning of
    the loader. Raises TunerError where none is left."""
    parameters = [_present(parameter, directory) for parameter in description.parameters]
    return dataclasses.replace(description, parameters=parameters)


def _present(parameter: ComponentParameter, directory: Path) -> ComponentParameter:
    if parameter.name != PRELOAD_VARIABLE:
        return parameter
    kept = [v for v in parameter.values if v == parameter.unset or file_of(str(v), directory).exists()]
    if all(value == parameter.unset for value in kept):
        absent = ", ".join(str(file_of(str(v), directory)) for v in parameter.values if v != parameter.unset)
        raise TunerError(f"{parameter.key}: there is none of {absent}: {_remedy()}")
    return dataclasses.replace(parameter, values=kept)


def _remedy() -> str:
    return "install it there (`make install-accelerators`), or set [tuner] preload_directory to where it is"
