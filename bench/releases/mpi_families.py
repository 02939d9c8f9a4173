# SPDX-License-Identifier: Apache-2.0
"""The MPI releases of the benchmark: where each is installed, how its programs start, and what is tuned."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.matrix.roots import GROUPS, SID, STABLE, Release

NODES = 8
LATENCY_US = 500


@dataclass(frozen=True)
class Family:
    """An MPI release and its campaign.

    `system` is the Debian release whose root the cluster runs, or None for this host's. `component` is the component
    file. `mpicc` compiles the programs, `launcher` starts trials, and `launch` is the command in a user's batch script.
    The campaign tunes the `collectives` for messages of `sizes` bytes.
    """

    name: str
    system: Release | None
    component: str
    mpicc: str
    launcher: Mapping[str, str]
    launch: str
    collectives: Sequence[str]
    sizes: Sequence[int]
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_mpich(self) -> bool:
        """Whether the family is MPICH, and not Open MPI."""
        return self.component.startswith("mpich")

    @property
    def suffix(self) -> str:
        """The ending of the names of this family's programs."""
        return "-mpich" if self.is_mpich else ""

    @property
    def variable(self) -> str:
        """The variable that names the published file in the environment of a job."""
        if self.is_mpich:
            return "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
        return "OMPI_MCA_coll_tuned_dynamic_rules_filename"


SID_WITH_MPICH = dataclasses.replace(SID, groups=GROUPS | {"mpich"})
OPEN_MPI, MPICH = "openmpi-collectives", "mpich-collectives"
HYDRA = f"mpiexec.mpich -bootstrap slurm -ppn 1 -n {NODES}"
MPIRUN = f"mpirun -np {NODES} --map-by ppr:1:node"
# These segments and fan-outs suffice for the sizes below, and shorten a campaign.
SHORT = {"segments": [0, 1024, 8192, 32768], "fanouts": [2, 4]}


def _mpich(name: str, system: Release | None) -> Family:
    return Family(name, system, MPICH, "mpicc.mpich", {"launcher": "hydra"}, HYDRA, ("allreduce",), (64, 8192))


def _open_mpi(name: str, system: Release | None, launcher: str) -> Family:
    tuned = ("bcast", "allreduce"), (8192,), SHORT
    return Family(name, system, OPEN_MPI, "mpicc.openmpi", {"launcher": launcher}, MPIRUN, *tuned)


FAMILIES: Mapping[str, Family] = {
    "mpich-4.0": _mpich("MPICH 4.0", None),
    "mpich-5": _mpich("MPICH 5.0", SID_WITH_MPICH),
    "openmpi-4.1": _open_mpi("Open MPI 4.1", None, "srun"),
    "openmpi-5.0": _open_mpi("Open MPI 5.0", STABLE[-1], "mpirun"),
    "openmpi-6.0": _open_mpi("Open MPI 6.0", SID_WITH_MPICH, "mpirun"),
}
