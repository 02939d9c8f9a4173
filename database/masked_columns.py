# SPDX-License-Identifier: Apache-2.0
"""Masking of secrets in columns that may contain users' text; all rows written to the database are masked here.

Every text column is masked except those in `OURS`, so a new column is masked unless it is added to `OURS`.
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
    "forwarder_share": frozenset({"cluster", "forwarders", "policy"}),
    "forwarder_state": frozenset({"cluster", "address"}),
    "job_pattern": frozenset({"pattern"}),
}
"""Columns of each table that are not masked, because they contain fixed words of Reprise, identifiers of rows, or
settings for jobs.

None of these columns contains names or arguments of users' programs.
"""
OUTBOX = "outbox"
JSON_BEGINS = ("{", "[")


def masked_cell(text: str, habits: Habits = NONE) -> str:
    """Return a cell that contains text or JSON, with its secrets masked; JSON without secrets is returned unchanged."""
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
    """Return a row with its secrets masked; the cells may come from another program or another host."""
    if table == OUTBOX:
        return {**row, "message": masked_message(row["message"])}
    habits = habits_in(row.get("metadata"))
    ours = OURS.get(table, frozenset())
    return {
        name: masked_cell(cell, habits) if isinstance(cell, str) and name not in ours else cell
        for name, cell in row.items()
    }


def masked_message(message: Any) -> Any:
    """Return a replica's message, which has a row of the table that its `kind` names, with the row's secrets masked."""
    try:
        found = json.loads(message)
        row, kind = found["row"], found["kind"]
    except (ValueError, TypeError, KeyError):
        return masked_cell(message) if isinstance(message, str) else message
    if not isinstance(row, dict) or not isinstance(kind, str):
        return masked_cell(message)
    masked = masked_row(kind, row)
    return message if masked == row else json.dumps({**found, "row": masked})


@lru_cache(maxsize=1)  # one entry is enough, because the cells of a row are masked one after the other
def habits_in(metadata: Any) -> Habits:
    """Return in which options the program of a job takes secrets, given the cell with the job's metadata."""
    try:
        return habits_of(json.loads(metadata)) if isinstance(metadata, str) else NONE
    except (ValueError, RecursionError):
        return NONE
