# SPDX-License-Identifier: Apache-2.0
"""Test the main use case as a whole: an admin's campaign, the daemon, jobs of three users, and answers for support."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.machine import JobEnd, VirtualCluster
from tests.cluster.product import SOURCE, Daemon, seconds_of, tune
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

SOLVER = "/srv/apps/solver/bin/solver"
RULES = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
SHOW = f'echo "rules=${RULES}"; echo "first: $(head -n 1 "${RULES}" 2>&1)"'
ALICE = f"#!/bin/bash\n#SBATCH -J solve -N4 --ntasks-per-node=1\n{SHOW}\nmpirun {SOLVER} --size 4096 --iterations 90\n"
BOB = (
    f"#!/bin/bash\n#SBATCH -J mesh\n{SHOW}\nAPP=/srv/apps/solver\nmpirun $APP/bin/solver --size 4100 --tolerance 1e-6\n"
)
CAROL = "#!/bin/bash\n#SBATCH -J wordcount\nenv | sort\n"
CAMPAIGN = {
    "name": "solver-broadcast",
    "component": "openmpi-collectives",
    "settings": {
        "collectives": ["bcast"],
        "sizes": [1048576],
        "nodes": 4,
        "tasks_per_node": 1,
        "warmup": 2,
        "repetitions": 8,
        "max_seconds": 1,
        "timeout_s": 20,
    },
    "application": {"script": "/home/alice/solver/solve.sh", "user": "alice"},
    "search": {"initial": 6, "budget": 8},
    "repetitions": {"default_runs": 2, "final_pairs": 6},
    "executor": {"kind": "allocation", "time_limit": "0:10:00"},
}


@pytest.fixture(scope="module")
def report(cluster: VirtualCluster) -> dict[str, Any]:
    """Install the users' programs, tune Alice's solver, and return the result of `reprise tune run`."""
    cluster.run(["install", "-D", f"{SOURCE}/demo/solver", SOLVER])
    cluster.write("/home/alice/solver/solve.sh", ALICE, user="alice")
    cluster.write("/home/bob/projects/new mesh/run it.sh", BOB, user="bob")
    cluster.write("/home/carol/words.sh", CAROL, user="carol")
    result = tune(cluster, "/home/reprise/main.yaml", CAMPAIGN)
    assert result["record"], result
    return result


@pytest.fixture
def daemon(cluster: VirtualCluster, report: dict[str, Any]) -> Iterator[Daemon]:
    with Daemon(cluster) as running:
        yield running


def run(cluster: VirtualCluster, user: str, directory: str, *words: str) -> JobEnd:
    end = cluster.wait_job(cluster.submit(words[-1], *words[:-1], user=user, cwd=f"/home/{user}/{directory}"))
    assert end.state == "COMPLETED", end.output
    return end


def given(end: JobEnd) -> str:
    """Return the rules file that the job's environment sets; "" if it sets none."""
    found = re.search(r"^rules=(.*)$", end.output, re.MULTILINE)
    assert found, end.output
    return found[1]


def explain(cluster: VirtualCluster, job: int | str, *options: str) -> Any:
    return cluster.run(["reprise", "match", "explain", str(job), *options], user="reprise", check=False)


def decision(cluster: VirtualCluster, end: JobEnd) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(explain(cluster, end.job_id, "--json").stdout)["decisions"][0]
    return told


def test_a_campaign_proves_and_publishes_a_rules_file(cluster: VirtualCluster, report: dict[str, Any]) -> None:
    assert report["state"] == "complete" and report["trials"] == 2 + 8 + 12
    assert report["parametrization"]["proof"]["launches"] > 0
    for node in ("", "node3"):
        assert "bcast" in cluster.run(["cat", report["artifact"]], user="carol", node=node).stdout


def test_the_tuned_job_is_recognised_and_can_read_its_rules_file(
    cluster: VirtualCluster, daemon: Daemon, report: dict[str, Any]
) -> None:
    end = run(cluster, "alice", "solver", "solve.sh")
    assert given(end) == report["artifact"]
    assert "first: # Open MPI rules file" in end.output and "solved" in end.output
    told = decision(cluster, end)
    assert (told["verdict"], told["record_id"], told["user"]) == ("apply", report["record"], "alice")
    reached = "2 variables set, and the tasks of its first step have them"
    wait_for("the report from the job's first step", lambda: reached in explain(cluster, end.job_id).stdout, 10)


def test_another_users_job_of_the_same_application_is_recognised(
    cluster: VirtualCluster, daemon: Daemon, report: dict[str, Any]
) -> None:
    end = run(cluster, "bob", "projects/new mesh", "-N4", "-n4", "--job-name=a finer mesh", "run it.sh")
    assert given(end) == report["artifact"]
    assert "a finer mesh" in explain(cluster, end.job_id).stdout


def test_users_are_told_of_their_own_jobs_and_of_no_other_users(cluster: VirtualCluster, daemon: Daemon) -> None:
    end = run(cluster, "bob", "projects/new mesh", "-N4", "-n4", "run it.sh")
    wait_for("the job's end in the database", lambda: "exit status 0" in explain(cluster, end.job_id).stdout, 10)
    assert "alice" in explain(cluster, end.job_id).stdout, "support sees everything"
    words = ["reprise", "match", "explain", str(end.job_id)]
    told = cluster.run(words, user="bob")
    assert "by bob" in told.stdout and "another user's job" in told.stdout and "exit status 0" in told.stdout
    assert "alice" not in told.stdout + cluster.run([*words, "--json"], user="bob").stdout
    others = cluster.run(words, user="carol", check=False)
    assert (others.returncode, others.stdout) == (3, "") and "of yours" in others.stderr


def test_the_same_application_on_other_nodes_is_given_nothing(cluster: VirtualCluster, daemon: Daemon) -> None:
    end = run(cluster, "alice", "solver", "-N2", "solve.sh")
    assert given(end) == ""
    assert "nodes" in decision(cluster, end)["reason"]


def test_something_else_is_not_recognised_and_its_environment_is_untouched(
    cluster: VirtualCluster, daemon: Daemon
) -> None:
    plain, usual = (run(cluster, "carol", "", f"--reprise={mode}", "words.sh") for mode in ("off", "on"))
    assert decision(cluster, usual)["verdict"] == "none"

    def names(end: JobEnd) -> list[str]:
        return re.findall(r"^(\w+)=", end.output, re.MULTILINE)

    assert names(plain) == names(usual)


def test_off_is_not_asked_and_said_so(cluster: VirtualCluster, daemon: Daemon) -> None:
    end = run(cluster, "alice", "solver", "--reprise=off", "solve.sh")
    assert given(end) == ""
    told = explain(cluster, end.job_id)
    assert told.returncode == 0 and "switched off" in told.stdout


def test_a_user_who_sets_such_a_variable_keeps_his_own(cluster: VirtualCluster, daemon: Daemon) -> None:
    own = {"OMPI_MCA_coll_tuned_bcast_algorithm": "1"}
    job = cluster.submit("solve.sh", user="alice", cwd="/home/alice/solver", env=own)
    end = cluster.wait_job(job)
    assert end.state == "COMPLETED" and given(end) == ""
    assert "OMPI_MCA_coll_tuned_bcast_algorithm" in explain(cluster, job).stdout


def test_without_the_daemon_jobs_run_at_once_and_with_defaults(cluster: VirtualCluster, report: dict[str, Any]) -> None:
    took_s, printed = seconds_of(["sbatch", "--parsable", "solve.sh"], cluster, "alice", cwd="/home/alice/solver")
    end = cluster.wait_job(int(printed))
    assert end.state == "COMPLETED" and given(end) == ""
    assert took_s < 1.0
    told = explain(cluster, end.job_id)
    assert told.returncode == 3 and "was not running when job" in told.stderr
    assert told.stderr.count("\n") == 1


def test_a_killed_daemon_is_started_again_and_knows_what_it_knew(cluster: VirtualCluster, daemon: Daemon) -> None:
    before = run(cluster, "alice", "solver", "solve.sh")
    daemon.signal("KILL")
    with Daemon(cluster):
        assert given(run(cluster, "alice", "solver", "solve.sh")) != ""
        assert decision(cluster, before)["verdict"] == "apply"


def test_a_retired_record_is_given_to_nobody_within_seconds(
    cluster: VirtualCluster, daemon: Daemon, report: dict[str, Any]
) -> None:
    record = str(report["record"])
    words = ["reprise", "match", "explain", "--script", "solve.sh", "--user", "alice", "--json"]

    def verdict() -> str:
        done = cluster.run(words, user="reprise", cwd="/home/alice/solver")
        return str(json.loads(done.stdout)["decisions"][0]["verdict"])

    assert verdict() == "apply"
    cluster.run(["reprise", "records", "retire", record], user="reprise")
    try:
        assert verdict() == "none"
        wait_for("jobs without settings", lambda: given(run(cluster, "alice", "solver", "solve.sh")) == "", 10)
    finally:
        cluster.run(["reprise", "records", "release", record], user="reprise")


def test_the_doctor_finds_nothing_wrong_and_names_what_is(cluster: VirtualCluster, report: dict[str, Any]) -> None:
    with Daemon(cluster):
        healthy = cluster.run(["reprise", "doctor"], check=False)
        assert healthy.returncode == 0, healthy.stdout
    ill = cluster.run(["reprise", "doctor"], check=False)
    assert ill.returncode == 1
    assert "systemctl start reprise-matcher" in ill.stdout or "reprise serve" in ill.stdout
