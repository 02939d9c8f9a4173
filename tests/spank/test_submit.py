# SPDX-License-Identifier: Apache-2.0
"""The submitting command, in a stub of Slurm: what is asked, what is carried, what a bad daemon can do."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.spank.conftest import SPANK, Stub
from tests.spank.daemon import FakeDaemon, decision, say, say_nothing
from tests.spank.test_wire import VECTORS

APPLY = decision("apply", {"OMPI_MCA_a": "1", "SRO_B": "two words"}, score=0.934, record=12)
UNREACHABLE = {"v": 1, "verdict": "unreachable", "env": {}}
OFF = {"v": 1, "verdict": "off", "env": {}}


def asked(daemon: FakeDaemon) -> dict[str, Any]:
    (only,) = daemon.asked
    return only.message


def test_a_decision_is_carried_and_nothing_else_changes(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    played = stub.submit()
    assert played.carried == {"v": 1, "id": "d-1", "verdict": "apply", "env": APPLY["env"]}
    assert set(played.own) == {"PATH", "STUB_SCRIPT"}
    assert played.log == []


def test_the_question_holds_what_the_command_can_see(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "job.sh").write_text("#!/bin/sh\nsrun ./a\n")
    env = {
        "SBATCH_PARTITION": "p",
        "SLURM_X": "1",
        "SALLOC_Y": "2",
        "HOME": "/h",
        "OMPI_MCA_btl": "tcp",
        "SLURM_JWT": "key",
        "SLURM_SPANK_OTHER_PLUGIN": "its secret",
    }
    stub.submit(("sbatch", "-N2", "job.sh", "arg"), env=env)
    message = asked(daemon)
    assert (message["v"], message["kind"], message["point"], message["mode"]) == (1, "decide", "submit", "on")
    assert message["client"] == {"plugin": "test", "slurm": "22.05.8"}
    submission = message["submission"]
    assert submission.pop("script") == {
        "path": str(stub.directory / "job.sh"),
        "text": "#!/bin/sh\nsrun ./a\n",
        "truncated": False,
    }
    assert submission == {
        "command": "sbatch",
        "argv": ["sbatch", "-N2", "job.sh", "arg"],
        "cwd": str(stub.directory),
        "env": {"SBATCH_PARTITION": "p", "SLURM_X": "1", "SALLOC_Y": "2"},
        "set": ["OMPI_MCA_btl"],
    }
    assert "job" not in message


def test_the_script_is_looked_for_where_sbatch_looks(stub: Stub, daemon: FakeDaemon) -> None:
    for name in ("sub", "bin"):
        (stub.directory / name).mkdir()
        (stub.directory / name / f"{name}.sh").write_text(name)
    (stub.directory / "here.sh").write_text("here")
    path = {"PATH": f"/nowhere::{stub.directory}/bin"}
    for argv in (["-D", "sub", "sub.sh"], ["bin.sh"], ["-Dsub", "here.sh"], ["./here.sh"], ["bin/bin.sh"]):
        stub.submit(["sbatch", *argv], env=path)
    texts = [request.message["submission"]["script"]["text"] for request in daemon.asked]
    assert texts == ["sub", "bin", "here", "here", "bin"]


def test_a_pipe_is_not_opened_and_its_writer_goes_on_waiting(stub: Stub, daemon: FakeDaemon) -> None:
    pipe = stub.directory / "pipe"
    os.mkfifo(pipe)
    opened = threading.Event()

    def write() -> None:
        with pipe.open("w"):
            opened.set()

    writer = threading.Thread(target=write)
    writer.start()
    stub.submit(["sbatch", "pipe"])
    was_opened = opened.is_set()
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer.join()
    os.close(reader)
    assert not was_opened


@contextmanager
def nobody_opens(path: Path) -> Iterator[None]:
    """The kernel breaks a write lease as soon as someone opens the file (fcntl(2))."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # which is ignored; the usual SIGIO would end us
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield
        assert fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_WRLCK, f"{path} was opened"
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("off", [{"option": "off"}, {"settings": ["minimum_uid=4294967294"]}])
def test_off_does_not_touch_the_script(stub: Stub, off: dict[str, Any]) -> None:
    script = stub.directory / "job.sh"
    script.write_text("#!/bin/sh\n")
    with nobody_opens(script):
        assert stub.submit(**off).carried == OFF


def test_a_long_script_is_cut_and_says_so(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "job.sh").write_text("#" * 200_000)
    stub.submit()
    script = asked(daemon)["submission"]["script"]
    assert (len(script["text"]), script["truncated"]) == (131_072, True)


def test_a_script_that_would_burst_the_frame_is_left_out(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "job.sh").write_bytes(b"\x01" * 120_000)
    stub.submit()
    assert asked(daemon)["submission"]["script"] is None


def test_bytes_of_any_kind_arrive_as_text(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "job.sh").write_bytes(b"a\xffb\x00c")
    stub.submit(["sbatch", "-J", "\udcff", "job.sh"], env={"SLURM_A": "\udcfe"})
    submission = asked(daemon)["submission"]
    assert submission["argv"][2] == submission["env"]["SLURM_A"] == "\ufffd"
    assert submission["script"]["text"] == "a\ufffdb"


def test_huge_surroundings_are_capped(stub: Stub, daemon: FakeDaemon) -> None:
    env = {f"SLURM_{i}": "x" * 1000 for i in range(100)} | {f"OMPI_MCA_{i}": "1" for i in range(5000)}
    stub.submit(["sbatch", "--wrap", "x" * 100_000], env=env)
    submission = asked(daemon)["submission"]
    assert submission["argv"] == ["sbatch", "--wrap"]
    assert 30 <= len(submission["env"]) <= 32
    assert 1000 < len(submission["set"]) < 1600


@pytest.mark.parametrize("verdict", ["none", "observe", "holdout"])
def test_other_verdicts_are_carried_without_variables(stub: Stub, daemon: FakeDaemon, verdict: str) -> None:
    daemon.reply = decision(verdict)
    assert stub.submit().carried == {"v": 1, "id": "d-1", "verdict": verdict, "env": {}}


def test_defer_carries_nothing(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = decision("defer")
    assert stub.submit().carried is None


@pytest.mark.parametrize("mode", ["on", "observe", "explain"])
def test_the_option_goes_before_the_environment_and_that_before_the_site(
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
def test_off_asks_nothing_and_carries_off(stub: Stub, daemon: FakeDaemon, off: dict[str, Any]) -> None:
    assert stub.submit(**off).carried == OFF
    assert daemon.asked == []


def test_the_kill_switch_goes_before_all(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "disabled").touch()
    assert stub.submit(option="on").carried == OFF
    assert daemon.asked == []


def test_a_kill_switch_that_cannot_be_looked_at_counts_as_there(stub: Stub, daemon: FakeDaemon) -> None:
    (stub.directory / "disabled").symlink_to("disabled")  # to root too, this is neither there nor not there: ELOOP
    assert stub.submit(option="on").carried == OFF
    assert daemon.asked == []


@pytest.mark.parametrize("path", ["file/disabled", "missing/disabled"])
def test_a_kill_switch_that_cannot_be_there_is_not_there(stub: Stub, daemon: FakeDaemon, path: str) -> None:
    (stub.directory / "file").touch()
    stub.submit(settings=[f"kill_switch={stub.directory}/{path}"])
    assert len(daemon.asked) == 1


def test_where_the_site_has_switched_off_only_who_asks_is_told(stub: Stub) -> None:
    (stub.directory / "disabled").touch()
    assert stub.submit(env={"REPRISE": "bogus"}).log == []
    line = "reprise: off: the site has switched it off, for all or for you; the job runs unchanged"
    assert stub.submit(option="explain").log == [("user", line)]


def test_a_wrong_option_is_refused_in_one_line(stub: Stub) -> None:
    played = stub.play("context allocator", *stub.settings(), "call init", "option maybe")
    assert played.option == -1
    assert played.log == [("error", "reprise: --reprise=maybe is not known: use on, off, observe or explain")]


def test_a_wrong_option_cannot_hurt_a_job_that_runs(stub: Stub) -> None:
    played = stub.play("context remote", *stub.settings(), "call init", "option maybe")
    assert (played.option, played.log) == (0, [])


def test_a_wrong_word_in_the_environment_is_passed_over_in_one_line(stub: Stub, daemon: FakeDaemon) -> None:
    played = stub.submit(env={"REPRISE": "may\x1bbe"})
    assert played.log == [("user", "reprise: REPRISE=may?be is ignored: use on, off, observe or explain")]
    assert asked(daemon)["mode"] == "on"


def test_explain_prints_one_line(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = {**APPLY, "reason": "like\n\x1b[2J\u009b2J\u00e9thers"}
    played = stub.submit(option="explain")
    line = "reprise: apply: like??[2J??2J\u00e9thers (score 0.93, record 12): OMPI_MCA_a=1 SRO_B=two words"
    assert played.log == [("user", line)]


def test_explain_says_that_nobody_answered(stub: Stub) -> None:
    ((level, line),) = stub.submit(option="explain").log
    assert level == "user"
    assert line.startswith(f"reprise: unreachable: unix:{stub.socket}: no daemon can be reached there")


def test_a_second_component_of_a_job_is_decided_like_the_first(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    lines = ["context allocator", *stub.settings(), "call init", "call init_post_opt", "call init_post_opt"]
    played = stub.play(*lines, argv=["sbatch", "a.sh", ":", "b.sh"])
    assert played.carried and played.carried["id"] == "d-1"
    assert len(daemon.asked) == 1


def test_salloc_gives_its_shell_what_it_has_not(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    played = stub.submit(["salloc", "-N1"], env={"SRO_B": "mine"})
    assert played.own["OMPI_MCA_a"] == "1"
    assert played.own["SRO_B"] == "mine"
    assert played.own["REPRISE_DECISION"] == "d-1"
    assert asked(daemon)["submission"]["script"] is None


def test_srun_carries_in_its_own_environment(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    played = stub.submit(["srun", "a.out"])
    assert json.loads(played.own["SLURM_SPANK_REPRISE"])["env"] == APPLY["env"]
    assert "OMPI_MCA_a" not in played.own
    assert asked(daemon)["submission"]["command"] == "srun"


STEPS: list[dict[str, Any]] = [
    {"env": {"SLURM_JOB_ID": "7"}},
    {"argv": ["srun", "--jobid=7", "a"]},
    {"argv": ["srun", "--jobi", "7", "a"]},  # getopt_long(3) takes any beginning that is no other option's
]


@pytest.mark.parametrize("step", STEPS)
def test_srun_in_a_job_leaves_that_jobs_decision(stub: Stub, daemon: FakeDaemon, step: dict[str, Any]) -> None:
    env = {"SLURM_SPANK_REPRISE": "kept", **step.get("env", {})}
    played = stub.submit(step.get("argv", ["srun", "a"]), env=env)
    assert daemon.asked == []
    assert played.own["SLURM_SPANK_REPRISE"] == "kept"


@pytest.mark.parametrize("command", ["scrontab", "scrun"])
def test_commands_that_are_not_known_are_left_alone(stub: Stub, daemon: FakeDaemon, command: str) -> None:
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
    assert asked(daemon)["submission"]["set"] == ["SRO_B"]


def test_no_daemon_costs_nothing_and_changes_nothing(stub: Stub) -> None:
    played = stub.submit()
    assert played.carried == UNREACHABLE
    assert played.log == []
    assert played.calls[-1][2] < 100


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["name"])
def test_frames_are_judged_as_the_protocol_says(stub: Stub, daemon: FakeDaemon, vector: dict[str, Any]) -> None:
    padded = json.dumps(APPLY).encode().ljust(vector["pad"]) if "pad" in vector else b""
    daemon.converse = say(bytes.fromhex(vector["header"]) + padded)
    carried = stub.submit().carried
    assert carried
    assert (carried["verdict"] == "apply") is vector["reply"]


def test_slurm_of_another_release_is_told_in_one_line_and_left_alone(stub: Stub, daemon: FakeDaemon) -> None:
    played = stub.submit(before=["slurm 20.11.4"])
    ((level, line),) = played.log
    assert level == ("error" if os.getuid() == 0 else "verbose")
    assert re.fullmatch(r"reprise: built for Slurm \d\d\.\d\d\.x, but this is 20\.11\.4: run `make .*", line)
    assert (played.carried, daemon.asked) == (None, [])


def test_another_version_of_the_same_release_is_served(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    stub.submit()
    release = daemon.asked[0].message["client"]["slurm"].rpartition(".")[0]
    played = stub.submit(before=[f"slurm {release}.99-1"])
    assert played.log == []
    assert daemon.asked[1].message["client"]["slurm"] == f"{release}.99-1"


@pytest.mark.parametrize("level", ["0", "3"])
def test_it_builds_where_the_compiler_fortifies_by_itself(tmp_path: Path, level: str) -> None:
    words = ["make", "-s", "-C", str(SPANK), "-n", "-B", f"CPPFLAGS=-D_FORTIFY_SOURCE={level}", "build/allowlist.o"]
    rule = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    command = next(line for line in rule.splitlines() if " -c " in line).replace("build/", f"{tmp_path}/")
    subprocess.run(["sh", "-ec", command], cwd=SPANK, check=True)


def test_the_installed_object_exports_only_what_slurm_looks_up() -> None:
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", "--format=posix", str(SPANK / "spank_reprise.so")],
        capture_output=True,
        text=True,
        check=True,
    )
    hooks = {f"slurm_spank_{name}" for name in ("init", "init_post_opt", "user_init", "task_exit")}
    marks = {"plugin_name", "plugin_type", "plugin_version", "spank_plugin_version"}
    assert {line.split()[0] for line in symbols.stdout.splitlines()} == hooks | marks


def test_a_script_of_an_absolute_path_is_read(stub: Stub, daemon: FakeDaemon) -> None:
    script = stub.directory / "job.sh"
    script.write_text("#!/bin/sh\n")
    stub.submit(["sbatch", str(script)])
    assert asked(daemon)["submission"]["script"]["path"] == str(script)


@pytest.mark.parametrize("prefix", [("env", "-u", "PATH"), ("env", "PATH=")], ids=["none", "empty"])
def test_without_a_path_a_script_is_where_it_is(stub: Stub, daemon: FakeDaemon, prefix: tuple[str, ...]) -> None:
    stub.prefix = prefix
    stub.submit(["sbatch", "missing.sh"])
    assert asked(daemon)["submission"]["script"] is None


@pytest.mark.parametrize("carried", ["", "nonsense", "x" * 70_000])
def test_what_a_job_inherits_and_is_no_decision_is_dropped(stub: Stub, daemon: FakeDaemon, carried: str) -> None:
    played = stub.submit(env={"SLURM_SPANK_REPRISE": carried, "SRO_A": "mine"})
    assert "SLURM_SPANK_REPRISE" not in played.own
    assert played.own["SRO_A"] == "mine"


def test_a_setting_that_the_outer_job_has_removed_is_not_missed(stub: Stub, daemon: FakeDaemon) -> None:
    outer = {"v": 1, "id": "d-0", "verdict": "apply", "env": {"SRO_A": "given"}}
    stub.submit(env={"SLURM_SPANK_REPRISE": json.dumps(outer)})
    assert asked(daemon)["submission"]["set"] == []


def test_an_empty_word_in_the_environment_is_no_word(stub: Stub, daemon: FakeDaemon) -> None:
    assert stub.submit(env={"REPRISE": ""}).log == []


def test_srun_in_a_job_of_an_older_slurm_asks_nothing(stub: Stub, daemon: FakeDaemon) -> None:
    stub.submit(["srun", "a"], env={"SLURM_JOBID": "7"})
    assert daemon.asked == []


def test_salloc_gives_its_shell_nothing_where_there_is_nothing(stub: Stub, daemon: FakeDaemon) -> None:
    assert "REPRISE_DECISION" not in stub.submit(["salloc"]).own


def test_a_slurm_that_does_not_tell_its_version_is_asked_for(stub: Stub, daemon: FakeDaemon) -> None:
    stub.submit(before=["lacking all"])
    assert asked(daemon)["client"]["slurm"] == ""


def test_explain_says_of_a_score_without_a_record_only_the_score(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = decision("none", score=0.5, reason="a\x7f\u00a0b\u00c2")
    assert stub.submit(option="explain").log == [("user", "reprise: none: a?\u00a0b\u00c2 (score 0.50)")]


@pytest.mark.parametrize(
    ("converse", "env", "words"),
    [
        (say_nothing, {}, "the daemon did not answer in time"),
        (say(b"\xff" * 8), {}, "the daemon's answer cannot be used: its log says why"),
        (None, {"FAIL_CALL": "socket", "FAIL_AT": "1", "FAIL_AFTER": "1"}, "the question could not be sent"),
    ],
    ids=["late", "broken", "failed"],
)
def test_explain_says_why_there_is_nothing(
    stub: Stub, daemon: FakeDaemon, converse: Any, env: dict[str, str], words: str
) -> None:
    daemon.converse = converse
    ((_, line),) = stub.submit(option="explain", settings=["deadline_ms=50"], env=env).log
    assert line == f"reprise: unreachable: unix:{stub.socket}: {words}; the job runs unchanged"


@pytest.mark.parametrize("name", ["asprintf", "open_memstream", "fclose"])
def test_without_memory_for_words_nothing_is_said(stub: Stub, daemon: FakeDaemon, name: str) -> None:
    env = {
        "FAIL_CALL": name,
        "FAIL_AT": "1",
        "FAIL_AFTER": "1",
        "REPRISE": "bogus" if name == "asprintf" else "explain",
    }
    assert stub.submit(env=env).log == []
    assert asked(daemon)["mode"] == ("on" if name == "asprintf" else "explain")


def test_a_wrong_word_is_shown_without_control_characters(stub: Stub, daemon: FakeDaemon) -> None:
    ((_, line),) = stub.submit(env={"REPRISE": "\udcc2a\x7f"}).log
    assert line.startswith("reprise: REPRISE=\udcc2a? is ignored")
