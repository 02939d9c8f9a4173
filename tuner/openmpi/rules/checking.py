# SPDX-License-Identifier: Apache-2.0
"""Findings about a rules file, such as errors and unintended effects, for each release of Open MPI that may read it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from reprise.tuner.openmpi.algorithms import is_unsafe
from reprise.tuner.openmpi.catalogue import CATALOGUE, UNITS
from reprise.tuner.openmpi.rules import classic_form
from reprise.tuner.openmpi.rules.releases import Reading
from reprise.tuner.openmpi.rules.rules_model import SizeRule, decide, differences
from reprise.tuner.openmpi.rules.scan import decimal

Level = Literal["error", "warning", "note"]

_ODD_NUMBER = re.compile(rb"(?<![\w.])[+-]?0(?:[0-9]{1,64}|[bB][01]{1,64})(?![\w.])")


@dataclass(frozen=True)
class Finding:
    """A finding about a rules file: the releases to which it applies, and a message with the remedy.

    `level` is "error" if the file does not take effect as written or a job that gets the file fails, "warning" if the
    file's effect may differ from the intended one, and "note" otherwise.
    """

    level: Level
    releases: Sequence[str]
    message: str


def findings(data: bytes, readings: Sequence[Reading]) -> list[Finding]:
    """Return all findings, the worst first.

    A finding that applies to several releases occurs once.
    """
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
    if reading.crashes:
        yield "error", f"jobs may crash in MPI_Init while they read the file: {reading.dropped}"
        return
    if reading.dropped:
        yield "error", f"the whole file is ignored without a message: {reading.dropped}"
        return
    if not any(reading.rules.values()):
        yield "warning", "the file has no rules: the built-in rules decide everything"
    for name, comms in reading.rules.items():
        if comms and name not in UNITS:
            yield "note", f"{name} does not use rules files: its rules have no effect"
            continue
        for comm in comms:
            for row in comm.rows:
                yield from _of_row(name, row, reading)
    if reading.form != "JSON":
        yield from _of_listed(data, reading)
    if reading.family.han_first and any(reading.rules.values()):
        yield (
            "note",
            "han outranks tuned, so the rules have no effect on communicators across nodes: set "
            "OMPI_MCA_coll_han_priority=0 with the file",
        )


def _of_row(name: str, row: SizeRule, reading: Reading) -> Iterator[tuple[Level, str]]:
    known, number = reading.family.algorithms.get(name, {}), row.choice.algorithm
    if number and number not in known:
        what = f"no algorithm {number}" if number > 0 else "no such algorithm"
        if reading.form == "JSON":
            yield "warning", f"{row.where}: {name} has {what}: the rule is skipped"
        elif row.low <= row.high:
            aborts = "a job aborts in the first call that this row decides"
            yield "error", f"{row.where}: {name} has {what}: {aborts}: use 0 to {max(known)}"
    elif row.low > row.high and reading.form == "JSON":
        yield "warning", f"{row.where}: no message has at least {row.low} and at most {row.high} bytes"
    elif number and name in CATALOGUE and is_unsafe(name, known[number]):
        wrong = "gives wrong results in some programs if a file selects it (docs/explanation/openmpi.md)"
        yield "warning", f"{row.where}: {name} by {known[number]} {wrong}"


def _of_listed(data: bytes, reading: Reading) -> Iterator[tuple[Level, str]]:
    """Yield warnings about a classic rules file: unsorted sizes, and rules that also apply to smaller communicators."""
    for name, nodes in classic_form.listed(data, reading.family.dialect).items():
        for node in nodes:
            for before, comm in pairwise(node.comms):
                if comm.key < before.key:
                    what = f"{comm.key} ranks follow {before.key}"
                    yield "warning", f"{comm.where}: {what}: sort the entries of {name} by their sizes"
            for comm in node.comms:
                for above, row in pairwise(comm.rows):
                    if row.size <= above.size:
                        what = f"{row.size} bytes follow {above.size}"
                        yield (
                            "warning",
                            f"{row.where}: {what}: sort the rows of {name} by size, and list each size once",
                        )
        first = nodes[0].comms[0] if nodes and nodes[0].comms else None
        falls_back = not reading.family.dialect.nodes and not reading.family.dialect.shifted
        if first and falls_back and first.key > 2 and any(row.choice.algorithm for row in first.rows):
            yield (
                "warning",
                f"{first.where}: communicators of fewer than {first.key} ranks get this entry of {name}, too: insert "
                "one for 1 rank with the row 0 0 0 0 before it",
            )


def _of_numbers(data: bytes, readings: Sequence[Reading]) -> Iterator[tuple[Level, str]]:
    """Yield findings about numbers in the classic form whose values may be unexpected, such as octal numbers."""
    if not any(reading.form != "JSON" and not reading.dropped for reading in readings):
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        for match in _ODD_NUMBER.finditer(line.split(b"#")[0]):
            word = match[0].decode("ascii")
            digits = word.lstrip("+-").lower()
            if digits.startswith("0b"):
                yield (
                    "warning",
                    f"line {number}: {word} is {int(digits, 2)} if Open MPI was built with glibc 2.38 or newer, and "
                    "otherwise 0, followed by the remaining digits",
                )
            elif set(digits) & set("89"):
                yield "warning", f"line {number}: {word} starts like an octal number, and is read as several numbers"
            elif int(digits, 8) != decimal(digits.encode()):
                yield "note", f"line {number}: {word} is octal, that is {int(digits, 8)}"


def _disagreements(readings: Sequence[Reading]) -> Iterator[Finding]:
    """Yield a finding for each release that decides a call differently from the first release that reads the file."""
    first = next((reading for reading in readings if not reading.dropped), None)
    for other in readings:
        if first is None or other.dropped or other is first:
            continue
        # A communicator of one rank uses no rules, so a difference there does not matter.
        call = next((call for call in differences(first.rules, other.rules) if call[2] > 1), None)
        if call:
            name, nodes, ranks, size = call
            chosen = [decide(reading.rules, *call) for reading in (first, other)]
            words = [f"algorithm {choice.algorithm}" if choice.algorithm else "the built-in rules" for choice in chosen]
            yield Finding(
                "warning",
                [other.family.name],
                f"its meaning differs from {first.family.name}: {name} of {size} compared bytes, {ranks} "
                f"ranks, nodes: {nodes}, gets {words[1]} instead of {words[0]}",
            )
