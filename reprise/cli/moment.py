# SPDX-License-Identifier: Apache-2.0
"""Parse points in time on a command line, given as a date or as an age."""

from __future__ import annotations

import re
import time
from datetime import datetime

import click

_AGE = re.compile(r"([0-9]{1,6})(min|h|d)")
_SECONDS = {"min": 60.0, "h": 3600.0, "d": 86400.0}


def moment(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    """Convert an age (`30d`, `12h`, `45min`) or a date in the local time zone (`2026-11-21T14:30`) to Unix seconds."""
    if given is None:
        return None
    if ago := _AGE.fullmatch(given):
        return time.time() - int(ago[1]) * _SECONDS[ago[2]]
    try:
        return datetime.fromisoformat(given).timestamp()
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(
            f"{given!r} is not a point in time: give a date (2026-11-21, 2026-11-21T14:30) or an age (45min, 12h, 30d)"
        ) from error
