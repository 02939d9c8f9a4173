# SPDX-License-Identifier: Apache-2.0
"""Test the library that a decision requests: its directory, its place in LD_PRELOAD, and when it is not loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spank.conftest import Played, Stub
from tests.spank.daemon import FakeDaemon, decision
from tests.spank.test_fallbacks import JOB, Program
from tests.spank.test_jobstep import BATCH_STEP, given, start

ENV = {"SRO_DISABLE": "0", "REPRISE_PRELOAD": "sro"}
CARRIED: dict[str, Any] = {"v": 1, "id": "d-9", "verdict": "apply", "env": ENV}
HAD = ["REPRISE_DECISION=d-9", "SRO_DISABLE=0", "REPRISE_PRELOAD=sro"]  # variables that a step inherits from the script


@pytest.fixture
def directory(stub: Stub) -> Path:
    """Create the directory of the site's preload libraries with one library in it, and return the directory."""
    path = stub.directory / "lib"
    path.mkdir()
    (path / "libreprise_sro.so").touch()
    return path


def begin(stub: Stub, directory: Path, carried: object = CARRIED, **more: Any) -> Played:
    return start(stub, carried, settings=[f"preload_directory={directory}"], **more)


def asking(name: str) -> dict[str, Any]:
    return {**CARRIED, "env": {**ENV, "REPRISE_PRELOAD": name}}


@pytest.mark.parametrize("step", [BATCH_STEP, 0])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "{ours}"),
        ("", "{ours}"),
        ("/a.so", "/a.so:{ours}"),
        ("/a.so /b.so:", "/a.so /b.so::{ours}"),
        ("{ours}:/a.so", "{ours}:/a.so"),
        ("/a.so {ours}", "/a.so {ours}"),
        ("{ours}x:/x{ours}", "{ours}x:/x{ours}:{ours}"),
        ("{like}", "{like}:{ours}"),
    ],
)
def test_the_library_is_once_in_the_list_and_after_all_others(
    stub: Stub, daemon: FakeDaemon, directory: Path, step: int, before: str | None, after: str
) -> None:
    ours = str(directory / "libreprise_sro.so")
    like = f"{ours[:-1]}x"  # another path of the same length
    env = [] if before is None else [f"LD_PRELOAD={before.format(ours=ours, like=like)}"]
    played = begin(stub, directory, step=step, env=env)
    assert played.job["LD_PRELOAD"] == after.format(ours=ours, like=like)
    assert given(played) == {**ENV, "REPRISE_DECISION": "d-9"}


@pytest.mark.parametrize("step", [BATCH_STEP, 0])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "verify_asan_link_order=0"),
        ("detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"),
        ("verify_asan_link_order=1:a=b", "verify_asan_link_order=1:a=b"),
    ],
)
def test_programs_with_address_sanitizer_start_with_the_library(
    stub: Stub, daemon: FakeDaemon, directory: Path, step: int, before: str | None, after: str
) -> None:
    env = [] if before is None else [f"ASAN_OPTIONS={before}"]
    assert begin(stub, directory, step=step, env=env).job["ASAN_OPTIONS"] == after
    again = begin(stub, directory, step=3, env=[*HAD, *env, f"LD_PRELOAD={directory}/libreprise_sro.so"])
    assert again.job["ASAN_OPTIONS"] == after, "a value that already includes the option is not extended again"
    (directory / "libreprise_sro.so").unlink()
    assert begin(stub, directory, step=3, env=[*HAD, *env]).job.get("ASAN_OPTIONS") == before
    submitted = stub.submit(
        settings=[f"preload_directory={directory}"],
        env={"SLURM_SPANK_REPRISE": json.dumps(CARRIED), "REPRISE_PRELOAD": "sro"},
        before=["own LD_PRELOAD=/a.so", f"own ASAN_OPTIONS={after}"],
    )
    assert submitted.own.get("ASAN_OPTIONS") == before, "a job submitted from this job gets the user's own options"


def test_a_step_gets_the_library_even_if_its_script_sets_its_own_list(
    stub: Stub, daemon: FakeDaemon, directory: Path
) -> None:
    played = begin(stub, directory, step=3, env=[*HAD, "LD_PRELOAD=/of/the/script.so"])
    assert played.job["LD_PRELOAD"] == f"/of/the/script.so:{directory}/libreprise_sro.so"


@pytest.mark.parametrize("had", [HAD[:2], [*HAD[:2], "REPRISE_PRELOAD=other"], [*HAD[:2], "REPRISE_PRELOAD="]])
def test_steps_of_a_script_that_removes_the_request_do_not_get_the_library(
    stub: Stub, daemon: FakeDaemon, directory: Path, had: list[str]
) -> None:
    assert "LD_PRELOAD" not in begin(stub, directory, step=0, env=had).job


@pytest.mark.parametrize("step", [BATCH_STEP, 0])
def test_a_job_without_settings_does_not_get_the_library(
    stub: Stub, daemon: FakeDaemon, directory: Path, step: int
) -> None:
    for verdict in ("none", "observe", "holdout"):
        carried = {**CARRIED, "verdict": verdict, "env": {}}
        assert "LD_PRELOAD" not in begin(stub, directory, carried, step=step, env=["REPRISE_PRELOAD=sro"]).job


@pytest.mark.parametrize(
    "name", ["gone", "", "../evil", "/tmp/evil", "a.b", "SRO", "x" * 65, "sro,sro", "sro:x", "s\u00f6", "sro "]
)
def test_a_missing_library_leaves_the_job_unchanged_and_is_reported(
    stub: Stub, daemon: FakeDaemon, directory: Path, name: str
) -> None:
    (stub.directory / "evil.so").touch()
    played = begin(stub, directory, asking(name), env=["LD_PRELOAD=/a.so"])
    assert given(played) == {} and played.job["LD_PRELOAD"] == "/a.so"
    assert daemon.asked[0].message["applied"] == 0
    assert daemon.asked[0].message["unreadable"] >= 1


def test_a_node_without_the_library_runs_its_tasks_without_it(stub: Stub, daemon: FakeDaemon, directory: Path) -> None:
    played = begin(stub, directory / "elsewhere", step=0, env=["LD_PRELOAD=/a.so"])
    assert played.job["LD_PRELOAD"] == "/a.so"
    assert given(played)["SRO_DISABLE"] == "0"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{ours}", ""),
        ("/a.so:{ours}", "/a.so"),
        ("{ours} /a.so", "/a.so"),
        ("/a.so {ours}:/b.so:{ours}", "/a.so:/b.so"),
        ("{ours}x:{ours}", "{ours}x"),
        ("/a.so::{like}:{ours}", "/a.so:{like}"),
    ],
)
def test_a_node_without_the_library_removes_it_from_the_list(
    stub: Stub, daemon: FakeDaemon, directory: Path, before: str, after: str
) -> None:
    (directory / "libreprise_sro.so").unlink()
    ours = str(directory / "libreprise_sro.so")
    like = f"{ours[:-1]}x"
    played = begin(stub, directory, step=0, env=[*HAD, f"LD_PRELOAD={before.format(ours=ours, like=like)}"])
    assert played.job["LD_PRELOAD"] == after.format(ours=ours, like=like)


@pytest.mark.parametrize("name", ["a:b", "a b", "x" * 4000])
def test_a_directory_whose_name_cannot_be_in_the_list_counts_as_empty(
    stub: Stub, daemon: FakeDaemon, name: str
) -> None:
    directory = stub.directory / name
    if len(name) < 255:
        directory.mkdir()
        (directory / "libreprise_sro.so").touch()
    assert "LD_PRELOAD" not in begin(stub, directory).job


def test_a_path_that_is_too_long_gives_no_library(stub: Stub, daemon: FakeDaemon) -> None:
    assert "LD_PRELOAD" not in begin(stub, Path("/" + "x" * 4090)).job


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{ours}", None),
        ("/a.so:{ours}", "/a.so"),
        ("/a.so", "/a.so"),
        ("{ours}:/a.so", "{ours}:/a.so"),
        ("/x{ours}", "/x{ours}"),
        ("", None),
    ],
)
def test_a_job_submitted_from_a_job_does_not_inherit_the_library(
    stub: Stub, daemon: FakeDaemon, directory: Path, before: str, after: str | None
) -> None:
    ours = str(directory / "libreprise_sro.so")
    played = stub.submit(
        settings=[f"preload_directory={directory}"],
        env={"SLURM_SPANK_REPRISE": json.dumps(CARRIED), "REPRISE_PRELOAD": "sro", "SRO_DISABLE": "0"},
        before=[f"own LD_PRELOAD={before.format(ours=ours)}"],
    )
    assert played.own.get("LD_PRELOAD") == (after and after.format(ours=ours))
    assert "REPRISE_PRELOAD" not in played.own


def test_a_job_submitted_from_a_job_without_a_library_keeps_its_list(stub: Stub, daemon: FakeDaemon) -> None:
    carried = {**CARRIED, "env": {"SRO_DISABLE": "0"}}
    for env in ({**CARRIED, "env": {"REPRISE_PRELOAD": "No"}}, carried):
        played = stub.submit(
            env={"SLURM_SPANK_REPRISE": json.dumps(env)}, before=["own LD_PRELOAD=/usr/local/lib/libreprise_sro.so"]
        )
        assert played.own["LD_PRELOAD"] == "/usr/local/lib/libreprise_sro.so"


def test_sallocs_shell_is_given_the_request_and_no_library(stub: Stub, daemon: FakeDaemon, directory: Path) -> None:
    """Programs of salloc's shell run on the login node, so only the steps that the shell starts get the library."""
    daemon.reply = decision("apply", ENV)
    played = stub.submit(["salloc"], settings=[f"preload_directory={directory}"])
    assert played.own["REPRISE_PRELOAD"] == "sro" and "LD_PRELOAD" not in played.own


@pytest.mark.parametrize(("words", "form"), [("start", "export {}\n"), ("srun", ",{}")])
def test_sites_without_the_plugin_give_the_library_too(binaries: Path, directory: Path, words: str, form: str) -> None:
    where = directory.parent
    (where / "job04711").mkdir()
    (where / "job04711" / "slurm_script").write_text("#!/bin/sh\n")
    own = [f"spool={where}", f"preload_directory={directory}"]
    ours = f"{directory}/libreprise_sro.so"
    with FakeDaemon(where / "m.sock", reply=decision("apply", ENV)).listening() as listening:
        assert form.format(f"LD_PRELOAD={ours}") in Program(
            binaries / "reprise-ask", where, arguments=own, env=JOB
        ).ask(words)
        assert form.format("ASAN_OPTIONS=a=b:verify_asan_link_order=0") in Program(
            binaries / "reprise-ask", where, arguments=own, env={**JOB, "ASAN_OPTIONS": "a=b"}
        ).ask(words)
        chosen = {**JOB, "REPRISE_PRELOAD": "mine"}
        assert "LD_PRELOAD" not in Program(binaries / "reprise-ask", where, arguments=own, env=chosen).ask(words)
        (directory / "libreprise_sro.so").unlink()
        assert "LD_PRELOAD" not in Program(binaries / "reprise-ask", where, arguments=own, env=JOB).ask(words)
        assert listening.refused == []


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5, 6, 7])
def test_if_the_library_cannot_be_added_the_job_gets_no_settings(
    stub: Stub, daemon: FakeDaemon, directory: Path, at: int
) -> None:
    """Test the failure of each of the seven calls of asprintf(3).

    The calls make the three variables, the list of libraries, the sanitizer's options, and the variables that contain
    the list and the options.
    """
    failing = {"FAIL_CALL": "asprintf", "FAIL_AT": str(at)}
    played = begin(stub, directory, own=failing, env=["LD_PRELOAD=/a.so"])
    assert given(played) == {} and played.job["LD_PRELOAD"] == "/a.so"


def test_a_later_step_to_which_the_library_cannot_be_added_keeps_its_settings(
    stub: Stub, daemon: FakeDaemon, directory: Path
) -> None:
    failing = {"FAIL_CALL": "asprintf", "FAIL_AT": "1", "FAIL_AFTER": "1"}
    played = begin(stub, directory, step=0, own=failing, env=[*HAD, "LD_PRELOAD=/a.so"])
    assert given(played) == {**ENV, "REPRISE_DECISION": "d-9"} and played.job["LD_PRELOAD"] == "/a.so"


def test_a_step_ignores_an_invalid_name_of_a_library(stub: Stub, daemon: FakeDaemon, directory: Path) -> None:
    had = ["REPRISE_DECISION=d-9", "REPRISE_PRELOAD=../evil", "LD_PRELOAD=/a.so"]
    assert begin(stub, directory, asking("../evil"), step=0, env=had).job["LD_PRELOAD"] == "/a.so"


def test_a_step_whose_environment_cannot_be_read_continues_without_the_library(
    stub: Stub, daemon: FakeDaemon, directory: Path
) -> None:
    assert "LD_PRELOAD" not in begin(stub, directory, step=3, items=["lacking x"]).job


def test_a_node_without_memory_to_remove_the_library_continues(stub: Stub, daemon: FakeDaemon, directory: Path) -> None:
    (directory / "libreprise_sro.so").unlink()
    before = f"/a.so:{directory}/libreprise_sro.so"
    lists = [
        begin(
            stub,
            directory,
            step=3,
            own={"FAIL_CALL": "malloc", "FAIL_AT": str(at)},
            env=[*HAD, f"LD_PRELOAD={before}"],
        ).job["LD_PRELOAD"]
        for at in range(1, 5)
    ]
    assert {*lists} == {before, "/a.so"}


def test_sites_without_the_plugin_give_nothing_if_the_list_cannot_be_written(binaries: Path, directory: Path) -> None:
    where = directory.parent
    (where / "job04711").mkdir()
    (where / "job04711" / "slurm_script").write_text("#!/bin/sh\n")
    own = [f"spool={where}", f"preload_directory={directory}"]

    def ask(words: str, **more: str) -> str:
        return Program(binaries / "reprise-ask", where, arguments=own, env={**JOB, **more}).ask(words)

    with FakeDaemon(where / "m.sock", reply=decision("apply", ENV)).listening() as listening:
        asked = [ask("srun", FAIL_CALL="asprintf", FAIL_AT=str(at)) for at in range(1, 5)]
        assert {text for text in asked if "LD_PRELOAD" not in text} == {""}
        assert all("ASAN_OPTIONS" in text for text in asked if text)
        assert ask("srun", ASAN_OPTIONS="a=b,c=d") == "", "srun would split the value at the comma"
        listening.reply = decision("apply", {**ENV, "SRO_LIST": "a,b"})
        assert ask("srun") == ""
