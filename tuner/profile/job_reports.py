# SPDX-License-Identifier: Apache-2.0
"""Directory where the programs of a job write their reports under --reprise=profile."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PREFIX = "reprise-profile-"
"""Prefix of the directory's name, before the job's number.

`-rN` follows if the job was restarted N times. As in spank/profile.c.
"""


def find(job_ids: Iterable[int], places: Iterable[Path]) -> Path | None:
    """Return the directory of the latest start of one of these jobs, in the first of these places that has any."""
    wanted = re.compile(f"{PREFIX}(?:{'|'.join(map(str, job_ids)) or '(?!)'})(?:-r([0-9]{{1,10}}))?")
    for place in places:
        try:
            found = [(int(match[1] or 0), path) for path in place.iterdir() if (match := wanted.fullmatch(path.name))]
        except OSError:
            continue
        if found:
            return max(found)[1]
    return None
