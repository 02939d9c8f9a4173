# SPDX-License-Identifier: Apache-2.0
"""Path of a job's program, derived from the job's metadata."""

from __future__ import annotations

import re
from posixpath import join, normpath, splitext

from reprise.matcher.submission.metadata import JobMetadata

_SCRIPT = re.compile(r"\.[A-Za-z]\w*")


def is_script(job: JobMetadata) -> bool:
    """Return whether the program's name ends in a script's suffix.

    For example, `run.py` has such a suffix, but `solver` and `solver-1.2` have none.
    """
    return _SCRIPT.fullmatch(splitext(job.path)[1]) is not None


def placed_path(job: JobMetadata) -> str:
    """Return the program's path; a relative path is joined to the job's directory.

    A name without a directory, such as `solver`, is returned unchanged, because the shell looks it up in PATH. A
    script's name, such as `run.py`, is assumed to be that of a file in the job's directory.
    """
    path = job.path
    if ("/" in path or is_script(job)) and job.directory and not path.startswith(("/", "~", "$")):
        return normpath(join(job.directory, path))
    return path


def program_file(job: JobMetadata) -> str:
    """Return the absolute path of the program's file; "" if the path is not certain."""
    path = placed_path(job)
    return path if path.startswith("/") and "$" not in path else ""
