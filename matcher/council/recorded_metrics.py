# SPDX-License-Identifier: Apache-2.0
"""Recorded reports of forwarders, as JSON lines.

The first line is `HEADER`. Each other line is an object with `at` (Unix seconds, for people and other programs: the
order of lines counts), `host`, `pattern` (text of a pattern, or "unknown"), `bytes`, `bandwidth` and `load` (MB/s; load
may be null), `window` (microseconds) and `opted_out`; `load` and `opted_out` may be left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StringConstraints

from reprise.config import Section
from reprise.matcher.council import json_lines
from reprise.matcher.council.access_pattern import UNKNOWN, pattern_of
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.errors import CouncilError

VERSION = 1
HEADER = json.dumps({"version": VERSION})
LARGEST_WINDOW = 10**9  # microseconds

Number = Annotated[float, Field(strict=True, ge=0, le=1e12, allow_inf_nan=False)]


class _Line(Section):
    at: Number
    host: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    pattern: str
    bytes: StrictInt = Field(ge=0, le=2**63 - 1)
    bandwidth: Number
    window: StrictInt = Field(ge=0, le=LARGEST_WINDOW)
    load: Number | None = None
    opted_out: StrictBool = False


def line(at: float, report: Report) -> str:
    """Return the line, without its end, of a report received at a time in Unix seconds."""
    return json.dumps(
        {
            "at": at,
            "host": report.host,
            "pattern": str(report.pattern or UNKNOWN),
            "bytes": report.bytes,
            "bandwidth": report.bandwidth,
            "window": report.window,
            "load": report.load,
            "opted_out": report.opted_out,
        }
    )


def read(lines: Iterable[bytes], name: str) -> Iterator[Report]:
    """Return the reports in the lines of a file called `name`, in order.

    Raise CouncilError with one line, which names the number of the first wrong line.
    """
    for where, found in json_lines.read(lines, name, "metrics", VERSION, _Line, CouncilError):
        try:
            pattern = pattern_of(found.pattern)
        except CouncilError as error:
            raise CouncilError(f"{where}: {error}") from error
        yield Report(
            found.host, pattern, found.bytes, found.bandwidth, found.window, found.load, opted_out=found.opted_out
        )
