# SPDX-License-Identifier: Apache-2.0
"""Check which MPI-IO hints were in effect in a trial, as recorded by the library `reprise-witness.so` (hints.c)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LIBRARY = "reprise-witness.so"
FILE = "witness.jsonl"  # name of the file in a trial's directory to which the library writes
READ_LIMIT = 4 * 1024 * 1024  # maximum number of characters to read of FILE
MCA = "OMPI_MCA_"
ENVIRONMENT: Mapping[str, str] = {"REPRISE_WITNESS": f"{{directory}}/{FILE}", "ROMIO_PRINT_HINTS": "1"}
"""Variables that make the witness in a trial's application write FILE, and that make ROMIO report its hints."""


@dataclass(frozen=True)
class Opened:
    """File that a trial opened through MPI-IO, with the hints for the file.

    `program` has the hints that the program itself passed. `hints` has the hints in effect as reported by ROMIO; it is
    None if ROMIO did not open the file. `settings` has the values of the requested settings of Open MPI, as far as Open
    MPI has such settings.
    """

    file: str
    program: Mapping[str, str]
    hints: Mapping[str, str] | None
    settings: Mapping[str, str] = field(default_factory=dict)


def seen_in(directory: Path) -> list[Opened]:
    """Return the files that were opened in a trial, in order; incomplete lines of FILE are ignored."""
    try:
        with (directory / FILE).open(encoding="utf-8", errors="replace") as opened:
            lines = opened.read(READ_LIMIT).splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            row = json.loads(line)
            found.append(Opened(row["file"], row["program"], row["hints"], row["settings"]))
        except (ValueError, KeyError, TypeError):
            continue
    return found


def settings_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the Open MPI settings in an environment, by their names without OMPI_MCA_."""
    return {name.removeprefix(MCA): value for name, value in environment.items() if name.startswith(MCA)}


def asking_for(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make the witness record settings of Open MPI.

    Recording takes 0.2 s, so these variables are not set in measured runs.
    """
    return {"REPRISE_WITNESS_SETTINGS": ",".join(settings)}


def unknown_setting(given: Mapping[str, str], seen: Sequence[Opened]) -> str:
    """Return a line about the first setting that Open MPI does not have or does not apply; "" if all are in effect."""
    for name, value in given.items():
        found = [one.settings[name] for one in seen if name in one.settings]
        if not found:
            return f"setting {name}: Open MPI does not recognize it: correct its name"
        if not any(_same(value, one) for one in found):
            return f"setting {name} = {value}: {found[0]} is in effect instead: leave the value out of the space"
    return ""


def given_hints(text: str) -> dict[str, str]:
    """Return the hints in the text of a hints file: lines of two words that do not start with `#`."""
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def objection(given: Mapping[str, str], seen: Sequence[Opened], *, by_program: bool = False) -> str:
    """Return the reason why a run did not measure its hints; "" if each hint was in effect for at least one file.

    With `by_program`, a library in the program (PnetCDF) passes the hints to MPI-IO. Each hint must then reach MPI-IO
    with its value, and a hint that ROMIO reports must also be in effect in ROMIO.
    """
    if not seen:
        return (
            "no file was opened through MPI-IO, so hints have no effect: tune another component, or link the program "
            "dynamically, because a static program cannot be observed"
        )
    if not given:
        return ""
    if by_program:
        return _not_handed_over(given, seen)
    by_romio = [one for one in seen if one.hints is not None]
    if not by_romio:
        return f"{seen[0].file}: not opened by ROMIO, and only ROMIO reads the hints: also set OMPI_MCA_io=^ompio"
    for name, value in given.items():
        if not any(_same(value, (one.hints or {}).get(name)) for one in by_romio):
            return _why(name, value, by_romio[0])
    return ""


def _not_handed_over(given: Mapping[str, str], seen: Sequence[Opened]) -> str:
    for name, value in given.items():
        arrived = [one for one in seen if _same(value, one.program.get(name))]
        if not arrived:
            return f"{seen[0].file}: hint {name} = {value} did not reach MPI-IO: check that PnetCDF opens the file"
        if all(name in (one.hints or {}) and not _same(value, (one.hints or {})[name]) for one in arrived):
            return _why(name, value, arrived[0])
    return ""


def overridden(given: Mapping[str, str], seen: Sequence[Opened]) -> list[str]:
    """Return a line for each given hint that the program itself sets to another value for a file."""
    return [
        f"{one.file}: the program sets {name} to {one.program[name]} itself, which overrides the hints file"
        for one in seen
        for name, value in given.items()
        if name in one.program and not _same(value, one.program[name])
    ]


def _why(name: str, value: str, opened: Opened) -> str:
    own, effect = opened.program.get(name), (opened.hints or {}).get(name)
    where = f"{opened.file}: hint {name} = {value}"
    if own is not None and not _same(value, own):
        return f"{where}: the program overrides it with {own}: leave it out of the space"
    if effect is None:
        return f"{where}: ROMIO does not recognize it: leave it out of the space, or correct its name"
    return f"{where}: {effect} is in effect instead: leave the value out of the space"


def _same(given: str, effect: str | None) -> bool:
    if effect is None:
        return False
    try:
        return int(given) == int(effect)
    except ValueError:
        return given.lower() == effect.lower()
