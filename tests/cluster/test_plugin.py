# SPDX-License-Identifier: Apache-2.0
"""Test the plugin on a real Slurm with a fake daemon; `test_ways.py` tests all ways to submit jobs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import install_plugin
from tests.spank.daemon import FakeDaemon, decision, say_nothing
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

SOCKET = "/run/reprise/matcher.sock"
SETTINGS = {"OMPI_MCA_coll": "tuned", "SRO_SIZE": "two words"}
APPLY = decision("apply", SETTINGS, score=0.93, record=12)
GIVEN = {**SETTINGS, "REPRISE_DECISION": "d-1"}
# Variables that Slurm 24.11 and later set in every job.
SLURMS_OWN = {"OMPI_MCA_plm_slurm_args", "PRTE_MCA_plm_slurm_args"}
SLURMS_OWN_FOR_INTEL_MPI = {"I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"}
# The paths are absolute, because a job with --export=NONE has no PATH.
SHOW = f"/usr/bin/env | /bin/sed -En '/^({'|'.join(sorted(SLURMS_OWN))})=/d; /^(OMPI_MCA_|SRO_|REPRISE_)/p'"
SCRIPT = f"#!/bin/sh\n{SHOW}\n"


@pytest.fixture(scope="module")
def cluster(root: Path) -> Iterator[VirtualCluster]:
    plugstack = f"optional spank_reprise.so deadline_ms=300 endpoint=unix:{SOCKET}\n"
    with VirtualCluster(nodes=2, plugstack=plugstack, root=root) as machine:
        done = install_plugin(machine)
        assert (done.returncode, done.stderr) == (0, "")
        machine.run(["mkdir", "-p", "/run/reprise", "/etc/reprise"])
        machine.write("/home/alice/job.sh", SCRIPT, user="alice")
        yield machine


@pytest.fixture
def daemon(cluster: VirtualCluster) -> Iterator[FakeDaemon]:
    with FakeDaemon(cluster.path(SOCKET), reply=APPLY).listening() as listening:
        yield listening
        assert listening.refused == []


def settings(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def given(cluster: VirtualCluster, *argv: str, env: dict[str, str] | None = None, stdin: str = "") -> dict[str, str]:
    """Submit a job with `sbatch ARGV`, and return the settings in its environment."""
    done = cluster.run(["sbatch", "--parsable", *argv], user="alice", env=env, stdin=stdin)
    assert done.stderr == ""
    end = cluster.wait_job(int(done.stdout))
    assert end.state == "COMPLETED", end.output
    return settings(end.output)


def messages(daemon: FakeDaemon, kind: str) -> list[dict[str, Any]]:
    return [request.message for request in daemon.of_kind(kind)]


@pytest.mark.parametrize(
    "argv",
    [["job.sh"], ["--wrap", SHOW]],
    ids=" ".join,
)
def test_a_batch_job_gets_its_settings(cluster: VirtualCluster, daemon: FakeDaemon, argv: Sequence[str]) -> None:
    assert given(cluster, *argv) == GIVEN
    (request,) = daemon.of_kind("decide")
    assert request.uid == cluster.uid("alice")
    submission = request.message["submission"]
    assert submission["argv"] == ["sbatch", "--parsable", *argv]
    text = submission["script"]["text"] if submission["script"] else None
    assert text == (SCRIPT if "job.sh" in argv else None)


def test_a_mistake_in_plugstack_is_not_shown_to_users_and_their_jobs_are_served(
    cluster: VirtualCluster, daemon: FakeDaemon
) -> None:
    (line,) = cluster.path("/etc/slurm/plugstack.conf.d").iterdir()
    right = line.read_text()
    cluster.write("/home/alice/step.sh", f'#!/bin/sh\nsrun /bin/sh -c "{SHOW}"\n', user="alice")
    try:
        line.write_text(right.replace("deadline_ms=300", "deadline_ms=soon"))
        done = cluster.run(["sbatch", "--parsable", "step.sh"], user="alice")
        end = cluster.wait_job(int(done.stdout))
    finally:
        line.write_text(right)
    assert (done.stderr, end.state, settings(end.output)) == ("", "COMPLETED", GIVEN)


def test_every_step_of_a_job_gets_the_same(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    script = f'#!/bin/sh\nsrun -N2 /bin/sh -c "{SHOW}"\nsrun --export=NONE -N2 /bin/sh -c "{SHOW}"\n'
    cluster.write("/home/alice/steps.sh", script, user="alice")
    end = cluster.wait_job(cluster.submit("steps.sh", "-N2", "--ntasks-per-node=1"))
    assert sorted(end.output.splitlines()) == sorted([f"{k}={v}" for k, v in GIVEN.items()] * 4)
    assert len(daemon.of_kind("decide")) == 1


def test_the_outcome_is_reported(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    cluster.write("/home/alice/fails.sh", "#!/bin/sh\nexit 3\n", user="alice")
    job_id = cluster.submit("fails.sh")
    assert cluster.wait_job(job_id).exit_status == 3
    started, ended = wait_for("both reports", lambda: daemon.of_kind("outcome")[1:] and daemon.of_kind("outcome"), 60)
    job = {"id": job_id, "array_task": None, "uid": cluster.uid("alice"), "cluster": cluster.spec.name}
    given = {"decision": "d-1", "verdict": "apply", "applied": 2, "unreadable": 0}
    common = {"v": 1, "kind": "outcome", **given, "job": job}
    assert started.message == {**common, "state": "started"}
    assert 0 < ended.message.pop("elapsed_s") < 30
    assert ended.message == {**common, "state": "ended", "exit_status": 3 << 8}
    assert (started.uid, ended.uid) == (cluster.uid("alice"), 0)


def test_a_cancelled_job_is_reported(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    cluster.write("/home/alice/long.sh", "#!/bin/sh\nexec sleep 1000\n", user="alice")
    job_id = cluster.submit("long.sh")
    wait_for("the start", lambda: daemon.of_kind("outcome"), 60)
    cluster.run(["scancel", str(job_id)])
    ended = wait_for("the end", lambda: daemon.of_kind("outcome")[1:], 60)[0].message
    assert (ended["state"], ended["exit_status"]) == ("ended", 15)


def test_an_array_is_decided_once_and_reported_by_task(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    done = cluster.run(["sbatch", "--parsable", "--wait", "--array=1-2", "--output=array.%a", "job.sh"], user="alice")
    assert done.returncode == 0
    for task in (1, 2):
        assert settings(cluster.path(f"/home/alice/array.{task}").read_text()) == GIVEN
    assert len(daemon.of_kind("decide")) == 1
    ended = [m["job"]["array_task"] for m in messages(daemon, "outcome") if m["state"] == "ended"]
    assert sorted(ended) == [1, 2]


def test_the_users_variable_stays(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    assert given(cluster, "job.sh", env={"SRO_SIZE": "mine"}) == {**GIVEN, "SRO_SIZE": "mine"}
    assert messages(daemon, "decide")[0]["submission"]["set"] == ["SRO_SIZE"]


@pytest.mark.parametrize("off", [["--reprise=off"], ["--reprise", "off"]], ids=" ".join)
def test_off_is_off(cluster: VirtualCluster, daemon: FakeDaemon, off: Sequence[str]) -> None:
    assert given(cluster, *off, "job.sh") == {}
    assert daemon.of_kind("decide") == []
    assert {m["verdict"] for m in messages(daemon, "outcome")} == {"off"}


def test_a_directive_in_the_script_is_an_option_too(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    cluster.write("/home/alice/off.sh", SCRIPT.replace("\n", "\n#SBATCH --reprise=off\n", 1), user="alice")
    assert given(cluster, "off.sh") == {}
    assert given(cluster, "--reprise=on", "off.sh") == GIVEN


def test_a_wrong_option_is_refused(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    done = cluster.run(["sbatch", "--reprise=maybe", "job.sh"], user="alice", check=False)
    assert done.returncode != 0
    first, *_ = done.stderr.splitlines()
    assert first == "sbatch: error: reprise: --reprise=maybe is invalid: use on, off, observe, explain or profile"


def test_explain_says_what_is_given(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    done = cluster.run(["sbatch", "--reprise=explain", "job.sh"], user="alice")
    line = "reprise: apply: because; score 0.93; set: OMPI_MCA_coll=tuned SRO_SIZE=two words\n"
    assert done.stderr == line


@pytest.mark.parametrize("command", ["sbatch", "salloc", "srun"])
def test_the_help_shows_the_option(cluster: VirtualCluster, command: str) -> None:
    assert "--reprise=on|off|observe|explain" in cluster.run([command, "--help"]).stdout


def test_a_script_from_standard_input_is_asked_about_again(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    daemon.reply = decision("defer")
    daemon.at_start = APPLY
    script = SCRIPT + f'srun -N2 /bin/sh -c "{SHOW} | sed s/^/step./"\n'
    found = given(cluster, "-N2", "--ntasks-per-node=1", stdin=script)
    assert found == GIVEN | {f"step.{name}": value for name, value in GIVEN.items()}
    first, second = messages(daemon, "decide")
    assert (first["point"], first["submission"]["script"]) == ("submit", None)
    assert (second["point"], second["submission"]["command"]) == ("start", "batch")
    assert second["submission"]["script"]["text"] == script
    assert second["submission"]["env"]["SLURM_JOB_PARTITION"] == "main"
    assert second["submission"]["cwd"] == "/home/alice"
    assert second["job"]["nodes"] == 2


def test_a_job_submitted_from_a_job_is_decided_for_itself(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    cluster.write("/home/alice/outer.sh", "#!/bin/sh\nsbatch --wait --output=inner.out job.sh\n", user="alice")
    daemon.converse = lambda peer, message: reply_by_program(peer, message)
    assert cluster.wait_job(cluster.submit("outer.sh")).state == "COMPLETED"
    assert settings(cluster.path("/home/alice/inner.out").read_text()) == {}
    outer, inner = (m["submission"]["set"] for m in messages(daemon, "decide"))
    assert (outer, set(inner) - SLURMS_OWN - SLURMS_OWN_FOR_INTEL_MPI) == ([], set())


def reply_by_program(peer: Any, message: dict[str, Any]) -> None:
    """Return settings for outer.sh, and a decision without settings for any other job."""
    outer = message["kind"] == "decide" and "outer.sh" in message["submission"]["argv"]
    FakeDaemon(Path(), reply=APPLY if outer else decision("none")).send_answer(peer, message)


def test_the_kill_switch_works_at_once(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    switch = cluster.path("/etc/reprise/disabled")
    switch.touch()
    try:
        assert given(cluster, "job.sh") == {}
    finally:
        switch.unlink()
    assert daemon.asked == []
    assert given(cluster, "job.sh") == GIVEN


def submission_seconds(cluster: VirtualCluster) -> float:
    start = time.monotonic()
    cluster.run(["sbatch", "--hold", "--parsable", "job.sh"], user="alice")
    return time.monotonic() - start


def test_without_a_daemon_jobs_run_as_ever(cluster: VirtualCluster) -> None:
    assert given(cluster, "job.sh") == {}
    assert min(submission_seconds(cluster) for _ in range(3)) < 0.25


def test_a_hung_daemon_costs_a_submission_its_deadline(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    usual = min(submission_seconds(cluster) for _ in range(3))
    daemon.converse = say_nothing
    hung = min(submission_seconds(cluster) for _ in range(3))
    assert 0.25 < hung - usual < 0.6  # the deadline is 0.3 s
    assert given(cluster, "job.sh") == {}


def test_a_forged_decision_gives_nothing_that_is_not_on_the_list(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    daemon.reply = decision("none")
    forged = {"v": 1, "id": "x", "verdict": "apply", "env": {"LD_PRELOAD": "/tmp/x.so"}}
    env = {"SLURM_SPANK_REPRISE": json.dumps(forged)}
    done = cluster.run(["srun", "-n1", "--reprise=off", "/usr/bin/env"], user="alice", env=env)
    assert "LD_PRELOAD=" not in done.stdout
