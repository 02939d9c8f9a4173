# SPDX-License-Identifier: Apache-2.0
"""Find the directory to which the processes of a job with --reprise=profile wrote their reports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PREFIX = "reprise-profile-"
"""Prefix of the name of the directory with a job's reports; the job id follows.

If the job was restarted N times, `-rN` is appended. spank/profile.c builds the same name.
"""


def find(job_ids: Iterable[int], places: Iterable[Path]) -> Path | None:
    """Return the directory with the reports of one of these jobs; None if there is no such directory.

    If several directories match, the result is in the first of `places` that contains any of them. If that place
    contains several, the result is the directory of the last restart.
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
