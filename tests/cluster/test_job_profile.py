# SPDX-License-Identifier: Apache-2.0
"""Test a user's job with --reprise=profile on a real Slurm: the job's profile, and its comparison with the record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reprise.matcher.wire.client import PING, ask
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import PLUGSTACK, SOCKET, SOURCE, Daemon, install
from tests.cluster.spec import PYTHON
from tests.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

HOME = "/home/alice"
SCRIPT = f"""\
#!/bin/bash
#SBATCH --job-name=solve --nodes=2 --ntasks-per-node=2 --time=5
export OMPI_MCA_mpi_yield_when_idle=1
cat /proc/self/maps
mpirun {HOME}/known_calls end {HOME}/out
"""
LIBRARIES = ("libreprise_sro.so", "reprise-witness.so")
RECORD = f"""
from pathlib import Path
from reprise.database import Database
from reprise.matcher.submission import Submission, parse
from tests.unit.matcher_daemon import record
script = Path("{HOME}/solve.sh").read_text()
known = parse(Submission.for_script("{HOME}/solve.sh", script, cwd="{HOME}"), user="alice", submit_time=1.7e9)
context = dict(cluster="reprise", nodes=2, tasks_per_node=2)
with Database.open(Path("/var/lib/reprise/reprise.db")) as database:
    print(database.add_record(record(component="sro", metadata=known.to_json(), context=context, conflicts=[],
                                     environment=dict(REPRISE_PRELOAD="sro"))))
"""
KEEP = """
import json, sys
from pathlib import Path
from reprise.cli.tune_profile import keep
from reprise.database import Database
from reprise.tuner.profile.profile_values import read_profile
with Database.open(Path("/var/lib/reprise/reprise.db")) as database:
    keep(database, int(sys.argv[1]), read_profile(json.load(sys.stdin), "test"))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(nodes=2) as machine:
        install(machine)
        machine.run(["make", "-C", SOURCE, "install-accelerators"])
        machine.run(["mpicc", f"{SOURCE}/tests/unit/known_calls.c", "-o", f"{HOME}/known_calls"], user="alice")
        machine.write(f"{HOME}/solve.sh", SCRIPT, user="alice")
        with Daemon(machine):
            yield machine


@pytest.fixture(scope="module")
def record(cluster: VirtualCluster) -> int:
    """Add a record for Alice's job, and wait until the matcher uses the record."""
    number = int(cluster.run([*PYTHON, "-c", RECORD], user="reprise", cwd=SOURCE, timeout_s=300).stdout)
    wait_for("the record in the matcher", lambda: ask(cluster.path(SOCKET), PING, 5.0)["records"] == 1, 60)
    return number


@pytest.fixture(scope="module")
def job(cluster: VirtualCluster, record: int) -> int:
    """Run a job of Alice's that matches the record and requests a profile."""
    end = cluster.wait_job(cluster.submit(f"{HOME}/solve.sh", "--reprise=profile", cwd=HOME), 240)
    assert end.state == "COMPLETED" and "no profile" not in end.output, end.output
    assert [library for library in LIBRARIES if library in end.output] == [*LIBRARIES], (
        "accelerator and witness are loaded"
    )
    return end.job_id


def told(cluster: VirtualCluster, job: int, *words: str, user: str = "alice") -> str:
    return cluster.run(["reprise", "jobs", "profile", str(job), *words], user=user, cwd="/tmp", timeout_s=300).stdout


def said(cluster: VirtualCluster, job: int, *words: str, user: str = "alice") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(told(cluster, job, "--json", *words, user=user))
    return document


def keep(cluster: VirtualCluster, record: int, profile: dict[str, Any]) -> None:
    cluster.run(
        [*PYTHON, "-c", KEEP, str(record)], user="reprise", cwd=SOURCE, stdin=json.dumps(profile), timeout_s=300
    )


def test_the_jobs_user_reads_its_profile_and_the_directory_is_theirs_alone(cluster: VirtualCluster, job: int) -> None:
    found = said(cluster, job)
    assert found["directory"] == f"{HOME}/reprise-profile-{job}"
    place = cluster.path(found["directory"]).stat()
    assert (place.st_mode & 0o777, place.st_uid) == (0o700, cluster.uid("alice"))
    profile = found["profile"]
    assert (profile["ranks"], profile["nodes"]) == (4, 2)
    assert ("allreduce", 4, 2, 11) in {
        (one["kind"], one["ranks"], one["nodes"], one["calls"]) for one in profile["collectives"]
    }
    assert {one["component"] for one in found["verdicts"]} >= {"sro", "openmpi-collectives"}
    assert found["end_reported"] is True


def test_a_job_is_compared_with_the_record_that_it_matched(cluster: VirtualCluster, job: int, record: int) -> None:
    found = said(cluster, job)
    assert (found["compared"]["verdict"], found["compared"]["record"]) == ("no-profile", record)
    keep(cluster, record, found["profile"])
    assert said(cluster, job)["compared"]["verdict"] == "alike"
    assert told(cluster, job).endswith(f"this job behaves like record {record} (sro)\n")
    other = {**found["profile"], "shares": {"io.read.small": 0.9, "compute": 0.1}, "waiting": 0.0}
    keep(cluster, record, other)
    for user in ("alice", "root"):  # alice reads the profile through the daemon, root reads it from the database
        compared = said(cluster, job, user=user)["compared"]
        assert (compared["verdict"], compared["hidden"]) == ("otherwise", False)
        assert "behaves differently from its record" in compared["words"]
        last = told(cluster, job, user=user).splitlines()[-1]
        assert f"record {record} (sro) was a wrong match, whatever its score" in last
    for words in (["match", "explain"], ["jobs", "show"]):
        who = "alice" if words[0] == "match" else "root"
        shown = cluster.run(["reprise", *words, str(job)], user=who, cwd="/tmp", timeout_s=300).stdout
        assert (f"`reprise jobs profile {job}`" in shown) is (who == "alice")


def test_nobody_else_reads_it(cluster: VirtualCluster, job: int) -> None:
    done = cluster.run(["reprise", "jobs", "profile", str(job)], user="bob", cwd="/tmp", timeout_s=300, check=False)
    assert done.returncode == 1 and "cannot be read (Permission denied)" in done.stderr


def test_the_environments_word_reaches_a_job_without_its_environment(cluster: VirtualCluster) -> None:
    cluster.write(f"{HOME}/short.sh", "#!/bin/bash\nsleep 0.1\nenv\n", user="alice")
    number = cluster.submit(f"{HOME}/short.sh", "--export=NONE", cwd=HOME, env={"REPRISE": "profile"})
    end = cluster.wait_job(number, 240)
    assert end.state == "COMPLETED" and f"\nREPRISE_PROFILE={HOME}/reprise-profile-{number}\n" in end.output, end.output
    assert "\nREPRISE=" not in end.output
    assert said(cluster, number)["profile"]["processes"] >= 1


def test_tasks_of_an_srun_without_a_batch_job_are_profiled(cluster: VirtualCluster) -> None:
    place = f"{HOME}/alone"
    cluster.run(["mkdir", place], user="alice")
    words = ["srun", "--reprise=profile", "--nodes=2", "--mpi=none", "sh", "-c", "sleep 0.1; echo $SLURM_JOB_ID"]
    number = cluster.run(words, user="alice", cwd=place).stdout.split()[0]
    found = said(cluster, int(number), "--directory", f"{place}/reprise-profile-{number}")
    assert found["profile"]["nodes"] == 2


def test_a_job_that_did_not_ask_has_nothing_of_it(cluster: VirtualCluster, record: int) -> None:
    end = cluster.wait_job(cluster.submit(f"{HOME}/solve.sh", cwd=HOME), 240)
    assert end.state == "COMPLETED" and "reprise-witness" not in end.output
    assert not cluster.path(f"{HOME}/reprise-profile-{end.job_id}").exists()


def test_without_the_library_the_job_runs_with_its_settings_and_its_log_says_so_once(
    cluster: VirtualCluster, record: int
) -> None:
    line = cluster.path(PLUGSTACK).read_text()
    cluster.path(PLUGSTACK).write_text(f"{line.rstrip()} witness=/nowhere/reprise-witness.so\n")
    try:
        end = cluster.wait_job(cluster.submit(f"{HOME}/solve.sh", "--reprise=profile", cwd=HOME), 240)
    finally:
        cluster.path(PLUGSTACK).write_text(line)
    assert end.state == "COMPLETED" and LIBRARIES[0] in end.output
    assert end.output.count("reprise: no profile is taken: /nowhere/reprise-witness.so") == 1, end.output
