# SPDX-License-Identifier: Apache-2.0
"""Test `reprise jobs`, as run by support staff and by users, on a real database without a daemon."""

from __future__ import annotations

import dataclasses
import grp
import json
import os
import re
import signal
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise as command
from reprise.database import Database
from reprise.database.entities import (
    Decision,
    ListedJob,
    Outcome,
    RecordStatus,
    Scope,
    UnmatchedClass,
    UnreadScript,
)
from reprise.database.errors import AccessError
from reprise.database.job_search import Wanted, decided_sql, reported_sql
from reprise.matcher.decision.decide import Question, decide
from reprise.matcher.decision.guards import Policy
from reprise.matcher.decision.refusal import BY_THE_SITE
from reprise.matcher.decision.site_access import Access, Lists
from reprise.matcher.linkage import load
from reprise.matcher.submission import Submission, sacct
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.support import staff
from reprise.matcher.support.explanation import HIDDEN, NOT_LOGGED
from reprise.matcher.support.jobs import campaign_proposal, job_listing, run_time_rank
from reprise.matcher.support.jobs.unmatched_classes import HEADINGS
from reprise.tuner.definition.campaign_definition import load as load_campaign
from tests.unit import database_values as values
from tests.unit.matcher_daemon import RULES, SCRIPT, Daemon, job, knowing, record

NOW = 1.7e9
A_JOB = ListedJob("c", 1, None, 4242424, "", NOW, "off", None, None, None, None, None)
A_CLASS = UnmatchedClass(4242424, "eve", "solve", 2, 1, 1.0, "d-1")
AN_UNREAD_SCRIPT = UnreadScript(4242424, "eve", "/home/eve/own.sh", "own", 1, 1.0, "d-1")
HOSTILE = "evil\x1b]0;title\x07\nname"


@pytest.fixture
def site(tmp_path: Path) -> Daemon:
    """Create a configuration and a database with one record, without a running daemon."""
    one = Daemon(tmp_path, 'model = "thesis"')
    one.add(record(metadata=job("alice").to_json()))
    return one


@pytest.fixture
def nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make commands run as user 4000, who may read the database but is not staff."""
    monkeypatch.setattr(staff, "reader", lambda _group: staff.Reader(4000, False, "support"))


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def reprise(site: Daemon, *arguments: str) -> Done:
    """Run `reprise jobs` in this process, and report exceptions like `reprise.cli.main.main`."""
    result = CliRunner().invoke(
        command, ["--config", str(site.config), "jobs", *arguments], env={"PATH": str(site.config.parent / "bin")}
    )
    if result.exception and not isinstance(result.exception, SystemExit):
        status = getattr(result.exception, "exit_status", None)
        if status is None:
            raise result.exception
        return Done(status, result.stdout, f"reprise: {result.exception}")
    return Done(result.exit_code, result.stdout, result.stderr)


def looked_at(number: int = 1, component: str = "openmpi-collectives", *, used: bool = True) -> dict[str, Any]:
    """Return a record in the form in which a decision lists it among its alternatives."""
    given = {"record": number, "component": component, "scope": "application", "user": "alice", "used": used}
    return {**given, "job": "alice's lattice", "score": 0.9, "why": "", "refusal": "", "explained": False}


def decision(number: int, **changes: Any) -> Decision:
    given: dict[str, Any] = {
        **{"at": NOW + number, "cluster": "test", "job_id": number, "metadata": job("alice").to_json()},
        **{"verdict": "apply", "record_id": 1, "score": 0.9, "injected": RULES},
        "alternatives": [looked_at()],
    }
    return values.decision(f"d-{number}", **{**given, **changes})


def unmatched(number: int, **changes: Any) -> Decision:
    """Return a decision about a job without a similar record."""
    given: dict[str, Any] = {"verdict": "none", "record_id": None, "score": 0.3, "injected": {}, "alternatives": []}
    return decision(number, **{**given, **changes})


def unread(
    number: int, *, script_path: str = "", job_name: str = "wrap", nodes: int | None = 2, **changes: Any
) -> Decision:
    """Return a decision about a job with an unknown program."""
    found = {"program": "", "path": "", "script_path": script_path, "job_name": job_name, "nodes": nodes}
    return unmatched(number, metadata={**job("alice").to_json(), **found}, **changes)


def add(site: Daemon, *decisions: Decision, elapsed: float | None = 60.0, status: int = 0) -> None:
    """Add decisions whose jobs ended after `elapsed` seconds, or are still running if `elapsed` is None."""
    with Database.open(site.database) as database:
        for one in decisions:
            database.add_decision(one)
            assert one.job_id is not None
            run = Outcome(one.cluster, one.job_id, one.array_task, one.uid, one.verdict, one.at, one.id)
            run = dataclasses.replace(run, confirmed=elapsed is not None)
            if elapsed is None:
                database.report_start(run)
            else:
                database.report_end(
                    dataclasses.replace(run, ended_at=one.at + elapsed, elapsed_s=elapsed, exit_status=status)
                )


def numbers(site: Daemon, *arguments: str) -> list[int]:
    done = reprise(site, "list", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["version"] == 1
    return [one["job"] for one in document["jobs"]]


# -- list ------------------------------------------------------------------------------------------------------------


def test_the_list_is_newest_first_with_the_outcome_of_each_job(site: Daemon) -> None:
    add(site, decision(11), elapsed=8.25)
    add(site, decision(12, verdict="none", record_id=None, score=None), status=9)
    done = reprise(site, "list")
    assert done.returncode == 0, done.stderr
    head, first, second = done.stdout.splitlines()
    assert head.split("  ")[0] == "job" and head.endswith("exit status        why none")
    assert first.split()[:3] == ["12", "alice", "lattice"] and "60.0 s   killed by SIGKILL" in first
    assert second.split()[:2] == ["11", "alice"]
    assert second.split()[-6:] == ["apply", "1", "0.9000", "8.2", "s", "0"]


def test_the_list_says_why_jobs_got_nothing(site: Daemon) -> None:
    """The reasons are those of real decisions: if their words change, this test fails."""
    knowledge = knowing(record(metadata=job("alice").to_json()), model=load("thesis"))
    far, near = "#!/bin/bash\n#SBATCH -N 64 -J q -A chem -p gpu\nsrun /opt/chem/orca --opt 7 water.inp\n", SCRIPT
    policies = {
        "off": Policy("test", "off"),
        "denied": Policy("test", access=Access(users=Lists(deny=frozenset({"alice"})))),
    }
    nothing = knowing(model=load("thesis"))
    for number, (script, known, policy, expected) in enumerate(
        (
            (near, nothing, Policy("test"), "no record near"),
            (far, knowledge, Policy("test"), "no record near"),
            (near, knowledge, Policy("elsewhere", openmpi=("4.1.4",)), "guard"),
            (near, knowledge, policies["off"], "access"),
            (near, knowledge, policies["denied"], "access"),
        ),
        11,
    ):
        submission = Submission.for_script("/home/alice/job.sh", script, cwd="/home/alice")
        made = decide(Question(submission, "alice", 1001, "submit", "on", NOW + number), known, policy, f"d-{number}")
        assert made.verdict == "none", made.reason
        add(site, dataclasses.replace(made, job_id=number, cluster="test"))
        assert reprise(site, "list", "--limit", "1").stdout.splitlines()[1].endswith(f"  {expected}"), made.reason
    add(site, decision(20))
    listed = json.loads(reprise(site, "list", "--json").stdout)["jobs"]
    assert [one["why_none"] for one in listed] == [
        None,
        "access",
        "access",
        "guard",
        "no record near",
        "no record near",
    ]


def test_tasks_of_an_array_have_the_numbers_that_slurm_gives_them(site: Daemon) -> None:
    """The last task has the array's own id: Slurm gives every other one a new, higher id when it starts."""
    with Database.open(site.database) as database:
        for name, starts in (
            ("d-8", {1: 9, 2: 10, 3: 8}),
            ("d-20", {0: 21, 1: 22}),  # its last task, which has the id 20, has not started
            ("d-30", {5: 30}),
        ):
            database.add_decision(dataclasses.replace(decision(int(name[2:]), job_id=None), id=name))
            for task, job_id in starts.items():
                database.report_start(Outcome("test", job_id, task, 1001, "apply", NOW + 50 + task, name))
        database.report_start(Outcome("test", 7, 4, 1666, "apply", NOW + 60, "d-8"))  # another user's claim
    document = json.loads(reprise(site, "list", "--json").stdout)["jobs"]
    assert {(one["job"], one["array_task"]): one["array_job"] for one in document} == {
        **{(9, 1): 8, (10, 2): 8, (8, 3): 8, (21, 0): None, (22, 1): None, (30, 5): None, (7, 4): None}
    }
    numbered = [line.split("  ")[0] for line in reprise(site, "list").stdout.splitlines()[1:]]
    assert sorted(numbered) == ["21 task 0", "22 task 1", "30 task 5", "7 task 4", "8_1", "8_2", "8_3"]


def test_jobs_of_campaigns_are_listed_apart(site: Daemon) -> None:
    add(site, decision(11))
    with Database.open(site.database) as database:
        campaign = database.add_campaign(values.campaign())
        for number, (job_id, status) in enumerate(((40, signal.SIGTERM), (41, signal.SIGKILL), (42, 0))):
            database.add_trial(values.trial(campaign, number, slurm_job_id=job_id))
            end = Outcome("test", job_id, None, 999, "off", NOW + 30 + number, ended_at=NOW + 90, elapsed_s=50.0)
            database.report_end(dataclasses.replace(end, exit_status=int(status)))
        database.report_start(Outcome("far", 40, None, 1001, "off", NOW + 70))  # another cluster's job
        database.report_start(Outcome("test", 43, None, 1001, "off", NOW + 71))
        database.report_start(Outcome("test", 42, None, 1001, "unreachable", NOW + 72))
    users, campaigns = reprise(site, "list").stdout.split("\n\nJobs in which campaigns ran trials:\n")
    assert [line.split()[0] for line in users.splitlines()] == ["job", "42", "43", "40", "11"]
    assert "killed by SIGTERM" not in users + campaigns
    lines = [(line.split()[0], line.rsplit("  ", 1)[1].strip()) for line in campaigns.splitlines()]
    assert lines == [
        *(("job", "ended with"), ("42", "its campaign, in order")),
        *(("41", "killed by SIGKILL"), ("40", "its campaign, in order")),
    ]
    assert {one["job"]: one["campaign"] for one in json.loads(reprise(site, "list", "--json").stdout)["jobs"]}[41] == 1
    assert reprise(site, "list", "--application", "lattice").stdout.count("campaigns") == 0


def test_each_filter_selects_its_jobs(site: Daemon) -> None:
    site.add(record(component="romio"))
    other = [looked_at(2, "romio"), looked_at(1, "x", used=False)]
    add(site, decision(11), decision(12, user="bob", uid=1002), decision(13, record_id=2, alternatives=other))
    add(site, unmatched(14), status=256)
    assert numbers(site) == [14, 13, 12, 11]
    assert numbers(site, "--user", "bob") == numbers(site, "--user", "1002") == [12]
    assert numbers(site, "--verdict", "none") == [14]
    assert numbers(site, "--record", "2") == numbers(site, "--component", "romio") == [13]
    assert numbers(site, "--component", "x") == []
    assert numbers(site, "--failed") == [14]
    assert numbers(site, "--limit", "1") == [14]
    at = datetime.fromtimestamp(NOW + 12).isoformat()
    assert numbers(site, "--since", at) == [14, 13, 12] and numbers(site, "--until", at) == [11]
    assert numbers(site, "--since", "1h") == []
    assert reprise(site, "list", "--since", "1h").stdout == "no such jobs\n"


def test_jobs_are_found_by_account_and_partition(site: Daemon) -> None:
    for number, (account, partition) in enumerate((("qcd", "cpu"), ("qcd", "gpu"), ("", "cpu")), 11):
        add(site, decision(number, metadata={**job("alice").to_json(), "account": account, "partition": partition}))
    with Database.open(site.database) as database:
        database.report_start(Outcome("test", 14, None, 1001, "off", NOW + 20))
    assert numbers(site, "--account", "qcd") == [12, 11]
    assert numbers(site, "--partition", "cpu") == [13, 11]
    assert numbers(site, "--partition", "cpu", "--account", "qcd") == [11]
    since = datetime.fromtimestamp(NOW + 12).isoformat()
    assert numbers(site, "--account", "qcd", "--since", since) == [12]
    assert numbers(site, "--account", "q") == []


def test_jobs_are_found_by_a_second_record_that_was_used(site: Daemon) -> None:
    site.add(record(component="romio"))
    add(site, decision(11, alternatives=[looked_at(), looked_at(2, "romio")]))
    assert numbers(site, "--record", "2") == numbers(site, "--component", "romio") == [11]


def test_jobs_without_a_decision_and_decisions_without_a_job_are_listed(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision(11, job_id=None))
        database.report_start(Outcome("far", 12, 3, os.getuid(), "unreachable", NOW + 20))
    done = reprise(site, "list")
    _, reported, decided = done.stdout.splitlines()
    assert reported.startswith("12 task 3 on far  root" if os.getuid() == 0 else "12 task 3 on far  ")
    assert "unreachable" in reported and decided.startswith("- ")
    assert numbers(site, "--verdict", "unreachable", "--user", str(os.getuid())) == [12]
    assert numbers(site, "--record", "1") == [None]


def test_a_report_by_another_user_is_listed_as_a_separate_job(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision(11))
        database.report_start(Outcome("test", 11, None, 1666, "apply", NOW + 20, "d-11", 2))
    document = json.loads(reprise(site, "list", "--json").stdout)
    assert [(one["uid"], one["decision"]) for one in document["jobs"]] == [(1666, None), (1001, "d-11")]


def test_a_page_of_a_long_log_is_read_by_an_index(site: Daemon) -> None:
    with Database.open(site.database) as database:
        for sql, index in ((decided_sql, "decision_by_time"), (reported_sql, "outcome_by_time")):
            statement = f"EXPLAIN QUERY PLAN {sql(Wanted(limit=5))}"
            rows = database._read(statement, dataclasses.asdict(Wanted(limit=5)))
            assert any(index in row["detail"] for row in rows)
            limited = {row["parent"] for row in rows if row["detail"].startswith("SCAN part")}
            assert all(row["parent"] in limited for row in rows if "TEMP B-TREE" in row["detail"]), (
                "only the rows of one page are sorted"
            )


def test_a_users_own_jobs_are_found_by_an_index(site: Daemon) -> None:
    with Database.open(site.database) as database:
        with database._write() as connection:
            connection.execute("CREATE INDEX IF NOT EXISTS decision_by_uid ON decision (uid, at)")
        wanted = Wanted(only=1000, limit=5)
        rows = database._read(f"EXPLAIN QUERY PLAN {decided_sql(wanted)}", dataclasses.asdict(wanted))
        assert any("decision_by_uid (uid=? AND at>? AND at<?)" in row["detail"] for row in rows)
        limited = {row["parent"] for row in rows if row["detail"].startswith("SCAN part")}
        assert all(row["parent"] in limited for row in rows if "TEMP B-TREE" in row["detail"]), (
            "only the rows of one page are sorted"
        )


def test_names_with_escape_sequences_are_shown_escaped(site: Daemon) -> None:
    hostile = JobMetadata(HOSTILE, HOSTILE, HOSTILE, directory=HOSTILE, nodes=4).to_json()
    add(
        site,
        unmatched(11, user=HOSTILE, metadata=hostile),
        decision(10, user=HOSTILE, metadata=hostile),
    )
    with Database.open(site.database) as database:
        database.report_start(Outcome(HOSTILE, 13, None, 1001, HOSTILE, NOW + 20))
    add(site, unread(12, user=HOSTILE, script_path=HOSTILE))
    since = ("--since", "2001-01-01")
    for arguments, lines in (
        (("list",), 5),
        (("unmatched", *since), 4),
        (("unknown", *since), 2),
        (("show", "10"), None),
    ):
        said = reprise(site, *arguments)
        assert said.returncode == 0, said.stderr
        assert not {"\x1b", "\x07"} & set(said.stdout) and "evil" in said.stdout
        assert lines is None or len(said.stdout.splitlines()) == lines


@pytest.mark.parametrize("arguments", [("list",), ("unmatched",), ("unknown",), ("replay", "--sacct", "/dev/null")])
def test_a_user_without_database_access_gets_one_line(
    site: Daemon, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    line = f"{site.database}: may not be read by this user: run this as its owner or a member of its group"

    def refuse(*_arguments: object, **_options: object) -> None:
        raise AccessError(line)

    monkeypatch.setattr(Database, "open", refuse)
    monkeypatch.setattr(sacct, "read", lambda _text: sacct.Accounted((), 0))
    assert reprise(site, *arguments) == Done(1, "", f"reprise: {line}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--since", "yesterday"),
        ("list", "--verdict", "maybe"),
        ("list", "--limit", "0"),
        ("show",),
        ("replay",),
        ("replay", "--sacct", "/nowhere/at/all"),
        ("unmatched", "--campaign", "/tmp/x"),
    ],
)
def test_an_invalid_command_line_gives_status_2(site: Daemon, arguments: tuple[str, ...]) -> None:
    assert reprise(site, *arguments).returncode == 2


# -- who may read ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nobodys")
def test_a_user_who_is_not_staff_sees_names_only_for_their_own_jobs(site: Daemon, tmp_path: Path) -> None:
    add(site, decision(11), decision(12, uid=4000, user="carol"), unmatched(13))
    document = json.loads(reprise(site, "list", "--json").stdout)
    assert [(one["user"], one["uid"], one["hidden"]) for one in document["jobs"]] == [
        (None, None, True),
        ("carol", 4000, False),
        (None, None, True),
    ]
    classes = reprise(site, "unmatched", "--since", "2001-01-01")
    for said in (reprise(site, "list").stdout, classes.stdout):
        assert HIDDEN in said and "alice" not in said
    assert "lattice" not in classes.stdout
    assert reprise(site, "list", "--user", "4000").returncode == 0
    for arguments in (("list", "--user", "1001"), ("list", "--user", "alice")):
        done = reprise(site, *arguments)
        assert (done.returncode, done.stdout) == (1, "") and "only members of the group support may" in done.stderr
    refused = reprise(site, "unmatched", "--campaign", str(tmp_path / "c"), "--component", "x")
    assert refused.returncode == 1 and not (tmp_path / "c").exists()


@pytest.mark.usefixtures("nobodys")
def test_a_user_who_is_not_staff_cannot_search_in_other_users_jobs(site: Daemon) -> None:
    add(site, decision(11), decision(12, uid=4000, user="carol"))
    assert numbers(site) == [12, 11] and numbers(site, "--application", "lattice") == [12]
    assert numbers(site, "--application", "lattice", "--user", "4000") == [12]
    add(site, decision(10, metadata={**job("alice").to_json(), "account": "qcd", "partition": "gpu"}))
    assert numbers(site, "--account", "qcd") == numbers(site, "--partition", "gpu") == []
    said = reprise(site, "list", "--application", "lattice").stdout
    assert said.endswith("Only your own jobs: --application cannot find other users' jobs (see access.staff)\n")
    assert json.loads(reprise(site, "list", "--application", "lattice", "--json").stdout)["own_only"] is True
    assert json.loads(reprise(site, "list", "--json").stdout)["own_only"] is False


def test_staff_find_all_users_jobs_by_application(site: Daemon) -> None:
    add(site, decision(11), decision(12, uid=4000, user="carol"))
    assert numbers(site, "--application", "lattice") == [12, 11]
    assert "Only your own" not in reprise(site, "list", "--application", "lattice").stdout


@pytest.mark.usefixtures("nobodys")
def test_a_user_who_is_not_staff_can_show_only_their_own_jobs(site: Daemon) -> None:
    add(site, decision(11), decision(12, uid=4000, user="carol", metadata=job("carol").to_json()))
    other = reprise(site, "show", "11")
    assert other.returncode == 3 and "nothing is known of a job 11 of yours" in other.stderr
    own = reprise(site, "show", "12")
    assert own.returncode == 0 and "tuned for another user's job" in own.stdout
    assert "alice" not in own.stdout.replace("/home/alice", "")
    assert "alice" not in reprise(site, "show", "12", "--json").stdout.replace("/home/alice", "")


def test_staff_are_root_and_the_groups_members_or_everyone_if_no_group_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = grp.getgrgid(os.getgid())
    monkeypatch.setattr(os, "geteuid", lambda: 4000)
    monkeypatch.setattr(os, "getegid", lambda: group.gr_gid + 1)
    monkeypatch.setattr(os, "getgroups", lambda: [group.gr_gid])
    assert staff.reader("").staff and staff.reader(group.gr_name).staff
    monkeypatch.setattr(os, "getgroups", list)
    outsider = staff.reader(group.gr_name)
    assert not outsider.staff and outsider.sees(4000) and not outsider.sees(0)
    with pytest.raises(staff.StaffError, match="this host has no group 'no-such-group'"):
        staff.reader("no-such-group")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert staff.reader("no-such-group").staff


# -- show ------------------------------------------------------------------------------------------------------------


def test_show_has_the_explanation_and_a_comparison_of_run_times(site: Daemon) -> None:
    for number, seconds in enumerate((80.0, 82.0, 84.0, 86.0, 88.0)):
        add(site, decision(20 + number), elapsed=seconds)
    add(site, decision(30, verdict="holdout", injected={}), elapsed=100.0)
    add(site, decision(31), elapsed=1.0, status=256)
    add(site, decision(32, metadata={**job("alice").to_json(), "nodes": 8}), elapsed=2.0)
    add(site, decision(40), elapsed=83.0)
    done = reprise(site, "show", "40")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Decision d-40 for job 40: apply") and "after 83.0 s, exit status 0" in done.stdout
    assert done.stdout.endswith(
        "Compared with other successful jobs of record 1 on 4 nodes:\n"
        "  given: 5 jobs, median 84.0 s, quartiles 82.0 and 86.0 s\n"
        "  held out: 1 job, median 100.0 s, quartiles 100.0 and 100.0 s\n"
        "  this job, given: 83.0 s, shorter than 60% of those given and 100% of those held out\n"
    )
    explained = CliRunner().invoke(command, ["--config", str(site.config), "match", "explain", "40"])
    assert explained.stdout == done.stdout
    document = json.loads(reprise(site, "show", "40", "--json").stdout)
    assert document["version"] == 1 and document["explanation"]["decisions"][0]["id"] == "d-40"
    assert document["beside"]["given"] == {"jobs": 5, "lower": 82.0, "median": 84.0, "upper": 86.0}
    assert document["beside"]["runs"] == [
        {"elapsed_s": 83.0, "succeeded": True, "slower_given": 0.6, "slower_held_out": 1.0}
    ]


def test_show_of_a_job_without_others_to_compare_has_no_numbers(site: Daemon) -> None:
    add(site, unmatched(11))
    add(site, decision(12), elapsed=None)
    assert "Compared with" not in reprise(site, "show", "11").stdout
    assert json.loads(reprise(site, "show", "11", "--json").stdout)["beside"] is None
    assert reprise(site, "show", "12").stdout.endswith("given: none\n  held out: none\n")
    assert reprise(site, "show", "13").returncode == 3


def test_equal_run_times_count_half_in_a_rank() -> None:
    assert run_time_rank.run(2.0, True, [1.0, 2.0, 3.0, 4.0], []) == run_time_rank.Run(2.0, True, 0.625, None)
    assert run_time_rank.spread([]) == run_time_rank.Spread(0, None, None, None)


# -- unknown ---------------------------------------------------------------------------------------------------------


def test_scripts_without_a_program_are_listed_by_node_hours(site: Daemon) -> None:
    add(
        site,
        unread(11, script_path="/home/alice/a.sh"),
        unread(12, script_path="/home/alice/a.sh", job_name="b"),
        elapsed=3600.0,
    )
    add(site, unread(13), unread(14, nodes=None), unread(15, user="bob", uid=1002), decision(16), elapsed=900.0)
    add(site, unread(17), elapsed=None)
    done = reprise(site, "unknown", "--since", "2001-01-01")
    assert done.returncode == 0, done.stderr
    head, *found = (re.split(r"\s{2,}", line) for line in done.stdout.splitlines())
    assert head == ["rank", "user", "script", "jobs", "node-hours", "newest decision"]
    assert found == [
        ["1", "alice", "/home/alice/a.sh", "2", "4.0", "d-12"],
        ["2", "alice", "wrap", "2", "0.8", "d-14"],
        ["3", "bob", "wrap", "1", "0.5", "d-15"],
    ]
    (first,) = json.loads(reprise(site, "unknown", "--since", "2001-01-01", "--limit", "1", "--json").stdout)["scripts"]
    assert (first["script"], first["jobs"], first["node_hours"], first["hidden"]) == ("/home/alice/a.sh", 2, 4.0, False)
    assert reprise(site, "unknown").stdout == "no jobs whose program is unknown\n", (
        "the jobs are older than the default period"
    )


def test_an_unknown_program_is_listed_as_unknown(site: Daemon) -> None:
    add(site, unread(11), decision(12))
    assert [line.split()[2] for line in reprise(site, "list").stdout.splitlines()] == ["program", "lattice", "unknown"]
    document = json.loads(reprise(site, "list", "--json").stdout)
    assert [one["program"] for one in document["jobs"]] == ["lattice", None]


def test_other_users_scripts_and_programs_are_hidden(site: Daemon, nobodys: None) -> None:
    add(site, unread(11, script_path="/home/alice/a.sh"), decision(12))
    for arguments in (("unknown", "--since", "2001-01-01"), ("list",)):
        for told in (reprise(site, *arguments).stdout, reprise(site, *arguments, "--json").stdout):
            assert not any(word in told for word in ("alice", "a.sh", "wrap", "lattice"))


# -- unmatched -------------------------------------------------------------------------------------------------------


def test_classes_are_ranked_by_the_node_hours_that_a_record_may_save(site: Daemon) -> None:
    small = {**job("alice").to_json(), "program": "", "job_name": "tiny", "nodes": 1}
    add(site, unmatched(11), unmatched(12), elapsed=3600.0)
    add(site, unmatched(13, metadata=small), elapsed=7200.0)
    add(site, unmatched(14, metadata={**small, "nodes": None}), elapsed=1800.0)
    done = reprise(site, "unmatched", "--since", "2001-01-01")
    said, head, *lines = done.stdout.splitlines()
    assert said == (
        "Expected gain 30.0%: the median of 1 active record (0 measured in production); estimated from similar records "
        "where there are any"
    )
    assert re.split("  +", head) == ["rank", "user", "program", "nodes", "jobs", "node-hours", *HEADINGS[6:]]
    assert [re.split("  +", line) for line in lines] == [
        ["1", "alice", "lattice", "4", "2", "8.0", "30.0%", "1 of the program, 1 of the user", "2.4 node-hours"],
        ["2", "alice", "tiny", "1", "1", "2.0", "30.0%", "1 of the user", "0.6 node-hours"],
        ["3", "alice", "tiny", "1", "0.5", "30.0%", "1 of the user", "0.1 node-hours"],
    ]
    document = json.loads(reprise(site, "unmatched", "--since", "2001-01-01", "--limit", "1", "--json").stdout)
    assert document["expected"] == {"gain": 0.3, "records": 1, "in_production": 0}
    [only] = document["classes"]
    assert (only["node_hours"], only["nodes"], only["jobs"], only["decision"]) == (8.0, 4, 2, "d-12")
    assert only["saving"] == pytest.approx(2.4) and only["campaign"] is None


def test_only_jobs_without_a_similar_record_are_unmatched(site: Daemon) -> None:
    add(site, unmatched(11, score=0.9, reason="record 1 (score 0.9) was tuned for 8 nodes, and the job has 4"))
    add(site, unmatched(12, reason="the site gives nothing to jobs of user alice"))
    add(site, unmatched(13, verdict="defer"), decision(14), unmatched(15, uid=7, user="eve"), elapsed=60.0)
    add(site, decision(16, uid=7, user="eve"), elapsed=None)
    assert reprise(site, "unmatched", "--since", "2001-01-01").stdout == "every job had a similar record\n"
    add(site, unmatched(17, uid=7, user="eve", score=None))
    assert "eve " in reprise(site, "unmatched", "--since", "2001-01-01").stdout
    assert "eve " not in reprise(site, "unmatched").stdout, "the jobs are older than the default period"


@pytest.mark.parametrize("verdict", ["apply", "observe", "holdout"])
def test_an_untuned_application_is_listed_although_rules_for_the_cluster_apply(site: Daemon, verdict: str) -> None:
    with Database.open(site.database) as database:
        for_all = database.add_record(record(scope=Scope.CLUSTER, metadata={}))
    given: dict[str, Any] = {"verdict": verdict, "uid": 7, "user": "eve"}
    add(site, unmatched(11, **given, record_id=for_all))
    assert "eve " in reprise(site, "unmatched", "--since", "2001-01-01").stdout
    add(site, decision(12, **given, record_id=for_all, score=0.9))
    assert "eve " not in reprise(site, "unmatched", "--since", "2001-01-01").stdout, (
        "an application's record is similar enough"
    )
    add(site, unmatched(13, **given, record_id=1))
    assert "eve " not in reprise(site, "unmatched", "--since", "2001-01-01").stdout, (
        "the job got the settings of an application's record"
    )


@pytest.mark.parametrize(
    "policy",
    [Policy("test", mode="off"), Policy("test", access=Access(users=Lists(deny=frozenset({"bob"}))))],
    ids=["off", "denied"],
)
def test_a_decision_by_the_sites_settings_has_the_reason_that_the_query_excludes(policy: Policy) -> None:
    question = Question(Submission.for_script("/w/j.sh", SCRIPT), "bob", 1, "submit", "on", NOW)
    made = decide(question, knowing(record(), model=load("thesis")), policy, NOT_LOGGED)
    assert made.verdict == "none" and made.reason.startswith(BY_THE_SITE)


def test_the_expected_gain_is_the_median_of_active_records_measured_in_production_if_possible(
    site: Daemon,
) -> None:
    site.add(record(gain=0.5), record(gain=0.7, component="romio"), record(gain=0.9, status=RecordStatus.RETIRED))
    add(site, unmatched(11, uid=7, user="eve"))
    for number in range(20, 40):
        held = number % 2 == 0
        place = {"block": f"b{number // 2}", "block_size": 2, "compared_id": 1, "held_out": held}
        changes: dict[str, Any] = {"verdict": "holdout", "injected": {}} if held else {}
        add(site, decision(number, **place, **changes), elapsed=100.0 if held else 60.0)
    every = reprise(site, "unmatched", "--since", "2001-01-01").stdout
    assert every.startswith("Expected gain 50.0%: the median of 3 active records (1 measured in production)")
    first = reprise(site, "unmatched", "--since", "2001-01-01", "--component", "openmpi-collectives").stdout
    assert first.startswith("Expected gain 45.0%: the median of 2 active records (1 measured")
    none = reprise(site, "unmatched", "--since", "2001-01-01", "--component", "hdf5").stdout
    assert none.startswith("Expected gain 10.0%: assumed, since no record is active\n")


def with_component(site: Daemon) -> None:
    (site.config.parent / "components").mkdir()
    (site.config.parent / "components/romio.yaml").write_text("name: romio\n")
    site.config.write_text(f'{site.config.read_text()}[tuner]\ncomponents = "{site.config.parent}/components"\n')


def test_campaign_files_are_ready_to_be_run(site: Daemon, tmp_path: Path) -> None:
    with_component(site)
    work = tmp_path / "work"
    work.mkdir()
    (work / "lattice").write_text(SCRIPT)
    metadata = {**job("alice").to_json(), "directory": str(work), "partition": "cpu"}
    del metadata["script_path"]  # decisions of older releases lack this key
    add(site, unmatched(11, metadata=metadata))
    arguments = ("unmatched", "--since", "2001-01-01", "--component", "romio", "--campaign", str(tmp_path / "made/c"))
    done = reprise(site, *arguments)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "made/c/01-alice-lattice-4-nodes.yaml"
    assert done.stdout.endswith(f"{path}: written\n")
    found = load_campaign(path)
    assert (found.component, found.executor.kind, found.name) == ("romio", "slurm", "alice lattice 4 nodes")
    assert found.application is not None
    assert (found.application.user, found.application.directory) == ("alice", work)
    assert found.application.script == work / "lattice"
    assert found.application.options == ["--nodes=4", "--ntasks=4", "--partition=cpu", "--job-name=lattice"]
    again = reprise(site, *arguments)
    assert again.returncode == 1 and f"{path}: already exists" in again.stderr


def test_the_script_of_a_job_that_slurm_still_knows_is_taken_from_slurm(tmp_path: Path) -> None:
    metadata = JobMetadata("alice", "solve", directory=str(tmp_path))
    said = {"UserId": "alice(1001)", "Command": "/home/alice/solve.sh"}
    asked: list[str] = []

    def says(number: str) -> dict[str, str]:
        asked.append(number)
        return said

    assert campaign_proposal.script_of(unmatched(11), metadata, says) == "/home/alice/solve.sh" and asked == ["11"]
    assert campaign_proposal.script_of(unmatched(11, uid=1002), metadata, says) is None, (
        "Slurm's job of that number belongs to another user"
    )
    said["Command"] = "(null)"
    assert campaign_proposal.script_of(unmatched(11), metadata, says) is None
    assert campaign_proposal.script_of(unmatched(11, job_id=None), metadata, says) is None and len(asked) == 3
    told = dataclasses.replace(metadata, script_path="/home/alice/own.sh")
    assert campaign_proposal.script_of(unmatched(11), told, says) == "/home/alice/own.sh" and len(asked) == 3


def test_a_campaign_with_an_unknown_script_is_valid_and_has_a_placeholder(site: Daemon, tmp_path: Path) -> None:
    with_component(site)
    add(site, unmatched(11, metadata={**job("alice").to_json(), "script_path": ""}))
    done = reprise(
        site, "unmatched", "--since", "2001-01-01", "--component", "romio", "--campaign", str(tmp_path / "c"), "--json"
    )
    [only] = json.loads(done.stdout)["classes"]
    path = Path(only["campaign"])
    assert "# To be filled in: application.script: the batch script\n" in path.read_text()
    found = load_campaign(path)
    assert found.application is not None and str(found.application.script) == campaign_proposal.PLACEHOLDER


@pytest.mark.parametrize(
    "word", [HOSTILE, "../../etc/x", "", ".", "-rf", "a: [b", "\u202eabc", "x" * 1024, "é\udcff"[:1]]
)
def test_hostile_names_give_a_valid_campaign_file_in_the_right_directory(
    site: Daemon, tmp_path: Path, word: str
) -> None:
    with_component(site)
    hostile = JobMetadata(
        word or "?", word, word, directory=f"/{word}", nodes=2, tasks_per_node=3, account=word, partition=word,
        script_path=f"/{word}",
    )  # fmt: skip
    add(site, unmatched(11, user=word or "?", metadata=hostile.to_json()))
    done = reprise(
        site, "unmatched", "--since", "2001-01-01", "--component", "romio", "--campaign", str(tmp_path / "c")
    )
    assert done.returncode == 0, done.stderr
    [path] = (tmp_path / "c").iterdir()
    found = load_campaign(path)
    assert found.application is not None and found.application.options[:2] == ["--nodes=2", "--ntasks-per-node=3"]
    assert not any(set(" \n\x1b'\"#;") & set(option) for option in found.application.options)


def test_a_campaign_of_an_unknown_component_is_refused(site: Daemon, tmp_path: Path) -> None:
    with_component(site)
    for name in ("hdf5", "../components/romio", ""):
        done = reprise(site, "unmatched", "--component", name, "--campaign", str(tmp_path / "c"))
        assert done.returncode == 1 and f"component {name!r}: has no file in" in done.stderr


# -- history ---------------------------------------------------------------------------------------------------------

HEAD = "JobID|User|Account|Partition|NNodes|ElapsedRaw|Submit|WorkDir|JobName|SubmitLine"


def accounted(*rows: str, head: str = HEAD) -> str:
    return "\n".join([head, *rows]) + "\n"


def srun(number: str, program: str = "/home/alice/bin/lattice", elapsed: str = "900", options: str = "-N4") -> str:
    """Return a row of sacct's output for a job whose submit line runs `program` with `srun`."""
    line = f"sbatch {options} --wrap srun {program} --steps 200 --size 64"
    return f"{number}|alice|||4|{elapsed}|2023-11-14T22:13:20|/home/alice|lattice|{line}"


def history(site: Daemon, text: str, *arguments: str) -> Done:
    path = site.config.parent / "jobs.txt"
    path.write_text(text)
    return reprise(site, "replay", "--sacct", str(path), *arguments)


def test_past_jobs_are_replayed_with_the_present_records(site: Daemon) -> None:
    rows = (
        *(srun(number, options="-N4 --ntasks-per-node=1") for number in ("11_0", "11_1", "12")),
        srun("13"),
        "14|zoe|||1|3600|2023-11-14T10:00:00|/w|other|sbatch other.sh",
        "15||||1|3600|2023-11-14T10:00:00|/w|other|sbatch other.sh",
        "16|zoe|||1||2023-11-14T10:00:00|/w|other|",
    )
    done = history(site, accounted(*rows))
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "5 submissions, 5.0 node-hours, by model thesis/1\n"
        "Left out because they have no user or are truncated: 1\n"
        "Counted as 0 node-hours because their time or nodes are unknown: 1\n"
        "Without a known program, since accounting's rows have no scripts: 2; more of them would have matched with "
        "their scripts (--scripts)\n\n"
        "verdict  submissions  node-hours\n"
        "apply    2            3.0\n"
        "defer    1            1.0\n"
        "none     2            1.0\n\n"
        "record  submissions  node-hours\n"
        "1       2            3.0\n"
    )
    document = json.loads(history(site, accounted(*rows), "--json").stdout)
    assert document["version"] == 1 and document["model"] == "thesis/1" and document["unreadable"] == 1
    assert document["records"] == [{"record": 1, "jobs": 2, "node_hours": 3.0}]
    assert document["verdicts"]["defer"] == {"jobs": 1, "node_hours": 1.0}, (
        "tasks per node are known only at the job's start"
    )
    with Database.open(site.database, read_only=True) as database:
        assert database.counts()["decision"] == 0


def test_a_replay_shows_matches_even_if_the_site_gives_nothing(site: Daemon) -> None:
    site.configure('model = "thesis"', 'mode = "off"')
    text = accounted(srun("11", options="-N4 --ntasks-per-node=1"))
    assert json.loads(history(site, text, "--json").stdout)["verdicts"]["apply"]["jobs"] == 1


def test_a_replay_reads_scripts_that_slurm_has_kept(site: Daemon) -> None:
    """Without its script, a job has no program; with it, the job matches as it did when it was submitted."""
    rows = [
        f"{number}|alice|||4|900|2023-11-14T22:13:20|/home/alice|lattice|sbatch job.sh" for number in ("21", "22_1")
    ]
    text = accounted(*rows, "23|zoe|||1|3600|2023-11-14T10:00:00|/w|other|sbatch other.sh")
    rule = "-" * 80
    scripts = site.config.parent / "scripts.txt"
    scripts.write_text(f"Batch Script for 21\n{rule}\n{SCRIPT}\nBatch Script for 22_1\n{rule}\n{SCRIPT}\n")
    assert json.loads(history(site, text, "--json").stdout)["verdicts"]["apply"]["jobs"] == 0
    told = json.loads(history(site, text, "--scripts", str(scripts), "--json").stdout)
    assert told["verdicts"]["apply"] == {"jobs": 2, "node_hours": 2.0}
    assert (told["with_script"], told["without_program"]["jobs"], told["total"]["jobs"]) == (2, 1, 3)
    shown = history(site, text, "--scripts", str(scripts)).stdout
    assert "Read with their scripts: 2\nWithout a known program: 1\n" in shown
    own = SCRIPT.replace("mpirun", "export OMPI_MCA_coll_tuned_use_dynamic_rules=0\nmpirun")
    scripts.write_text(f"Batch Script for 21\n{rule}\n{own}\n")
    told = json.loads(history(site, text, "--scripts", str(scripts), "--json").stdout)
    assert told["verdicts"]["apply"]["jobs"] == 0, "the guards read the script, too"
    scripts.write_text("this is no output of sacct\n")
    assert json.loads(history(site, text, "--scripts", str(scripts), "--json").stdout)["with_script"] == 0


def test_a_replay_considers_variables_set_on_the_command_line(site: Daemon) -> None:
    text = accounted(srun("11", options="-N4 --ntasks-per-node=1 --export=ALL,OMPI_MCA_coll_tuned_x=1"))
    assert json.loads(history(site, text, "--json").stdout)["verdicts"]["none"]["jobs"] == 1


@pytest.mark.parametrize("text", ["", "nonsense\n", "{}", '{"jobs": 3}', "{", '{"a":' * 3000])
def test_a_file_that_is_no_accounting_is_refused_by_name(site: Daemon, text: str) -> None:
    done = history(site, text)
    assert (done.returncode, done.stdout) == (1, "") and "jobs.txt: " in done.stderr and "sacct -aX" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_any_text_in_json_is_accepted(site: Daemon) -> None:
    one = {"job_id": 7, "user": "a\udcff", "name": HOSTILE, "submit_line": "srun \udcff \0 x", "allocation_nodes": 2}
    done = history(site, json.dumps({"jobs": [one]}))
    assert done.returncode == 0 and done.stdout.startswith("1 submissions, 0.0 node-hours")


def test_hostile_accounting_is_not_printed(site: Daemon) -> None:
    done = history(site, accounted(f"11|{HOSTILE}|||1|60|2023-11-14T10:00:00|/w|{HOSTILE}|sbatch x"))
    assert done.returncode == 0 and "\x1b" not in done.stdout and "evil" not in done.stdout


def test_jobs_are_listed_with_the_users_name_or_else_the_uid() -> None:
    assert job_listing.user_of(A_JOB) == "4242424" and job_listing.user_of(dataclasses.replace(A_JOB, uid=0)) == "root"
