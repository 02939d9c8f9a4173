# SPDX-License-Identifier: Apache-2.0
"""Test sites without the plugin: TaskProlog and cli_filter request decisions, and their failures never affect a job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.machine import JobEnd, VirtualCluster
from tests.cluster.slurm_services import CONF
from tests.cluster.spec import SOURCE
from tests.spank.daemon import FakeDaemon, decision, say, say_nothing
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

SOCKET = "/run/reprise/matcher.sock"
SHARE = "/usr/local/share/reprise"
SETTINGS = {"OMPI_MCA_coll": "tuned", "SRO_SIZE": "two words"}
GIVEN = {**SETTINGS, "REPRISE_DECISION": "d-1"}
SHOW = "/usr/bin/env | /bin/sed -En '/^(OMPI_MCA_|SRO_|REPRISE_|LD_)/p'"
SCRIPT = f'#!/bin/sh\n{SHOW}\nsrun /bin/sh -c "{SHOW}" | sed s/^/step./\nexit 3\n'
ALL = GIVEN | {f"step.{name}": value for name, value in GIVEN.items()}
SPOOL = "/var/spool/slurmd-%n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(nodes=2) as running:
        running.run(["make", "-C", SOURCE, "install-fallbacks"])
        running.run(["mkdir", "-p", "/run/reprise", "/etc/reprise"])
        running.run(["cp", f"{SHARE}/cli_filter.lua", "/etc/slurm/cli_filter.lua"])
        prolog = running.path(f"{SHARE}/task_prolog").read_text()
        running.write("/etc/slurm/task_prolog", prolog.replace("spool=/var/spool/slurmd", f"spool={SPOOL}"), mode=0o755)
        conf = running.path(CONF)
        conf.write_text(f"{conf.read_text()}TaskProlog=/etc/slurm/task_prolog\nCliFilterPlugins=cli_filter/lua\n")
        running.run(["scontrol", "reconfigure"])
        shown = ["scontrol", "show", "config"]
        wait_for("the TaskProlog", lambda: "/etc/slurm/task_prolog" in running.run(shown).stdout)
        running.write("/home/alice/job.sh", SCRIPT, user="alice")
        yield running


@pytest.fixture
def daemon(cluster: VirtualCluster) -> Iterator[FakeDaemon]:
    reply = decision("apply", SETTINGS)
    with FakeDaemon(cluster.path(SOCKET), reply=reply).listening() as listening:
        yield listening
        assert listening.refused == []


def run(cluster: VirtualCluster, *options: str, **env: str) -> JobEnd:
    done = cluster.run(["sbatch", "--parsable", *options, "job.sh"], user="alice", env=env)
    assert done.stderr == ""
    end = cluster.wait_job(int(done.stdout))
    assert (end.state, end.exit_status) == ("FAILED", 3), end.output
    return end


def settings(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def srun(cluster: VirtualCluster, *options: str) -> dict[str, str]:
    done = cluster.run(["srun", "-Q", *options, "/bin/sh", "-c", SHOW], user="alice")
    assert done.stderr == ""
    return settings(done.stdout)


def submissions(daemon: FakeDaemon) -> list[dict[str, Any]]:
    return [{**asked.message["submission"], "job": asked.message.get("job")} for asked in daemon.of_kind("decide")]


def test_a_batch_script_and_its_steps_get_the_settings_of_one_decision(
    cluster: VirtualCluster, daemon: FakeDaemon
) -> None:
    end = run(cluster, "-N2", "--ntasks-per-node=1")
    assert settings(end.output) == ALL
    (asked,) = submissions(daemon)
    assert (asked["command"], asked["argv"], asked["cwd"]) == ("batch", [], "/home/alice")
    assert asked["script"]["text"] == SCRIPT
    assert asked["job"] == {
        "id": end.job_id,
        "array_task": None,
        "nodes": 2,
        "tasks": 2,
        "restarts": 0,
        "cluster": "reprise",
    }
    assert daemon.asked[0].uid == cluster.uid("alice")


def test_each_task_of_an_array_is_decided_about(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    cluster.run(["sbatch", "--wait", "--array=1-2", "--output=array.%a", "job.sh"], user="alice", check=False)
    for task in (1, 2):
        assert settings(cluster.path(f"/home/alice/array.{task}").read_text()) == ALL
    assert sorted(asked["job"]["array_task"] for asked in submissions(daemon)) == [1, 2]
    assert {asked["script"]["text"] for asked in submissions(daemon)} == {SCRIPT}


@pytest.mark.parametrize("export", ["NONE", "A"])
def test_the_users_export_changes_nothing_for_the_script(
    cluster: VirtualCluster, daemon: FakeDaemon, export: str
) -> None:
    assert GIVEN.items() <= settings(run(cluster, f"--export={export}").output).items()


def test_the_users_variable_stays(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    assert settings(run(cluster, SRO_SIZE="mine").output)["SRO_SIZE"] == "mine"
    assert submissions(daemon)[0]["set"] == ["SRO_SIZE"]


def test_a_user_can_switch_it_off(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    assert settings(run(cluster, REPRISE="off").output) == {}
    assert daemon.asked == []


def test_the_kill_switch_works_at_once(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    switch = cluster.path("/etc/reprise/disabled")
    switch.touch()
    try:
        assert settings(run(cluster).output) == srun(cluster) == {}
    finally:
        switch.unlink()
    assert daemon.asked == []


HOSTILE = {
    "a name that is not on the list": decision("apply", {**SETTINGS, "LD_PRELOAD": "/tmp/x.so"}),
    "a line of its own": decision("apply", {**SETTINGS, "SRO_A": "1\nexport LD_PRELOAD=/tmp/x.so"}),
    "nothing known": decision("none"),
}


@pytest.mark.parametrize("reply", HOSTILE.values(), ids=HOSTILE)
def test_an_answer_that_may_not_be_used_gives_nothing(
    cluster: VirtualCluster, daemon: FakeDaemon, reply: dict[str, Any]
) -> None:
    daemon.reply = reply
    assert settings(run(cluster).output) == srun(cluster) == {}
    assert len(daemon.of_kind("decide")) == 2


def test_without_a_daemon_jobs_run_as_ever(cluster: VirtualCluster) -> None:
    assert settings(run(cluster).output) == srun(cluster) == {}


def test_without_the_program_jobs_run_as_ever(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    program = cluster.path("/usr/local/libexec/reprise/reprise-ask")
    away = program.rename(program.with_suffix(".away"))
    try:
        assert settings(run(cluster).output) == srun(cluster) == {}
    finally:
        away.rename(program)


def test_a_hung_daemon_costs_no_more_than_the_deadline(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    words = ["bash", "-c", "exec -a 'slurmstepd: [7.batch]' bash -c '/etc/slurm/task_prolog; exit 0'"]
    env = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1"}

    def seconds() -> float:
        start = time.monotonic()
        assert cluster.run(words, user="alice", env=env).stdout == ("" if daemon.converse else TOLD)
        return time.monotonic() - start

    usual = min(seconds() for _ in range(3))
    daemon.converse = say_nothing
    assert 0.08 < min(seconds() for _ in range(3)) - usual < 0.3  # the deadline is 0.1 s
    daemon.converse = say(b"\0\0")
    assert min(seconds() for _ in range(3)) - usual < 0.08


TOLD = "".join(f"export {name}={value}\n" for name, value in GIVEN.items())


def test_a_step_is_not_asked_about(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    words = ["bash", "-c", "exec -a 'slurmstepd: [7.0]' bash -c '/etc/slurm/task_prolog; exit 0'"]
    env = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1"}
    assert cluster.run(words, user="alice", env=env).stdout == ""
    assert daemon.asked == []


def test_tasks_of_an_srun_get_the_settings_of_one_decision(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    done = cluster.run(["srun", "-Q", "-N2", "/bin/sh", "-c", SHOW], user="alice")
    assert sorted(done.stdout.splitlines()) == sorted([f"{name}={value}" for name, value in GIVEN.items()] * 2)
    (asked,) = submissions(daemon)
    assert (asked["command"], asked["argv"]) == ("srun", ["srun", "-Q", "-N2", "/bin/sh", "-c", SHOW])


def test_an_srun_of_several_components_is_decided_about_once(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    component = ["-n1", "/bin/sh", "-c", SHOW]
    done = cluster.run(["srun", "-Q", *component, ":", *component], user="alice")
    assert sorted(done.stdout.splitlines()) == sorted([f"{name}={value}" for name, value in GIVEN.items()] * 2)
    assert len(submissions(daemon)) == 1


def test_an_srun_with_a_list_of_variables_gets_the_settings_too(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    assert srun(cluster, "--export=A,PATH") == GIVEN


def test_an_srun_that_is_to_have_no_variables_gets_none(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    assert srun(cluster, "--export=NONE") == {}


def test_a_value_that_srun_would_take_apart_is_not_given(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    daemon.reply = decision("apply", {**SETTINGS, "SRO_A": "1,LD_PRELOAD=/tmp/x.so"})
    assert srun(cluster) == {}
