# SPDX-License-Identifier: Apache-2.0
"""Access patterns that I/O forwarders saw in a user's earlier jobs, by program, read from the database.

A program is recognized by its user and path, as for reported program identities (told_identities). Patterns of other
users' jobs never count, and neither do bytes whose user munge did not confirm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from reprise.database.job_patterns import JobPatterns
from reprise.matcher.detection.usual_kinds import usual_kinds
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_file import program_file
from reprise.matcher.support.told_identities import LATEST, OLDEST_S

MOST_PROGRAMS = 64
"""Maximum number of a user's programs that are remembered, those that ran most recently."""

Kinds = Mapping[str, tuple[str, ...]]
"""The usual kinds of accesses of a user's programs, by path."""


def kinds_of_programs(database: JobPatterns, uid: int, now: float) -> Kinds:
    """Return the usual kinds of accesses of a user's programs at the time `now` (Unix seconds)."""
    runs: dict[str, list[Mapping[str, int]]] = {}
    for run in database.patterns_of_user(uid, now - OLDEST_S, LATEST):
        path = program_file(JobMetadata.from_json(run.metadata))
        if path and (path in runs or len(runs) < MOST_PROGRAMS):
            runs.setdefault(path, []).append(run.bytes_of)
    return {path: kinds for path, of_program in runs.items() if (kinds := usual_kinds(of_program))}


def with_kinds(job: JobMetadata, kinds: Kinds) -> JobMetadata:
    """Return a new job with the usual kinds of accesses of its program; unchanged if they are unknown."""
    found = kinds.get(program_file(job))
    return dataclasses.replace(job, io_patterns=found) if found else job
