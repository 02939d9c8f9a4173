# SPDX-License-Identifier: Apache-2.0
"""Test the plugin in submitting commands, in a stub of Slurm: requests, decisions sent to jobs, and faulty daemons."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.spank.conftest import Stub
from tests.spank.daemon import FakeDaemon, decision, say
from tests.spank.test_wire import VECTORS
from tests.waiting import in_time

APPLY = decision("apply", {"OMPI_MCA_a": "1", "SRO_B": "two words"}, score=0.934, record=12)
OFF = {"v": 1, "verdict": "off", "env": {}}


def test_a_decision_is_carried_and_nothing_else_changes(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    played = stub.submit()
    assert played.carried == {"v": 1, "id": "d-1", "verdict": "apply", "env": APPLY["env"]}
    assert set(played.own) == {"PATH", "STUB_SCRIPT"}
    assert played.log == []


@pytest.mark.parametrize("verdict", ["none", "observe", "holdout"])
def test_other_verdicts_are_carried_without_variables(stub: Stub, daemon: FakeDaemon, verdict: str) -> None:
    daemon.reply = decision(verdict)
    assert stub.submit().carried == {"v": 1, "id": "d-1", "verdict": verdict, "env": {}}


@pytest.mark.parametrize("command", ["salloc", "srun"])
@pytest.mark.parametrize("verdict", ["none", "observe", "holdout", "off"])
def test_a_job_without_a_batch_step_carries_only_a_decision_with_settings(
    stub: Stub, daemon: FakeDaemon, command: str, verdict: str
) -> None:
    daemon.reply = decision(verdict)
    played = stub.submit([command, "a"], option="off" if verdict == "off" else "")
    assert (played.control, set(played.own)) == ({}, {"PATH", "STUB_SCRIPT"})
    assert len(daemon.asked) == (verdict != "off")


def test_defer_carries_nothing(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = decision("defer")
    assert stub.submit().carried is None


@pytest.mark.parametrize("mode", ["on", "observe", "explain"])
def test_the_option_overrides_the_environment_which_overrides_the_sites_default(
    stub: Stub, daemon: FakeDaemon, mode: str
) -> None:
    stub.submit(option=mode, env={"REPRISE": "off"})
    stub.submit(env={"REPRISE": mode}, settings=["default=off"])
    assert [request.message["mode"] for request in daemon.asked] == [mode, mode]


@pytest.mark.parametrize(
    "off",
    [
        {"option": "off", "env": {"REPRISE": "on"}},
        {"env": {"REPRISE": "off"}},
        {"settings": ["default=off"]},
        {"settings": ["minimum_uid=4294967294"], "option": "on"},
    ],
)
def test_off_sends_no_request_and_carries_off(stub: Stub, daemon: FakeDaemon, off: dict[str, Any]) -> None:
    assert stub.submit(**off).carried == OFF
    assert daemon.asked == []


def test_the_kill_switch_overrides_everything(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "disabled").touch()
    assert stub.submit(option="on").carried == OFF
    assert daemon.asked == []


def test_a_kill_switch_that_cannot_be_checked_counts_as_present(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "disabled").symlink_to("disabled")  # a link to itself, which even root cannot check (ELOOP)
    assert stub.submit(option="on").carried == OFF
    assert daemon.asked == []


@pytest.mark.parametrize("path", ["file/disabled", "missing/disabled"])
def test_a_kill_switch_whose_path_cannot_exist_counts_as_absent(stub: Stub, daemon: FakeDaemon, path: str) -> None:
    (stub.directory / "file").touch()
    stub.submit(settings=[f"kill_switch={stub.directory}/{path}"])
    assert len(daemon.asked) == 1


def test_the_second_component_of_a_job_gets_the_decision_of_the_first(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    lines = ["context allocator", *stub.settings(), "call init", "call init_post_opt", "call init_post_opt"]
    played = stub.play(*lines, argv=["sbatch", "a.sh", ":", "b.sh"])
    assert played.carried and played.carried["id"] == "d-1"
    assert len(daemon.asked) == 1


def test_salloc_gives_its_shell_the_settings_that_are_not_set(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    played = stub.submit(["salloc", "-N1"], env={"SRO_B": "mine"})
    assert played.own["OMPI_MCA_a"] == "1"
    assert played.own["SRO_B"] == "mine"
    assert played.own["REPRISE_DECISION"] == "d-1"
    assert daemon.question["submission"]["script"] is None


def test_srun_carries_in_its_own_environment(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    played = stub.submit(["srun", "a.out"])
    assert json.loads(played.own["SLURM_SPANK_REPRISE"])["env"] == APPLY["env"]
    assert "OMPI_MCA_a" not in played.own
    assert daemon.question["submission"]["command"] == "srun"


STEPS: list[dict[str, Any]] = [
    {"env": {"SLURM_JOB_ID": "7"}},
    {"argv": ["srun", "--jobid=7", "a"]},
    {"argv": ["srun", "--jobi", "7", "a"]},  # getopt_long(3) accepts any unique prefix
]


@pytest.mark.parametrize("step", STEPS)
def test_srun_in_a_job_keeps_the_decision_of_the_job(stub: Stub, daemon: FakeDaemon, step: dict[str, Any]) -> None:
    env = {"SLURM_SPANK_REPRISE": "kept", **step.get("env", {})}
    played = stub.submit(step.get("argv", ["srun", "a"]), env=env)
    assert daemon.asked == []
    assert played.own["SLURM_SPANK_REPRISE"] == "kept"


@pytest.mark.parametrize("command", ["scrontab", "scrun"])
def test_unknown_commands_are_not_changed(stub: Stub, daemon: FakeDaemon, command: str) -> None:
    assert stub.submit([command, "x"]).control == {}
    assert daemon.asked == []


def test_a_job_submitted_from_a_job_inherits_no_decision(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = decision("defer")
    outer = {"v": 1, "id": "d-0", "verdict": "apply", "env": {"SRO_A": "given", "SRO_B": "given"}}
    env = {"SLURM_SPANK_REPRISE": json.dumps(outer), "REPRISE_DECISION": "d-0", "SLURM_JOB_ID": "7"}
    played = stub.submit(
        env={**env, "SRO_A": "given", "SRO_B": "mine"}, before=[f"control REPRISE={json.dumps(outer)}"]
    )
    assert played.carried is None
    assert not {"SLURM_SPANK_REPRISE", "REPRISE_DECISION", "SRO_A"} & set(played.own)
    assert daemon.question["submission"]["set"] == ["SRO_B"]


def test_no_daemon_costs_nothing_and_changes_nothing(stub: Stub) -> None:
    played = in_time(stub.submit, lambda played: played.calls[-1][2] < 100)
    assert played.carried is None
    assert played.log == []
    assert played.calls[-1][2] < 100


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["name"])
def test_frames_are_judged_as_the_protocol_says(stub: Stub, daemon: FakeDaemon, vector: dict[str, Any]) -> None:
    padded = json.dumps(APPLY).encode().ljust(vector["pad"]) if "pad" in vector else b""
    daemon.converse = say(bytes.fromhex(vector["header"]) + padded)
    carried = stub.submit().carried
    assert (carried is not None and carried["verdict"] == "apply") is vector["reply"]


def test_another_version_of_the_same_release_is_served(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    stub.submit()
    release = daemon.asked[0].message["client"]["slurm"].rpartition(".")[0]
    played = stub.submit(before=[f"slurm {release}.99-1"])
    assert played.log == []
    assert daemon.asked[1].message["client"]["slurm"] == f"{release}.99-1"


@pytest.mark.parametrize("carried", ["", "nonsense", "x" * 70_000])
def test_an_inherited_value_that_is_not_a_decision_is_dropped(stub: Stub, daemon: FakeDaemon, carried: str) -> None:
    played = stub.submit(env={"SLURM_SPANK_REPRISE": carried, "SRO_A": "mine"})
    assert "SLURM_SPANK_REPRISE" not in played.own
    assert played.own["SRO_A"] == "mine"


def test_a_setting_that_the_outer_job_removed_is_not_an_error(stub: Stub, daemon: FakeDaemon) -> None:
    outer = {"v": 1, "id": "d-0", "verdict": "apply", "env": {"SRO_A": "given"}}
    stub.submit(env={"SLURM_SPANK_REPRISE": json.dumps(outer)})
    assert daemon.question["submission"]["set"] == []


def test_srun_in_a_job_of_an_older_slurm_asks_nothing(stub: Stub, daemon: FakeDaemon) -> None:
    stub.submit(["srun", "a"], env={"SLURM_JOBID": "7"})
    assert daemon.asked == []


def test_without_settings_salloc_gives_its_shell_nothing(stub: Stub, daemon: FakeDaemon) -> None:
    assert "REPRISE_DECISION" not in stub.submit(["salloc"]).own
