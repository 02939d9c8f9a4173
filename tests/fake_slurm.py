# SPDX-License-Identifier: Apache-2.0
"""Fake Slurm commands, whose jobs are processes on this host with their states in files.

Jobs therefore outlive a coordinator. The fake replaces the commands in `tuner.executors.slurm_commands.SlurmCommands`;
a test's `fault` decides which commands fail.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reprise.tuner.executors.slurm_commands import Answer, SlurmCommands

# The wrapper script of a job. A job exists if its file `pid` exists, and has ended if its file `exit` exists.
JOB = """
echo $$ >"$JOB/pid.part" && mv "$JOB/pid.part" "$JOB/pid"
sleep "$QUEUE_S"
: >"$JOB/began"
while :; do
  bash "$SCRIPT"
  status=$?
  [ -e "$JOB/requeue" ] || break
  rm "$JOB/requeue"
done
echo $status >"$JOB/exit.part" && mv "$JOB/exit.part" "$JOB/exit"
"""

Fault = Callable[[str, int], str]


def no_fault(command: str, number: int) -> str:
    return ""


class FakeSlurm:
    """A fake Slurm, which calls `fault` before each command, with the command's name and its number, counted from 1.

    `fault` returns the kind of failure: "" for none, "refuse" for a failure without effect, "swallow" for an error
    after the command took effect, "late" for the same error at once although the command takes effect only during the
    next command, or "garbage" for unreadable output instead of the command. Jobs wait `queue_s` seconds before they
    begin.
    """

    def __init__(self, directory: Path, fault: Fault = no_fault, queue_s: float = 0.0) -> None:
        self.directory = directory
        self.fault = fault
        self.queue_s = queue_s
        self.calls: list[Sequence[str]] = []
        self._late: list[Callable[[], object]] = []
        directory.mkdir(exist_ok=True)

    def commands(self) -> SlurmCommands:
        return SlurmCommands(self, lambda _: time.sleep(0.001))

    def __call__(self, argv: Sequence[str], environment: Mapping[str, str]) -> Answer:
        self.calls.append(argv)
        what = self.fault(argv[0], len(self.calls))
        late, self._late = self._late, []
        if what == "refuse":
            return Answer(1, "", "error: Unable to contact slurm controller (connect failure)")
        if what == "garbage":
            return Answer(0, "\ufffd\x00 <html>garbage</html>\n", "")
        if what == "late":
            self._late = [lambda: getattr(self, f"_{argv[0]}")(argv, environment)]
            return Answer(1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation")
        answer: Answer = getattr(self, f"_{argv[0]}")(argv, environment)
        for job in late:
            job()
        if what == "swallow":
            return Answer(1, "", "error: Socket timed out on send/recv operation")
        return answer

    # -- methods for tests ---------------------------------------------------------------------------------------------

    def jobs(self) -> list[int]:
        """Return the ids of all jobs that ever existed."""
        return sorted(int(path.parent.name) for path in self.directory.glob("*/pid"))

    def active(self) -> list[int]:
        return [job for job in self.jobs() if self.state(job) in ("PENDING", "RUNNING", "SUSPENDED")]

    def end(self, job_id: int, state: str) -> None:
        """Kill a job and set this state, as an administrator or a failure would."""
        job = self.directory / str(job_id)
        if self.state(job_id) in ("PENDING", "RUNNING", "SUSPENDED"):
            (job / "state").write_text(state)
            self._kill(job, leader_too=True)

    def suspend(self, job_id: int) -> None:
        """Report a job as suspended from now on, although it is still running."""
        (self.directory / str(job_id) / "state").write_text("SUSPENDED")

    def resume(self, job_id: int) -> None:
        (self.directory / str(job_id) / "state").unlink()

    def requeue(self, job_id: int) -> None:
        """Kill the job's processes, and run the job again."""
        (self.directory / str(job_id) / "requeue").touch()
        self._kill(self.directory / str(job_id), leader_too=False)

    def state(self, job_id: int) -> str:
        job = self.directory / str(job_id)
        if (job / "state").exists():
            return (job / "state").read_text()
        if (job / "exit").exists():
            return "COMPLETED" if (job / "exit").read_text().strip() == "0" else "FAILED"
        return "RUNNING" if (job / "began").exists() else "PENDING"

    @staticmethod
    def _kill(job: Path, leader_too: bool) -> None:
        leader = int((job / "pid").read_text())
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, IndexError):
                of_job = int(path.read_text(errors="replace").rpartition(")")[2].split()[3]) == leader
                if of_job and (leader_too or int(path.parent.name) != leader):
                    os.kill(int(path.parent.name), signal.SIGKILL)

    # -- the commands --------------------------------------------------------------------------------------------------

    def _sbatch(self, argv: Sequence[str], environment: Mapping[str, str]) -> Answer:
        options = dict(word[2:].split("=", 1) for word in argv[1:-1] if "=" in word)
        number = len(list(self.directory.iterdir())) + 1
        while True:
            with contextlib.suppress(FileExistsError):
                (job := self.directory / str(number)).mkdir()
                break
            number += 1
        (job / "name").write_text(options["job-name"])
        (job / "comment").write_text(options.get("comment", ""))
        own = {"JOB": str(job), "SCRIPT": argv[-1], "QUEUE_S": str(self.queue_s), "SLURM_JOB_ID": str(number)}
        with Path(options["output"].replace("%%", "%")).open("ab") as output:
            subprocess.Popen(
                ["bash", "-c", JOB],
                cwd=options["chdir"],
                env={**environment, **own, "SLURM_JOB_NUM_NODES": "2"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        until = time.monotonic() + 20
        while not (job / "pid").exists() and time.monotonic() < until:
            time.sleep(0.001)
        return Answer(0, f"{number}\n", "")

    def _squeue(self, argv: Sequence[str], environment: Mapping[str, str]) -> Answer:
        if "--states=PENDING" in argv:
            others = self.directory.parent / "others"
            return Answer(0, others.read_text() if others.exists() else "", "")
        name = next(word for word in argv if word.startswith("--name=")).removeprefix("--name=")
        lines = []
        for number in self.jobs():
            job = self.directory / str(number)
            if (job / "name").read_text() == name:
                lines.append(f"{number}|{self.state(number)}|None|2|0:01|{(job / 'comment').read_text()}")
        return Answer(0, "".join(f"{line}\n" for line in lines), "")

    def _scancel(self, argv: Sequence[str], environment: Mapping[str, str]) -> Answer:
        for number in argv[1:]:
            self.end(int(number), "CANCELLED")
        return Answer(0, "", "")
