# SPDX-License-Identifier: Apache-2.0
"""Every way to submit a job to Slurm, as shell commands, and a class that tries all ways on a cluster."""

from __future__ import annotations

import concurrent.futures
import json
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.machine import VirtualCluster
from tests.cluster.slurm_services import SLURMRESTD_SOCKET
from tests.waiting import wait_for

# The job's shell and every task write their environments to files. Paths are absolute, because some ways of submission
# leave a job without PATH.
RUN = "${SLURM_ARRAY_TASK_ID:-0}-${SLURM_RESTART_COUNT:-0}"
JOB = f"""\
#!/bin/sh
/usr/bin/env -0 > batch-{RUN}.env
/usr/bin/srun ./task.sh
echo finished
exit 3
"""
TASK = f"#!/bin/sh\n/usr/bin/env -0 > task-{RUN}-$SLURM_PROCID.env\n"
# From 26.11, Slurm sets SLURM_RESTART_COUNT to 0 in a job's first run; earlier releases do not set it there.
REQUEUES = '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || { scontrol requeue $SLURM_JOB_ID; exec sleep 1000; }\nexit 3\n'
# Slurm starts a requeued job only after two minutes, unless the job's start time is changed while it waits. The job
# must not restart in the second in which it was killed, because the node would mistake it for the killed job.
AT_ONCE = """\
id=$(sbatch --parsable requeue.sh)
until scontrol --oneliner show job $id | grep -q 'JobState=PENDING Reason=BeginTime'; do sleep 0.1; done
scontrol update jobid=$id starttime=now+2
"""
ELSEWHERE = "mkdir -p ../elsewhere && cd ../elsewhere && {}"  # separates the outer job from the job under test
FROM_OUTSIDE = 'cd ../srun-jobid && env -i "PATH=$PATH" "HOME=$HOME" srun --jobid=$SLURM_JOB_ID --overlap ./task.sh'
REST_JOB = {"environment": {"PATH": "/usr/bin:/bin"}, "name": "rest"}
LIMIT_S = 120.0


@dataclass(frozen=True)
class Way:
    """A way to submit a job. `command` runs in a shell in the job's directory, which contains `job.sh` and `task.sh`.

    `shown` describes the way in docs/reference/submissions.md; if `command` is empty, the first code span in `shown` is
    the command. `recurs` means that the job starts every minute; such a way is tried only once, with the plugin.
    """

    name: str
    shown: str
    command: str = ""
    recurs: bool = False

    @property
    def words(self) -> str:
        return self.command or self.shown.split("`")[1]


def rest_request(directory: str) -> str:
    job = json.dumps({"script": JOB, "job": {**REST_JOB, "current_working_directory": directory}})
    url = "http://localhost/slurm/v0.0.38/job/submit"
    curl = ["curl", "--silent", "--show-error", "--fail", "--output", "/dev/null", "--unix-socket", SLURMRESTD_SOCKET]
    return shlex.join([*curl, "--header", "Content-Type: application/json", "--data", job, url])


WAYS = (
    Way("script", "`sbatch job.sh`"),
    Way("spaces", "`sbatch 'my job.sh'`", "cp job.sh 'my job.sh'; sbatch 'my job.sh'"),
    Way("wrap", "`sbatch --wrap ./job.sh`"),
    Way("stdin", "`sbatch < job.sh`"),
    Way("device", "`sbatch /dev/stdin < job.sh`"),
    Way("here", "`sbatch <<END`, a here-document", f"sbatch <<'END'\n{JOB}END"),
    Way("pipe", "`sbatch pipe`, a named pipe", "mkfifo pipe; cat job.sh > pipe & sbatch pipe"),
    Way("process", "`sbatch <(cat job.sh)`"),
    Way("nodes", "`sbatch -N2 --ntasks-per-node=1 job.sh`"),
    Way("export-all", "`sbatch --export=ALL job.sh`"),
    Way("export-none", "`sbatch --export=NONE job.sh`"),
    Way("export-nil", "`sbatch --export=NIL job.sh`"),
    Way("export-list", "`sbatch --export=A,B job.sh`"),
    Way("export-file", "`sbatch --export-file=exported job.sh`"),
    Way("user-env", "`sbatch --get-user-env job.sh`"),
    Way("test-only", "`sbatch --test-only job.sh`"),
    Way("array", "`sbatch --array=1-2 job.sh`"),
    Way("array-stdin", "`sbatch --array=1-2 < job.sh`"),
    Way("het", "`sbatch -n1 : -n1 het.sh`"),
    Way("het-directive", "`sbatch hetjob.sh`, with `#SBATCH hetjob`"),
    Way("requeue", "`sbatch requeue.sh`, requeued while it runs", AT_ONCE),
    Way(
        "nested",
        "`sbatch job.sh`, from within a job that was given settings",
        ELSEWHERE.format("sbatch --wait --output=/dev/null ../nested/outer.sh"),
    ),
    Way("own-cluster", "`sbatch -M reprise job.sh`, the cluster's own name"),
    Way("far-cluster", "`sbatch -M far job.sh`, another cluster"),
    Way("far-stdin", "`sbatch -M far < job.sh`"),
    Way("salloc", "`salloc ./job.sh`", "salloc -Q ./job.sh"),
    Way("salloc-srun", "`salloc srun ./task.sh`", "salloc -Q srun ./task.sh"),
    Way("srun", "`srun -N2 ./task.sh`, outside an allocation", "srun -Q -N2 ./task.sh"),
    Way("srun-none", "`srun --export=NONE ./task.sh`", "srun -Q --export=NONE ./task.sh"),
    Way("srun-list", "`srun --export=A ./task.sh`", "srun -Q --export=A ./task.sh"),
    Way("srun-het", "`srun -n1 ./task.sh : -n1 ./task.sh`", "srun -Q -n1 ./task.sh : -n1 ./task.sh"),
    Way(
        "srun-jobid",
        "`srun --jobid=ID ./task.sh`, from outside the job",
        ELSEWHERE.format(f"salloc -Q sh -c '{FROM_OUTSIDE}'"),
    ),
    Way("rest", "slurmrestd, `POST /slurm/v0.0.38/job/submit`", "rest"),
    Way("scrontab", "`scrontab`", "scrontab ./job.sh scrontab $PWD", recurs=True),
)


@dataclass(frozen=True)
class Tried:
    """The result of a way: the command's exit status and output, the environments by file, and the jobs' output."""

    way: Way
    exit_status: int
    stdout: str
    stderr: str
    environments: dict[str, dict[str, str]]
    output: list[str]


def read_environment(path: Path) -> dict[str, str]:
    pairs = path.read_text(errors="replace").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


class Course:
    """A directory of Alice's on a cluster, in which every way is tried once, several ways at the same time."""

    def __init__(self, cluster: VirtualCluster, name: str) -> None:
        self.cluster = cluster
        self.root = f"/home/alice/{name}"

    def directory(self, way: Way) -> str:
        return f"{self.root}/{way.name}"

    def prepare(self, way: Way) -> None:
        het = JOB.replace("/srun ", "/srun --het-group=0,1 ")
        directory = self.directory(way)
        files = {
            "job.sh": JOB,
            "task.sh": TASK,
            "het.sh": het,
            "hetjob.sh": het.replace("\n", "\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n1\n", 1),
            "requeue.sh": JOB.replace("exit 3\n", REQUEUES),
            "outer.sh": f"#!/bin/sh\nsrun true\ncd {directory} && sbatch job.sh > inner.out\n",
            "exported": "A=1\0",
        }
        for name, text in files.items():
            self.cluster.write(f"{directory}/{name}", text, user="alice", mode=0o755)

    def start(self, way: Way) -> subprocess.CompletedProcess[str]:
        directory = self.directory(way)
        words = rest_request(directory) if way.words == "rest" else way.words
        return self.cluster.run(
            ["bash", "-c", words], user="alice", cwd=directory, env={"A": "a"}, check=False, timeout_s=LIMIT_S
        )

    def try_all(self, ways: Sequence[Way]) -> list[Tried]:
        """Submit a job in every way, wait until all jobs have ended, and return the results."""
        for way in ways:
            self.prepare(way)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = list(pool.map(self.start, ways))
        wait_for("the ends of all jobs", self.no_job_is_left, LIMIT_S, every_s=0.2)
        for way in ways:
            if way.recurs:
                self.end_recurring(way)
        return [self.read(way, one) for way, one in zip(ways, done, strict=True)]

    def no_job_is_left(self) -> bool:
        argv = ["squeue", "--clusters=reprise,far", "--noheader", "--format=%j"]
        names = [line for line in self.cluster.run(argv).stdout.split("\n") if not line.startswith("CLUSTER:")]
        return not set(filter(None, names)) - {"scrontab"}

    def end_recurring(self, way: Way) -> None:
        """Wait for the end of the job's first run, and remove the crontab so that no other run starts."""
        directory = self.cluster.path(self.directory(way))
        wait_for(way.shown, lambda: any("finished" in file.read_text() for file in directory.glob("*.out")), 90, 0.1)
        # The job is listed until its end is reported.
        runs = ["squeue", "--noheader", "--name=scrontab", "--states=running,completing"]
        wait_for(f"the end of {way.shown}", lambda: not self.cluster.run(runs).stdout.strip(), 30, 0.1)
        self.cluster.run(["scrontab", "-r"], user="alice")

    def read(self, way: Way, done: subprocess.CompletedProcess[str]) -> Tried:
        path = self.cluster.path(self.directory(way))
        files = sorted(path.glob("*.env"))
        output = [file.read_text(errors="replace") for file in sorted(path.glob("slurm-*.out"))]
        environments = {file.name: read_environment(file) for file in files}
        return Tried(way, done.returncode, done.stdout, done.stderr, environments, output)
