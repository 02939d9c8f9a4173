# SPDX-License-Identifier: Apache-2.0
"""Test `reprise match explain` and `reprise match nearest`, as run by support staff."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise as command
from reprise.database import Database
from reprise.database.entities import Decision, Outcome, RecordStatus
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.support import staff
from reprise.matcher.support.job_story import Explained, Story
from tests.places import ROOT
from tests.spank.daemon import FakeDaemon, frame, say
from tests.unit.matcher_daemon import RULES, SCRIPT, Daemon, job, record


@pytest.fixture
def site(tmp_path: Path) -> Daemon:
    """Create a configuration, a database with one record, and a job script, without a running daemon."""
    one = Daemon(tmp_path, 'model = "thesis"')
    one.add(record(metadata=job("alice").to_json()))
    (tmp_path / "job.sh").write_text(SCRIPT)
    return one


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def reprise(site: Daemon, *arguments: str, env: dict[str, str] | None = None) -> Done:
    """Run `reprise match` in this process, and report exceptions like `reprise.cli.main.main`."""
    directory = site.config.parent
    with contextlib.chdir(directory):
        result = CliRunner().invoke(
            command,
            ["--config", str(site.config), "match", *arguments],
            env={"PATH": str(directory / "bin"), **(env or {})},
        )
    if result.exception and not isinstance(result.exception, SystemExit):
        status = getattr(result.exception, "exit_status", None)
        if status is None:
            raise result.exception
        return Done(status, result.stdout, f"reprise: {result.exception}")
    return Done(result.exit_code, result.stdout, result.stderr)


def decision(number: str = "18bcfe56800-00000001", **changes: Any) -> Decision:
    values = Decision(
        id=number,
        at=1.7e9,
        point="submit",
        cluster="test",
        uid=1000,
        user="alice",
        mode="on",
        verdict="apply",
        reason="record 1 (alice's lattice, score 0.9000): 2 variables",
        model="thesis/1",
        threshold=0.7,
        metadata=JobMetadata("alice").to_json(),
        score=0.9,
        record_id=1,
        injected=RULES,
        job_id=12,
    )
    return dataclasses.replace(values, **changes)


def slurm_knows(site: Daemon, submitted: float, more: str = "") -> None:
    """Install a fake scontrol that reports every job, with this submit time and the fields in `more`."""
    program = site.config.parent / "bin" / "scontrol"
    program.parent.mkdir(exist_ok=True)
    time = datetime.fromtimestamp(submitted).isoformat(timespec="seconds")
    program.write_text(f"#!/bin/sh\necho JobId=$4 JobName=x SubmitTime={time} EligibleTime=Unknown '{more}'\n")
    program.chmod(0o755)


def test_explain_of_a_script_shows_its_settings_and_stores_nothing(site: Daemon) -> None:
    done = reprise(site, "explain", "--script", "job.sh", "--user", "alice")
    assert done.returncode == 0, done.stderr
    assert "Settings would be applied from record 1" in done.stdout and "OMPI_MCA_coll_tuned" in done.stdout
    with Database.open(site.database, read_only=True) as database:
        assert database.counts()["decision"] == 0


def test_explain_of_a_script_accepts_options_of_sbatch(site: Daemon) -> None:
    done = reprise(
        site, "explain", "--script", "job.sh", "--user", "alice", "--json", "--", "-N2", "--ntasks-per-node=1"
    )
    told = json.loads(done.stdout)
    assert told["version"] == 1
    assert told["decisions"][0]["verdict"] == "none"
    assert "tuned for 4 nodes, and the job has 2" in told["decisions"][0]["reason"]


def test_explain_of_a_script_reads_variables_of_its_own_environment(site: Daemon) -> None:
    done = reprise(
        site, "explain", "--script", "job.sh", "--user", "alice", env={"OMPI_MCA_coll_tuned_bcast_algorithm": "1"}
    )
    assert "gives way to the user" in done.stdout


def test_explain_of_a_script_reports_a_missing_script(site: Daemon) -> None:
    done = reprise(site, "explain", "--script", "nothing.sh")
    assert done.returncode == 1 and "nothing.sh: cannot be read" in done.stderr


def test_explain_shows_decision_outcome_and_record(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision())
        database.report_start(Outcome("test", 12, None, 1000, "apply", 1.7e9, "18bcfe56800-00000001", 2))
        database.report_end(
            Outcome("test", 12, None, 1000, "apply", 1.7e9, "18bcfe56800-00000001", 2, 1.7e9 + 61.25, 61.25, 0)
        )
    for name in ("12", "18bcfe56800-00000001"):
        done = reprise(site, "explain", name)
        assert done.returncode == 0, done.stderr
        for part in (
            "for job 12: apply",
            "by alice (uid 1000)",
            "From record 1",
            "after 61.2 s, exit status 0",
            "2 variables",
        ):
            assert part in done.stdout, part
    told = json.loads(reprise(site, "explain", "12", "--json").stdout)
    assert told["version"] == 1 and told["outcomes"][0]["elapsed_s"] == 61.25 and "1" in told["records"]


def test_explain_shows_every_decision_of_a_requeued_job(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision())
        database.add_decision(
            decision("18bcfe56801-00000002", at=1.7e9 + 1, verdict="none", record_id=None, injected={})
        )
    told = reprise(site, "explain", "12").stdout
    assert told.startswith("2 decisions, newest first")
    assert told.index("18bcfe56801-00000002") < told.index("18bcfe56800-00000001")


def test_explain_names_the_user_of_each_report(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision())
        database.report_start(Outcome("test", 12, None, 1000, "apply", 1.7e9, "18bcfe56800-00000001", 2))
        database.report_start(Outcome("test", 12, None, 1666, "off", 1.7e9))
    told = reprise(site, "explain", "12").stdout
    assert "The job (uid 1000): started" in told and "The job (uid 1666): started" in told


def test_explain_of_a_script_reads_a_limited_part_of_an_endless_file(site: Daemon) -> None:
    assert reprise(site, "explain", "--script", "/dev/zero").returncode == 0


@pytest.mark.parametrize(("verdict", "text"), [("off", "switched off"), ("unreachable", "no matcher answered")])
def test_explain_states_that_no_decision_was_requested(site: Daemon, verdict: str, text: str) -> None:
    with Database.open(site.database) as database:
        database.report_start(Outcome("test", 13, None, 1000, verdict, 1.7e9))
    done = reprise(site, "explain", "13")
    assert done.returncode == 0 and text in done.stdout


def test_explain_finds_one_task_of_an_array(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision(array_task=0))
        for task in (0, 1):
            database.report_start(Outcome("test", 12, task, 1000, "apply", 1.7e9, "18bcfe56800-00000001", 2))
    done = reprise(site, "explain", "12_1")
    assert done.returncode == 0
    assert "array task 1 (job 12): started" in done.stdout and "array task 0 (job 12): started" not in done.stdout


def test_explain_finds_array_tasks_that_have_job_ids_of_their_own(site: Daemon) -> None:
    with Database.open(site.database) as database:  # as in Slurm, the last task has the array's job id
        database.add_decision(decision(job_id=15, array_task=1))
        for task, number in ((1, 15), (2, 12)):
            database.report_start(Outcome("test", number, task, 1000, "apply", 1.7e9, "18bcfe56800-00000001", 2))
    for asked, name in (("12_1", "array task 1 (job 15)"), ("12_2", "array task 2 (job 12)"), ("15", "array task 1")):
        told = reprise(site, "explain", asked).stdout
        assert told.count("The job ") == 1 and f"The job (uid 1000): {name}" in told, told
        assert "to 1 more of the array's tasks: `reprise match explain 18bcfe56800-00000001`" in told
    everything = reprise(site, "explain", "18bcfe56800-00000001").stdout
    assert everything.count("The job (uid 1000)") == 2 and "more of the array" not in everything


@pytest.mark.parametrize("decisions", [0, 1, 2])
def test_explain_of_a_pending_job_names_its_decision(site: Daemon, decisions: int) -> None:
    with Database.open(site.database) as database:
        for number in range(decisions):
            database.add_decision(decision(f"18bcfe56800-0000000{number}", job_id=None))
        database.add_decision(decision("18bcfe56800-00000009", job_id=None, user="bob"))
    at = decision().at
    slurm_knows(site, at, "JobState=PENDING UserId=alice(1000)")
    done = reprise(site, "explain", "77")
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1
    if decisions == 0:
        assert "waits" not in done.stderr
    else:
        assert "job 77 waits in the queue" in done.stderr
        assert ("`reprise match explain 18bcfe56800-00000000`" in done.stderr) is (decisions == 1)


def test_explain_asks_slurm_for_the_job_id_of_an_array_task(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.report_start(Outcome("test", 15, 1, 1000, "off", 1.7e9))
    program = site.config.parent / "bin" / "scontrol"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho JobId=15 ArrayJobId=12 ArrayTaskId=1\n")
    program.chmod(0o755)
    assert "array task 1 (job 15): started" in reprise(site, "explain", "12_1").stdout


def test_explain_finds_a_job_of_slurms_cluster_although_site_cluster_has_another_name(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.report_start(Outcome("linux", 15, None, 1000, "off", 1.7e9))
    slurm_knows(site, 1.7e9)
    done = reprise(site, "explain", "15")
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1
    assert (
        "job 15 is unknown on cluster test, but known on linux: if this is the job, give `--cluster linux`"
        in done.stderr
    )
    assert "if Slurm's ClusterName is linux, set site.cluster; otherwise, the matcher was not running" in done.stderr
    assert "known on" not in reprise(site, "explain", "16").stderr
    assert "started" in reprise(site, "explain", "15", "--cluster", "linux").stdout
    program = site.config.parent / "bin" / "scontrol"
    program.write_text('#!/bin/sh\n[ "$2" = config ] && echo "ClusterName             = Linux" || echo JobId=15\n')
    done = reprise(site, "explain", "15")
    assert "started" in done.stdout, done.stderr


@pytest.mark.parametrize("odd", ["a\nb", "", "\udcff", "x" * 65, "4711_", "1.5"])
def test_explain_of_an_invalid_id_describes_a_valid_one(site: Daemon, odd: str) -> None:
    done = reprise(site, "explain", odd)
    assert done.returncode == 3
    assert "neither a job's number" in done.stderr or "no decision with id" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_explain_of_a_script_accepts_the_scripts_arguments_after_the_options(site: Daemon) -> None:
    text = SCRIPT.replace("--steps 200", '--steps "$1"').replace("#SBATCH --job-name=lattice\n", "")
    (site.config.parent / "own.sh").write_text(text)
    done = reprise(site, "explain", "--script", "own.sh", "--user", "alice", "--json", "--", "-N4", "300")
    metadata = json.loads(done.stdout)["decisions"][0]["metadata"]
    assert (metadata["job_name"], metadata["options"]["steps"]) == ("own.sh", ["300"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--script", "job.sh", "-N4"), "No such option '-N'. (Give sbatch options after `--`.)"),
        ((), "give one JOB, or --script FILE"),
        (("12", "13"), "give one JOB, or --script FILE"),
        (("12", "--user", "alice"), "--user and --directory need --script FILE"),
    ],
)
@pytest.mark.parametrize("command", ["explain", "nearest"])
def test_invalid_arguments_are_refused_with_the_remedy(
    site: Daemon, command: str, arguments: tuple[str, ...], said: str
) -> None:
    done = reprise(site, command, *arguments)
    assert done.returncode == 2 and said in " ".join(done.stderr.split())


@pytest.mark.slow
def test_explain_of_a_script_reports_a_deleted_working_directory(site: Daemon) -> None:
    gone = site.config.parent / "gone"
    gone.mkdir()
    done = subprocess.run(
        [
            "sh",
            "-c",
            f'rmdir "{gone}"; exec "$@"',
            "sh",
            sys.executable,
            "-m",
            "reprise",
            "match",
            "explain",
            "--script",
            "job.sh",
        ],
        cwd=gone,
        env={"PYTHONPATH": str(ROOT), "REPRISE_CONFIG": str(site.config)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        1,
        "reprise: the working directory no longer exists: change to another, or give --directory\n",
    )


def test_explain_states_that_the_daemon_was_down(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.end_service_run(database.begin_service_run("1", 1.7e9), 1.7e9 + 100)
        database.begin_service_run("1", 1.7e9 + 300)
    slurm_knows(site, 1.7e9 + 200)
    done = reprise(site, "explain", "99")
    assert done.returncode == 3
    assert done.stderr.startswith("reprise: the matcher was not running when job 99 was submitted")
    assert "stopped" in done.stderr and "started" in done.stderr
    slurm_knows(site, 1.7e9 + 99)
    assert "was running when job 99" in reprise(site, "explain", "99").stderr


def test_a_job_submitted_in_the_second_of_the_daemons_stop_counts_as_not_served(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.end_service_run(database.begin_service_run("1", 1.7e9), 1.7e9 + 100.4)
    slurm_knows(site, 1.7e9 + 100)  # submitted at 100.6, but Slurm reports whole seconds
    assert "was not running when job 99" in reprise(site, "explain", "99").stderr


@pytest.mark.parametrize("name", ["99", "99_1", "1a-2b", "nonsense", "99999999999"])
def test_explain_of_an_unknown_job_gives_status_3(site: Daemon, name: str) -> None:
    done = reprise(site, "explain", name)
    assert done.returncode == 3, done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_nearest_shows_records_on_both_sides_of_the_threshold(site: Daemon) -> None:
    site.add(record(metadata=job("carol", SCRIPT.replace("lattice", "climate").replace("size", "grid")).to_json()))
    done = reprise(site, "nearest", "--script", "job.sh", "--user", "alice")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Nearest to alice's lattice on 4 nodes, by model thesis/1:"
    first, line, second = (
        next(n for n, text in enumerate(lines) if part in text)
        for part in ("record 1: alice's lattice", "below the threshold 0.5500", "record 2: carol's climate")
    )
    assert first < line < second
    assert lines[first + 1].startswith("      adds most: user 0.1667, job name 0.1667, program 0.1667")
    assert lines[second + 2].startswith("      lacks most: user 0.1667, ")


def test_nearest_reads_its_own_option_and_passes_those_after_the_dashes_to_sbatch(site: Daemon) -> None:
    site.add(record(metadata=job("bob").to_json()), record(metadata=job("carol").to_json()))
    done = reprise(
        site, "nearest", "--script", "job.sh", "--user", "bob", "-n", "2", "--json", "--", "-N", "2", "-n", "2"
    )
    told = json.loads(done.stdout)
    assert (told["version"], told["model"], told["threshold"], told["metadata"]["nodes"]) == (1, "thesis/1", 0.55, 2)
    assert len(told["nearest"]) == 2
    nearest = told["nearest"][0]
    assert (nearest["job"], nearest["reaches"], nearest["gain"]) == ("bob's lattice", True, 0.3)
    assert nearest["refusal"] == "was tuned for 4 nodes, and the job has 2"
    assert sum(field["contribution"] for field in nearest["fields"]) == pytest.approx(nearest["score"])


def test_nearest_compares_a_past_job_with_the_present_records(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision(metadata=job("bob").to_json()))
        database.report_start(Outcome("test", 13, None, 1000, "off", 1.7e9))
    assert "Nearest to bob's lattice on 4 nodes" in reprise(site, "nearest", "12").stdout
    nothing = reprise(site, "nearest", "13")
    assert nothing.returncode == 3 and "no decision was made about job 13" in nothing.stderr
    assert reprise(site, "nearest", "14").returncode == 3


def test_nearest_without_records_states_that_there_are_none(tmp_path: Path) -> None:
    site = Daemon(tmp_path)
    (tmp_path / "job.sh").write_text(SCRIPT)
    assert "no tuned job is known yet" in reprise(site, "nearest", "--script", "job.sh").stdout


def test_explain_states_which_changes_would_have_matched(site: Daemon) -> None:
    (site.config.parent / "far.sh").write_text("#!/bin/sh\n#SBATCH -N1 -J words\nsrun ./words --top 5\n")
    done = reprise(site, "explain", "--script", "far.sh", "--user", "dave")
    assert "to match record 1; this would have been enough, together: the same job name, and" in done.stdout
    assert "Even then that record would not have been used: it was tuned for 4 nodes, and the job has 1" in done.stdout
    told = json.loads(reprise(site, "explain", "--script", "far.sh", "--user", "dave", "--json").stdout)
    [only] = told["decisions"]
    assert only["shortfall"]["missing"] == pytest.approx(only["threshold"] - only["score"])
    assert only["shortfall"]["together"][0]["field"] == "job name"


def test_explain_shows_the_present_status_of_the_compared_record(site: Daemon) -> None:
    compared = {"record": 1, "component": "c", "job": "alice's lattice", "score": 0.4, "used": False, "why": "far"}
    with Database.open(site.database) as database:
        database.add_decision(
            decision(verdict="none", record_id=None, score=0.4, alternatives=[{**compared, "explained": True}])
        )
        database.set_record_status(1, RecordStatus.RETIRED, at=1.0)
    assert "Compared with record 1: openmpi-collectives 1, tuned for alice's lattice" in reprise(
        site, "explain", "12"
    ).stdout.replace("\n", " ")
    assert "now retired" in reprise(site, "explain", "12").stdout


def test_explain_states_that_a_record_is_gone(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision())
    with sqlite3.connect(site.database) as connection:
        connection.execute("DELETE FROM record")
    done = reprise(site, "explain", "12")
    assert done.returncode == 0 and "From record 1, which no longer exists" in done.stdout


def test_explain_states_that_another_model_is_now_in_force(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision(model="thesis/0"))
    assert "of model thesis/0 (model thesis/1 is in force now)" in reprise(site, "explain", "12").stdout


def test_explain_of_a_job_needs_no_model(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision())
    site.configure('model = "/nowhere.toml"')
    done = reprise(site, "explain", "12")
    assert done.returncode == 0 and "of model thesis/1\n" in done.stdout
    assert "no model '/nowhere.toml'" in reprise(site, "nearest", "12").stderr


def test_explain_of_another_clusters_job_gives_status_3_unless_the_cluster_is_named(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision(cluster="other"))
    for name in ("explain", "nearest"):
        assert reprise(site, name, "12").returncode == 3
        assert reprise(site, name, "12", "--cluster", "other").returncode == 0
    done = reprise(site, "explain", "--cluster", "other", "--script", "job.sh")
    assert done.returncode == 2 and "--cluster needs JOB" in done.stderr


def endpoints_at(site: Daemon, *paths: Path) -> None:
    """Write the configuration of a host without a database, where commands ask the daemons at these sockets."""
    named = ", ".join(f'"unix:{path}"' for path in paths)
    site.config.write_text(f'[database]\npath = "/nowhere/r.db"\n[matcher]\nendpoints = [{named}]\n')


def test_among_several_matchers_the_one_that_decided_explains(site: Daemon, tmp_path: Path) -> None:
    reported = Story(outcomes=[Outcome("test", 12, None, 1000, "unreachable", 1.7e9)]).to_json()
    decided = Story([Explained(decision())]).to_json()
    says = {"silent": Story().to_json(), "reported": reported, "decided": decided}
    sockets = {name: tmp_path / name for name in (*says, "busy", "absent")}

    def explain(*names: str) -> Done:
        endpoints_at(site, *(sockets[name] for name in names))
        return reprise(site, "explain", "12")

    with contextlib.ExitStack() as daemons:
        for name, story in says.items():
            reply = {"v": 1, "kind": "explanation", "story": story}
            daemons.enter_context(
                FakeDaemon(sockets[name], converse=say(frame(json.dumps(reply).encode()))).listening()
            )
        busy = frame(json.dumps({"v": 1, "kind": "error", "reason": "others wait"}).encode())
        daemons.enter_context(FakeDaemon(sockets["busy"], converse=say(busy)).listening())
        for names in (("silent", "decided"), ("reported", "decided"), ("busy", "absent", "decided")):
            assert "Decision 18bcfe56800-00000001 for job 12: apply" in explain(*names).stdout
        assert "No decision was made" in explain("silent", "reported", "absent").stdout
        assert explain("silent", "absent").returncode == 3
        done = explain("silent", "busy")
    assert done.returncode == 1 and "busy: the matcher cannot explain the job: others wait" in done.stderr


def test_a_failure_is_reported_in_one_line(site: Daemon) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reprise", "--config", str(site.config), "match", "explain", "99"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("reprise: nothing is known of job 99") and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_letters_that_the_locale_lacks_are_shown_escaped(site: Daemon) -> None:
    site.add(record(metadata=job("\u03a9mega").to_json()))
    done = subprocess.run(
        [sys.executable, "-m", "reprise", "--config", str(site.config), "match", "nearest", "--script", "job.sh"],
        cwd=site.config.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u03a9mega's lattice" in done.stdout


def test_a_user_who_is_not_staff_sees_only_their_own_jobs_and_data(
    site: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staff, "reader", lambda _group: staff.Reader(os.getuid(), False, "support"))
    own = {"uid": os.getuid(), "user": "carol", "metadata": JobMetadata("carol").to_json(), "reason": "settings"}
    with Database.open(site.database) as database:
        database.add_decision(decision())
        database.add_decision(decision("18bcfe56800-00000002", job_id=13, **own))
    for name in ("12", "18bcfe56800-00000001"):
        done = reprise(site, "explain", name)
        assert done.returncode == 3 and "of yours" in done.stderr
    for arguments in (("explain", "13"), ("explain", "13", "--json"), ("explain", "--script", "job.sh", "--json")):
        done = reprise(site, *arguments)
        assert done.returncode == 0, done.stderr
        assert "alice" not in done.stdout.replace("/home/alice", "")
    for refused in (
        ("nearest", "13"),
        ("nearest", "--script", "job.sh"),
        ("explain", "--script", "job.sh", "--user", "alice"),
    ):
        done = reprise(site, *refused)
        assert (done.returncode, done.stdout) == (1, "") and "only members of the group support may" in done.stderr
