# SPDX-License-Identifier: Apache-2.0
"""What is wrong, or surprising, with a rules file, for each release that might get it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tuner.collectives.algorithms import is_unsafe
from tuner.collectives.catalogue import CATALOGUE, UNITS
from tuner.collectives.rules import classic
from tuner.collectives.rules.model import CommRule, SizeRule, decide, differences
from tuner.collectives.rules.releases import Reading

Level = Literal["error", "warning", "note"]

_ODD_NUMBER = re.compile(rb"(?<![\w.])[+-]?0(?:[0-9]+|[xX][0-9a-fA-F]*|[bB][01]+)(?![\w.])")


@dataclass(frozen=True)
class Finding:
    """One thing to know about a file: in which releases it is so, and what to do.

    error: the file does not do what it says, or a job that gets it fails. warning: it may not do what was meant.
    """

    level: Level
    releases: Sequence[str]
    message: str


def findings(data: bytes, readings: Sequence[Reading]) -> list[Finding]:
    """All findings, the worst first; what is so in several releases is told once."""
    found: dict[tuple[Level, str], list[str]] = {}
    for reading in readings:
        for level, message in _of_reading(data, reading):
            releases = found.setdefault((level, message), [])
            if reading.family.name not in releases:
                releases.append(reading.family.name)
    everywhere = [reading.family.name for reading in readings]
    for level, message in _of_numbers(data, readings):
        found.setdefault((level, message), everywhere)
    listed = [Finding(level, releases, message) for (level, message), releases in found.items()]
    listed += _disagreements(readings)
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(listed, key=lambda finding: order[finding.level])


def _of_reading(data: bytes, reading: Reading) -> Iterator[tuple[Level, str]]:
    if reading.dropped:
        yield "error", f"the whole file is ignored, without a word: {reading.dropped}"
        return
    if not any(reading.rules.values()):
        yield "warning", "it holds no rule: all is left to the built-in rules"
    for name, comms in reading.rules.items():
        if comms and name not in UNITS:
            yield "note", f"{name} asks no rules file: its rules have no effect"
            continue
        for comm in comms:
            yield from _of_comm(name, comm, reading)
    if reading.form == "classic" and not reading.family.dialect.shifted:
        yield from _unguarded(data, reading)
    if reading.family.han_first and any(reading.rules.values()):
        yield (
            "note",
            "han outranks tuned, so that the rules have no effect on communicators across nodes: set "
            "OMPI_MCA_coll_han_priority=0 with the file",
        )


def _of_comm(name: str, comm: CommRule, reading: Reading) -> Iterator[tuple[Level, str]]:
    if comm.ranks[0] > comm.ranks[1] or comm.nodes[0] > comm.nodes[1]:
        yield "warning", f"{comm.where}: no communicator ever gets this entry of {name}: sort them by their sizes"
        return
    for row in comm.rows:
        yield from _of_row(name, row, reading)


def _of_row(name: str, row: SizeRule, reading: Reading) -> Iterator[tuple[Level, str]]:
    known, number = reading.family.algorithms.get(name, {}), row.choice.algorithm
    if number and number not in known:
        what = (
            f"{row.where}: {name} has no algorithm {number}"
            if number > 0
            else f"{row.where}: {name}: no such algorithm"
        )
        if reading.form == "JSON":
            yield "warning", f"{what}: the rule is left out"
        elif row.low <= row.high:
            yield "error", f"{what}: a job aborts in the first call that this row decides: use 0 to {max(known)}"
    elif row.low > row.high:
        yield "warning", f"{row.where}: no message ever gets this row of {name}: sort them by their sizes, each once"
    elif number and name in CATALOGUE and is_unsafe(name, known[number]):
        yield (
            "warning",
            f"{row.where}: {name} by {known[number]} from a file gives wrong results to some (docs/openmpi.md)",
        )


def _unguarded(data: bytes, reading: Reading) -> Iterator[tuple[Level, str]]:
    """Of the classic form, where a communicator that is smaller than all entries gets the first one."""
    for name, nodes in classic.listed(data, reading.family.dialect).items():
        comms = nodes[0].comms
        if comms and comms[0].key > 2 and any(row.choice.algorithm for row in comms[0].rows):
            yield (
                "warning",
                f"{comms[0].where}: communicators of fewer than {comms[0].key} ranks get this entry of {name} too: put "
                "one for 1 rank with the row 0 0 0 0 in front",
            )


def _of_numbers(data: bytes, readings: Sequence[Reading]) -> Iterator[tuple[Level, str]]:
    if all(reading.form == "JSON" for reading in readings):
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        for match in _ODD_NUMBER.finditer(line.split(b"#")[0]):
            word = match[0].decode("ascii")
            digits = word.lstrip("+-").lower()
            if digits.startswith("0b"):
                yield (
                    "warning",
                    f"line {number}: {word} is {int(digits, 2)} if Open MPI was built with glibc 2.38 or newer, and 0 "
                    "and what follows it otherwise",
                )
            elif digits.strip("0x"):
                value = re.match("0x[0-9a-f]+|0[0-7]+", digits)
                if value and value[0] == digits:
                    yield "note", f"line {number}: {word} is read as {int(digits, 16 if 'x' in digits else 8)}"
                else:
                    yield "warning", f"line {number}: {word} is read as several numbers: it begins like an octal one"


def _disagreements(readings: Sequence[Reading]) -> Iterator[Finding]:
    """One call for each release that decides it otherwise than the first one that reads the file at all."""
    first = next((reading for reading in readings if not reading.dropped), None)
    for other in readings:
        if first is None or other.dropped or other is first:
            continue
        call = next(differences(first.rules, other.rules), None)
        if call:
            name, nodes, ranks, size = call
            chosen = [decide(reading.rules, *call) for reading in (first, other)]
            words = [f"algorithm {choice.algorithm}" if choice.algorithm else "the built-in rules" for choice in chosen]
            yield Finding(
                "warning",
                [other.family.name],
                f"it means something else than in {first.family.name}: {name} of {size} compared bytes among {ranks} "
                f"ranks on {nodes} nodes gets {words[1]} instead of {words[0]}",
            )
