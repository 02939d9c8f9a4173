# SPDX-License-Identifier: Apache-2.0
"""Recorded features of forwarders, as JSON lines.

The first line is `HEADER`. Each other line is an object with `run` (the run of a program to which it belongs), `class`
(of its pattern; null if it is unknown), `at` (begin of the second in Unix seconds), `job`, `operation`, and the five
features; `distance_mean` may be null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

from pydantic import Field, StrictInt, StringConstraints

from reprise.config import Section
from reprise.matcher.council import json_lines
from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import AccessClass, Features
from reprise.matcher.errors import DetectorError

VERSION = 1
HEADER = json.dumps({"version": VERSION})
Text = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Number = Annotated[float, Field(strict=True, ge=0, le=2.0**64, allow_inf_nan=False)]


class _Line(Section):
    run: Text
    class_: AccessClass | None = Field(alias="class")
    at: Number
    job: Text
    operation: Operation
    files: StrictInt = Field(ge=0, le=2**63)
    request_max: Number
    request_min: Number
    request_mean: Number
    distance_mean: Number | None


@dataclass(frozen=True)
class Recorded:
    """Features at one forwarder in a second that began `at` (Unix seconds).

    `known` is the class of the pattern that a known program has; None if it is unknown.
    """

    run: str
    known: AccessClass | None
    at: float
    job: str
    features: Features


def line(recorded: Recorded) -> str:
    """Return the line, without its end, of recorded features."""
    of = recorded
    return json.dumps({"run": of.run, "class": of.known, "at": of.at, "job": of.job, **asdict(of.features)})


def read(lines: Iterable[bytes], name: str) -> Iterator[Recorded]:
    """Return the recorded features in the lines of a file called `name`, in order.

    Raise DetectorError with one line, which names the number of the first wrong line.
    """
    for _, one in json_lines.read(lines, name, "features", VERSION, _Line, DetectorError):
        features = Features(
            one.operation, one.files, one.request_max, one.request_min, one.request_mean, one.distance_mean
        )
        yield Recorded(one.run, one.class_, one.at, one.job, features)
