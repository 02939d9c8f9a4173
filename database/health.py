# SPDX-License-Identifier: Apache-2.0
"""Checks that a database is undamaged, and that its records' files have not changed since they were published."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

from reprise.database.entities import Artifact
from reprise.database.errors import DatabaseError
from reprise.database.facade import Database
from reprise.database.gain_subject import is_withdrawn, subject
from reprise.database.joint_component import artifacts_of


def examine(path: Path | str) -> list[str]:
    """Return the problems of the database at `path` and of its active records' artifacts.

    Each problem is one line with a remedy. If the database is damaged, the artifacts are not examined.
    """
    try:
        with Database.open(path, read_only=True) as database:
            damage = database.problems()
            if damage:
                return [f"{path}: {line}: restore it from a backup" for line in damage]
            return _artifact_problems(database)
    except DatabaseError as error:
        return [str(error)]


def _artifact_problems(database: Database) -> list[str]:
    problems = []
    for record in database.records():
        for sha256 in artifacts_of(record):
            if problem := artifact_problem(database.artifact(sha256)):
                problems.append(f"record {record.id}: {problem}: restore the file, or tune again")
    return problems


def withdrawn(path: Path) -> list[int]:
    """Return the ids of active records whose gain was measured by the withdrawn method of Reprise 0.1.

    If the database is damaged, the list is empty, and `examine` reports the damage.
    """
    try:
        with Database.open(path, read_only=True) as database:
            return [record.id for record in database.records() if is_withdrawn(subject(record.parametrization))]
    except DatabaseError:
        return []


def artifact_problem(artifact: Artifact) -> str | None:
    """Return a description of the problem with an artifact's file, None if there is no problem."""
    path = Path(artifact.path)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            return f"artifact {path} is not a regular file"
        if not mode & stat.S_IROTH:
            return f"artifact {path} is not readable by every user (mode {stat.S_IMODE(mode):04o})"
        content = path.read_bytes()
    except OSError as error:
        return f"artifact {path} cannot be read ({error.strerror})"
    if hashlib.sha256(content).hexdigest() != artifact.sha256:
        return f"artifact {path} was changed after it was published"
    return None
