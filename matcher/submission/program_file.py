# SPDX-License-Identifier: Apache-2.0
"""Where a job's program lies, as its script says."""

from __future__ import annotations

import re
from posixpath import join, normpath, splitext

from reprise.matcher.submission.metadata import JobMetadata

_SCRIPT = re.compile(r"\.[A-Za-z]\w*")


def is_script(job: JobMetadata) -> bool:
    """Whether the program's name has a suffix that a script has: `run.py`, not `solver` or `solver-1.2`."""
    return _SCRIPT.fullmatch(splitext(job.path)[1]) is not None


def placed_path(job: JobMetadata) -> str:
    """Return the program's path below the job's directory, where it is relative to that.

    What is named without a directory and is no script is found by the shell, anywhere, and stays as it is.
    """
    path = job.path
    if ("/" in path or is_script(job)) and job.directory and not path.startswith(("/", "~", "$")):
        return normpath(join(job.directory, path))
    return path


def program_file(job: JobMetadata) -> str:
    """Return the absolute path of the program's file; "" where it is not certain."""
    path = placed_path(job)
    return path if path.startswith("/") and "$" not in path else ""
