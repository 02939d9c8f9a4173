# SPDX-License-Identifier: Apache-2.0
"""Arguments of the program `reprise-forge`, and the line of JSON that it prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, ValidationError

from reprise.config import Section, first_problem
from reprise.tuner.errors import ObjectiveError
from reprise.tuner.forge.forge_pattern import Exploration, Layout, Operation, Step

PROGRAM = "reprise-forge"
_LAYOUTS = {Layout.SHARED_CONTIGUOUS: "contiguous", Layout.SHARED_STRIDED: "strided", Layout.INDIVIDUAL: "individual"}

Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Moved = Annotated[StrictInt, Field(ge=0)]


class _Output(Section):
    clients: StrictInt = Field(ge=1)
    write_bytes: Moved
    write_s: Seconds
    write_mb_s: Rate | None
    read_bytes: Moved
    read_s: Seconds
    read_mb_s: Rate | None
    mb_s: Rate
    stopped: StrictBool


@dataclass(frozen=True)
class Explored:
    """Result of a run: the number of clients, and bandwidths in MB/s (10^6 bytes a second) by the slowest client.

    `write_mb_s` and `read_mb_s` are None if nothing was written or read; `mb_s` is that of both together.
    """

    clients: int
    mb_s: float
    write_mb_s: float | None
    read_mb_s: float | None


def arguments(exploration: Exploration) -> list[str]:
    """Return the program's arguments for a pattern; the number of forwarders is not among them."""
    options = ["--direct"] if exploration.direct_io else []
    options += ["--validate"] if exploration.validation else []
    options += ["--stone-wall", repr(exploration.stone_wall)] if exploration.stone_wall is not None else []
    options += ["--pause", repr(exploration.pause)] if exploration.pause is not None else []
    return [*options, "--", *_steps(exploration)]


def explored(stdout: str) -> Explored:
    """Return the result in the program's output. Raise ObjectiveError if there is not exactly one."""
    lines = [line for line in stdout.splitlines() if line.startswith("{")]
    if len(lines) != 1:
        raise ObjectiveError(
            f"{PROGRAM} printed {len(lines) or 'no'} result{'s' * (len(lines) > 1)}: run the trial's script by hand"
        )
    try:
        found = _Output.model_validate(json.loads(lines[0]))
    except ValidationError as error:
        raise ObjectiveError(f"{PROGRAM}: {first_problem(error, _Output)}") from error
    except (ValueError, RecursionError) as error:
        raise ObjectiveError(f"{PROGRAM} printed invalid JSON ({error}): install its present release") from error
    return Explored(found.clients, found.mb_s, found.write_mb_s, found.read_mb_s)


def paths(exploration: Exploration) -> Sequence[str]:
    """Return the paths of all files, each once; each file's name is its path with a suffix."""
    return list(dict.fromkeys(step.path for phase in exploration.phases for step in phase.steps))


def _steps(exploration: Exploration) -> Iterator[str]:
    for phase in exploration.phases:
        if phase.repetitions > 1 or len(exploration.phases) > 1:
            yield f"phase:{phase.repetitions}"
        yield from map(_step, phase.steps)


def _step(step: Step) -> str:
    sizes = f"{step.total_size}:{step.request_size}:" if step.operation in (Operation.WRITE, Operation.READ) else ""
    return f"{step.operation}:{_LAYOUTS[step.layout]}:{sizes}{step.path}"
