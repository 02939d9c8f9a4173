# SPDX-License-Identifier: Apache-2.0
"""Test --reprise=profile: a job gets the same settings as with --reprise=on; programs are profiled or run unchanged."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.hung_filesystem import can_be_mounted, hung_filesystem
from tests.spank.conftest import Played, Stub
from tests.spank.daemon import FakeDaemon, decision
from tests.spank.test_jobstep import BATCH_STEP, CARRIED, ITEM, start

WITNESS = "/etc/passwd"  # replaces the witness library: only root can write it, as required; the stub does not load it
WISH = "SLURM_SPANK_REPRISE_PROFILE=1"
GIVEN = {"OMPI_MCA_a": "1", "SRO_B": "2", "REPRISE_DECISION": "d-9"}


def begin(
    stub: Stub,
    env: Sequence[str] = (WISH,),
    *,
    step: int = BATCH_STEP,
    node: int = 0,
    witness: str = WITNESS,
    place: str | None = None,
    settings: Sequence[str] = (),
    items: Sequence[str] = (),
    own: Mapping[str, str] | None = None,
    carried: object = CARRIED,
) -> Played:
    where = [f"SLURM_SUBMIT_DIR={stub.directory if place is None else place}"]
    return start(
        stub,
        carried,
        step=step,
        env=[*env, *where],
        items=[f"item {ITEM['node']} {node}", *items],
        settings=[f"witness={witness}", *settings],
        own=own,
    )


def reports(stub: Stub, job: str = "4711") -> Path:
    return stub.directory / f"reprise-profile-{job}"


def witnessed(played: Played) -> bool:
    return WITNESS in played.job.get("LD_PRELOAD", "") and "REPRISE_PROFILE" in played.job


def settings_given(played: Played) -> dict[str, str]:
    return {name: value for name, value in played.job.items() if name in GIVEN}


# --- at submission


@pytest.mark.parametrize("command", ["sbatch", "salloc"])
@pytest.mark.parametrize("way", ["option", "environment"])
def test_the_request_is_that_of_mode_on_and_the_job_is_marked_for_profiling(
    stub: Stub, daemon: FakeDaemon, command: str, way: str
) -> None:
    daemon.reply = decision("apply", {"SRO_B": "2"})
    asked = {"option": "profile"} if way == "option" else {"env": {"REPRISE": "profile"}}
    played = stub.submit([command, "job.sh"], **asked)
    assert daemon.question["mode"] == "on", "older matchers refuse an unknown mode"
    assert played.control["REPRISE_PROFILE"] == "1" and played.log == []
    assert played.carried is not None and played.carried["env"] == {"SRO_B": "2"}


def test_srun_marks_its_tasks_through_its_own_environment(stub: Stub, daemon: FakeDaemon) -> None:
    played = stub.submit(["srun", "./a"], option="profile")
    assert played.own["SLURM_SPANK_REPRISE_PROFILE"] == "1" and "REPRISE_PROFILE" not in played.control


@pytest.mark.parametrize("mode", ["on", "explain", "observe", "off"])
def test_other_modes_ask_for_no_profile(stub: Stub, daemon: FakeDaemon, mode: str) -> None:
    assert "REPRISE_PROFILE" not in stub.submit(option=mode, env={"REPRISE": "profile"}).control


def test_each_component_of_a_heterogeneous_job_is_marked_for_profiling(stub: Stub, daemon: FakeDaemon) -> None:
    lines = ["context allocator", *stub.settings(), "call init", "option profile", *["call init_post_opt"] * 2]
    assert stub.play(*lines).control["REPRISE_PROFILE"] == "1"


@pytest.mark.parametrize("setting", ["minimum_uid=4294967294", ""])
def test_an_excluded_user_gets_no_profile(stub: Stub, daemon: FakeDaemon, setting: str) -> None:
    if not setting:
        (stub.directory / "disabled").touch()
    settings = [setting] if setting else []
    assert "REPRISE_PROFILE" not in stub.submit(option="profile", settings=settings).control
    played = begin(stub, settings=settings)
    assert not witnessed(played) and not reports(stub).exists()


def test_a_site_cannot_make_profiling_its_default(stub: Stub, daemon: FakeDaemon) -> None:
    assert "REPRISE_PROFILE" not in stub.submit(settings=["default=profile"]).control


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"/a.so:/lib/libreprise_sro.so:{WITNESS}", "/a.so:/lib/libreprise_sro.so"),
        (WITNESS, None),
        ("/a.so", "/a.so"),
        (None, None),
    ],
)
def test_a_job_submitted_from_a_profiled_job_inherits_no_profiling(
    stub: Stub, daemon: FakeDaemon, before: str | None, after: str | None
) -> None:
    own = {"SLURM_SPANK_REPRISE_PROFILE": "1", "REPRISE_PROFILE": "/home/a/reprise-profile-1"}
    more = [] if before is None else [f"own LD_PRELOAD={before}"]
    played = stub.submit(env=own, before=[*more, "control REPRISE_PROFILE=1"], settings=[f"witness={WITNESS}"])
    assert played.own.get("LD_PRELOAD") == after
    assert not {*own} & {*played.own} and "REPRISE_PROFILE" not in played.control


def test_profiling_that_the_user_set_up_is_inherited(stub: Stub, daemon: FakeDaemon) -> None:
    own = {"REPRISE_PROFILE": "/mine"}
    played = stub.submit(env=own, before=[f"own LD_PRELOAD={WITNESS}"], settings=[f"witness={WITNESS}"])
    assert (played.own["LD_PRELOAD"], played.own["REPRISE_PROFILE"]) == (WITNESS, "/mine")


# --- in the job


@pytest.mark.parametrize("env", [[WISH], ["REPRISE=profile"]], ids=["carried", "in the environment"])
def test_a_job_has_a_private_directory_and_the_witness_at_the_end_of_its_list(
    stub: Stub, daemon: FakeDaemon, env: list[str]
) -> None:
    played = begin(stub, [*env, "LD_PRELOAD=/a.so"])
    assert played.job["REPRISE_PROFILE"] == str(reports(stub)) and played.log == []
    assert played.job["LD_PRELOAD"] == f"/a.so:{WITNESS}"
    assert (reports(stub).stat().st_mode & 0o777, reports(stub).stat().st_uid) == (0o700, os.geteuid())
    assert settings_given(played) == GIVEN, "the job gets the same settings as with `on`"
    assert played.job["SLURM_SPANK_REPRISE_PROFILE"] == "1", "the job's steps are profiled, too"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "verify_asan_link_order=0"),
        ("detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"),
        ("verify_asan_link_order=1:a=b", "verify_asan_link_order=1:a=b"),
    ],
)
def test_programs_with_address_sanitizer_run_with_the_witness(
    stub: Stub, daemon: FakeDaemon, before: str | None, after: str
) -> None:
    own = [] if before is None else [f"ASAN_OPTIONS={before}"]
    played = begin(stub, [WISH, *own])
    assert witnessed(played) and played.job["ASAN_OPTIONS"] == after
    assert begin(stub, own).job.get("ASAN_OPTIONS") == before, "ASAN_OPTIONS are unchanged if no profile is taken"
    inherited = [f"own ASAN_OPTIONS={after}", f"own {WISH}"]
    submitted = stub.submit(before=inherited, settings=[f"witness={WITNESS}"])
    assert submitted.own.get("ASAN_OPTIONS") == before


def test_an_accelerator_and_the_witness_are_loaded_together(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "libreprise_sro.so").touch()
    carried = {**CARRIED, "env": {"REPRISE_PRELOAD": "sro"}}
    played = begin(stub, carried=carried, settings=[f"preload_directory={stub.directory}"])
    assert played.job["LD_PRELOAD"] == f"{stub.directory}/libreprise_sro.so:{WITNESS}"


def test_the_option_of_a_batch_job_overrides_its_environment(stub: Stub, daemon: FakeDaemon) -> None:
    for option, wanted in (("off", False), ("profile", True)):
        lines = [
            "context remote",
            *stub.settings(f"witness={WITNESS}"),
            f"item {ITEM['uid']} {os.geteuid()}",
            f"item {ITEM['job']} 4711",
            f"item {ITEM['step']} {BATCH_STEP}",
            f"job SLURM_SUBMIT_DIR={stub.directory}",
            "job REPRISE=profile",
            f"job {WISH}",
            "call init",
            f"option {option}",
            "call user_init",
        ]
        assert witnessed(stub.play(*lines, argv=("slurmstepd",))) is wanted, option


def test_a_job_without_the_request_is_not_profiled(stub: Stub, daemon: FakeDaemon) -> None:
    for env in ([], ["REPRISE=on"], ["REPRISE=explain"], ["SLURM_SPANK_REPRISE_PROFILE=10"]):
        played = begin(stub, env)
        assert "LD_PRELOAD" not in played.job and "REPRISE_PROFILE" not in played.job
    assert not reports(stub).exists()


@pytest.mark.parametrize("node", [0, 1])
def test_a_step_without_a_batch_step_makes_the_directory_itself_on_each_node(
    stub: Stub, daemon: FakeDaemon, node: int
) -> None:
    reports(stub).mkdir()
    assert witnessed(begin(stub, step=0, node=node)) and witnessed(begin(stub, step=0, node=node))


def test_a_step_ignores_the_mode_in_its_environment(stub: Stub, daemon: FakeDaemon) -> None:
    assert not witnessed(begin(stub, ["REPRISE=profile"], step=0)), "only the batch step reads this variable"


def test_a_step_uses_the_directory_that_it_inherits(stub: Stub, daemon: FakeDaemon) -> None:
    played = begin(stub, [WISH, "REPRISE_PROFILE=/elsewhere", "LD_PRELOAD=/of/the/script.so"], step=3)
    assert played.job["REPRISE_PROFILE"] == "/elsewhere" and not reports(stub).exists()
    assert played.job["LD_PRELOAD"] == f"/of/the/script.so:{WITNESS}"


def test_a_job_that_starts_again_has_another_directory(stub: Stub, daemon: FakeDaemon) -> None:
    begin(stub, items=[f"item {ITEM['restarts']} 2"])
    assert reports(stub, "4711-r2").is_dir() and not reports(stub).exists()


# --- if no profile can be taken


def refusal(played: Played) -> str:
    """Check that a job runs with all settings but without a profile, and return the line that states the reason."""
    assert settings_given(played) == GIVEN
    assert not witnessed(played)
    ((level, line),) = played.log
    assert level == "user"
    return line


def test_without_the_library_the_job_runs_as_with_on_and_one_line_says_so(stub: Stub, daemon: FakeDaemon) -> None:
    played = begin(stub, [WISH, "LD_PRELOAD=/a.so"], witness="/nowhere/w.so")
    line = refusal(played)
    assert line.startswith(
        "reprise: no profile is taken: /nowhere/w.so: is missing, or users other than root can write to it"
    )
    assert (played.job["LD_PRELOAD"], reports(stub).exists()) == ("/a.so", False)
    assert "SLURM_SPANK_REPRISE_PROFILE" not in played.job, "the job's steps do not print the line again"


def test_a_library_that_users_other_than_root_may_write_is_refused(stub: Stub, daemon: FakeDaemon) -> None:
    mine = stub.directory / "w.so"
    mine.touch()
    mine.chmod(0o664)
    for path in (str(mine), "/etc", "/dev/null"):
        assert "other than root" in refusal(begin(stub, witness=path))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to create files for other users")
def test_a_library_that_another_user_owns_is_refused(stub: Stub, daemon: FakeDaemon) -> None:
    path = stub.directory / "w.so"
    path.touch(0o644)
    os.chown(path, 4242, 4242)
    assert "other than root" in refusal(begin(stub, witness=str(path)))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to create files owned by root")
@pytest.mark.parametrize(("name", "mode"), [("w.so", 0o646), ("w.so", 0o664), ("a b.so", 0o644), ("a:b.so", 0o644)])
def test_a_library_whose_name_cannot_be_in_the_list_is_refused(
    stub: Stub, daemon: FakeDaemon, name: str, mode: int
) -> None:
    path = stub.directory / name
    path.touch()
    path.chmod(mode)
    assert "other than root" in refusal(begin(stub, witness=str(path)))


def test_another_node_without_the_library_continues_silently_without_it(stub: Stub, daemon: FakeDaemon) -> None:
    env = [WISH, f"REPRISE_PROFILE={stub.directory}", "LD_PRELOAD=/a.so:/nowhere/w.so"]
    played = begin(stub, env, step=0, node=1, witness="/nowhere/w.so")
    assert (played.job["LD_PRELOAD"], played.log) == ("/a.so", [])
    assert begin(stub, [WISH], step=0, node=1, witness="/nowhere/w.so").log == []
    assert len(begin(stub, [WISH], step=0, node=0, witness="/nowhere/w.so").log) == 1


@pytest.mark.parametrize("place", ["", "relative", "/" + "x" * 4090])
def test_a_directory_that_cannot_be_named_costs_the_profile(stub: Stub, daemon: FakeDaemon, place: str) -> None:
    assert "is unset or not an absolute path" in refusal(begin(stub, place=place))


def test_a_job_without_the_variable_for_the_directory_has_no_profile(stub: Stub, daemon: FakeDaemon) -> None:
    played = start(stub, CARRIED, env=[WISH], settings=[f"witness={WITNESS}"])
    assert "is unset or not an absolute path" in refusal(played)


def test_a_directory_that_cannot_be_made_costs_the_profile(stub: Stub, daemon: FakeDaemon) -> None:
    line = refusal(begin(stub, place=f"{stub.directory}/gone\x1b[2J"))
    assert line == (
        f"reprise: no profile is taken: {stub.directory}/gone?[2J/reprise-profile-4711: {os.strerror(errno.ENOENT)}"
    )


@pytest.mark.parametrize("kind", ["file", "link", "another's"])
def test_an_existing_path_that_is_not_the_users_directory_is_not_used(
    stub: Stub, daemon: FakeDaemon, kind: str
) -> None:
    if kind == "file":
        reports(stub).touch()
    elif kind == "link":
        reports(stub).symlink_to(stub.directory)
    elif os.geteuid() == 0:
        reports(stub).mkdir()
        os.chown(reports(stub), 4242, 4242)
    else:
        pytest.skip("only root can create directories for other users")
    assert os.strerror(errno.EEXIST) in refusal(begin(stub))


@pytest.mark.slow
@pytest.mark.skipif(not can_be_mounted(), reason="needs root and /dev/fuse")
def test_a_file_system_that_hangs_costs_half_a_second_and_the_profile(stub: Stub, daemon: FakeDaemon) -> None:
    place = stub.directory / "hung"
    place.mkdir()
    with hung_filesystem(place) as answers:
        # Until the file system answers, the child keeps the stub's output open.
        timer = threading.Timer(2.0, answers.set)
        timer.start()
        played = begin(stub, place=str(place))
        timer.join()
    assert "its file system does not answer in time" in refusal(played)
    assert 500 - 3 <= max(elapsed for _, _, elapsed in played.calls) < 2000
    assert {request.message["state"] for request in daemon.of_kind("outcome")} == {"started"}, (
        "the job's start is reported before the wait"
    )


def test_an_environment_that_cannot_be_read_costs_the_profile(stub: Stub, daemon: FakeDaemon) -> None:
    assert not witnessed(begin(stub, items=["lacking x"]))


def failing(stub: Stub, name: str, at: int) -> Played:
    """Start a step in which call number `at` of the function `name` fails."""
    own = {"FAIL_CALL": name, "FAIL_AT": str(at)}
    return begin(stub, step=3, own=own, carried={"v": 1, "verdict": "off", "env": {}})


@pytest.mark.parametrize("name", ["mkdir", "lstat"])
def test_the_reason_for_a_missing_directory_is_reported(stub: Stub, daemon: FakeDaemon, name: str) -> None:
    played = failing(stub, name, 1)
    ((_, line),) = played.log
    assert not witnessed(played) and line.endswith(f"{reports(stub)}: {os.strerror(errno.EIO)}")


@pytest.mark.parametrize("name", ["asprintf", "stat", "fork", "calloc", "malloc", "socketpair"])
def test_a_call_that_fails_costs_the_profile_at_most(stub: Stub, daemon: FakeDaemon, name: str) -> None:
    found = [failing(stub, name, at) for at in range(1, 7)]
    assert not all(map(witnessed, found))
    assert all(len(played.log) <= 1 for played in found)


def test_a_message_without_memory_for_it_is_left_out(stub: Stub, daemon: FakeDaemon) -> None:
    own = {"FAIL_CALL": "asprintf", "FAIL_AT": "1", "FAIL_AFTER": "1"}
    assert begin(stub, step=3, witness="/nowhere/w.so", own=own).log == []


def test_a_carried_decision_and_the_request_for_a_profile_are_independent(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = decision("apply", {"SRO_B": "2"}, id="d-9")
    played = begin(stub, carried=None)
    assert witnessed(played) and json.loads(played.job["SLURM_SPANK_REPRISE"])["env"] == {"SRO_B": "2"}
    (asked,) = daemon.of_kind("decide")
    assert asked.message["mode"] == "on"
