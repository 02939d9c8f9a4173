# SPDX-License-Identifier: Apache-2.0
"""Test `reprise jobs show --line`, and the MailProg that adds the line to Slurm's mails."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from reprise.database import Database
from reprise.database.entities import Outcome
from reprise.matcher.support import staff
from reprise.matcher.support.job_line import LENGTH, WITHOUT_DECISION, job_line
from reprise.matcher.support.job_story import Explained, Story
from tests.places import ROOT
from tests.unit.matcher.support.test_jobs import HOSTILE, NOW, add, decision, reprise, site, unmatched
from tests.unit.matcher_daemon import Daemon, job

__all__ = ["site"]  # the fixture
REASON = "record 1 (alice's lattice): 2 variables of openmpi-collectives, measured gain 30% (at least 28%)"
PROGRAM = ROOT / "etc/mail/reprise-mail"


def line(site: Daemon, number: str) -> str:
    done = reprise(site, "show", number, "--line")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    return done.stdout.strip()


# -- the line


def test_a_job_with_settings_has_their_gain_and_its_run_time_beside_the_users_other_jobs(site: Daemon) -> None:
    for number, seconds in enumerate((80.0, 82.0, 84.0)):
        add(site, decision(20 + number), elapsed=seconds)
    add(site, decision(30, verdict="holdout", injected={}), elapsed=100.0)
    add(site, decision(40, reason=REASON), elapsed=83.0)
    assert line(site, "40") == (
        f"Reprise: settings were applied from {REASON}. It ran for 83.0 s; your other such jobs: 82.0 s with settings "
        "(median of 3), 100.0 s without (median of 1). (reprise jobs show 40)"
    )


def test_a_job_without_settings_has_the_reason(site: Daemon) -> None:
    add(site, unmatched(11, reason="no similar tuned job"), elapsed=5.0)
    assert line(site, "11") == (
        "Reprise: no settings were applied: no similar tuned job. It ran for 5.0 s. (reprise jobs show 11)"
    )


def test_a_job_that_failed_has_its_status(site: Daemon) -> None:
    add(site, decision(11), elapsed=5.0, status=256)
    add(site, decision(12), elapsed=5.0, status=9)
    assert "It ran for 5.0 s and failed (exit status 1). (" in line(site, "11")
    assert "It ran for 5.0 s and failed (killed by SIGKILL). (" in line(site, "12")


def test_a_job_whose_end_is_not_reported_yet_has_no_run_time(site: Daemon) -> None:
    add(site, decision(11), elapsed=None)
    assert "It ran" not in line(site, "11")


@pytest.mark.parametrize("verdict", ["off", "unreachable"])
def test_a_job_without_a_decision_says_why(site: Daemon, verdict: str) -> None:
    with Database.open(site.database) as database:
        database.report_end(
            Outcome("test", 11, None, 1000, verdict, NOW, None, ended_at=NOW + 5, elapsed_s=5.0, exit_status=0)
        )
    assert line(site, "11").startswith(f"{WITHOUT_DECISION[verdict]} It ran for 5.0 s.")


def test_an_unknown_job_gives_status_3_and_two_forms_status_2(site: Daemon) -> None:
    assert reprise(site, "show", "999", "--line").returncode == 3
    assert reprise(site, "show", "999", "--line", "--json").returncode == 2


def test_staff_send_the_user_only_what_the_user_may_see(site: Daemon) -> None:
    """SlurmUser calls the command for every job; the record and the other jobs are alice's, this job is carol's."""
    for number, seconds in enumerate((80.0, 82.0, 84.0)):
        add(site, decision(20 + number), elapsed=seconds)
    reason = "record 1 (another user's job): 2 variables"
    carols = decision(12, uid=4000, user="carol", metadata=job("carol").to_json(), reason=reason)
    add(site, carols, elapsed=90.0)
    told = line(site, "12")
    assert "alice" not in told and "lattice" not in told and "82.0" not in told and "0.9" not in told
    assert told.startswith(f"Reprise: settings were applied from {reason}. ")
    assert "It ran for 90.0 s. (" in told, "other users' run times are not compared"


def test_another_users_job_has_no_line(site: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    add(site, decision(11))
    monkeypatch.setattr(staff, "reader", lambda _group: staff.Reader(4000, False, "support"))
    done = reprise(site, "show", "11", "--line")
    assert done.returncode == 3 and done.stdout == "" and "alice" not in done.stderr


def test_names_cannot_write_a_second_line_or_fill_the_mail(site: Daemon) -> None:
    add(site, unmatched(11, reason=f"{HOSTILE}\r\nBcc: eve@evil.example"))
    assert line(site, "11").isprintable()
    story = Story([Explained(dataclasses.replace(unmatched(1), reason="x" * 5000))])
    assert len(job_line("1", story, None)) < LENGTH + 50


# -- the mail


@pytest.fixture
def mailer(tmp_path: Path) -> Path:
    """Return the MailProg with a mail program and a `reprise` of the test, which note how they are called."""
    (tmp_path / "mail").write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" > {tmp_path}/args; cat > {tmp_path}/body\n')
    (tmp_path / "reprise").write_text(f'#!/bin/bash\necho "$*" > {tmp_path}/asked; echo "Reprise: of job $3."\n')
    (tmp_path / "sudo").write_text('#!/bin/bash\nshift\nexec "$@"\n')
    text = PROGRAM.read_text().replace("/usr/bin/mail", f"{tmp_path}/mail")
    text = text.replace("/usr/local/bin/reprise", f"{tmp_path}/reprise").replace("PAUSE_S=2", "PAUSE_S=0")
    (tmp_path / "mailer").write_text(text.replace("LIMIT_S=10", "LIMIT_S=1"))
    for name in ("mail", "reprise", "sudo", "mailer"):
        (tmp_path / name).chmod(0o755)
    return tmp_path / "mailer"


def mailed(mailer: Path, subject: str, **variables: str) -> str:
    """Send a mail as Slurm does; check that the mail program gets the same arguments, and return the mail's text."""
    path = f"{mailer.parent}:{os.environ['PATH']}"
    arguments = ["-s", subject, "alice@example.org"]
    done = subprocess.run(
        [mailer, *arguments], env={"PATH": path, **variables}, capture_output=True, text=True, check=True, timeout=30
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert (mailer.parent / "args").read_text() == "".join(f"{one}\n" for one in arguments)
    return (mailer.parent / "body").read_text()


ENDED = "Slurm Job_id=4711 Name=lattice Ended, Run time 00:13:32, COMPLETED, ExitCode 0"


def test_a_mail_at_the_end_of_a_job_has_the_line(mailer: Path) -> None:
    assert mailed(mailer, ENDED, SLURM_JOB_ID="4711", SLURM_JOB_MAIL_TYPE="Ended") == "Reprise: of job 4711.\n"
    assert (mailer.parent / "asked").read_text() == "jobs show 4711 --line\n"


@pytest.mark.parametrize(
    ("subject", "number"),
    [
        (ENDED, "4711"),
        ("Slurm Array Task Job_id=7_3 (10) Name=x Failed, Run time 00:00:01, FAILED, ExitCode 1", "7"),
        ("Slurm Array Summary Job_id=7_* (7) Name=x Ended, COMPLETED, ExitCode [0-0]", "7"),
        ("Slurm Job_id=4711 Name=x Reached time limit, Run time 01:00:00", "4711"),
    ],
)
def test_without_variables_the_job_is_read_from_the_subject(mailer: Path, subject: str, number: str) -> None:
    assert mailed(mailer, subject) == f"Reprise: of job {number}.\n"


@pytest.mark.parametrize("subject", ["Slurm Job_id=4711 Name=x Began, Queued time 00:00:01", "a mail of another kind"])
def test_other_mails_are_sent_as_they_are(mailer: Path, subject: str) -> None:
    assert mailed(mailer, subject) == "" and not (mailer.parent / "asked").exists()


@pytest.mark.parametrize(
    "body", ["exit 3", pytest.param("sleep 60", marks=pytest.mark.slow), "echo; exit 1", "kill -9 $$"]
)
def test_a_mail_is_sent_whatever_happens_to_the_command(mailer: Path, body: str) -> None:
    (mailer.parent / "reprise").write_text(f"#!/bin/bash\n{body}\n")
    assert mailed(mailer, ENDED, SLURM_JOB_ID="4711", SLURM_JOB_MAIL_TYPE="Ended") == ""


@pytest.mark.parametrize("name", ["$(touch owned)", "`touch owned`", "-x; touch owned", "a\nb", "x Ended, Job_id=99"])
def test_a_jobs_name_is_neither_run_nor_taken_for_the_jobs_number(mailer: Path, name: str) -> None:
    subject = f"Slurm Job_id=4711 Name={name} Ended, Run time 00:13:32, COMPLETED, ExitCode 0"
    arguments = {"SLURM_JOB_MAIL_TYPE": "Ended", "SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": name}
    if "\n" not in name:
        assert mailed(mailer, subject, **arguments) == "Reprise: of job 4711.\n"
    assert mailed(mailer, subject) == "Reprise: of job 4711.\n"
    assert list(Path.cwd().glob("owned")) == list(mailer.parent.glob("owned")) == []


@pytest.mark.parametrize("number", ["4711; touch owned", "$(touch owned)", "-x", "", "4711 --json"])
def test_a_number_that_is_none_is_not_asked_for(mailer: Path, number: str) -> None:
    assert mailed(mailer, "x", SLURM_JOB_ID=number, SLURM_JOB_MAIL_TYPE="Ended") == ""
    assert not (mailer.parent / "asked").exists()
