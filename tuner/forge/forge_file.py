# SPDX-License-Identifier: Apache-2.0
"""Read a JSON file with an I/O pattern, in either form of the author's FORGE: one pattern, or phases of patterns.

The keys that set the numbers of threads in the author's forwarders (`handlers`, `dispatchers`) are checked and have no
effect, since they are settings of the forwarders here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictInt, StringConstraints, ValidationError, model_validator

from reprise.config import Section, first_problem
from reprise.tuner.errors import TunerError
from reprise.tuner.forge.forge_pattern import Exploration, Layout, Operation, Phase, Step

MOST_THREADS = 128
MOST_FORWARDERS = 65536
MOST_BYTES = 2**63 - 1  # the largest offset that system calls take
# Limits of the program, as in forge_plan.h and forge.c.
LARGEST_REQUEST = 2**30
LONGEST_PATH = 4000
MOST_REPETITIONS = 10**6
LONGEST_S = 1e9


def _of_bytes(path: str) -> str:
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise ValueError(f"has more than {LONGEST_PATH} bytes: use a shorter path")
    return path


Threads = Annotated[StrictInt, Field(ge=1, le=MOST_THREADS)]
Bytes = Annotated[StrictInt, Field(ge=1, le=MOST_BYTES)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_S, allow_inf_nan=False)]
RequestSize = Annotated[StrictInt, Field(ge=1, le=LARGEST_REQUEST)]
FilePath = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00\n]+$"), AfterValidator(_of_bytes)]


class _Common(Section):
    forwarders: StrictInt = Field(ge=0, le=MOST_FORWARDERS)
    handlers: Threads = 1
    dispatchers: Threads = 1
    direct_io: Literal[0, 1] = 0
    stone_wall: Seconds | None = None
    pause: Seconds | None = None
    validation: Literal[0, 1] = 0


class _Placed(Section):
    path: FilePath
    number_of_files: Literal["individual", "shared"]
    spatiality: Literal["contiguous", "strided"] = "contiguous"

    @model_validator(mode="after")
    def _is_possible(self) -> _Placed:
        if self.number_of_files == "individual" and self.spatiality == "strided":
            raise ValueError("individual files cannot be strided: write contiguous, or shared")
        return self

    @property
    def layout(self) -> Layout:
        if self.number_of_files == "individual":
            return Layout.INDIVIDUAL
        return Layout.SHARED_STRIDED if self.spatiality == "strided" else Layout.SHARED_CONTIGUOUS


class _Flat(_Common, _Placed):
    operations: Literal["write", "read"] = "write"
    total_size: Bytes
    request_size: RequestSize


class _Pattern(_Placed):
    operation: Literal["open", "write", "read", "close"]
    total_size: Bytes | None = None
    request_size: RequestSize | None = None

    @model_validator(mode="after")
    def _has_sizes(self) -> _Pattern:
        if self.operation in ("write", "read") and (self.total_size is None or self.request_size is None):
            raise ValueError(f"total_size and request_size are missing for {self.operation}: add them")
        return self


class _Phase(Section):
    repetitions: StrictInt = Field(1, ge=1, le=MOST_REPETITIONS)
    patterns: tuple[_Pattern, ...] = Field(min_length=1)


class _Phased(_Common):
    phases: tuple[_Phase, ...] = Field(min_length=1)


def read(text: str, name: str) -> Exploration:
    """Return the pattern in the text of a file called `name`. Raise TunerError with one line if it is invalid."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TunerError(f"{name}: is not valid JSON ({error}): correct it") from error
    if not isinstance(content, dict):
        raise TunerError(f"{name}: is not a JSON object: write the keys of a pattern in braces")
    return _phased(content, name) if "phases" in content else _flat(content, name)


def _flat(content: Mapping[str, Any], name: str) -> Exploration:
    try:
        flat = _Flat.model_validate(content)
    except ValidationError as error:
        raise TunerError(f"{name}: {first_problem(error, _Flat)}") from error
    moving = Step(Operation(flat.operations), flat.path, flat.layout, flat.total_size, flat.request_size)
    steps = [Step(Operation.OPEN, flat.path, flat.layout), moving, Step(Operation.CLOSE, flat.path, flat.layout)]
    return _exploration(flat, [Phase(1, steps)])


def _phased(content: Mapping[str, Any], name: str) -> Exploration:
    try:
        phased = _Phased.model_validate(content)
    except ValidationError as error:
        raise TunerError(f"{name}: {first_problem(error, _Phased)}") from error
    return _exploration(phased, [Phase(one.repetitions, [_step(two) for two in one.patterns]) for one in phased.phases])


def _step(pattern: _Pattern) -> Step:
    sizes = (pattern.total_size or 0, pattern.request_size or 0) if pattern.operation in ("write", "read") else (0, 0)
    return Step(Operation(pattern.operation), pattern.path, pattern.layout, *sizes)


def _exploration(common: _Common, phases: list[Phase]) -> Exploration:
    return Exploration(
        common.forwarders,
        phases,
        bool(common.direct_io),
        common.stone_wall,
        validation=bool(common.validation),
        pause=common.pause,
    )
