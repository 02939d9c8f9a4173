# SPDX-License-Identifier: Apache-2.0
"""Read a JSON file with running jobs, their curves, and a pool of I/O forwarders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StringConstraints, ValidationError

from reprise.config import Section, first_problem
from reprise.matcher.arbiter.bandwidth_curve import BandwidthCurve, exact, measured
from reprise.matcher.arbiter.forwarding_job import COUNTS, Job, Pool
from reprise.matcher.errors import ArbiterError

MOST_JOBS = 100_000
MOST_NODES = 2**24
MOST_PROCESSES = 2**31 - 1

Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Number = Annotated[float, Field(strict=True)]
Count = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,4})$")]


class _Job(Section):
    id: Name
    nodes: StrictInt = Field(ge=1, le=MOST_NODES)
    processes: StrictInt = Field(ge=1, le=MOST_PROCESSES)
    curve: dict[Count, Number | list[Number]] | None = None


class _File(Section):
    forwarders: StrictInt = Field(ge=0, le=65536)
    compute_nodes: StrictInt = Field(ge=1, le=MOST_NODES)
    direct: StrictBool = True
    default: StrictInt | None = Field(None, ge=0, le=65536)
    counts: tuple[StrictInt, ...] = COUNTS
    jobs: tuple[_Job, ...] = Field(max_length=MOST_JOBS)


def read(text: str | bytes, name: str) -> tuple[Pool, Sequence[Job]]:
    """Return the pool and the jobs in the text of a file called `name`, jobs in the file's order.

    Raise ArbiterError with one line if the file is invalid.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArbiterError(f"{name}: is not valid JSON ({error}): correct it") from error
    try:
        file = _File.model_validate(content)
    except ValidationError as error:
        raise ArbiterError(f"{name}: {first_problem(error, _File)}") from error
    seen = set[str]()
    for job in file.jobs:
        if job.id in seen:
            raise ArbiterError(f"{name}: two jobs have the id {job.id!r}: change one of them")
        seen.add(job.id)
    try:
        pool = Pool(file.forwarders, file.compute_nodes, file.direct, file.default, file.counts)
    except ArbiterError as error:
        raise ArbiterError(f"{name}: {error}") from error
    return pool, [Job(job.id, job.nodes, job.processes, _curve(job, name)) for job in file.jobs]


def _curve(job: _Job, name: str) -> BandwidthCurve | None:
    """Return a job's curve, whose numbers are known exactly or by their runs."""
    if job.curve is None:
        return None
    known = {int(number): value for number, value in job.curve.items() if not isinstance(value, list)}
    runs = {int(number): value for number, value in job.curve.items() if isinstance(value, list)}
    try:
        points = {**(exact(known).points if known or not runs else {}), **(measured(runs).points if runs else {})}
    except ArbiterError as error:
        raise ArbiterError(f"{name}: job {job.id}: {error}") from error
    return BandwidthCurve({number: points[number] for number in sorted(points)})
