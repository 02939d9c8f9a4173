# SPDX-License-Identifier: Apache-2.0
"""What a user's jobs have told about their programs, as the database has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.database.decisions import TOLD_AT, Decisions
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_file import program_file
from reprise.matcher.submission.program_identity import ProgramIdentity, identity_in

OLDEST_S = 30 * 86_400.0
"""Seconds for which an answer counts. A program that nobody has run for a month has mostly been built anew."""
LATEST = 1000
"""Decisions of a user that are looked through; it takes 10 ms."""


@dataclass(frozen=True)
class Told:
    """An answer: who the program at `path` is, and when that was said, in Unix seconds."""

    path: str
    identity: ProgramIdentity
    at: float


def told_identities(database: Decisions, uid: int, now: float) -> Sequence[Told]:
    """Return a user's answers that still count at a time in Unix seconds, oldest first."""
    return [_told(metadata) for metadata in database.told_programs(uid, now - OLDEST_S, LATEST)]


def _told(metadata: Mapping[str, Any]) -> Told:
    job = JobMetadata.from_json(metadata)
    return Told(program_file(job), identity_in(job), float(metadata[TOLD_AT]))
