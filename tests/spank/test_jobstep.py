# SPDX-License-Identifier: Apache-2.0
"""Test the plugin in a stub of slurmstepd: a job's settings, the request at the job's start, and the reports."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence

import pytest

from tests.spank.conftest import Played, Stub
from tests.spank.daemon import Conversation, FakeDaemon, Message, decision, say_nothing
from tests.waiting import in_time

BATCH_STEP = 0xFFFFFFFB
NO_VAL = 0xFFFFFFFE
ITEM = {"uid": 0, "job": 2, "step": 3, "nodes": 4, "node": 5, "exit_status": 13, "restarts": 29, "array_task": 31}
FIRST_NODE = f"item {ITEM['node']} 0"
CARRIED = {"v": 1, "id": "d-9", "verdict": "apply", "env": {"OMPI_MCA_a": "1", "SRO_B": "2"}}


def start(
    stub: Stub,
    carried: object = None,
    *,
    step: int = BATCH_STEP,
    uid: int | None = None,
    env: Sequence[str] = (),
    items: Sequence[str] = (),
    settings: Sequence[str] = (),
    then: Sequence[str] = (),
    own: Mapping[str, str] | None = None,
) -> Played:
    """Run the plugin's hooks for the start of a step whose job carries the decision `carried`, and return the results.

    `own` is slurmstepd's environment. The script lines in `then` run after the hooks.
    """
    text = carried if isinstance(carried, str) else json.dumps(carried)
    lines = [
        "context remote",
        *stub.settings(*settings),
        f"item {ITEM['uid']} {os.geteuid() if uid is None else uid}",
        f"item {ITEM['job']} 4711",
        f"item {ITEM['step']} {step}",
        f"item {ITEM['array_task']} {NO_VAL}",
        *items,
        *([f"job SLURM_SPANK_REPRISE={text}"] if carried is not None else []),
        *(f"job {entry}" for entry in env),
        "call init",
        "call init_post_opt",
        "call user_init",
        *then,
    ]
    return stub.play(*lines, argv=("slurmstepd",), env=own)


def given(played: Played) -> dict[str, str]:
    return {name: value for name, value in played.job.items() if name.startswith(("OMPI_", "SRO_", "REPRISE_"))}


@pytest.mark.parametrize("step", [BATCH_STEP, 0])
def test_the_carried_settings_reach_every_step(stub: Stub, daemon: FakeDaemon, step: int) -> None:
    played = start(stub, CARRIED, step=step)
    assert given(played) == {"OMPI_MCA_a": "1", "SRO_B": "2", "REPRISE_DECISION": "d-9"}
    assert daemon.of_kind("decide") == []


def test_a_variable_that_the_job_has_is_not_overwritten(stub: Stub, daemon: FakeDaemon) -> None:
    played = start(stub, CARRIED, env=["SRO_B=mine"])
    assert given(played)["SRO_B"] == "mine"
    assert daemon.asked[0].message["applied"] == 1


def test_a_setting_that_the_script_has_removed_stays_removed_in_its_steps(stub: Stub) -> None:
    played = start(stub, CARRIED, step=0, env=["REPRISE_DECISION=d-9", "SRO_B=2"])
    assert "OMPI_MCA_a" not in played.job


@pytest.mark.parametrize("verdict", ["none", "observe", "holdout"])
def test_other_verdicts_change_nothing(stub: Stub, daemon: FakeDaemon, verdict: str) -> None:
    played = start(stub, {**CARRIED, "verdict": verdict, "env": {}})
    assert given(played) == {}
    assert [request.message["kind"] for request in daemon.asked] == ["outcome"]


def test_off_is_reported_without_a_request_for_a_decision(stub: Stub, daemon: FakeDaemon) -> None:
    start(stub, {"v": 1, "verdict": "off", "env": {}})
    (only,) = daemon.asked
    assert (only.message["kind"], only.message["verdict"], only.message["decision"]) == ("outcome", "off", None)


def test_another_users_privileges_are_not_used(stub: Stub, daemon: FakeDaemon) -> None:
    assert given(start(stub, CARRIED, uid=os.geteuid() + 4242)) == {}
    assert daemon.asked == []


def test_the_kill_switch_stops_carried_settings(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "disabled").touch()
    assert given(start(stub, CARRIED)) == {}
    assert daemon.asked == []


@pytest.mark.parametrize(
    ("env", "applied", "present"),
    [
        ([], 2, 2),
        (["REPRISE_DECISION=d-9", "SRO_B=2", "OMPI_MCA_a=1"], 0, 2),
        (["REPRISE_DECISION=d-9", "SRO_B=2", "OMPI_MCA_a=mine"], 0, 1),
        (["REPRISE_DECISION=d-9"], 0, 0),
        (["SRO_B=" + "2" * 9000], 1, 1),
    ],
    ids=["set there", "inherited", "changed by the script", "taken away by the script", "long"],
)
def test_the_first_step_reports_the_settings_that_its_tasks_have(
    stub: Stub, daemon: FakeDaemon, env: Sequence[str], applied: int, present: int
) -> None:
    start(stub, CARRIED, step=0, env=[*env, "SLURM_CLUSTER_NAME=far"], items=[FIRST_NODE])
    (only,) = daemon.asked
    job = {"id": 4711, "array_task": None, "uid": os.geteuid(), "cluster": "far"}
    told = {"decision": "d-9", "verdict": "apply", "applied": applied, "unreadable": 0, "present": present, "job": job}
    assert only.message == {"v": 1, "kind": "outcome", "state": "step", **told}


@pytest.mark.parametrize(("step", "node"), [(1, 0), (0, 1), (0, NO_VAL)])
def test_later_steps_and_other_nodes_report_nothing(stub: Stub, daemon: FakeDaemon, step: int, node: int) -> None:
    start(stub, CARRIED, step=step, items=[f"item {ITEM['node']} {node}"])
    assert daemon.asked == []


@pytest.mark.parametrize("verdict", ["none", "observe", "holdout", "off"])
def test_the_first_step_of_a_job_without_settings_reports_nothing(stub: Stub, daemon: FakeDaemon, verdict: str) -> None:
    start(stub, {**CARRIED, "verdict": verdict, "env": {}}, step=0, items=[FIRST_NODE])
    assert daemon.asked == []


def with_file(path: object) -> dict[str, object]:
    return {**CARRIED, "env": {"OMPI_MCA_a": "1", "OMPI_MCA_file": str(path)}}


def test_settings_that_name_an_unreadable_file_are_not_given_and_this_is_reported(
    stub: Stub, daemon: FakeDaemon
) -> None:
    played = start(stub, with_file(stub.directory / "gone"))
    assert given(played) == {}
    assert "SLURM_SPANK_REPRISE" not in played.job, "the job's steps must not get the decision either"
    assert (daemon.asked[0].message["applied"], daemon.asked[0].message["unreadable"]) == (0, 1)


def test_readable_files_lists_of_paths_and_relative_paths_do_not_prevent_settings(
    stub: Stub, daemon: FakeDaemon
) -> None:
    (stub.directory / "rules").touch()
    for value in (stub.directory / "rules", "/no/such/place:/nor/such", "relative/path"):
        assert given(start(stub, with_file(value)))["OMPI_MCA_file"] == str(value)
    assert [request.message["unreadable"] for request in daemon.asked] == [0, 0, 0]


def test_a_step_keeps_settings_with_a_file_unreadable_on_its_node_and_reports_this(
    stub: Stub, daemon: FakeDaemon
) -> None:
    """All nodes of a step must get the same settings."""
    played = start(stub, with_file(stub.directory / "gone"), step=0, items=[FIRST_NODE])
    assert given(played)["OMPI_MCA_a"] == "1"
    assert (daemon.asked[0].message["applied"], daemon.asked[0].message["unreadable"]) == (2, 1)


UNUSABLE = [None, "", "nonsense", {"v": 1, "verdict": "unreachable", "env": {}}, "x" * 70_000]
FORGED = {"v": 1, "id": "d", "verdict": "apply", "env": {"LD_PRELOAD": "/tmp/x.so"}}


@pytest.mark.parametrize(
    "carried", [*UNUSABLE, FORGED], ids=["missing", "empty", "nonsense", "unreachable", "long", "forged"]
)
def test_without_a_usable_carried_decision_the_batch_step_requests_one(
    stub: Stub, daemon: FakeDaemon, carried: object
) -> None:
    daemon.reply = decision("apply", {"SRO_LATE": "1"})
    spooled = stub.directory / "slurm_script"
    spooled.write_text("#!/bin/sh\nsrun a\n")
    played = start(
        stub,
        carried,
        env=[
            "SLURM_SUBMIT_DIR=/home/a",
            "SLURM_JOB_NUM_NODES=4",
            "SLURM_NTASKS=8",
            "SLURM_X=1",
            "SRO_MINE=1",
            "HOME=/h",
        ],
        items=[f"script {spooled}", f"item {ITEM['restarts']} 2", f"item {ITEM['nodes']} 1"],
    )
    assert given(played) == {"SRO_LATE": "1", "SRO_MINE": "1", "REPRISE_DECISION": "d-1"}
    assert json.loads(played.job["SLURM_SPANK_REPRISE"])["env"] == {"SRO_LATE": "1"}
    (request,) = daemon.of_kind("decide", "start")
    assert request.message["job"] == {
        "id": 4711,
        "array_task": None,
        "nodes": 4,
        "tasks": 8,
        "restarts": 2,
        "cluster": None,
    }
    submission = request.message["submission"]
    assert (submission["command"], submission["argv"], submission["cwd"]) == ("batch", [], "/home/a")
    assert submission["set"] == ["SRO_MINE"]
    assert submission["script"] == {"path": str(spooled), "text": "#!/bin/sh\nsrun a\n", "truncated": False}
    assert set(submission["env"]) == {"SLURM_SUBMIT_DIR", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_X"}
    assert "LD_PRELOAD" not in played.job


@pytest.mark.parametrize("reply", [decision("none"), {"v": 1, "kind": "error"}], ids=["nothing", "an error"])
def test_a_carried_decision_that_the_batch_step_cannot_use_is_used_by_no_step(
    stub: Stub, daemon: FakeDaemon, reply: Message
) -> None:
    """A newer plugin on another node may accept the decision's variables, but all nodes must get the same settings."""
    daemon.reply = reply
    played = start(stub, {**CARRIED, "env": {"NCCL_ALGO": "Tree", "NEWER_VARIABLE": "1"}})
    assert played.job == {}


@pytest.mark.parametrize("step", [0, 1])
def test_only_the_batch_step_sends_requests_and_reports(stub: Stub, daemon: FakeDaemon, step: int) -> None:
    start(stub, step=step, then=[f"item {ITEM['exit_status']} 0", "call task_exit"])
    assert daemon.asked == []


@pytest.mark.parametrize(
    ("env", "settings"), [(["REPRISE=off"], []), ([], ["default=off"]), ([], ["minimum_uid=4294967294"])]
)
def test_off_applies_at_the_start_too(
    stub: Stub, daemon: FakeDaemon, env: Sequence[str], settings: Sequence[str]
) -> None:
    start(stub, env=env, settings=settings)
    (only,) = daemon.asked
    assert (only.message["kind"], only.message["verdict"]) == ("outcome", "off")


@pytest.mark.parametrize("verdict", ["none", "observe", "holdout", "defer"])
def test_a_job_that_is_given_nothing_at_its_start_is_not_changed(stub: Stub, daemon: FakeDaemon, verdict: str) -> None:
    daemon.reply = decision(verdict)
    assert start(stub).job == {}
    reported = "none" if verdict == "defer" else verdict  # at the job's start, a decision can no longer be deferred
    assert daemon.of_kind("outcome")[0].message["verdict"] == reported


def test_a_job_is_unchanged_if_no_daemon_can_be_reached(stub: Stub) -> None:
    assert start(stub).job == {}


def test_a_job_is_reported_once_at_its_start_and_once_at_its_end(stub: Stub, daemon: FakeDaemon) -> None:
    end = [f"item {ITEM['exit_status']} 256", "call task_exit", "call task_exit"]
    start(stub, CARRIED, items=[f"item {ITEM['array_task']} 3"], then=end)
    first, last = (request.message for request in daemon.asked)
    job = {"id": 4711, "array_task": 3, "uid": os.geteuid(), "cluster": None}
    common = {
        "v": 1,
        "kind": "outcome",
        "decision": "d-9",
        "verdict": "apply",
        "applied": 2,
        "unreadable": 0,
        "job": job,
    }
    assert first == {**common, "state": "started"}
    assert 0 <= last.pop("elapsed_s") < 10
    assert last == {**common, "state": "ended", "exit_status": 256}


@pytest.mark.parametrize("name", ["far", "a-b.c_1", "x" * 64])
def test_all_requests_and_reports_about_a_job_name_its_cluster(stub: Stub, daemon: FakeDaemon, name: str) -> None:
    end = [f"item {ITEM['exit_status']} 0", "call task_exit"]
    start(stub, env=[f"SLURM_CLUSTER_NAME={name}"], then=end)
    assert [request.message["job"]["cluster"] for request in daemon.asked] == [name] * 3


@pytest.mark.parametrize("name", ["", "Far", "a b", "a/b", "f\u00e4r", "x" * 65, "x" * 30_000])
def test_an_invalid_name_of_a_cluster_is_left_out(stub: Stub, daemon: FakeDaemon, name: str) -> None:
    start(stub, CARRIED, env=[f"SLURM_CLUSTER_NAME={name}"])
    assert [request.message["job"]["cluster"] for request in daemon.asked] == [None]


@pytest.mark.slow
def test_a_hung_daemon_costs_one_deadline_at_the_start_and_one_at_the_end(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.converse = say_nothing
    end = [f"item {ITEM['exit_status']} 0", "call task_exit"]

    def waits() -> dict[str, int]:
        daemon.asked.clear()
        return {name: elapsed for name, _, elapsed in start(stub, settings=["deadline_ms=400"], then=end).calls}

    waited = in_time(waits, lambda waited: max(waited.values()) < 790)
    assert 395 <= waited["user_init"] < 790
    assert 395 <= waited["task_exit"] < 790
    assert [request.message["kind"] for request in daemon.asked] == ["decide", "outcome"]


def answer_late_and_then_never(daemon: FakeDaemon, after_s: float) -> Conversation:
    def converse(peer: socket.socket, message: Message) -> None:
        if message["kind"] == "decide":
            time.sleep(after_s)
            daemon.send_answer(peer, message)
        else:
            say_nothing(peer, message)

    return converse


@pytest.mark.slow
def test_all_requests_at_a_start_share_one_deadline(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = decision("apply", {"SRO_A": "1"})
    daemon.converse = answer_late_and_then_never(daemon, 0.7)

    def waits() -> int:
        daemon.asked.clear()
        ((_, _, took),) = [call for call in start(stub, settings=["deadline_ms=1000"]).calls if call[0] == "user_init"]
        return took

    waited = in_time(waits, lambda waited: waited < 1600)
    assert [request.message["kind"] for request in daemon.asked] == ["decide", "outcome"]
    assert 995 <= waited < 1600


@pytest.mark.parametrize("context", ["slurmd", "job_script", "error", "unheard-of"])
def test_other_contexts_do_nothing(stub: Stub, daemon: FakeDaemon, context: str) -> None:
    hooks = [f"call {hook}" for hook in ("init", "init_post_opt", "user_init", "task_exit")]
    played = stub.play(f"context {context}", *stub.settings(), *hooks)
    assert (played.control, played.job, daemon.asked) == ({}, {}, [])


@pytest.mark.parametrize("text", ["", "x", "-1", "0", "4x", "4294967296", "9" * 40])
def test_an_invalid_count_is_left_out(stub: Stub, daemon: FakeDaemon, text: str) -> None:
    start(stub, env=[f"SLURM_NTASKS={text}", "SLURM_NTASKS_PER_NODE=3", "NO_VARIABLE"])
    (request,) = daemon.of_kind("decide")
    assert request.message["job"]["tasks"] is None


def test_a_request_is_sent_even_if_slurm_gives_no_information_about_the_job(stub: Stub, daemon: FakeDaemon) -> None:
    start(stub, items=["lacking all"])
    (request,) = daemon.of_kind("decide")
    assert request.message["client"]["slurm"] == ""
    assert (request.message["submission"]["env"], request.message["submission"]["cwd"]) == ({}, "")


def test_a_job_of_an_unknown_user_is_not_changed(stub: Stub, daemon: FakeDaemon) -> None:
    carried = f"job SLURM_SPANK_REPRISE={json.dumps(CARRIED)}"
    played = stub.play("context remote", *stub.settings(), carried, "call user_init")
    assert (given(played), daemon.asked) == ({}, [])


def test_the_mark_of_another_decision_does_not_prevent_settings(stub: Stub) -> None:
    assert given(start(stub, CARRIED, step=0, env=["REPRISE_DECISION=d-8"]))["OMPI_MCA_a"] == "1"


def test_an_end_without_an_exit_status_is_not_reported(stub: Stub, daemon: FakeDaemon) -> None:
    start(stub, CARRIED, then=["call task_exit"])
    assert [asked.message["state"] for asked in daemon.of_kind("outcome")] == ["started"]


def test_under_slurm_of_another_release_a_job_gets_no_settings(stub: Stub, daemon: FakeDaemon) -> None:
    played = start(stub, CARRIED, items=["slurm 20.11.4"], then=[f"item {ITEM['exit_status']} 0", "call task_exit"])
    assert (given(played), daemon.asked) == ({}, [])
