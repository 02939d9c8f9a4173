# SPDX-License-Identifier: Apache-2.0
"""Test executors on fakes of Slurm: their requests, and how they use the answers."""

from __future__ import annotations

import dataclasses
import os
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reprise.database.entities import TrialState
from reprise.tuner.errors import TunerError
from reprise.tuner.executors import slurm_commands
from reprise.tuner.executors.allocation_executor import AllocationExecutor
from reprise.tuner.executors.executor import Begun, Executor, TrialResult, clean, last_line, prepare
from reprise.tuner.executors.job_executor import JobExecutor
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.executors.local_executor import LocalExecutor
from reprise.tuner.executors.slurm_commands import Answer, Job, SlurmCommands, SlurmError, UnclearError
from reprise.tuner.executors.trial_script import RESULT, TrialScript
from reprise.tuner.model.component import TrialPlan
from tests.processes import lives
from tests.waiting import wait_for


def plan(*argv: str, **changes: Any) -> TrialPlan:
    return TrialPlan(argv=argv, **{"nodes": 1, "tasks_per_node": 1, "timeout_s": 20.0, **changes})


def ignore(_: object) -> None:
    pass


def run(executor: Executor, trial: TrialPlan, directory: Path) -> TrialResult:
    """Run a trial to its end with an executor, and return the trial's result."""
    executor.start(Begun("t.1", trial, directory))
    while not (found := executor.poll(1.0)):
        pass
    assert [one.key for one in found] == ["t.1"]
    return found[0].result


class Shell:
    """A fake of Slurm's commands that returns the given answers in order, and then repeats the last answer."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.calls: list[Sequence[str]] = []
        self.environments: list[Mapping[str, str]] = []
        self.slept = 0.0

    def __call__(self, argv: Sequence[str], environment: Mapping[str, str]) -> Answer:
        self.calls.append(argv)
        self.environments.append(environment)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def commands(self) -> SlurmCommands:
        return SlurmCommands(self, self.sleep)


RUNNING = Answer(0, "JobId=7 JobName=x JobState=RUNNING Reason=None ReqNodeList=(null) NodeList=node[0-3] A=b\n", "")


def test_a_job_is_read_from_scontrol() -> None:
    assert Shell(RUNNING).commands().job(7) == Job(7, "RUNNING", "", "node[0-3]")


def test_a_job_that_slurm_has_forgotten_is_none() -> None:
    assert Shell(Answer(1, "", "slurm_load_jobs error: Invalid job id specified\n")).commands().job(7) is None


@pytest.mark.parametrize(
    "hiccup",
    [
        Answer(1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"),
        Answer(0, "", ""),
        Answer(0, "\ufffd\ufffd garbage", ""),
        Answer(-1, "", "no answer within 60 s"),
    ],
)
def test_a_query_is_repeated_after_temporary_failures_of_slurm(hiccup: Answer) -> None:
    assert Shell(hiccup, hiccup, RUNNING).commands().job(7) == Job(7, "RUNNING", "", "node[0-3]")


def test_a_slurm_that_does_not_answer_is_reported_in_one_line_with_the_remedy() -> None:
    shell = Shell(Answer(1, "", "line one\nUnable to contact slurm controller"))
    with pytest.raises(SlurmError) as caught:
        shell.commands().jobs("reprise-1")
    assert str(caught.value).count("\n") == 0
    assert "Unable to contact slurm controller" in str(caught.value) and "scontrol ping" in str(caught.value)
    assert shell.slept == sum(slurm_commands.PAUSES_S)


def listing(*lines: str) -> SlurmCommands:
    return Shell(Answer(0, "".join(f"{line}\n" for line in lines), "")).commands()


def test_all_jobs_of_a_campaign_are_read_from_one_answer() -> None:
    jobs = listing("7|PENDING|Resources|4|0:00|trial-1.1", "8|RUNNING|None|2|1:05|(null)").jobs("reprise-1")
    assert jobs == [
        Job(7, "PENDING", "Resources", nodes=4, run_s=0.0, comment="trial-1.1"),
        Job(8, "RUNNING", "", nodes=2, run_s=65.0),
    ]
    assert listing().jobs("reprise-1") == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0:07", 7), ("59:59", 3599), ("1:00:00", 3600), ("23:59:59", 86399), ("2-03:04:05", 183845), ("INVALID", 0)],
)
def test_run_times_of_hours_and_days_are_read(text: str, seconds: float) -> None:  # SHAMan, defect 14
    assert listing(f"7|TIMEOUT|TimeLimit|1|{text}|x").jobs("reprise-1")[0].run_s == seconds


@pytest.mark.parametrize("garbage", ["<html>", "7|RUNNING|None|2|1:05", "7|RUNNING|None|two|1:05|x", "slurm: hello"])
def test_a_listing_that_cannot_be_read_is_requested_again(garbage: str) -> None:
    good = Answer(0, "7|RUNNING|None|2|1:05|x\n", "")
    shell = Shell(Answer(0, f"8|RUNNING|None|2|1:05|x\n{garbage}\n", ""), good)
    assert [job.id for job in shell.commands().jobs("reprise-1")] == [7] and len(shell.calls) == 2


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((), False),
        ((f"{os.getuid()}|Resources",), False),
        (("4242|Dependency", "4242|JobHeldUser"), False),
        (("4242|Dependency", "4242|Priority"), True),
    ],
)
def test_jobs_of_others_count_as_waiting_if_more_nodes_would_help_them(lines: Sequence[str], expected: bool) -> None:
    assert listing(*lines).others_wait("main") is expected


@pytest.mark.parametrize(
    "answer",
    [
        Answer(1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"),
        Answer(1, "", "sbatch: error: Batch job submission failed: Unable to contact slurm controller"),
        Answer(-1, "", "no answer within 60 s"),
        Answer(1, "", ""),
        Answer(0, "garbage", ""),
    ],
)
def test_a_submission_with_an_unclear_answer_is_not_reported_as_refused(answer: Answer) -> None:
    with pytest.raises(UnclearError, match=r"sbatch does not answer \(.*scontrol ping.*resume the campaign"):
        Shell(answer).commands().submit(["x.sh"])


def test_a_submission_is_repeated_until_slurm_answers_and_then_given_up() -> None:
    away = Shell(Answer(0, "", ""))
    away.answers = [Answer(1, "", "Unable to contact slurm controller"), Answer(0, "", "")] * 20
    with pytest.raises(UnclearError):
        slurm_commands.submit_once(away.commands(), "reprise-1", "trial-1.1", ["x.sh"], away.sleep)
    assert sum(argv[0] == "sbatch" for argv in away.calls) == len(slurm_commands.PAUSES_S) + 1
    assert away.slept >= sum(slurm_commands.PAUSES_S)


def test_a_refused_submission_is_not_tried_again() -> None:
    shell = Shell(Answer(1, "", "sbatch: error: invalid partition specified: mian"))
    with pytest.raises(SlurmError, match="invalid partition specified: mian"):
        shell.commands().submit(["--partition=mian"])
    assert len(shell.calls) == 1


@pytest.mark.parametrize("text", ["12\n", "12;cluster\n", "sbatch: some site's greeting\n12\n"])
def test_the_id_of_a_submission_is_found(text: str) -> None:
    shell = Shell(Answer(0, text, ""))
    assert shell.commands().submit(["x.sh"]) == 12
    assert shell.environments[0]["REPRISE"] == "off"


def test_a_missing_command_is_reported_in_one_line() -> None:
    with pytest.raises(SlurmError, match="no-such-command: cannot be run"):
        slurm_commands.run_command(["no-such-command"], {"PATH": "/nowhere"})


def test_trials_do_not_inherit_the_coordinators_job() -> None:
    kept = {"PATH": "/bin", "SLURM_CONF": "/etc/slurm.conf", "OMPI_MCA_btl": "tcp,self"}
    assert clean({**kept, "SLURM_JOB_ID": "1", "SBATCH_ACCOUNT": "x", "REPRISE": "on", "PMIX_RANK": "0"}) == kept
    assert clean({**kept, "OMPI_MCA_coll": "^tuned", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}) == kept


@pytest.mark.parametrize("name", ["../out", "/etc/x", "a/../../b"])
def test_a_file_outside_the_trials_directory_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TunerError, match="must lie in the trial's directory"):
        prepare(plan("true", files={name: ""}), tmp_path / "trial")


def test_a_trials_directory_contains_nothing_from_an_earlier_attempt(tmp_path: Path) -> None:
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial/result").write_text("0 1.0")
    prepare(plan("true", files={"sub/rules": "x"}), tmp_path / "trial")
    assert [path.name for path in (tmp_path / "trial").rglob("*")] == ["sub", "rules"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n two \n\n", "two"),
        ("no such device\nsrun: error: node1: task 1: Exited with exit code 1\nsrun: Terminating\n", "no such device"),
        ("no such device\nslurmstepd-node0: error: *** STEP 1.0 ON node0 CANCELLED ***\n", "no such device"),
        ("no such device\n-------\nmpirun detected that ...\n-------\n", "no such device"),
        ("-------\nAn ORTE daemon has failed\n-------\n", "An ORTE daemon has failed"),
        ("srun: error: Unable to create step", "srun: error: Unable to create step"),
        ("", ""),
        (
            "exec: /no/such: not found\nsrun: error: node0: task 1: Terminated\nTerminated\n",
            "exec: /no/such: not found",
        ),
        ("Terminated\n", "Terminated"),
    ],
)
def test_the_last_line_of_output_is_the_programs_and_not_the_launchers(text: str, expected: str) -> None:
    assert last_line(text) == expected


def run_local(tmp_path: Path, trial: TrialPlan) -> Any:
    with LocalExecutor() as executor:
        return run(executor, trial, tmp_path / "trial")


def test_a_local_trial_sees_its_variables_zeros_included(tmp_path: Path) -> None:
    trial = plan(
        "sh", "-c", "echo $A $B $REPRISE; pwd; cat f", environment={"A": "0", "B": "{directory}/x{}"}, files={"f": "hi"}
    )
    result = run_local(tmp_path, trial)
    directory = tmp_path / "trial"
    assert result.state is TrialState.COMPLETE
    assert result.output.stdout.splitlines() == [f"0 {directory}/x{{}} off", str(directory), "hi"]


def test_the_message_of_a_failed_trial_has_its_last_line_of_output(tmp_path: Path) -> None:
    result = run_local(tmp_path, plan("sh", "-c", "echo first >&2; echo no such device >&2; exit 4"))
    assert (result.state, result.message) == (TrialState.FAILED, "exit status 4: no such device")


def test_a_trial_is_stopped_with_its_children_when_its_time_is_up(tmp_path: Path) -> None:
    result = run_local(tmp_path, plan("sh", "-c", "sleep 60 & echo $!; wait", timeout_s=0.3))
    assert (result.state, result.message) == (TrialState.TIMEOUT, "stopped after 0.3 s")
    child = int(result.output.stdout)
    wait_for("the child's end", lambda: not lives(child))


def test_a_program_that_is_missing_is_an_error_of_the_campaign(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="/no/such/program: cannot be run"):
        run_local(tmp_path, plan("/no/such/program"))


def test_srun_starts_a_step_and_mpirun_forwards_variables_that_are_not_its_own() -> None:
    trial = plan("./bench", nodes=4, tasks_per_node=2)
    assert Launcher("srun").command(trial, [], 7)[1:] == [
        "--jobid=7", "--overlap", "--mpi=pmix", "--nodes=4", "--ntasks-per-node=2", "--kill-on-bad-exit=1", "./bench",
    ]  # fmt: skip
    assert Launcher("mpirun", mpirun="/opt/mpirun").command(trial, ["X", "OMPI_MCA_coll"]) == [
        "/opt/mpirun", "-np", "8", "--map-by", "ppr:2:node", "-x", "X", "./bench",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("placement", "of_srun", "of_mpirun"),
    [("core", "--distribution=block", "slot"), ("node", "--distribution=cyclic", "node")],
)
def test_tasks_are_placed_as_the_plan_says(placement: str, of_srun: str, of_mpirun: str) -> None:
    trial = dataclasses.replace(plan("./bench", nodes=4, tasks_per_node=2), placement=placement)
    assert of_srun in Launcher("srun").command(trial, [])
    assert " ".join(Launcher("mpirun").command(trial, [])).count(f"--rank-by {of_mpirun}") == 1


class FakeSlurm:
    """A fake Slurm whose jobs change to the next of the given states at each query, and stay in the last state."""

    def __init__(self, *states: str | None, leftover: Sequence[int] = ()) -> None:
        self.states = list(states)
        self.leftover = list(leftover)
        self.submitted: list[Sequence[str]] = []
        self.cancelled: list[int] = []

    def submit(self, options: Sequence[str]) -> int:
        self.submitted.append(options)
        return 100 + len(self.submitted)

    def job(self, job_id: int) -> Job | None:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return Job(job_id, state, "Resources", "node[0-3]", 4) if state else None

    def jobs(self, name: str) -> Sequence[Job]:
        left = [Job(job_id, "RUNNING") for job_id in self.leftover]
        last = 100 + len(self.submitted)
        job = self.job(last) if self.submitted and last not in self.cancelled else None
        return [*left, job] if job else left

    def others_wait(self, partition: str | None) -> bool:
        return False

    def cancel(self, job_ids: Iterable[int]) -> None:
        self.cancelled += job_ids
        self.leftover = [job for job in self.leftover if job not in self.cancelled]


@pytest.fixture
def srun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program `srun` on PATH that runs the command after its options."""
    path = tmp_path / "bin/srun"
    path.parent.mkdir()
    path.write_text('#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


def allocation(fake: FakeSlurm, said: list[str] | None = None) -> AllocationExecutor:
    words = said if said is not None else []
    return AllocationExecutor(fake, "reprise-1", Launcher(), ["--partition=p"], 4, 1, words.append, ignore)


def test_one_allocation_serves_many_trials_and_is_released(tmp_path: Path, srun: Path) -> None:
    fake = FakeSlurm("PENDING", "RUNNING")
    with allocation(fake) as executor:
        results = [run(executor, plan("true"), tmp_path / str(number)) for number in range(3)]
        assert fake.cancelled == []
    assert [(one.state, one.slurm_job_id) for one in results] == [(TrialState.COMPLETE, 101)] * 3
    assert len(fake.submitted) == 1 and fake.cancelled == [101]
    assert {"--job-name=reprise-1", "--nodes=4", "--ntasks-per-node=1", "--partition=p"} < set(fake.submitted[0])


def test_an_allocation_is_released_when_the_campaign_is_interrupted_in_the_queue(tmp_path: Path, srun: Path) -> None:
    class Impatient(FakeSlurm):
        def job(self, job_id: int) -> Job | None:
            raise KeyboardInterrupt

    fake = Impatient()
    with pytest.raises(KeyboardInterrupt), allocation(fake) as executor:
        run(executor, plan("true"), tmp_path / "0")
    assert fake.cancelled == [101]


@pytest.mark.parametrize(
    ("state", "expected"),
    [("PREEMPTED", TrialState.PREEMPTED), ("TIMEOUT", TrialState.CANCELLED), (None, TrialState.CANCELLED)],
)
def test_a_lost_allocation_interrupts_its_trial_and_another_is_requested(
    tmp_path: Path, srun: Path, state: str | None, expected: TrialState
) -> None:
    fake = FakeSlurm("RUNNING", state, "PENDING", "RUNNING")
    with allocation(fake) as executor:
        assert run(executor, plan("false"), tmp_path / "0").state is expected
        assert run(executor, plan("true"), tmp_path / "1").slurm_job_id == 102


def test_a_trial_that_fails_in_an_intact_allocation_is_a_failed_trial(tmp_path: Path, srun: Path) -> None:
    fake = FakeSlurm("RUNNING")
    with allocation(fake) as executor:
        assert run(executor, plan("false"), tmp_path / "0").state is TrialState.FAILED
    assert len(fake.submitted) == 1


def test_a_larger_plan_gets_a_larger_allocation(tmp_path: Path, srun: Path) -> None:
    fake = FakeSlurm("RUNNING")
    with allocation(fake) as executor:
        run(executor, plan("true"), tmp_path / "0")
        run(executor, plan("true", nodes=8), tmp_path / "1")
    assert "--nodes=8" in fake.submitted[1] and fake.cancelled == [101, 102]


def test_an_allocation_that_ends_before_it_begins_is_an_error(tmp_path: Path, srun: Path) -> None:
    fake = FakeSlurm("PENDING", "CANCELLED")
    with (
        pytest.raises(TunerError, match=r"job 101, ended before it started \(CANC"),
        allocation(fake) as executor,
    ):
        run(executor, plan("true"), tmp_path / "0")


def test_waiting_in_the_queue_is_reported_from_time_to_time(tmp_path: Path, srun: Path) -> None:
    fake = FakeSlurm(*["PENDING"] * 120, "RUNNING")
    said: list[str] = []
    with allocation(fake, said) as executor:
        run(executor, plan("true"), tmp_path / "0")
    assert said[0] == "job 101 waits for 4 nodes (Resources)" and 2 <= len(said) <= 3


class Hopeless(FakeSlurm):
    """A fake Slurm in which a job waits forever, with the given `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__("PENDING")
        self.reason = reason

    def job(self, job_id: int) -> Job | None:
        return Job(job_id, "PENDING", self.reason)


@pytest.mark.parametrize(
    "reason", ["PartitionConfig", "PartitionTimeLimit", "QOSMaxNodePerJobLimit", "AccountNotAllowed"]
)
def test_a_job_that_can_never_start_is_an_error(tmp_path: Path, reason: str) -> None:
    for executor in (allocation(fake := Hopeless(reason)), JobExecutor(fake, "x", Launcher(), [], ignore, ignore)):
        with pytest.raises(SlurmError, match=rf"for 4 nodes can never start \({reason}\)"), executor:
            run(executor, plan("true", nodes=4), tmp_path / "0")
    assert fake.cancelled == [101, 102]


@pytest.mark.parametrize("reason", ["Resources", "Priority", "QOSMaxJobsPerUserLimit", "ReqNodeNotAvail", ""])
def test_a_job_that_may_still_start_is_waited_for(reason: str) -> None:
    assert Job(7, "PENDING", reason).waits(4) == f"job 7 waits for 4 nodes ({reason or 'PENDING'})"


@pytest.mark.parametrize(
    "words",
    [
        "srun: error: Unable to confirm allocation for job 1: Unable to contact slurm controller (connect failure)",
        "srun: error: Unable to create step for job 1: Socket timed out on send/recv operation",
        "An ORTE daemon has unexpectedly failed after launch and before",
    ],
)
def test_a_step_that_slurm_did_not_start_is_not_blamed_on_the_parametrization(
    tmp_path: Path, srun: Path, words: str
) -> None:
    srun.write_text(f"#!/bin/sh\necho '{words}' >&2\necho 'srun: Check SLURM_JOB_ID' >&2\nexit 1\n")
    with allocation(FakeSlurm("RUNNING")) as executor:
        result = run(executor, plan("true"), tmp_path / "0")
    assert (result.state, result.message) == (TrialState.CANCELLED, f"not started: {words}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "state"), [("", TrialState.CANCELLED), ("Step created for job 7", TrialState.TIMEOUT)]
)
def test_a_step_that_waited_for_its_nodes_until_its_time_was_up_was_not_started(
    tmp_path: Path, srun: Path, more: str, state: TrialState
) -> None:
    told = f"srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)\n{more}"
    srun.write_text(f"#!/bin/sh\necho '{told}' >&2\nexec sleep 60\n")
    with allocation(FakeSlurm("RUNNING")) as executor:
        assert run(executor, plan("true", timeout_s=2), tmp_path / "0").state is state


def test_leftovers_of_a_killed_coordinator_are_cancelled_first() -> None:
    fake = FakeSlurm("RUNNING", leftover=[41, 42])
    for executor in (allocation(fake), JobExecutor(fake, "reprise-1", Launcher(), [], ignore, ignore)):
        fake.leftover, fake.cancelled = [41, 42], []
        assert executor.resume([]) in ((), []) and fake.cancelled == [41, 42]


def test_leftovers_that_do_not_end_are_an_error() -> None:
    class Stubborn(FakeSlurm):
        def cancel(self, job_ids: Iterable[int]) -> None:
            pass

    with pytest.raises(SlurmError, match="job 41 of an earlier run does not end"):
        allocation(Stubborn("", leftover=[41])).resume([])


class JobSlurm(FakeSlurm):
    """A fake Slurm that writes the result file, if any, when a job is submitted, as a quick job would."""

    def __init__(self, result: str, *states: str | None) -> None:
        super().__init__(*states)
        self.result = result

    def submit(self, options: Sequence[str]) -> int:
        if self.result:
            (Path(options[-1]).parent / RESULT).write_text(self.result)
        return super().submit(options)


def run_job(tmp_path: Path, fake: FakeSlurm, said: list[str] | None = None) -> Any:
    words = said if said is not None else []
    with JobExecutor(fake, "reprise-1", Launcher(), [], words.append, ignore) as executor:
        return run(executor, plan("true"), tmp_path / "trial")


@pytest.mark.parametrize(
    ("result", "state", "expected"),
    [
        ("0 1.5 1", "RUNNING", TrialState.COMPLETE),
        ("3 1.5 1", "RUNNING", TrialState.FAILED),
        ("124 1.5 1", "RUNNING", TrialState.FAILED),  # before the timeout, 124 is the program's own status
        ("124 20.1 1", "RUNNING", TrialState.TIMEOUT),
        ("", "TIMEOUT", TrialState.TIMEOUT),
        ("", "PREEMPTED", TrialState.PREEMPTED),
        ("", "CANCELLED", TrialState.CANCELLED),
        ("", "NODE_FAIL", TrialState.CANCELLED),
        ("", None, TrialState.CANCELLED),
        ("", "OUT_OF_MEMORY", TrialState.FAILED),
        ("", "COMPLETED", TrialState.FAILED),
        ("garbage", "COMPLETED", TrialState.FAILED),
    ],
)
def test_a_jobs_end_becomes_a_state(tmp_path: Path, result: str, state: str | None, expected: TrialState) -> None:
    got = run_job(tmp_path, JobSlurm(result, state))
    assert got.state is expected and got.slurm_job_id == 101
    assert bool(got.message) == (expected is not TrialState.COMPLETE)


def test_a_jobs_time_is_the_programs_and_not_the_queues(tmp_path: Path) -> None:
    class Busy(JobSlurm):
        def jobs(self, name: str) -> Sequence[Job]:
            found = super().jobs(name)
            if found and found[-1].state == "RUNNING":
                (tmp_path / "trial" / RESULT).write_text("0 1.5 1")
            return found

    said: list[str] = []
    got = run_job(tmp_path, Busy("", *["PENDING"] * 30, "RUNNING"), said)
    assert got.output.elapsed_s == 1.5 and said == ["job 101 waits for a node (Resources)"]


def test_an_interrupted_trials_job_is_cancelled(tmp_path: Path) -> None:
    class Impatient(FakeSlurm):
        looks = 0

        def jobs(self, name: str) -> Sequence[Job]:
            self.looks += 1
            if self.looks == 1:
                raise KeyboardInterrupt
            return super().jobs(name)

    fake = Impatient("RUNNING")
    with pytest.raises(KeyboardInterrupt):
        run_job(tmp_path, fake)
    assert fake.cancelled == [101]


def test_a_job_that_comes_after_its_trial_was_given_up_does_not_run_it(tmp_path: Path) -> None:
    executor = JobExecutor(FakeSlurm("RUNNING"), "reprise-1", Launcher("none"), [], ignore, ignore)
    trial = Begun("trial-1.1", plan("touch", "ran"), tmp_path / "trial")
    prepare(trial.plan, trial.directory)
    script = TrialScript("reprise-1", Launcher("none")).write(trial.plan, trial.directory)
    assert executor.resume([trial]) == []
    late = subprocess.run(
        ["bash", str(script)], env={**os.environ, "SLURM_JOB_ID": "9"}, capture_output=True, text=True
    )
    assert "ran this trial" in late.stdout and not (trial.directory / "ran").exists()


@pytest.mark.parametrize(("state", "withdrawn"), [("PENDING", ["a"]), ("RUNNING", [])])
def test_waiting_jobs_are_withdrawn_and_running_jobs_continue(
    tmp_path: Path, state: str, withdrawn: Sequence[str]
) -> None:
    fake = FakeSlurm(state)
    executor = JobExecutor(fake, "reprise-1", Launcher(), [], ignore, ignore)
    executor.start(Begun("a", plan("true"), tmp_path / "a"))
    assert executor.waiting == 1, "the job counts as waiting until Slurm reports its state"
    assert list(executor.rest()) == withdrawn and executor.waiting == 0
    assert fake.cancelled == ([101] if withdrawn else [])


@pytest.mark.slow
@pytest.mark.parametrize("before", ["true", "false"])
def test_commands_before_a_step_run_on_the_first_node_and_are_not_measured(
    tmp_path: Path, srun: Path, before: str
) -> None:
    log = tmp_path / "log"
    srun.write_text(f'#!/bin/bash\necho "$@" >>{log}\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n')
    with allocation(FakeSlurm("RUNNING")) as executor:
        result = run(executor, plan("true", before=f"sleep 1.5; {before}"), tmp_path / "0")
    words = log.read_text().splitlines()
    assert words[0] == "--jobid=101 --overlap --nodes=1 --ntasks=1 bash before.sh"
    assert result.state is (TrialState.COMPLETE if before == "true" else TrialState.FAILED)
    assert result.output.elapsed_s < 1.5 and len(words) == (2 if before == "true" else 1)


@pytest.mark.parametrize("changes", [{"script": "#!/bin/sh"}, {"options": ["--x"]}, {"directives": ["#SBB x"]}])
def test_an_allocation_refuses_trials_that_need_a_separate_job(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(TunerError, match=r"set `executor: \{kind: slurm\}`"), allocation(FakeSlurm("RUNNING")) as one:
        one.start(Begun("a", plan("true", **changes), tmp_path / "a"))


def test_local_trials_that_outlived_their_coordinator_are_ended(tmp_path: Path) -> None:
    first = LocalExecutor()
    trial = Begun("trial-1.1", plan("sh", "-c", "echo $$; exec sleep 60"), tmp_path / "trial")
    first.start(trial)
    output = tmp_path / "trial/stdout"
    wait_for("the trial", lambda: output.read_text().endswith("\n"))
    process = int(output.read_text())
    assert LocalExecutor().resume([trial]) == []
    wait_for("its end", lambda: not lives(process))
