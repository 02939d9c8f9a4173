# SPDX-License-Identifier: Apache-2.0
"""What a campaign over Open MPI's collectives may set; the component file has `defaults` for some of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from reprise.config import AbsolutePath, first_problem
from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.collective_spaces import FANOUTS, SEGMENTS


def _distinct(values: list[Any]) -> list[Any]:
    if len(set(values)) != len(values):
        raise ValueError("a value is given twice: give each once")
    return values


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


Size = Annotated[int, Field(ge=1, le=2**30)]
Distinct = AfterValidator(_distinct)
Counts = Annotated[list[Annotated[int, Field(ge=1)]], BeforeValidator(_listed), Distinct, Field(min_length=1)]


@dataclass(frozen=True)
class Layout:
    """So many nodes with so many tasks on each."""

    nodes: int
    tasks_per_node: int

    @property
    def tasks(self) -> int:
        return self.nodes * self.tasks_per_node

    def __str__(self) -> str:
        return f"{self.nodes}x{self.tasks_per_node}"


class Settings(BaseModel):
    """Sizes and segment sizes in bytes, times in seconds. Sizes are as benchmarks state them: a rank's part for gather,
    scatter, allgather and alltoall, the whole message for the others. Each number of nodes is measured with each number
    of tasks on a node, but for one task on one node where there is anything else."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    collectives: Annotated[list[str], Distinct] = Field(min_length=1)
    sizes: Annotated[list[Size], Distinct] = Field(min_length=1)
    nodes: Counts
    tasks_per_node: Counts = Field([1])
    placement: Literal["core", "node"] = Field("core", description="fill a node before the next, or deal tasks round")
    segments: Annotated[list[Annotated[int, Field(ge=0)]], Distinct] = Field(list(SEGMENTS), min_length=1)
    fanouts: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(list(FANOUTS), min_length=1)
    together: bool = Field(True, description="one run measures all sizes of all collectives, each with its own setting")
    unsafe: bool = Field(False, description="measure also what no file for jobs may hold, and never publish it")
    benchmark: Literal["own", "osu", "imb"] = Field(
        "own", description="what measures: reprise.tuner.openmpi.benchmarks"
    )
    benchmark_path: AbsolutePath | None = Field(None, description="its program, or a directory that holds its programs")
    warmup: int = Field(200, ge=0)
    repetitions: int | None = Field(None, ge=1, description="None: 1000 below 131072 bytes, 100 from there")
    passes: int = Field(4, ge=1, le=1000, description="over which the calls of a run's measurements are dealt out")
    max_seconds: float = Field(10.0, gt=0, le=86400, description="a measurement that would take longer repeats less")
    timeout_s: float = Field(120.0, gt=0)

    @property
    def layouts(self) -> Sequence[Layout]:
        """What is measured, the fewest tasks first."""
        every = [Layout(nodes, tasks) for nodes in self.nodes for tasks in self.tasks_per_node]
        return sorted((one for one in every if one.tasks > 1), key=lambda one: (one.tasks, one.nodes))


def read(defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> Settings:
    """Check the settings. Raises TunerError with one line."""
    try:
        return Settings.model_validate({**defaults, **settings})
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, Settings)}") from error
