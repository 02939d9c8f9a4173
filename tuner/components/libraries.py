# SPDX-License-Identifier: Apache-2.0
"""Find, in the directory `[tuner] preload_directory`, the libraries that components load into applications."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from reprise.allowlist import PRELOAD_VARIABLE
from reprise.tuner.components.described_component import ComponentParameter, Description
from reprise.tuner.errors import TunerError


def file_of(name: str, directory: Path) -> Path:
    """Return the path of the library with this name; the plugin loads libraries into jobs from the same directory."""
    return directory / f"libreprise_{name}.so"


def required(name: str, directory: Path) -> list[str]:
    """Return a list with the path of the library with this name; empty if the name is empty.

    Raise TunerError if the file does not exist, because all trials would then run without it.
    """
    if not name:
        return []
    path = file_of(name, directory)
    if not path.exists():
        raise TunerError(f"{path}: no such library: {_remedy()}")
    return [str(path)]


def with_present(description: Description, directory: Path) -> Description:
    """Return the description without those parameter values that choose libraries that are not installed.

    With such a value, the loader would only print a warning, and the trial would run without any library. Raise
    TunerError if no library is left to choose.
    """
    parameters = [_present(parameter, directory) for parameter in description.parameters]
    return dataclasses.replace(description, parameters=parameters)


def _present(parameter: ComponentParameter, directory: Path) -> ComponentParameter:
    if parameter.name != PRELOAD_VARIABLE:
        return parameter
    kept = [v for v in parameter.values if v == parameter.unset or file_of(str(v), directory).exists()]
    if all(value == parameter.unset for value in kept):
        absent = ", ".join(str(file_of(str(v), directory)) for v in parameter.values if v != parameter.unset)
        raise TunerError(f"{parameter.key}: none of these libraries is installed: {absent}: {_remedy()}")
    return dataclasses.replace(parameter, values=kept)


def _remedy() -> str:
    return "install it with `make install-accelerators`, or set [tuner] preload_directory to its directory"
