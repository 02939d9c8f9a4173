# SPDX-License-Identifier: Apache-2.0
"""Test that our parser and Slurm agree on a submission: each job is both parsed and submitted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from reprise.matcher.submission import Script, Submission, parse
from reprise.matcher.submission.metadata import JobMetadata
from tests.cluster.machine import VirtualCluster

pytestmark = pytest.mark.cluster
HEAD = "#!/bin/bash\n"
HOME = "/home/alice"
SCRIPT = "dir/run.sh"


@dataclass(frozen=True)
class Case:
    lines: str = ""
    argv: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return f"{HEAD}{self.lines}\nsleep 1\n"


CASES = [
    Case("#SBATCH -J foo # comment -n2"),
    Case("#SBATCH -J 'my \\ job' -n2"),
    Case('#SBATCH --job-name=a"b c"d'),
    Case('#SBATCH -J "a\\"b" -n 2'),
    Case("#SBATCH -J a#b -n2"),
    Case("#SBATCH -N 2 -n4 -J foo"),
    Case("\n\n# hi\n   \n#SBATCH -J foo"),
    Case("true\n#SBATCH -J foo"),
    Case("  #SBATCH -J foo\n#SBATCH -n3"),
    Case("##SBATCH -J foo"),
    Case("#SBATCH-J foo"),
    Case("#SBATCH\t-J\tfoo"),
    Case("#SBATCH -J foo \\\n#SBATCH -n2"),
    Case("#SBATCH -J a\n#SBATCH -J b"),
    Case("#SBATCH -J a", env={"SBATCH_JOB_NAME": "e", "SBATCH_PARTITION": "debug", "SLURM_NTASKS": "3"}),
    Case("#SBATCH -J a -p main", ("-J", "c"), {"SBATCH_JOB_NAME": "e", "SBATCH_PARTITION": "debug"}),
    Case("#SBATCH -J a", env={"SBATCH_JOB_NAME": ""}),
    Case("", (), {"SBATCH_NNODES": "2", "SLURM_JOB_NAME": "x", "SLURM_JOB_NUM_NODES": "2"}),
    Case("", ("-N2-4",)),
    Case("", ("-N2-2",)),
    Case("", ("-N+2",)),
    Case("", ("-N", " 2")),
    Case("", ("--nodes", "2")),
    Case("", ("-N1k",)),
    Case("", ("--job=zz",)),
    Case("", ("--tasks=3", "-N2")),
    Case("", ("-N2", "--ntasks-per-n=2")),
    Case("", ("--ntasks-per-node=2", "-N2", "-n3")),
    Case("", ("-N3", "-n2")),
    Case("", ("-koff", "-HOJbun")),
    Case("", ("-k", "-J", "q")),
    Case("", ("-D", "/tmp")),
    Case("", ("-D", "sub")),
    Case("#SBATCH -D /var"),
]
HETEROGENEOUS = [
    Case("#SBATCH -J a -n2\n#SBATCH hetjob\n#SBATCH -J b -n1"),
    Case("", ("-J", "a", "-n2", ":", "-J", "b")),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(nodes=3) as running:
        running.write(f"{HOME}/sub/file", "", user="alice")
        yield running


def submitted(cluster: VirtualCluster, case: Case) -> dict[str, str]:
    """Submit a job, and return Slurm's description of it, or of its first component if it is heterogeneous."""
    cluster.write(f"{HOME}/{SCRIPT}", case.text, user="alice")
    argv = ["sbatch", "--parsable", "--hold", *case.argv, SCRIPT]
    job_id = cluster.run(argv, user="alice", env=case.env).stdout.strip()
    line = cluster.run(["scontrol", "--oneliner", "show", "job", job_id]).stdout.splitlines()[0]
    name = re.search(r"JobName=(.*?) (?:HetJobIdSet=\S+ )?UserId", line)
    assert name
    return dict(word.split("=", 1) for word in line.split() if "=" in word) | {"JobName": name.group(1)}


def parsed(case: Case) -> JobMetadata:
    argv = ("sbatch", "--parsable", "--hold", *case.argv, SCRIPT)
    submission = Submission("sbatch", argv, HOME, case.env, (), Script(SCRIPT, case.text))
    return parse(submission, user="alice", submit_time=0.0)


@pytest.mark.parametrize("case", CASES + HETEROGENEOUS, ids=lambda case: repr((case.lines, *case.argv)))
def test_slurm_and_we_read_a_submission_alike(cluster: VirtualCluster, case: Case) -> None:
    job, ours = submitted(cluster, case), parsed(case)
    assert (ours.job_name, ours.directory) == (job["JobName"], job["WorkDir"])
    assert ours.partition in ("", job["Partition"])
    least, _, most = job["NumNodes"].partition("-")
    assert ours.nodes in (None, int(least)), job["NumNodes"]
    is_certain = least == most or job["NumTasks"] == "1"  # a single task runs on one node
    assert (ours.nodes is not None) == is_certain, (
        "the number of nodes is known only if one number of nodes, or one task, was given"
    )
    assert ours.tasks in (None, int(job["NumTasks"]))


@pytest.mark.parametrize(
    ("argv", "env", "name"),
    [
        (("srun", "-N1"), {}, "scontrol"),
        (("srun",), {"SLURM_JOB_NAME": "named", "SLURM_JOB_NUM_NODES": "2", "SLURM_NNODES": "1"}, "named"),
        (("srun",), {"SLURM_NTASKS": "2", "SLURM_NPROCS": "3", "SLURM_WORKING_DIR": "/var"}, "scontrol"),
        (("srun", "-D", "/tmp", "-J", "x"), {"SLURM_REMOTE_CWD": "/var", "SLURM_PARTITION": "debug"}, "x"),
        (
            ("salloc", "-N2"),
            {"SALLOC_PARTITION": "debug", "SLURM_JOB_NAME": "no", "SALLOC_JOB_NAME": "no"},
            "interactive",
        ),
    ],
    ids=str,
)
def test_srun_and_salloc_are_read_alike(
    cluster: VirtualCluster, argv: tuple[str, ...], env: dict[str, str], name: str
) -> None:
    command = ("scontrol", "--oneliner", "show", "job")
    line = cluster.run([*argv, *command], user="alice", env=env).stdout.splitlines()[-1]
    job = dict(word.split("=", 1) for word in line.split() if "=" in word)
    ours = parse(Submission(argv[0], (*argv, *command), HOME, env), user="alice", submit_time=0.0)
    assert (ours.job_name, ours.directory) == (job["JobName"], job["WorkDir"]) == (name, job["WorkDir"])
    assert ours.nodes in (None, int(job["NumNodes"]))
    assert ours.tasks in (None, int(job["NumTasks"]))
    assert ours.partition in ("", job["Partition"])
