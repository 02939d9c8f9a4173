# SPDX-License-Identifier: Apache-2.0
"""Find the directory to which the programs of a job with --reprise=profile wrote their reports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PREFIX = "reprise-profile-"
"""Prefix of the name of a job's directory of reports; the job id follows.

If the job was restarted N times, `-rN` is appended. spank/profile.c defines the same name.
"""


def find(job_ids: Iterable[int], places: Iterable[Path]) -> Path | None:
    """Return the reports' directory for one of these jobs and its last restart; None if there is none.

    The directory is taken from the first of these places that has one.
    """
    wanted = re.compile(f"{PREFIX}(?:{'|'.join(map(str, job_ids)) or '(?!)'})(?:-r([0-9]{{1,10}}))?")
    for place in places:
        try:
            found = [(int(match[1] or 0), path) for path in place.iterdir() if (match := wanted.fullmatch(path.name))]
        except OSError:
            continue
        if found:
            return max(found)[1]
    return None
