# SPDX-License-Identifier: Apache-2.0
"""Trials as steps of one Slurm job that holds the nodes: no queue between trials, the same nodes for all of them.

The holder is a batch job that sleeps. Unlike `salloc --no-shell` it has an id at once, and so a killed coordinator's
holder, still waiting perhaps, is found by its name. Steps are started from the coordinator's host; srun and mpirun take
the same time for that (0.47 s for four ranks on four nodes, Slurm 22.05 and Open MPI 4.1.4).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from database.model import TrialState
from tuner.component import TrialOutput, TrialPlan
from tuner.errors import TunerError
from tuner.executors import process, slurm
from tuner.executors.base import (
    Say,
    Started,
    TrialResult,
    ended,
    host_environment,
    preloaded,
    prepare,
    timed_out,
    variables,
)
from tuner.executors.launch import Launcher, inside
from tuner.executors.script import BEFORE
from tuner.executors.slurm import Slurm

POLL_S = 0.2
SAY_EVERY_S = 10.0


@dataclass(frozen=True)
class Holder:
    """The job that holds the nodes."""

    job_id: int
    node_list: str
    nodes: int
    tasks_per_node: int

    def fits(self, plan: TrialPlan) -> bool:
        return plan.nodes <= self.nodes and plan.tasks_per_node <= self.tasks_per_node


class AllocationExecutor:
    """`name` is the jobs' name, this campaign's own. `options` are sbatch's for the holder (partition, time, ...).

    `nodes` and `tasks_per_node` are the least that is asked for; a larger plan gets a larger allocation.
    """

    def __init__(
        self,
        slurm: Slurm,
        name: str,
        launcher: Launcher,
        options: Sequence[str],
        nodes: int,
        tasks_per_node: int,
        say: Say,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._slurm = slurm
        self._name = name
        self._launcher = launcher
        self._options = options
        self._nodes = nodes
        self._tasks_per_node = tasks_per_node
        self._say = say
        self._sleep = sleep
        self._holder: Holder | None = None

    def __enter__(self) -> Self:
        slurm.clear(self._slurm, self._name, self._sleep)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def run(self, plan: TrialPlan, directory: Path, started: Started) -> TrialResult:
        _refuse_jobs(plan)
        prepare(plan, directory)
        if self._holder and not self._holder.fits(plan):
            self._release()
        if not self._holder:
            self._holder = self._open(plan)
        holder = self._holder
        started(holder.job_id)
        own = variables(plan, directory)
        environment = preloaded(plan, {**host_environment(), **own})
        if self._launcher.kind == "mpirun":
            environment |= inside(holder.job_id, holder.node_list, holder.nodes, holder.tasks_per_node)
        if plan.before and (failed := self._before(plan, directory, environment, holder)):
            return failed
        command = self._launcher.command(plan, own, holder.job_id)
        done = process.run(command, environment, directory, plan.timeout_s)
        if done.timed_out:
            if done.stuck:
                self._release()
            result = timed_out(done.output, plan.timeout_s, holder.job_id)
        else:
            result = ended(done.output, holder.job_id)
        if result.state is TrialState.COMPLETE:
            return result
        if told := slurm.not_started(done.output.stderr):
            result = TrialResult(TrialState.CANCELLED, done.output, holder.job_id, f"was not started: {told}")
        return result if done.timed_out else self._lost(holder.job_id, done.output) or result

    def _before(
        self, plan: TrialPlan, directory: Path, environment: Mapping[str, str], holder: Holder
    ) -> TrialResult | None:
        """Run what comes before the trial, on the first node; the trial's result where that fails."""
        (directory / BEFORE).write_text(plan.before + "\n", encoding="utf-8")
        step = ["srun", f"--jobid={holder.job_id}", "--overlap", "--nodes=1", "--ntasks=1", "bash", BEFORE]
        done = process.run(step, environment, directory, plan.timeout_s)
        if not done.timed_out and done.output.exit_status == 0:
            return None
        output = dataclasses.replace(done.output, elapsed_s=0.0)
        result = ended(dataclasses.replace(output, exit_status=output.exit_status or 1), holder.job_id)
        if told := slurm.not_started(output.stderr):
            return TrialResult(TrialState.CANCELLED, output, holder.job_id, f"was not started: {told}")
        result = dataclasses.replace(result, message=f"what is to be run before the trial failed: {result.message}")
        return self._lost(holder.job_id, output) or result

    def _lost(self, job_id: int, output: TrialOutput) -> TrialResult | None:
        """The result of a step that ended because its allocation did; None where the allocation still stands."""
        job = self._slurm.job(job_id)
        state = job.state if job else "gone"
        if state == "RUNNING":
            return None
        self._say(f"allocation {job_id} is lost ({state.lower()}); asking for another")
        self._release()
        kind = TrialState.PREEMPTED if state in slurm.PREEMPTED else TrialState.CANCELLED
        return TrialResult(kind, output, job_id, f"its allocation, job {job_id}, ended before it ({state})")

    def _open(self, plan: TrialPlan) -> Holder:
        """Ask for nodes and wait for them, however long the queue is. Raises TunerError where they will not come."""
        nodes, tasks = max(plan.nodes, self._nodes), max(plan.tasks_per_node, self._tasks_per_node)
        size = [f"--job-name={self._name}", f"--nodes={nodes}", f"--ntasks-per-node={tasks}"]
        quiet = ["--no-requeue", "--output=/dev/null", "--error=/dev/null"]
        job_id = self._slurm.submit([*size, *quiet, *self._options, "--wrap=exec sleep infinity"])
        self._holder = Holder(job_id, "", nodes, tasks)  # from now on there is something to release
        waited, said = 0.0, 1.0 - SAY_EVERY_S
        while True:
            job = self._slurm.job(job_id)
            if job and job.state == "RUNNING":
                return Holder(job_id, job.nodes, nodes, tasks)
            if not job or job.state not in slurm.WAITING:
                raise TunerError(
                    f"the allocation, job {job_id}, ended before it began ({job.state if job else 'gone'}): "
                    "see `scontrol show job` and slurmctld's log, then resume the campaign"
                )
            words = job.waits(job_id, nodes)
            if waited >= said + SAY_EVERY_S:
                self._say(words)
                said = waited
            self._sleep(POLL_S)
            waited += POLL_S

    def _release(self) -> None:
        if self._holder:
            holder, self._holder = self._holder, None
            self._slurm.cancel([holder.job_id])


def _refuse_jobs(plan: TrialPlan) -> None:
    """A step has no batch script, no options of sbatch and no directives: raises TunerError with the remedy."""
    for what, there in (
        ("is a batch script", plan.script is not None),
        ("has options of sbatch", bool(plan.options)),
        ("has directives of a job", bool(plan.directives)),
    ):
        if there:
            raise TunerError(f"a trial of this component {what}: set `executor: {{kind: slurm}}`, a job for each trial")
