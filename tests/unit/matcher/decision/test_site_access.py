# SPDX-License-Identifier: Apache-2.0
"""Test a site's lists of users, accounts and partitions whose jobs may or may not get settings."""

from __future__ import annotations

import dataclasses
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from reprise.config import Access
from reprise.database.entities import Decision
from reprise.matcher.decision.decide import Question, decide
from reprise.matcher.decision.guards import Policy
from reprise.matcher.decision.site_access import access_of
from reprise.matcher.linkage.linkage_model import load
from reprise.matcher.submission import JobFacts, Script, Submission
from reprise.matcher.support import unsubmitted_script
from tests.unit.matcher_daemon import SCRIPT, knowing, record

MODEL = load("thesis", 0.5)


def ask(
    lists: dict[str, Any],
    *argv: str,
    directives: str = "",
    command: str = "sbatch",
    env: dict[str, str] | None = None,
    **changes: Any,
) -> Decision:
    """Return the decision about a job of `alice` (uid 1001) that matches a record, given these access lists."""
    text = SCRIPT.replace("#SBATCH --nodes", f"{directives}\n#SBATCH --nodes", 1)
    options = ["-N4", "--ntasks-per-node=1", "mpirun", "/home/alice/bin/lattice", "--steps", "200", "--size", "64"]
    words = ("sbatch", *argv, "job.sh") if command == "sbatch" else (command, *argv, *options)
    read = Script("/home/alice/job.sh", text) if command in ("sbatch", "batch") else None
    submission = Submission(command, words if command != "batch" else (), "/home/alice", env or {}, (), read)
    values: dict[str, Any] = {"user": "alice", "uid": 1001, "point": "submit", "mode": "on", "at": 1.7e9}
    policy = Policy("test", openmpi=("4.1.4",), access=access_of(Access.model_validate(lists)))
    question = Question(submission, **{**values, **changes})
    return decide(question, knowing(record(id=1), model=MODEL), policy, "d-1")


def at_start(lists: dict[str, Any], **env: str) -> Decision:
    return ask(lists, command="batch", env=env, point="start", facts=JobFacts(nodes=4, tasks=4, id=7))


def test_without_lists_everyone_is_served() -> None:
    assert ask({}).verdict == "apply"


USERS = [
    ({"deny_users": ["alice"]}, "none"),
    ({"deny_users": [1001]}, "none"),
    ({"deny_users": ["1001"]}, "none"),
    ({"deny_users": ["bob", 1002]}, "apply"),
    ({"deny_users": ["Alice"]}, "apply"),
    ({"allow_users": ["alice"]}, "apply"),
    ({"allow_users": [1001]}, "apply"),
    ({"allow_users": ["bob"]}, "none"),
    ({"allow_users": ["alice"], "deny_users": ["alice"]}, "none"),
    ({"allow_users": ["alice"], "deny_users": [1001]}, "none"),
]


@pytest.mark.parametrize(("lists", "verdict"), USERS)
def test_users_are_listed_by_name_or_uid_and_denial_wins(lists: dict[str, Any], verdict: str) -> None:
    decision = ask(lists)
    assert decision.verdict == verdict
    assert (decision.reason == "the site gives nothing to jobs of user alice") is (verdict == "none")
    assert decision.injected == ({} if verdict == "none" else record().environment)


def test_a_user_without_a_known_name_may_be_a_denied_one() -> None:
    unknown: dict[str, Any] = {"user": "1001", "uid": 1001}
    assert ask({"deny_users": ["bob"]}, **unknown).verdict == "none"
    assert ask({"deny_users": [1002]}, **unknown).verdict == "apply"
    assert ask({"allow_users": ["alice"]}, **unknown).verdict == "none"
    assert ask({"allow_users": [1001]}, **unknown).verdict == "apply"


@pytest.mark.parametrize("what", ["account", "partition"])
@pytest.mark.parametrize("way", ["option", "directive", "environment"])
def test_accounts_and_partitions_are_read_from_options_directives_and_environment(what: str, way: str) -> None:
    def asked(lists: dict[str, Any]) -> Decision:
        argv = [f"--{what}=red"] if way == "option" else []
        directives = f"#SBATCH --{what}=red" if way == "directive" else ""
        env = {f"SBATCH_{what.upper()}": "red"} if way == "environment" else {}
        return ask(lists, *argv, directives=directives, env=env)

    denied = asked({f"deny_{what}s": ["red", "blue"]})
    assert (denied.verdict, denied.reason) == ("none", f"the site gives nothing to jobs of {what} red")
    assert asked({f"deny_{what}s": ["blue"]}).verdict == "apply"
    assert asked({f"allow_{what}s": ["blue"]}).verdict == "none"
    assert asked({f"allow_{what}s": ["red", "blue"]}).verdict == "apply"


LISTS = [f"{kind}_{what}s" for kind in ("allow", "deny") for what in ("account", "partition")]


@pytest.mark.parametrize("name", LISTS)
def test_a_batch_job_with_slurms_default_is_decided_when_it_starts(name: str) -> None:
    decision = ask({name: ["red"]})
    what = name.partition("_")[2].removesuffix("s")
    why = f"the site does not give to every {what}, and the job's {what} is unknown"
    assert (decision.verdict, decision.reason) == ("defer", why)
    variable = f"SLURM_JOB_{what.upper()}"
    assert at_start({name: ["red"]}, **{variable: "red"}).verdict == ("apply" if "allow" in name else "none")
    assert at_start({name: ["red"]}, **{variable: "main"}).verdict == ("none" if "allow" in name else "apply")
    assert at_start({name: ["red"]}).verdict == ("none" if "allow" in name else "apply"), "it has none"


@pytest.mark.parametrize("command", ["salloc", "srun"])
@pytest.mark.parametrize("name", LISTS)
def test_salloc_and_srun_with_unknown_account_or_partition_get_nothing(name: str, command: str) -> None:
    assert ask({name: ["red"]}, command=command).verdict == "none"
    what = name.partition("_")[2].removesuffix("s")
    assert ask({name: ["red"]}, f"--{what}=red", command=command).reason.startswith("the site") is ("deny" in name)


def test_a_job_with_several_partitions_is_deferred_unless_all_or_none_are_denied() -> None:
    assert ask({"deny_partitions": ["red"]}, "-p", "red,blue").verdict == "defer"
    assert ask({"deny_partitions": ["red", "blue"]}, "-p", "red,blue").verdict == "none"
    assert ask({"deny_partitions": ["green"]}, "-p", "red,blue").verdict == "apply"
    assert ask({"allow_partitions": ["red"]}, "-p", "red,blue").verdict == "defer"
    assert ask({"allow_partitions": ["red"]}, "-p", "red,blue", command="salloc").verdict == "none"


def test_accounts_ignore_case_and_partitions_do_not() -> None:
    assert ask({"deny_accounts": ["Red"]}, "-A", "rED").verdict == "none"
    assert ask({"deny_partitions": ["Red"]}, "-p", "red").verdict == "apply"


def test_a_final_refusal_is_not_deferred() -> None:
    decision = ask({"deny_accounts": ["red"], "deny_partitions": ["blue"]}, "-p", "blue")
    assert (decision.verdict, decision.reason) == ("none", "the site gives nothing to jobs of partition blue")


def test_a_question_about_another_users_script_is_decided_for_that_user(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(SCRIPT)
    nobody = pwd.getpwnam("nobody").pw_uid
    assert unsubmitted_script.question(Path("job.sh"), (), "nobody", tmp_path).uid == nobody
    assert unsubmitted_script.question(Path("job.sh"), (), None, tmp_path).uid == os.getuid()
    assert unsubmitted_script.question(Path("job.sh"), (), "no such user", tmp_path).uid not in (0, nobody, os.getuid())


def test_the_decision_is_deferred_if_an_invisible_script_may_name_a_denied_partition() -> None:
    submission = Submission("sbatch", ("sbatch",), "/home/alice", {}, (), None)
    access = access_of(Access(deny_partitions=["red"]))
    question = Question(submission, user="alice", uid=1001, point="submit", mode="on", at=1.7e9)
    policy = Policy("test", openmpi=("4.1.4",), access=access)
    assert decide(question, knowing(record(id=1), model=MODEL), policy, "d").verdict == "defer"
    denied = dataclasses.replace(policy, access=access_of(Access(deny_users=["alice"])))
    assert decide(question, knowing(record(id=1), model=MODEL), denied, "d").verdict == "none"
