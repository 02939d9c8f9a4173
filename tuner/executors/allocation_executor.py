# SPDX-License-Identifier: Apache-2.0
"""Run trials as steps of one Slurm job, the holder, so that all use the same nodes without waiting in the queue again.

The holder is a batch job that sleeps. Unlike a job started with `salloc --no-shell`, it has an id immediately, so that
the holder of a killed coordinator can be found by its name even while the holder waits in the queue. Steps are started
from the coordinator's host. Starting a step takes equally long with srun and mpirun (0.47 s for four ranks on four
nodes, with Slurm 22.05 and Open MPI 4.1.4).
"""

from __future__ import annotations

import dataclasses
import shlex
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from reprise.database.entities import TrialState
from reprise.tuner.errors import TunerError
from reprise.tuner.executors import slurm_commands as slurm
from reprise.tuner.executors.executor import (
    Begun,
    Finished,
    Say,
    TrialResult,
    ended,
    exports,
    host_environment,
    preloaded,
    prepare,
    timed_out,
    variables,
)
from reprise.tuner.executors.launch_lines import Launcher, inside
from reprise.tuner.executors.process_executor import Ended, Processes
from reprise.tuner.executors.slurm_commands import Slurm
from reprise.tuner.executors.trial_script import BEFORE
from reprise.tuner.model import private_files
from reprise.tuner.model.component import TrialOutput, TrialPlan

POLL_S = 0.2
SAY_EVERY_S, SAY_AFTER_S = 10.0, 1.0
HOLDER = "holder"  # comment (sbatch --comment) of the job that holds the nodes


@dataclass(frozen=True)
class Holder:
    """Job that holds the nodes."""

    job_id: int
    node_list: str
    nodes: int
    tasks_per_node: int

    def fits(self, plan: TrialPlan) -> bool:
        """Return whether the holder's allocation is large enough for a plan."""
        return plan.nodes <= self.nodes and plan.tasks_per_node <= self.tasks_per_node


class AllocationExecutor:
    """Runs trials, one at a time, as steps of one job.

    `name` is the job name of holders, which is unique to the campaign. `options` are sbatch options for the holder
    (partition, time, ...). `nodes` and `tasks_per_node` are the minimum size of the allocation; a larger plan gets a
    larger allocation.
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
        self._asking = False
        self._processes = Processes()
        self._trial: Begun | None = None
        self._stage: Literal["waiting", "before", "measured"] = "waiting"
        self._clock = 0.0  # seconds spent sleeping while the holder was in the queue
        self._said_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.stop()
        self._release()

    @property
    def waiting(self) -> int:
        """Number of trials that wait for nodes: 0 or 1."""
        return int(self._trial is not None and self._stage == "waiting")

    def resume(self, left: Sequence[Begun]) -> Collection[str]:
        """Cancel the jobs of an earlier coordinator. Return no keys of trials, since these jobs' trials have ended."""
        slurm.clear(self._slurm, self._name, (), self._sleep)
        return ()

    def start(self, trial: Begun) -> int | None:
        """Start a trial, or let it wait for nodes; return the holder's id, or None if there is no holder yet."""
        if self._trial:
            raise TunerError("an allocation runs one trial at a time: set `executor: {parallel: 1}`")
        refuse_jobs(trial.plan)
        prepare(trial.plan, trial.directory)
        if self._holder and not self._holder.fits(trial.plan):
            self._release()
        self._trial, self._stage = trial, "waiting"
        if self._holder:
            self._begin(trial, self._holder)
        return self._holder.job_id if self._holder else None

    def poll(self, timeout_s: float) -> Sequence[Finished]:
        """Wait for the end of the current trial, and return the trial if it has ended.

        Wait up to `timeout_s` seconds in the queue, and again up to `timeout_s` seconds each for the trial's `before`
        commands and for the trial itself. Raise TunerError if the holder ended in the queue or can never start.
        """
        until = self._clock + timeout_s
        while trial := self._trial:
            holder = self._holder
            if self._stage == "waiting" or not holder:
                if holder := self._standing(trial.plan):
                    self._begin(trial, holder)
                elif self._clock >= until:
                    break
                else:
                    self._sleep(POLL_S)
                    self._clock += POLL_S
                continue
            if not (ends := self._processes.poll(timeout_s)):
                break
            if result := self._after(ends[0], trial, holder):
                self._trial = None
                return [Finished(trial.key, result)]
        return []

    def rest(self) -> Collection[str]:
        """Release the nodes unless a trial uses them; withdraw a trial that waits for nodes, and return its key."""
        if self._trial and self._stage != "waiting":
            return ()
        withdrawn, self._trial = ([self._trial.key] if self._trial else []), None
        self._release()
        return withdrawn

    def preview(self, trial: Begun) -> str:
        """Return, as text, the commands that submit the holder and start a trial."""
        refuse_jobs(trial.plan)
        own = preloaded(trial.plan, variables(trial.plan, trial.directory))
        words = shlex.join(["sbatch", *self._holder_options(trial.plan)])
        before = f"{shlex.join(_before('JOB'))}\n" if trial.plan.before else ""
        return f"{words}  # once\n{exports(own)}{before}{shlex.join(self._launcher.command(trial.plan, own, 0))}\n"

    def _holder_options(self, plan: TrialPlan) -> list[str]:
        nodes, tasks = max(plan.nodes, self._nodes), max(plan.tasks_per_node, self._tasks_per_node)
        size = [f"--nodes={nodes}", f"--ntasks-per-node={tasks}"]
        quiet = ["--no-requeue", "--output=/dev/null", "--error=/dev/null"]
        return [*size, *quiet, *self._options, "--wrap=exec sleep infinity"]

    def _begin(self, trial: Begun, holder: Holder) -> None:
        """Start the trial on the holder's nodes, or first its `before` commands if they have not run yet."""
        plan, directory = trial.plan, trial.directory
        own = variables(plan, directory)
        environment = preloaded(plan, {**host_environment(), **own})
        if plan.before and self._stage == "waiting":
            self._stage = "before"
            private_files.write_text(directory / BEFORE, plan.before + "\n")
            command = _before(holder.job_id)
        else:
            self._stage = "measured"
            if self._launcher.kind in ("mpirun", "hydra"):
                environment |= inside(holder.job_id, holder.node_list, holder.nodes, holder.tasks_per_node)
            command = self._launcher.command(plan, own, holder.job_id)
        self._processes.start(trial.key, command, environment, directory, plan.timeout_s)

    def _after(self, done: Ended, trial: Begun, holder: Holder) -> TrialResult | None:
        """Return the result of a trial that ended; if only its `before` commands ended, start it and return None."""
        output = done.output
        if self._stage == "before":
            if output.exit_status == 0 and not done.timed_out:
                self._begin(trial, holder)
                return None
            output = dataclasses.replace(output, elapsed_s=0.0)
        if done.timed_out:
            if done.stuck:
                self._release()
            result = timed_out(output, trial.plan.timeout_s, holder.job_id)
        else:
            result = ended(output, holder.job_id)
        if result.state is TrialState.COMPLETE:
            return result
        if self._stage == "before":
            result = dataclasses.replace(result, message=f"the commands before the trial failed: {result.message}")
        if why := slurm.not_started(output.stderr):
            result = TrialResult(TrialState.CANCELLED, output, holder.job_id, f"not started: {why}")
        return result if done.timed_out else self._lost(holder.job_id, output) or result

    def _lost(self, job_id: int, output: TrialOutput) -> TrialResult | None:
        """Return the result of a step that ended because the allocation ended; None if the allocation still runs."""
        job = self._slurm.job(job_id)
        state = job.state if job else "gone"
        if state == "RUNNING":
            return None
        self._say(f"allocation {job_id} is lost ({state.lower()}); requesting another")
        self._release()
        kind = TrialState.PREEMPTED if state in slurm.PREEMPTED else TrialState.CANCELLED
        return TrialResult(kind, output, job_id, f"the allocation, job {job_id}, ended before the trial ({state})")

    def _standing(self, plan: TrialPlan) -> Holder | None:
        """Return the holder if it runs, or None if it waits in the queue; submit a holder if there is none.

        Raise TunerError if the holder ended before it started.
        """
        nodes, tasks = max(plan.nodes, self._nodes), max(plan.tasks_per_node, self._tasks_per_node)
        if not self._holder:
            self._asking = True
            words = self._holder_options(plan)
            job_id = slurm.submit_once(self._slurm, self._name, HOLDER, words, self._sleep)
            self._holder, self._asking = Holder(job_id, "", nodes, tasks), False
            self._said_at = self._clock - SAY_EVERY_S + SAY_AFTER_S
        holder = self._holder
        job = self._slurm.job(holder.job_id)
        if job and job.state == "RUNNING":
            self._holder = dataclasses.replace(holder, node_list=job.node_list)
            return self._holder
        if not job or job.state not in slurm.WAITING:
            raise TunerError(
                f"the allocation, job {holder.job_id}, ended before it started ({job.state if job else 'gone'}): "
                "see `scontrol show job` and slurmctld's log, then resume the campaign"
            )
        waits = job.waits(holder.nodes)
        if self._clock >= self._said_at + SAY_EVERY_S:
            self._say(waits)
            self._said_at = self._clock
        return None

    def _release(self) -> None:
        """Cancel the holder, even if its submission was interrupted."""
        left = [self._holder.job_id] if self._holder else []
        if self._asking:
            left = [job.id for job in self._slurm.jobs(self._name) if not job.over]
        self._holder, self._asking = None, False
        if left:
            self._slurm.cancel(left)


def _before(job_id: object) -> list[str]:
    return ["srun", f"--jobid={job_id}", "--overlap", "--nodes=1", "--ntasks=1", "bash", BEFORE]


def refuse_jobs(plan: TrialPlan) -> None:
    """Raise TunerError if a plan cannot run as a step, because it has a batch script, sbatch options or directives."""
    for what, there in (
        ("is a batch script", plan.script is not None),
        ("has sbatch options", bool(plan.options)),
        ("has job directives", bool(plan.directives)),
    ):
        if there:
            raise TunerError(f"a trial of this component {what}: set `executor: {{kind: slurm}}`, a job for each trial")
