# SPDX-License-Identifier: Apache-2.0
"""Settings that a new site must make, and whose values Slurm and Open MPI know.

A setting that the configuration file changes is never touched, because an admin has chosen its value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.config import Config
from reprise.doctor.probes import Ran, Run
from reprise.doctor.slurm_checks import read_settings

Value = str | int | list[str]

# Words that follow a value that was found.
MORE_RELEASES = "add the other releases that jobs load"
KEPT = "as in the file"


@dataclass(frozen=True)
class Found:
    """A setting, the value that was found for it, None if none was, and where; `current` is the value in force.

    `is_chosen` is True if the current value is not the default, so that it must be kept.
    """

    table: str
    key: str
    value: Value | None
    source: str
    current: Value
    is_chosen: bool

    @property
    def name(self) -> str:
        """Name of the setting, such as `site.nodes`."""
        return f"{self.table}.{self.key}"

    @property
    def is_new(self) -> bool:
        """Whether the value should be written to the file."""
        return self.value is not None and not self.is_chosen and self.value != self.current

    def text(self) -> str:
        """Return a line that says what was found, and what becomes of it."""
        if self.value is None:
            return f"{self.name}: unknown ({self.source}), {_shown(self.current)} is in force"
        told = f"{self.name}: {_shown(self.value)} ({self.source})"
        if self.is_chosen or self.value == self.current:
            differs = "" if self.value == self.current else f", and the file has {_shown(self.current)}, which is kept"
            return f"{told}{differs}" if differs else f"{told}, {KEPT}"
        return told

    def to_json(self) -> dict[str, Any]:
        """Return the setting as a JSON-ready dictionary."""
        told = {"setting": self.name, "value": self.value, "source": self.source, "current": self.current}
        return {**told, "new": self.is_new}


def look(run: Run, config: Config) -> Sequence[Found]:
    """Ask Slurm and Open MPI for the settings that a new site must make."""
    default = Config()
    site, openmpi = config.site, config.openmpi
    found: list[Found] = []
    for table, key, current, unset, (value, source) in (
        ("site", "cluster", site.cluster, default.site.cluster, _cluster(run)),
        ("site", "nodes", site.nodes, default.site.nodes, _nodes(run)),
        ("openmpi", "releases", openmpi.releases, default.openmpi.releases, _releases(run, openmpi.ompi_info)),
    ):
        found.append(Found(table, key, value, source, current, current != unset))
    return found


def filled(text: str, settings: Iterable[Found]) -> str:
    """Return the text of a configuration file with the values of `settings`; comments and other lines stay.

    The file must be valid. If it has a setting, its line is replaced; else the setting is added to its table.
    """
    lines = text.splitlines()
    for one in settings:
        setting = f"{one.key} = {_shown(one.value)}"
        begin = _line_of(lines, rf"\s*\[\s*{one.table}\s*\]")
        if begin is None:
            lines += ["", f"[{one.table}]", setting]
            continue
        end = _line_of(lines, r"\s*\[", begin + 1)
        place = _line_of(lines, rf"\s*{one.key}\s*=", begin + 1, end)
        if place is None:
            lines.insert(begin + 1, setting)
        else:
            lines[place] = setting
    return "\n".join(lines) + "\n"


def _line_of(lines: Sequence[str], beginning: str, first: int = 0, end: int | None = None) -> int | None:
    """Return the index of the first line that begins with the expression `beginning`; None if there is none."""
    numbers = range(first, len(lines) if end is None else end)
    return next((number for number in numbers if re.match(beginning, lines[number])), None)


def _cluster(run: Run) -> tuple[str | None, str]:
    command = ("scontrol", "show", "config")
    ran = run(command)
    name = read_settings(ran.stdout).get("ClusterName", "").lower() if ran.status == 0 else ""
    return (name, f"ClusterName in `{' '.join(command)}`") if name else (None, _failed(command, ran))


def _nodes(run: Run) -> tuple[int | None, str]:
    command = ("scontrol", "--oneliner", "show", "nodes")
    ran = run(command)
    names = set(re.findall(r"^NodeName=(\S+)", ran.stdout, re.MULTILINE)) if ran.status == 0 else set()
    return (len(names), "nodes in `scontrol show nodes`") if names else (None, _failed(command, ran))


def _releases(run: Run, ompi_info: str) -> tuple[list[str] | None, str]:
    command = (ompi_info, "--version")
    ran = run(command)
    release = re.search(r"Open MPI v?(\d+\.\d+\.\d+\S*)", ran.stdout) if ran.status == 0 else None
    shown = f"`{' '.join(command)}`"
    return ([release[1]], f"{shown}: {MORE_RELEASES}") if release else (None, _failed(command, ran))


def _failed(command: Sequence[str], ran: Ran) -> str:
    return f"`{' '.join(command)}` does not say: {' '.join(ran.complaint.split())}"


def _shown(value: Value | None) -> str:
    """Return a value as TOML, which for these types is JSON."""
    return json.dumps(value, ensure_ascii=False)


def document(found: Iterable[Found], file: str, written: bool) -> Mapping[str, Any]:
    """Return what was found as JSON-ready data; `written` is True if the file was changed."""
    return {"file": file, "written": written, "settings": [one.to_json() for one in found]}
