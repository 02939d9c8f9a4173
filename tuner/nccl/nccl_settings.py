# SPDX-License-Identifier: Apache-2.0
"""Settings of a campaign that tunes the collectives of NCCL or RCCL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reprise.config import AbsolutePath, first_problem
from reprise.tuner.errors import TunerError
from reprise.tuner.nccl.tuner_decision import ALL_PROTOCOLS
from reprise.tuner.openmpi.collectives_settings import Counts, Distinct, Layout

Collective = Literal["broadcast", "reduce", "allgather", "reducescatter", "allreduce"]
Algorithm = Literal["tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"]
Protocol = Literal["ll", "ll128", "simple"]
Size = Annotated[int, Field(ge=4, le=2**40, multiple_of=4)]


class NcclSettings(BaseModel):
    """Settings of a campaign. Sizes are those of nccl-tests: the bytes of the whole buffer, which has 4-byte floats.

    Each number of nodes is measured with each number of GPUs per node, except one GPU on one node.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    collectives: Annotated[list[Collective], Distinct] = Field(min_length=1)
    sizes: Annotated[list[Size], Distinct] = Field(min_length=1)
    nodes: Counts
    tasks_per_node: Counts = Field(description="GPUs on each node; each has a task of its own")
    library: Literal["nccl", "rccl"] = Field("nccl", description="rccl has only the algorithms tree and ring")
    tuner_plugin: AbsolutePath = Field(description="the tuner plugin, libnccl-tuner-NAME.so")
    benchmark_path: AbsolutePath = Field(description="directory with the programs of nccl-tests or rccl-tests")
    algorithms: Annotated[list[Algorithm], Distinct] = Field(["ring", "tree"], min_length=1)
    protocols: Annotated[list[Protocol], Distinct] = Field(["ll", "ll128", "simple"], min_length=1)
    channels: Annotated[list[Annotated[int, Field(ge=0, le=64)]], Distinct] = Field(
        [0], min_length=1, description="numbers of channels to try; 0: NCCL chooses"
    )
    gpu_options: list[str] | None = Field(
        None, description="options of sbatch that request the GPUs; default: --gpus-per-node=TASKS_PER_NODE"
    )
    iterations: int = Field(50, ge=1)
    warmup: int = Field(10, ge=0)
    timeout_s: float = Field(300.0, gt=0)

    @model_validator(mode="after")
    def _of_the_library(self) -> NcclSettings:
        other = [name for name in self.algorithms if name not in ALL_PROTOCOLS]
        if self.library == "rccl" and other:
            raise ValueError(f"algorithms: RCCL has no {other[0]}: use tree and ring")
        return self

    @property
    def layouts(self) -> Sequence[Layout]:
        """Layouts to measure, the fewest GPUs first."""
        every = [Layout(nodes, tasks) for nodes in self.nodes for tasks in self.tasks_per_node]
        return sorted((one for one in every if one.tasks > 1), key=lambda one: (one.tasks, one.nodes))


def read(defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> NcclSettings:
    """Return the checked settings of a campaign, with `defaults` for those that it omits.

    Raise TunerError with one line if they are invalid.
    """
    try:
        return NcclSettings.model_validate({**defaults, **settings})
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, NcclSettings)}") from error
