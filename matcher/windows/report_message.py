# SPDX-License-Identifier: Apache-2.0
"""Messages between forwarders and the council: a line of JSON each (accelerators/forward/forwarder/announcement.h)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StrictInt, StringConstraints, ValidationError

from reprise.config import Section, first_problem
from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import Features
from reprise.matcher.council.recorded_metrics import LARGEST_WINDOW
from reprise.matcher.errors import ProtocolError

VERSION = 1
LONGEST = 131_072
"""Maximum length of a line in bytes. A report on 65 jobs that read and write takes 45,000, and 60,000 with munge."""
MOST_JOBS = 65  # JOBS_MAX of accelerators/forward/forwarder/limits.h, and "other"
MOST_OPERATIONS = 2 * MOST_JOBS

# Clients choose offsets up to 2^64, so that distances may be as large. They must not be able to have reports refused.
Number = Annotated[float, Field(ge=0, le=1e20, allow_inf_nan=False)]
Count = Annotated[StrictInt, Field(ge=0, le=2**63 - 1)]
Job = Annotated[str, StringConstraints(max_length=63)]


@dataclass(frozen=True)
class Measured:
    """Features of a job's reads or writes in the last second, its length, and the bytes that were read or written.

    `job` is the name that the job's processes gave. `user` is the user ID that munge confirmed for all of the job's
    connections, None if it confirmed none or several.
    """

    job: str
    seconds: float
    bytes: int
    features: Features
    user: int | None = None


@dataclass(frozen=True)
class ForwarderMessage:
    """A forwarder's report, as it was sent.

    `name` is the forwarder's, `nonce` the text that decisions for it must contain, and `jobs` are the names of the jobs
    with connections. The other fields are those of `Report`.
    """

    nonce: str
    name: str
    bytes: int
    bandwidth: float
    window: int
    load: float | None
    jobs: Sequence[str]
    measured: Sequence[Measured]


class _Pattern(Section):
    job: Job
    operation: Operation
    begun_at: Number
    seconds: Number
    bytes: Count
    requests: Count
    files: Count
    request_min: Number | None
    request_max: Number | None
    request_mean: Number | None
    distance_mean: Number | None
    window_us: Count | None
    user: Annotated[StrictInt, Field(ge=0, lt=2**32 - 1)] | None = None


class _Report(Section):
    version: StrictInt
    nonce: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    host: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,64}$")]
    number: StrictInt = Field(ge=0, le=4095)
    seconds: Number
    bytes: Count
    bandwidth: Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
    window: StrictInt = Field(ge=0, le=LARGEST_WINDOW)
    load: Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)] | None
    jobs: list[Job] = Field(max_length=MOST_JOBS)
    patterns: list[_Pattern] = Field(max_length=MOST_OPERATIONS)


def read(line: bytes) -> ForwarderMessage:
    """Return the report in a line. Raise ProtocolError with one line if it is malformed or of another version."""
    try:
        found = _Report.model_validate_json(line)
    except ValidationError as error:
        raise ProtocolError(f"report: {first_problem(error, _Report)}: install one release on all hosts") from error
    if found.version != VERSION:
        raise ProtocolError(f"report: has version {found.version}, not {VERSION}: install one release on all hosts")
    return ForwarderMessage(
        nonce=found.nonce,
        name=f"{found.host}:{found.number}",
        bytes=found.bytes,
        bandwidth=found.bandwidth,
        window=found.window,
        load=found.load,
        jobs=found.jobs,
        measured=[one for pattern in found.patterns if (one := _measured(pattern))],
    )


def decision_line(nonce: str, number: int, window: int, keep: int) -> bytes:
    """Return a decision, without a newline.

    It has the number of the decision, the window in microseconds, and the window to keep if no further decision
    arrives. The forwarder accepts only this form.
    """
    fields = {"version": VERSION, "nonce": nonce, "number": number, "window": window, "keep": keep}
    return json.dumps(fields).encode()


def _measured(pattern: _Pattern) -> Measured | None:
    if pattern.request_min is None or pattern.request_max is None or pattern.request_mean is None:
        return None
    features = Features(
        pattern.operation,
        pattern.files,
        request_max=pattern.request_max,
        request_min=pattern.request_min,
        request_mean=pattern.request_mean,
        distance_mean=pattern.distance_mean,
    )
    return Measured(pattern.job, pattern.seconds, pattern.bytes, features, pattern.user)
