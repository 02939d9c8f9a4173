# SPDX-License-Identifier: Apache-2.0
"""What a campaign over Open MPI's collectives may set; the component file has `defaults` for some of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from reprise.config import AbsolutePath, first_problem
from tuner.collectives.spaces import FANOUTS, SEGMENTS
from tuner.errors import TunerError


def _distinct(values: list[Any]) -> list[Any]:
    if len(set(values)) != len(values):
        raise ValueError("a value is given twice: give each once")
    return values


Size = Annotated[int, Field(ge=1, le=2**30)]
Distinct = AfterValidator(_distinct)


class Settings(BaseModel):
    """Sizes and segment sizes in bytes, times in seconds. Sizes are as benchmarks state them: a rank's part for gather,
    scatter, allgather and alltoall, the whole message for the others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    collectives: Annotated[list[str], Distinct] = Field(min_length=1)
    sizes: Annotated[list[Size], Distinct] = Field(min_length=1)
    nodes: int = Field(ge=1)
    tasks_per_node: int = Field(1, ge=1)
    segments: Annotated[list[Annotated[int, Field(ge=0)]], Distinct] = Field(list(SEGMENTS), min_length=1)
    fanouts: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(list(FANOUTS), min_length=1)
    together: bool = Field(True, description="one run measures all sizes of all collectives, each with its own setting")
    unsafe: bool = Field(False, description="measure also what no file for jobs may hold, and never publish it")
    benchmark: Literal["own", "osu", "imb"] = Field("own", description="what measures: tuner.collectives.benchmarks")
    benchmark_path: AbsolutePath | None = Field(None, description="its program, or a directory that holds its programs")
    warmup: int = Field(200, ge=0)
    repetitions: int | None = Field(None, ge=1, description="None: 1000 below 131072 bytes, 100 from there")
    max_seconds: int = Field(10, ge=1, le=86400, description="a measurement that would take longer repeats less")
    timeout_s: float = Field(120.0, gt=0)

    @property
    def tasks(self) -> int:
        return self.nodes * self.tasks_per_node


def read(defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> Settings:
    """Check the settings. Raises TunerError with one line."""
    try:
        return Settings.model_validate({**defaults, **settings})
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, Settings)}") from error
