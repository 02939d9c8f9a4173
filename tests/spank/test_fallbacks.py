# SPDX-License-Identifier: Apache-2.0
"""Test the program `reprise-ask`, for sites without the plugin: its output for a TaskProlog and for a cli_filter."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.spank.daemon import FakeDaemon, decision

FALLBACKS = Path(__file__).parents[2] / "spank" / "fallbacks"
GIVEN = {"SRO_A": "one", "OMPI_MCA_b": "two words"}
JOB = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": "2", "SLURM_CLUSTER_NAME": "far", "SLURM_SUBMIT_DIR": "/home/a"}
EXPORTS = "export SRO_A=one\nexport OMPI_MCA_b=two words\nexport REPRISE_DECISION=d-1\n"
LIST = ",SRO_A=one,OMPI_MCA_b=two words,REPRISE_DECISION=d-1"
FAILING = ("malloc", "calloc", "strdup", "asprintf", "open_memstream", "fclose", "socket", "connect", "sendmsg", "recv")
# Shell code that runs the program as a child of a process with this title, as slurmstepd runs a TaskProlog.
TITLED = 'title=$1; shift; exec -a "$title" bash -c \'"$@"; exit "$?"\' - "$@"'


@dataclass
class Program:
    path: Path
    directory: Path
    title: str = "slurmstepd: [4711.batch]"
    arguments: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def ask(self, *words: str) -> str:
        """Run the program and return its output; check that it exits with 0 and prints no errors."""
        own = [f"endpoint=unix:{self.directory}/m.sock", f"kill_switch={self.directory}/disabled", "deadline_ms=1000"]
        command = [str(self.path), *words, *([*own, *self.arguments] if words else [])]
        done = subprocess.run(
            ["bash", "-c", TITLED, "-", self.title, *command],
            env={"PATH": os.defpath, **self.env},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture
def program(binaries: Path, tmp_path: Path) -> Program:
    (tmp_path / "job04711").mkdir()
    (tmp_path / "job04711" / "slurm_script").write_text("#!/bin/sh\nsrun ./a\n")
    return Program(binaries / "reprise-ask", tmp_path, arguments=[f"spool={tmp_path}"], env=JOB)


@pytest.fixture
def daemon(program: Program) -> Iterator[FakeDaemon]:
    with FakeDaemon(program.directory / "m.sock", reply=decision("apply", GIVEN)).listening() as listening:
        yield listening
        assert listening.refused == []


def test_a_batch_step_gets_the_settings_that_it_has_not_set_itself(program: Program, daemon: FakeDaemon) -> None:
    assert program.ask("start") == EXPORTS
    question = daemon.question
    assert (question["point"], question["mode"]) == ("start", "on")
    assert question["submission"]["script"]["text"] == "#!/bin/sh\nsrun ./a\n"
    assert question["submission"]["cwd"] == "/home/a"
    job = {"id": 4711, "array_task": None, "nodes": 2, "tasks": None, "restarts": 0, "cluster": "far"}
    assert question["job"] == job
    program.env = {**JOB, "OMPI_MCA_b": "mine"}
    assert program.ask("start") == EXPORTS.replace("export OMPI_MCA_b=two words\n", "")


def test_the_request_of_a_requeued_array_task_has_its_task_and_restarts(program: Program, daemon: FakeDaemon) -> None:
    more = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_RESTART_COUNT": "1", "SLURM_NTASKS": "8"}
    program.env = {**JOB, **more}
    assert program.ask("start") == EXPORTS
    job = daemon.question["job"]
    assert (job["array_task"], job["restarts"], job["tasks"]) == (3, 1, 8)


@pytest.mark.parametrize("tasks", ["0", "", "many", "8x", "-8", "99999999999"])
def test_an_invalid_count_of_tasks_is_left_out(program: Program, daemon: FakeDaemon, tasks: str) -> None:
    program.env = {**JOB, "SLURM_NTASKS": tasks}
    assert program.ask("start") == EXPORTS
    assert daemon.question["job"]["tasks"] is None


@pytest.mark.parametrize(
    "job",
    [{}, {"SLURM_JOB_ID": "4711"}, {**JOB, "SLURM_JOB_ID": "x"}, {**JOB, "SLURM_JOB_NUM_NODES": "0"}],
    ids=["none", "no-nodes", "no-number", "0-nodes"],
)
def test_outside_a_job_no_request_is_sent(program: Program, daemon: FakeDaemon, job: dict[str, str]) -> None:
    program.env = job
    assert program.ask("start") == ""
    assert daemon.asked == []


@pytest.mark.parametrize("title", ["slurmstepd: [4711.0]", "slurmstepd: [4711.extern]", "bash"])
def test_a_process_outside_a_batch_step_sends_no_request(program: Program, daemon: FakeDaemon, title: str) -> None:
    program.title = title
    assert program.ask("start") == ""
    assert daemon.asked == []


@pytest.mark.parametrize(("depth", "answer"), [(6, EXPORTS), (8, "")])
def test_a_few_scripts_of_the_site_may_run_between_slurm_and_the_program(
    program: Program, daemon: FakeDaemon, depth: int, answer: str
) -> None:
    script = program.directory / "deep"
    script.write_text(
        '#!/bin/sh\ndepth=$1; shift\n[ $depth -eq 0 ] && { "$@"; exit; }\n"$0" $((depth - 1)) "$@"\nexit $?\n'
    )
    script.chmod(0o755)
    one = [str(program.path), "start", f"endpoint=unix:{program.directory}/m.sock", *program.arguments]
    program.path = script
    program.arguments = []
    assert program.ask(str(depth - 1), *one) == answer


def test_a_setting_that_names_an_unreadable_file_is_not_given(program: Program, daemon: FakeDaemon) -> None:
    daemon.reply = decision("apply", {"OMPI_MCA_file": str(program.directory / "gone")})
    assert program.ask("start") == ""
    (program.directory / "gone").touch()
    assert "export OMPI_MCA_file=" in program.ask("start")


def test_a_process_whose_parents_have_ended_sends_no_request(program: Program, daemon: FakeDaemon) -> None:
    script = program.directory / "orphan"
    script.write_text('#!/bin/sh\n(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; "$@") &\n')
    script.chmod(0o755)
    one = [str(program.path), f"endpoint=unix:{program.directory}/m.sock", *program.arguments]
    program.path = script
    program.arguments = []
    assert program.ask(one[0], "start", *one[1:]) == ""
    assert daemon.asked == []


@pytest.mark.parametrize(
    ("spool", "env", "found"),
    [
        ("spool-%n", {"SLURMD_NODENAME": "7"}, True),
        ("spool-7%n", {}, True),
        ("spool-%n", {"SLURMD_NODENAME": "8"}, False),
    ],
)
def test_the_script_is_read_from_slurmds_spool_directory(
    program: Program, daemon: FakeDaemon, spool: str, env: dict[str, str], found: bool
) -> None:
    (program.directory / "spool-7").mkdir()
    (program.directory / "job04711").rename(program.directory / "spool-7" / "job04711")
    program.arguments = [f"spool={program.directory}/{spool}"]
    program.env = {**JOB, **env}
    assert program.ask("start") == EXPORTS
    assert (daemon.question["submission"]["script"] is not None) is found


@pytest.mark.parametrize("word", ["start", "srun"])
@pytest.mark.parametrize("off", ["user", "site", "kill-switch", "minimum-uid"])
def test_off_sends_no_request(program: Program, daemon: FakeDaemon, word: str, off: str) -> None:
    if off == "user":
        program.env = {**JOB, "REPRISE": "off"}
    elif off == "kill-switch":
        (program.directory / "disabled").touch()
    else:
        program.arguments = ["default=off" if off == "site" else "minimum_uid=4294967294"]
    assert program.ask(word) == ""
    assert daemon.asked == []


@pytest.mark.parametrize(("word", "mode"), [("observe", "observe"), ("nonsense", "on"), ("", "on")])
def test_the_mode_of_the_user_overrides_that_of_the_site(
    program: Program, daemon: FakeDaemon, word: str, mode: str
) -> None:
    program.env = {**JOB, "REPRISE": word}
    program.ask("start")
    assert daemon.question["mode"] == mode


@pytest.mark.parametrize("word", ["start", "srun"])
@pytest.mark.parametrize("verdict", ["none", "observe", "defer", "nonsense"])
def test_without_settings_nothing_is_printed(program: Program, daemon: FakeDaemon, word: str, verdict: str) -> None:
    daemon.reply = decision(verdict)
    assert program.ask(word) == ""
    assert len(daemon.asked) == 1


@pytest.mark.parametrize("word", ["start", "srun"])
def test_without_a_daemon_nothing_is_printed(program: Program, word: str) -> None:
    assert program.ask(word) == ""


@pytest.mark.parametrize("words", [(), ("x",), ("", "x")])
def test_without_a_known_command_nothing_is_done(program: Program, daemon: FakeDaemon, words: tuple[str, ...]) -> None:
    assert program.ask(*words) == ""
    assert daemon.asked == []


def test_an_invalid_argument_is_ignored(program: Program, daemon: FakeDaemon) -> None:
    program.arguments = [*program.arguments, "sokcet=/x", "deadline_ms=soon"]
    assert program.ask("start") == EXPORTS


def test_the_request_of_srun_has_its_own_command_line(program: Program, daemon: FakeDaemon) -> None:
    program.title = "srun"
    assert program.ask("srun") == LIST
    submission = daemon.question["submission"]
    assert (submission["command"], submission["argv"][0], submission["cwd"]) == ("srun", "srun", str(Path.cwd()))
    program.env = {"SRO_A": "mine"}
    assert program.ask("srun") == LIST.replace(",SRO_A=one", "")


@pytest.mark.parametrize("value", ["a,b", 'a"b', "a'b"])
def test_a_value_that_srun_would_split_is_not_given(program: Program, daemon: FakeDaemon, value: str) -> None:
    daemon.reply = decision("apply", {"SRO_C": value, **GIVEN})
    assert program.ask("srun") == ""
    assert f"export SRO_C={value}\n" in program.ask("start")


@pytest.mark.slow
@pytest.mark.parametrize(("word", "all_of_it"), [("start", EXPORTS), ("srun", LIST)])
@pytest.mark.parametrize("name", FAILING)
def test_after_a_failing_call_everything_or_nothing_is_printed(
    program: Program, daemon: FakeDaemon, word: str, all_of_it: str, name: str
) -> None:
    """If a library call fails, the output is complete or empty, but never partial."""
    program.arguments = [f"spool={program.directory}%n"]
    said = set()
    for at in range(1, 6):
        program.env = {**JOB, "FAIL_CALL": name, "FAIL_AT": str(at)}
        said.add(program.ask(word))
    assert said <= {"", all_of_it}


@pytest.mark.parametrize("name", ["task_prolog", "cli_filter.lua"])
def test_installed_scripts_call_the_program_at_its_installed_path(name: str, tmp_path: Path) -> None:
    places = ("PREFIX=/usr", "PRELOADDIR=/usr/lib/reprise-preload")
    for words in ((), places):
        subprocess.run(["make", "-s", "-C", str(FALLBACKS), "install", f"DESTDIR={tmp_path}", *words], check=True)
    assert (tmp_path / "usr/local/share/reprise" / name).read_text() == (FALLBACKS / name).read_text()
    text = (tmp_path / "usr/share/reprise" / name).read_text()
    assert re.search(r"/usr/libexec/reprise/reprise-ask (start|srun) preload_directory=/usr/lib/reprise-preload ", text)
    assert "/usr/local" not in text
