# SPDX-License-Identifier: Apache-2.0
"""Is a database sound, and are the files that its records give to jobs what they were when they were measured?"""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

from reprise.database.entities import Artifact
from reprise.database.errors import DatabaseError
from reprise.database.facade import Database


def examine(path: Path) -> list[str]:
    """What is wrong with the database at `path` and the artifacts of its active records: one line each, with remedy."""
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
        if record.artifact_sha256 is None:
            continue
        problem = artifact_problem(database.artifact(record.artifact_sha256))
        if problem:
            problems.append(f"record {record.id}: {problem}: restore the file, or tune again")
    return problems


def artifact_problem(artifact: Artifact) -> str | None:
    """What is wrong with an artifact's file, None if nothing."""
    path = Path(artifact.path)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            return f"artifact {path} is not a regular file"
        if not mode & stat.S_IROTH:
            return f"artifact {path} may not be read by every user (mode {stat.S_IMODE(mode):04o})"
        content = path.read_bytes()
    except OSError as error:
        return f"artifact {path} cannot be read ({error.strerror})"
    if hashlib.sha256(content).hexdigest() != artifact.sha256:
        return f"artifact {path} was changed after it was published"
    return None
