# SPDX-License-Identifier: Apache-2.0
"""Build the command lines that start a plan's tasks within an allocation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reprise.tuner.model.component import TrialPlan

FORWARDED = ("OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_")  # prefixes of variables that mpirun passes to its ranks by default

# Options of mpirun (RANKED_BY) and of srun (DISTRIBUTED) for each value of `TrialPlan.placement`.
RANKED_BY: Mapping[str, Sequence[str]] = {"core": ("--rank-by", "slot"), "node": ("--rank-by", "node")}
DISTRIBUTED: Mapping[str, Sequence[str]] = {"core": ("--distribution=block",), "node": ("--distribution=cyclic",)}


@dataclass(frozen=True)
class Launcher:
    """Launcher with which a plan's tasks are started.

    `kind` is "srun", "mpirun", "hydra" or "none" (a single process, started directly). `mpi` is the value of srun's
    option --mpi. `mpirun` and `hydra` are the names or paths of Open MPI's mpirun and of Hydra's mpiexec.
    """

    kind: str = "srun"
    mpi: str = "pmix"
    mpirun: str = "mpirun"
    hydra: str = "mpiexec.hydra"

    def command(self, plan: TrialPlan, names: Iterable[str], job_id: int | None = None) -> list[str]:
        """Return the command that starts a plan's tasks; `names` are the variables that all tasks must have.

        With `job_id`, the command runs outside of that job but starts tasks in it. For this, srun creates a step of the
        job, and the other launchers need the variables that `inside` returns.
        """
        if self.kind == "none":
            return list(plan.argv)
        if self.kind == "mpirun":
            passed = [word for name in sorted(names) if not name.startswith(FORWARDED) for word in ("-x", name)]
            tasks = plan.nodes * plan.tasks_per_node
            where = ["--map-by", f"ppr:{plan.tasks_per_node}:node", *RANKED_BY.get(plan.placement, ())]
            return [self.mpirun, "-np", str(tasks), *where, *passed, *plan.argv]
        if self.kind == "hydra":  # all ranks get Hydra's environment
            return [
                *(self.hydra, "-bootstrap", "slurm", "-rmk", "slurm", "-ppn", str(plan.tasks_per_node)),
                *("-n", str(plan.nodes * plan.tasks_per_node), *plan.argv),
            ]
        # `--overlap` lets the step use the processors that the job's batch step holds.
        job = [] if job_id is None else [f"--jobid={job_id}", "--overlap"]
        size = [f"--nodes={plan.nodes}", f"--ntasks-per-node={plan.tasks_per_node}"]
        size += DISTRIBUTED.get(plan.placement, ())
        return ["srun", *job, f"--mpi={self.mpi}", *size, "--kill-on-bad-exit=1", *plan.argv]


def inside(job_id: int, node_list: str, nodes: int, tasks_per_node: int) -> Mapping[str, str]:
    """Return the variables that describe an allocation to a launcher that is started outside of it."""
    return {
        "SLURM_JOB_ID": str(job_id),
        "SLURM_JOBID": str(job_id),
        "SLURM_JOB_NODELIST": node_list,
        "SLURM_NODELIST": node_list,
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_NNODES": str(nodes),
        "SLURM_TASKS_PER_NODE": f"{tasks_per_node}(x{nodes})",
        "SLURM_NTASKS": str(nodes * tasks_per_node),
    }
