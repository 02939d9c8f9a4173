# SPDX-License-Identifier: Apache-2.0
"""Settings of a campaign that tunes Open MPI's collectives.

The component file has `defaults` for some of the settings.
"""

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
        raise ValueError("a value is listed twice: list each value once")
    return values


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


Size = Annotated[int, Field(ge=1, le=2**30)]
Distinct = AfterValidator(_distinct)
Counts = Annotated[list[Annotated[int, Field(ge=1)]], BeforeValidator(_listed), Distinct, Field(min_length=1)]


@dataclass(frozen=True)
class Layout:
    """A number of nodes with a number of tasks on each."""

    nodes: int
    tasks_per_node: int

    @property
    def tasks(self) -> int:
        """Number of tasks on all nodes."""
        return self.nodes * self.tasks_per_node

    def __str__(self) -> str:
        return f"{self.nodes}x{self.tasks_per_node}"


class Settings(BaseModel):
    """Settings of a campaign; sizes and segment sizes are in bytes, times in seconds.

    Sizes have the meaning that is usual in benchmarks: a rank's part for gather, scatter, allgather and alltoall, the
    whole message for the others. Each number of nodes is measured with each number of tasks per node, except one task
    on one node.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    collectives: Annotated[list[str], Distinct] = Field(min_length=1)
    sizes: Annotated[list[Size], Distinct] = Field(min_length=1)
    nodes: Counts
    tasks_per_node: Counts = Field([1])
    placement: Literal["core", "node"] = Field(
        "core", description="core: fill a node before the next; node: distribute tasks round-robin"
    )
    segments: Annotated[list[Annotated[int, Field(ge=0)]], Distinct] = Field(list(SEGMENTS), min_length=1)
    fanouts: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(list(FANOUTS), min_length=1)
    together: bool = Field(
        True, description="measure all sizes of all collectives in one run, each with a separate setting"
    )
    unsafe: bool = Field(
        False, description="also measure algorithms that are unsafe in files for jobs; they are never published"
    )
    benchmark: Literal["own", "osu", "imb"] = Field(
        "own", description="benchmark to measure with: reprise.tuner.openmpi.benchmarks"
    )
    benchmark_path: AbsolutePath | None = Field(
        None, description="the benchmark's program, or a directory with its programs"
    )
    warmup: int = Field(200, ge=0)
    repetitions: int | None = Field(None, ge=1, description="default: 1000 below 131072 bytes, 100 from 131072 bytes")
    passes: int = Field(
        4, ge=1, le=1000, description="number of passes over which the calls of each measurement are distributed"
    )
    max_seconds: float = Field(
        10.0,
        gt=0,
        le=86400,
        description="maximum time of a measurement; a longer measurement gets fewer repetitions",
    )
    timeout_s: float = Field(120.0, gt=0)

    @property
    def layouts(self) -> Sequence[Layout]:
        """Layouts to measure, the fewest tasks first."""
        every = [Layout(nodes, tasks) for nodes in self.nodes for tasks in self.tasks_per_node]
        return sorted((one for one in every if one.tasks > 1), key=lambda one: (one.tasks, one.nodes))


def read(defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> Settings:
    """Return the checked settings of a campaign, with `defaults` for those that it omits.

    Raise TunerError with one line if they are invalid.
    """
    try:
        return Settings.model_validate({**defaults, **settings})
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, Settings)}") from error
