# SPDX-License-Identifier: Apache-2.0
"""List of batch scripts in which the parser found no program; jobs with such scripts rarely match a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reprise.database.entities import UnreadScript
from reprise.matcher.support.explanation import HIDDEN
from reprise.matcher.support.staff import Reader

JSON_VERSION = 1
HEADINGS = ("rank", "user", "script", "jobs", "node-hours", "newest decision")


def rows(scripts: Sequence[UnreadScript], reader: Reader) -> Iterator[tuple[str, ...]]:
    """Yield each script's cells for the columns HEADINGS; the job's name replaces an unknown path."""
    for rank, one in enumerate(scripts, 1):
        seen = reader.sees(one.uid)
        yield (
            str(rank),
            one.user if seen else HIDDEN,
            (one.script_path or one.job_name) if seen else HIDDEN,
            str(one.jobs),
            f"{one.node_hours:.1f}",
            one.decision_id,
        )


def document(scripts: Sequence[UnreadScript], reader: Reader) -> dict[str, Any]:
    """Return the list as a JSON-ready dictionary for programs. Within a version, keys are only added."""
    return {"version": JSON_VERSION, "scripts": [_json(rank, one, reader) for rank, one in enumerate(scripts, 1)]}


def _json(rank: int, one: UnreadScript, reader: Reader) -> dict[str, Any]:
    seen = reader.sees(one.uid)
    return {
        "rank": rank,
        "user": one.user if seen else None,
        "uid": one.uid if seen else None,
        "script": (one.script_path or None) if seen else None,
        "job_name": one.job_name if seen else None,
        "jobs": one.jobs,
        "node_hours": one.node_hours,
        "decision": one.decision_id,
        "hidden": not seen,
    }
