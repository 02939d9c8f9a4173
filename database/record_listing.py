# SPDX-License-Identifier: Apache-2.0
"""Listings of records, as rows of text for people and as JSON for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from reprise.database.entities import Record, Scope, StatusChange
from reprise.database.gain_subject import subject

JSON_VERSION = 1
"""Version of the output of `reprise records list --json`, incremented for changes that could mislead its readers."""
HEADINGS = ("id", "component", "scope", "application", "context", "gain", "samples", "status", "age")

_AGES = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def row(record: Record, now: float, quarantined_for: int = 0) -> tuple[str, ...]:
    """Return a record's cells in the columns HEADINGS.

    `now` is in Unix seconds; `quarantined_for` is the number of users for whom the record is quarantined.
    """
    but = f", but not for {quarantined_for} user{'s' * (quarantined_for > 1)}" if quarantined_for else ""
    return (
        str(record.id),
        f"{record.component} {record.component_version}",
        record.scope.value,
        _application(record),
        ", ".join(f"{key}={_value(value)}" for key, value in record.context.items()) or "any",
        _gain(record),
        f"{record.default.n} + {record.tuned.n}",
        f"{record.status.value}{but}",
        age(now - record.created_at),
    )


def plain(rows: Sequence[Sequence[str]], headings: Sequence[str] = HEADINGS) -> str:
    """Return rows as text in aligned columns, with the headings first.

    Each row is one line, whatever its cells contain.
    """
    lines = [tuple(headings), *(tuple(printable(cell) for cell in cells) for cells in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def document(records: Sequence[Record]) -> dict[str, Any]:
    """Return a list of records in the form that `reprise records list --json` prints."""
    return {"version": JSON_VERSION, "records": [one(record) for record in records]}


def one(record: Record) -> dict[str, Any]:
    """Return a record in a form that can be converted to JSON, with the subject of its gain.

    The subject, `gain_of`, is "" if it is the run time of the record's application.
    """
    return {**dataclasses.asdict(record), "gain_of": subject(record.parametrization)}


def age(seconds: float) -> str:
    """Return a time span in its largest whole unit, e.g. "3 d"; "0 s" if it is less than a second or negative."""
    for size, unit in _AGES:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return "0 s"


def printable(text: str) -> str:
    """Return `text` with unprintable characters replaced.

    Users choose job names, which could otherwise control a terminal.
    """
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _application(record: Record) -> str:
    if record.scope is Scope.CLUSTER:
        return "any"
    parts = (record.metadata.get(key) for key in ("user", "job_name", "program"))
    return " ".join(str(part) for part in parts if part) or "unknown"


def _value(value: Any) -> str:
    return "|".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _gain(record: Record) -> str:
    of = subject(record.parametrization)
    bounds = f"{_percent(record.gain_low)} to {_percent(record.gain_high)}"
    return f"{_percent(record.gain)} % ({bounds}){' of ' + of if of else ''}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def history(changes: Iterable[StatusChange]) -> list[dict[str, Any]]:
    """Return a record's status history as a list that can be converted to JSON."""
    return [{"at": one.at, "status": one.status, "reason": one.reason} for one in changes]
