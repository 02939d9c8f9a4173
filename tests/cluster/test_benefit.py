# SPDX-License-Identifier: Apache-2.0
"""Test quarantine on a real Slurm: if held-out jobs show that settings do harm, no further job gets the settings."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import SOURCE, Daemon, install
from tests.cluster.spec import PYTHON
from tests.cluster.test_transport import SCRIPT, TUNE
from tests.unit.matcher_daemon import RULES
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

SPANK = Path(__file__).resolve().parents[2] / "spank"
MOST = 60  # maximum number of jobs until the record is quarantined; half of the jobs get the record's settings
AT_ONCE = 4
# The job takes a second longer with the settings.
SLOWER = SCRIPT.replace("lattice.out", "lattice-%j.out") + (
    'sleep 0.3; [ -z "$OMPI_MCA_coll_tuned_use_dynamic_rules" ] || sleep 1\n'
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    with VirtualCluster(nodes=4) as machine:
        install(machine)
        config = machine.path("/etc/reprise/reprise.toml")
        text = config.read_text().replace("releases = []", 'releases = ["4.1.4"]', 1)
        config.write_text(text.replace("holdout = 0.0", "holdout = 0.1"))
        machine.run([*PYTHON, "-c", TUNE], user="reprise", cwd=SOURCE)
        machine.write(RULES["OMPI_MCA_coll_tuned_dynamic_rules_filename"], "0\n")
        machine.write("/home/alice/job.sh", SLOWER, user="alice")
        yield machine


def shown(cluster: VirtualCluster) -> dict[str, Any]:
    """Return the record, as `reprise records show` prints it."""
    done = cluster.run(["reprise", "records", "show", "1", "--json"], user="reprise")
    return dict(json.loads(done.stdout))


def quarantined_for(cluster: VirtualCluster) -> list[str]:
    return [one["user"] for one in shown(cluster)["quarantined_for"]]


def settings(output: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in output.splitlines())


def test_a_record_that_makes_jobs_slower_is_set_aside_and_its_jobs_run_as_they_are(cluster: VirtualCluster) -> None:
    with Daemon(cluster) as daemon:
        had: dict[int, dict[str, str]] = {}
        for _ in range(MOST // AT_ONCE):
            for job in [cluster.submit("job.sh") for _ in range(AT_ONCE)]:
                ended = cluster.wait_job(job)
                assert ended.state == "COMPLETED", ended
                had[job] = settings(ended.output)
            if quarantined_for(cluster):
                break
        wait_for("the record's quarantine for its user", lambda: quarantined_for(cluster) == ["alice"])
        given = [job for job, what in had.items() if what == RULES]
        held_out = [job for job, what in had.items() if not what]
        assert len(given) <= MOST // 2 and abs(len(given) - len(held_out)) <= AT_ONCE
        daemon.log_contains("event=quarantined record=1 user=alice why=")
        told = shown(cluster)
        assert told["quarantined_for"][0]["reason"].startswith("its jobs take longer: gain -")
        assert told["record"]["status"] == "active" and len(told["history"]) == 1

        mine = cluster.run(["reprise", "match", "explain", str(held_out[0])], user="alice").stdout
        assert "held out to measure the gain of other jobs" in mine
        said = cluster.run(["reprise", "jobs", "show", str(held_out[0])], user="reprise").stdout
        assert "this job, held out: " in said and "  given: " in said

        after = cluster.wait_job(cluster.submit("job.sh"))
        assert settings(after.output) == {}
        why = cluster.run(["reprise", "match", "explain", str(after.job_id)], user="reprise").stdout
        assert "is quarantined" in why

        changes = daemon.log().count("event=records ")
        cluster.run(["reprise", "records", "release", "1", "--reason", "a new library"], user="reprise")
        wait_for("the change of the record in the matcher", lambda: daemon.log().count("event=records ") > changes)
        three = [settings(cluster.wait_job(cluster.submit("job.sh")).output) for _ in range(3)]
        assert {} in three and RULES in three, (
            "jobs are compared in pairs again; one job of an earlier pair may be left"
        )
        assert [one["reason"] for one in shown(cluster)["history"]][1:] == ["a new library"]


LIE = """
import json, socket, sys
job = int(sys.argv[1])
message = {"v": 1, "kind": "outcome", "state": "ended", "verdict": "apply", "applied": 2, "elapsed_s": 9e5,
           "decision": sys.argv[2], "exit_status": 256, "job": {"id": job, "array_task": None, "uid": int(sys.argv[3])}}
data = json.dumps(message).encode()
s = socket.socket(socket.AF_UNIX)
s.connect("/run/reprise/matcher.sock")
s.sendall(len(data).to_bytes(4, "big") + data)
print(s.makefile("rb").read().decode(errors="replace"))
"""


def test_what_a_user_says_of_the_end_of_their_job_gives_way_to_what_slurmstepd_says(cluster: VirtualCluster) -> None:
    def ends(job: int) -> list[dict[str, Any]]:
        return [one for one in story(job).get("outcomes", []) if one["ended_at"]]

    def story(job: int) -> dict[str, Any]:
        told = cluster.run(["reprise", "match", "explain", "--json", str(job)], user="alice", check=False).stdout
        return dict(json.loads(told or "{}"))

    with Daemon(cluster):
        job = cluster.submit("job.sh")
        wait_for("the job's decision", lambda: bool(story(job)))
        decision = story(job)["decisions"][0]["id"]
        told = cluster.run([*PYTHON, "-c", LIE, str(job), decision, str(cluster.uid("alice"))], user="alice").stdout
        assert '"kind": "ok"' in told or '"kind":"ok"' in told
        cluster.wait_job(job)
        wait_for("slurmstepd's report", lambda: any(one["confirmed"] for one in ends(job)))
        assert [one["elapsed_s"] < 60 for one in ends(job) if one["confirmed"]] == [True]
