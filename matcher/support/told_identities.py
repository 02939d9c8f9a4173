# SPDX-License-Identifier: Apache-2.0
"""Program identities that a user's jobs have reported, read from the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.database.decisions import TOLD_AT, Decisions
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_file import program_file
from reprise.matcher.submission.program_identity import ProgramIdentity, identity_in

OLDEST_S = 30 * 86_400.0
"""Seconds for which a report is valid; most programs that have not run for a month have been rebuilt since."""
LATEST = 1000
"""Maximum number of a user's decisions that are searched for reports; the search takes 10 ms."""


@dataclass(frozen=True)
class Told:
    """A job's report of the identity of the program at `path`, with its time in Unix seconds."""

    path: str
    identity: ProgramIdentity
    at: float


def told_identities(database: Decisions, uid: int, now: float) -> Sequence[Told]:
    """Return a user's reports that are still valid at the time `now` (Unix seconds), oldest first."""
    return [_told(metadata) for metadata in database.told_programs(uid, now - OLDEST_S, LATEST)]


def _told(metadata: Mapping[str, Any]) -> Told:
    job = JobMetadata.from_json(metadata)
    return Told(program_file(job), identity_in(job), float(metadata[TOLD_AT]))
