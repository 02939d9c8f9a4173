# SPDX-License-Identifier: Apache-2.0
"""Settings of a campaign that measures a curve of bandwidth by number of I/O forwarders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from reprise.config import AbsolutePath, Config, first_problem
from reprise.matcher.arbiter.forwarding_job import COUNTS, Job, Pool, fits
from reprise.tuner.components import forwarded
from reprise.tuner.errors import TunerError


def _once(numbers: list[int]) -> list[int]:
    if len(set(numbers)) < len(numbers):
        raise ValueError("has a number twice: list each number once")
    return sorted(numbers)


Numbers = Annotated[list[Annotated[int, Field(strict=True, ge=1, le=65536)]], AfterValidator(_once)]


class ForwardersSettings(BaseModel):
    """Settings of a campaign. It runs the pattern in a file or, with `io_bytes`, the application itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: AbsolutePath | None = Field(None, description="pattern file that reprise-forge replays")
    io_bytes: int | None = Field(
        None, ge=1, le=2**63 - 1, strict=True, description="bytes that a run of the application writes and reads"
    )
    forwarders: Numbers = Field(list(COUNTS), min_length=1, description="numbers of forwarders to measure, besides 0")
    nodes: int | None = Field(None, ge=1, description="number of nodes; if absent, that of the script")
    tasks_per_node: int | None = Field(None, ge=1, description="tasks on each node; if absent, those of the script")
    timeout_s: float = Field(600.0, gt=0, allow_inf_nan=False, description="seconds after which a trial is stopped")

    @model_validator(mode="after")
    def _one_of_them(self) -> ForwardersSettings:
        if (self.pattern is None) == (self.io_bytes is None):
            raise ValueError(
                "needs either pattern or io_bytes: name a pattern file to replay, or state the bytes that a run of "
                "the application writes and reads"
            )
        return self


def read(defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> ForwardersSettings:
    """Return the checked settings of a campaign, with `defaults` for those that it omits.

    Raise TunerError with one line if they are invalid.
    """
    try:
        return ForwardersSettings.model_validate({**defaults, **settings})
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, ForwardersSettings)}") from error


def possible(settings: ForwardersSettings, nodes: int, config: Config) -> Sequence[int]:
    """Return the numbers to measure that the configured pool and the number of nodes allow.

    Raise TunerError with one line if there are none.
    """
    addresses = config.forwarding.forwarders
    forwarded.check(config.forwarding)
    pool, job = Pool(len(addresses), max(nodes, 1)), Job("campaign", nodes, nodes)
    found = [number for number in settings.forwarders if fits(number, job, pool)]
    if not found:
        numbers = ", ".join(map(str, settings.forwarders))
        raise TunerError(
            f"settings: forwarders: none of {numbers} divides {nodes} nodes and is at most {len(addresses)}, the "
            "number of configured forwarders: choose another number"
        )
    return found
