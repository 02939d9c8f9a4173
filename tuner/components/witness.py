# SPDX-License-Identifier: Apache-2.0
"""What hints of MPI-IO were in effect in a trial, as the library `reprise-witness.so` (hints.c) has seen it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LIBRARY = "reprise-witness.so"
FILE = "witness.jsonl"  # in a trial's directory
READ_LIMIT = 4 * 1024 * 1024  # characters of it
MCA = "OMPI_MCA_"
ENVIRONMENT: Mapping[str, str] = {"REPRISE_WITNESS": f"{{directory}}/{FILE}", "ROMIO_PRINT_HINTS": "1"}
"""What a trial's application gets beside the library."""


@dataclass(frozen=True)
class Opened:
    """A file that was opened. `program`: what the program asked for itself; `hints`: what ROMIO says is in effect, None
    where it was not ROMIO that opened it; `settings`: of Open MPI, those that were asked for and are there."""

    file: str
    program: Mapping[str, str]
    hints: Mapping[str, str] | None
    settings: Mapping[str, str] = field(default_factory=dict)


def seen_in(directory: Path) -> list[Opened]:
    """What was seen in a trial, in order; a line that was cut short is left out."""
    try:
        with (directory / FILE).open(encoding="utf-8", errors="replace") as opened:
            lines = opened.read(READ_LIMIT).splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            said = json.loads(line)
            found.append(Opened(said["file"], said["program"], said["hints"], said["settings"]))
        except (ValueError, KeyError, TypeError):
            continue
    return found


def settings_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings of Open MPI among variables, by Open MPI's own names."""
    return {name.removeprefix(MCA): value for name, value in environment.items() if name.startswith(MCA)}


def asking_for(settings: Mapping[str, str]) -> dict[str, str]:
    """What makes the witness look at settings. It takes a fifth of a second, so measured runs do without."""
    return {"REPRISE_WITNESS_SETTINGS": ",".join(settings)}


def unknown_setting(given: Mapping[str, str], seen: Sequence[Opened]) -> str:
    """The first of these settings that Open MPI has not, or otherwise, in a line; empty where it has all."""
    for name, value in given.items():
        found = [one.settings[name] for one in seen if name in one.settings]
        if not found:
            return f"setting {name}: Open MPI does not know it: correct its name"
        if not any(_same(value, one) for one in found):
            return f"setting {name} = {value}: is {found[0]} in effect: leave the value out of the space"
    return ""


def given_hints(text: str) -> dict[str, str]:
    """The hints of a file as ROMIO reads it: two words a line, and `#` begins a comment."""
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def objection(given: Mapping[str, str], seen: Sequence[Opened], *, by_program: bool = False) -> str:
    """Why a run with these hints has not measured them; empty where each was in effect for one of the files.

    `by_program`: a library in the program (PnetCDF) hands them to MPI-IO, and they count once they arrive there with
    their values; what ROMIO knows, it must have in effect too.
    """
    if not seen:
        return (
            "no file was opened through MPI-IO, so no hint can matter: tune another component, or look whether the "
            "program is a static one, into which nothing can look"
        )
    if not given:
        return ""
    if by_program:
        return _not_handed_over(given, seen)
    by_romio = [one for one in seen if one.hints is not None]
    if not by_romio:
        return f"{seen[0].file}: was not opened by ROMIO, which alone reads the hints: set OMPI_MCA_io=^ompio with them"
    for name, value in given.items():
        if not any(_same(value, (one.hints or {}).get(name)) for one in by_romio):
            return _why(name, value, by_romio[0])
    return ""


def _not_handed_over(given: Mapping[str, str], seen: Sequence[Opened]) -> str:
    for name, value in given.items():
        arrived = [one for one in seen if _same(value, one.program.get(name))]
        if not arrived:
            return f"{seen[0].file}: hint {name} = {value} did not get there: is it PnetCDF that opens the file?"
        if all(name in (one.hints or {}) and not _same(value, (one.hints or {})[name]) for one in arrived):
            return _why(name, value, arrived[0])
    return ""


def overridden(given: Mapping[str, str], seen: Sequence[Opened]) -> list[str]:
    """The files for which the program sets one of the given hints itself, a line each."""
    return [
        f"{one.file}: the program sets {name} to {one.program[name]} itself, which wins over the hints file"
        for one in seen
        for name, value in given.items()
        if name in one.program and not _same(value, one.program[name])
    ]


def _why(name: str, value: str, opened: Opened) -> str:
    own, effect = opened.program.get(name), (opened.hints or {}).get(name)
    where = f"{opened.file}: hint {name} = {value}"
    if own is not None and not _same(value, own):
        return f"{where}: the program sets it to {own} itself, which wins: leave it out of the space"
    if effect is None:
        return f"{where}: ROMIO does not know it: leave it out of the space, or correct its name"
    return f"{where}: is {effect} in effect: leave the value out of the space"


def _same(given: str, effect: str | None) -> bool:
    if effect is None:
        return False
    try:
        return int(given) == int(effect)
    except ValueError:
        return given.lower() == effect.lower()
