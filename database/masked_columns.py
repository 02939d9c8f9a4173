# SPDX-License-Identifier: Apache-2.0
"""Which columns may hold text of users, and their cells without its secrets. Whatever is written goes through here.

Every column of text is masked but those in `OURS`, so that a new column is masked unless it is put there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from reprise.database.masked_json import habits_of, masked_json, may_hold_secret
from reprise.database.secret_masking import masked_text
from reprise.database.secret_programs import NONE, Habits

OURS: Mapping[str, frozenset[str]] = {
    "campaign": frozenset({"component", "component_version", "context", "state"}),
    "trial": frozenset({"problem", "role", "parametrization", "state", "unit"}),
    "artifact": frozenset({"sha256", "path", "kind"}),
    "record": frozenset(
        {
            *("component", "component_version", "scope", "context", "parametrization", "environment", "conflicts"),
            *("default", "tuned", "default_unit", "tuned_unit", "artifact_sha256", "status"),
        }
    ),
    "record_status": frozenset({"status"}),
    "decision": frozenset({"id", "point", "cluster", "mode", "verdict", "model", "injected", "block"}),
    "outcome": frozenset({"cluster", "verdict", "decision_id"}),
    "service_run": frozenset({"version"}),
    "prediction": frozenset({"family", "component", "component_version", "target", "engine"}),
    "user_quarantine": frozenset(),
    "profile": frozenset(),
}
"""Of each table, columns that nothing is masked in: they hold words of ours, rows are looked up by them, or jobs are
given them as they are (settings). What users' programs are called and given is in none of them."""
OUTBOX = "outbox"
JSON_BEGINS = ("{", "[")


def masked_cell(text: str, habits: Habits = NONE) -> str:
    """A cell with text or JSON as it may be stored. JSON without a secret stays as it is written, byte by byte."""
    if not text.startswith(JSON_BEGINS):
        return masked_text(text)
    if habits is NONE and not may_hold_secret(text):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return masked_text(text)
    masked = masked_json(value, habits)
    return text if masked == value else json.dumps(masked, separators=(",", ":"))


def masked_row(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as it may be stored, whose cells another program or another host has made."""
    if table == OUTBOX:
        return {**row, "message": masked_message(row["message"])}
    habits = habits_in(row.get("metadata"))
    ours = OURS.get(table, frozenset())
    return {
        name: masked_cell(cell, habits) if isinstance(cell, str) and name not in ours else cell
        for name, cell in row.items()
    }


def masked_message(message: Any) -> Any:
    """A replica's message: a row of the table that its `kind` names."""
    try:
        found = json.loads(message)
        row, kind = found["row"], found["kind"]
    except (ValueError, TypeError, KeyError):
        return masked_cell(message) if isinstance(message, str) else message
    if not isinstance(row, dict) or not isinstance(kind, str):
        return masked_cell(message)
    masked = masked_row(kind, row)
    return message if masked == row else json.dumps({**found, "row": masked})


@lru_cache(maxsize=1)  # the cells of one row come one after the other
def habits_in(metadata: Any) -> Habits:
    """The habits of the program in a cell with a job's metadata, for what tells about it elsewhere."""
    try:
        return habits_of(json.loads(metadata)) if isinstance(metadata, str) else NONE
    except (ValueError, RecursionError):
        return NONE
