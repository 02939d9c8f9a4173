# SPDX-License-Identifier: Apache-2.0
"""Test the daemon's explanations: content, limits, and that decisions do not wait for explanations."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reprise.cli import match, match_explain
from reprise.cli.main import reprise
from reprise.config import load as load_config
from reprise.database import Database
from reprise.database.entities import Outcome
from reprise.matcher.daemon import service
from reprise.matcher.daemon.decision_basis import Basis
from reprise.matcher.daemon.pending_writes import Queue
from reprise.matcher.daemon.service import Service
from reprise.matcher.decision.configured import policy_of
from reprise.matcher.linkage import load
from reprise.matcher.submission import SCRIPT_LIMIT, Submission
from reprise.matcher.support import (
    asking_daemon,
    explainer,
    explanation,
    explanation_console,
    hidden_words,
    job_lookup,
    job_story,
    slurm_job,
    understood_script,
    unsubmitted_script,
)
from reprise.matcher.support.explainer import Explainer
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import ask, explain_request, preview_request
from tests.nobody import as_nobody
from tests.unit.asked_jobs import asked_about
from tests.unit.cli.test_match import decision
from tests.unit.comparing_files import comparing_files
from tests.unit.matcher.support.test_hidden_words import alices
from tests.unit.matcher_daemon import RULES, SCRIPT, Daemon, job, mine, record, request
from tests.waiting import wait_for

NOBODY = 65534
# Modules that commands import late. Root imports them here, because the user nobody may not be able to read the
# checkout.
LATE_IMPORTS = (
    asking_daemon,
    match,
    explanation,
    match_explain,
    hidden_words,
    job_lookup,
    explanation_console,
    unsubmitted_script,
    understood_script,
    slurm_job,
)
MODEL = load("thesis")
JOB = protocol.Explain(job="12")


@pytest.fixture
def site(place: Path) -> Iterator[Daemon]:
    """Run a daemon that every user can reach, with one record of alice in a database that other users cannot read."""
    one = Daemon(place, 'model = "thesis"', "threshold = 0.01")
    one.socket.parent.chmod(0o755)
    one.database.parent.chmod(0o755)
    one.config.chmod(0o644)
    one.add(alices(environment=RULES))
    yield one.start()
    one.stop()


def run(site: Daemon, *arguments: str, group: str = "match") -> tuple[int, str]:
    """Run a command of `reprise match` or another group in this process; return its exit status and all output."""
    result = CliRunner().invoke(reprise, ["--config", str(site.config), group, *arguments], env={"PATH": "/nowhere"})
    error = "" if isinstance(result.exception, SystemExit | None) else str(result.exception)
    return getattr(result.exception, "exit_status", result.exit_code), result.output + error


def told(site: Daemon, name: str) -> dict[str, Any]:
    return ask(site.socket, explain_request(name), 5.0, protocol.EXPLANATION_LIMIT)


def written(site: Daemon, name: str) -> bool:
    with Database.open(site.database, read_only=True) as database:
        return database.counts()["decision"] > 0 and bool(database.decision(name))


def test_a_user_without_database_access_sees_only_their_own_data_in_an_explanation(site: Daemon) -> None:
    run(site, "explain", "1")  # import modules as root, because `nobody` may be unable to read them
    message = request(SCRIPT.replace("alice", "bob"))
    message["submission"]["cwd"] = "/home/bob"
    message["submission"]["script"]["path"] = "/home/bob/job.sh"
    with as_nobody():
        name = site.ask(message)["id"]
    wait_for("the decision in the database", lambda: written(site, name))
    with as_nobody():
        assert not os.access(site.database, os.R_OK, effective_ids=True)
        status, text = run(site, "explain", name)
        _, as_json = run(site, "explain", name, "--json")
        shown = run(site, "show", name, group="jobs")
        _, shown_as_json = run(site, "show", name, "--json", group="jobs")
    assert status == 0, text
    assert shown == (0, text)
    assert json.loads(shown_as_json) == {"version": 1, "explanation": json.loads(as_json), "beside": None}
    assert "apply" in text and "by nobody (uid 65534)" in text and "another user's job" in text and "(hidden)" in text
    assert "Values marked (hidden) belong to another user, or would reveal how similar their job is." in text
    assert json.loads(as_json)["version"] == 1
    assert "alice" not in text + as_json
    assert "alice" in run(site, "explain", name)[1], "root sees everything"
    assert "alice" in json.dumps(told(site, name)), "root sees everything over the socket, too"
    assert "alice" not in run(site, "explain", name, "--hide-others")[1]


def test_a_user_may_name_the_cluster_of_the_job(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.report_start(Outcome("far", 12, None, NOBODY, "off", 1.7e9))
    with as_nobody():
        assert run(site, "explain", "12")[0] == 3
        status, text = run(site, "explain", "12", "--cluster", "FAR")
    assert status == 0 and "switched off" in text


def test_another_users_job_and_a_missing_job_get_the_same_answer(site: Daemon) -> None:
    with Database.open(site.database) as database:
        database.add_decision(decision())
        database.report_start(Outcome("test", 12, None, 1000, "apply", 1.7e9, "18bcfe56800-00000001", 2))
    answers = []
    for name in ("12", "12_1", "18bcfe56800-00000001", "99", "18bcfe56800-00000009"):
        with as_nobody():
            status, text = run(site, "explain", name)
            shown = run(site, "show", name, group="jobs")
        assert status == 3, text
        assert shown == (status, text)
        answers.append(text.replace(name, "N"))
    assert len(set(answers)) == 1 and "nothing is known of a job N of yours" in answers[0]


def test_an_invalid_job_name_is_refused_before_a_request(site: Daemon) -> None:
    with as_nobody():
        status, text = run(site, "explain", "a b")
    assert status == 3 and "neither a job's number" in text


def test_without_daemon_and_permission_both_remedies_are_stated(site: Daemon) -> None:
    site.stop()
    with as_nobody():
        status, text = run(site, "explain", "12")
    assert status == 4
    assert "may not be read by this user" in text and "systemctl start reprise-matcher" in text


def test_the_error_of_a_daemon_that_cannot_explain_is_quoted(site: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "reprise.matcher.wire.client.ask", lambda *_: protocol.error_reply("kind 'explain' is not known")
    )
    with as_nobody():
        status, text = run(site, "explain", "12")
    assert status == 1 and "the matcher cannot explain the job: kind 'explain' is not known" in text


@pytest.mark.parametrize("command", [("nearest", "--script", "job.sh"), ("nearest", "12")])
def test_a_user_without_database_access_is_referred_to_explain_script(site: Daemon, command: tuple[str, ...]) -> None:
    with as_nobody():
        status, text = run(site, *command)
    assert status == 1 and "may not be read by this user" in text and "reprise match explain --script" in text


@pytest.fixture
def script(place: Path) -> str:
    """Return the path of a script that belongs to the user nobody and resembles alice's job."""
    path = place / "own.sh"
    path.write_text(SCRIPT.replace("alice", "bob"))
    path.chmod(0o644)
    return str(path)


def decisions(site: Daemon) -> int:
    with Database.open(site.database, read_only=True) as database:
        return database.counts()["decision"]


def test_a_preview_of_a_script_hides_other_users_data_and_stores_nothing(site: Daemon, script: str) -> None:
    run(site, "explain", "--script", script)  # import modules as root, because `nobody` may be unable to read them
    before = decisions(site)
    with as_nobody():
        status, text = run(site, "explain", "--script", script, "--", "-p", "cpu")
        _, as_json = run(site, "explain", "--script", script, "--json")
    assert status == 0, text
    assert "Settings would be applied from record 1 (another user's job)" in text and "by nobody (uid 65534)" in text
    assert re.search(r"^program +lattice +line 5 +mpirun ", text, re.MULTILINE), text
    assert re.search(r"^nodes +4 +line \d+ +#SBATCH --nodes=4", text, re.MULTILINE), text
    assert re.search(r"^partition +cpu +the command line", text, re.MULTILINE), text
    told = json.loads(as_json)
    assert told["decisions"][0]["injected"] == RULES and told["decisions"][0]["score"] is None
    assert {one["name"]: one["line"] for one in told["understood"]}["program"] == 5
    assert "alice" not in text + as_json
    assert "alice" in run(site, "explain", "--script", script)[1], "root sees everything"
    with as_nobody():
        name = site.ask(request())["id"]
    wait_for("a later decision", lambda: written(site, name))
    assert decisions(site) == before + 1


def test_a_preview_takes_no_place_in_a_block(daemon: Daemon) -> None:
    daemon.configure("holdout = 0.5")
    daemon.add(mine())
    daemon.start()
    asked = {"v": 1, "kind": "preview", "submission": request()["submission"]}
    verdicts = []
    for _ in range(20):
        assert daemon.ask(asked)["story"]["decisions"][0]["verdict"] == "apply"
        verdicts.append(daemon.ask(request())["verdict"])
    pairs = [set(verdicts[at : at + 2]) for at in range(0, 20, 2)]
    assert pairs == [{"apply", "holdout"}] * 10


def test_a_preview_reads_the_program_file_like_a_decision(site: Daemon, place: Path) -> None:
    site.stop()
    site.configure(comparing_files(place / "files.toml"))
    site.start()
    (place / "work.py").write_text("import numpy\nimport scipy\n" + "\n".join(f"print({n})" for n in range(20)))
    (place / "work.py").chmod(0o644)
    path = place / "reads.sh"
    path.write_text(f"#!/bin/bash\nsrun python {place}/work.py\n")
    path.chmod(0o644)
    arguments = ("explain", "--script", str(path), "--json")
    by_database = json.loads(run(site, *arguments)[1])
    with as_nobody():
        by_daemon = json.loads(run(site, *arguments)[1])
    contents = [one["decisions"][0]["metadata"]["contents"] for one in (by_database, by_daemon)]
    assert contents[0] == contents[1] != ""


def test_a_preview_uses_what_jobs_reported_about_the_program(site: Daemon, place: Path) -> None:
    site.stop()
    site.configure(comparing_files(place / "files.toml"))
    site.start()
    (place / "closed.py").write_text("import numpy\n")
    (place / "closed.py").chmod(0o700)
    path = place / "tells.sh"
    path.write_text(f"#!/bin/bash\nsrun python {place}/closed.py\n")
    decision = asked_about(site, place / "closed.py", request(path.read_text()))
    site.ask({"v": 1, "kind": "identity", "decision": decision, "contents": 32 * "c"})

    def contents() -> str:
        story = json.loads(run(site, "explain", "--script", str(path), "--json")[1])
        found: str = story["decisions"][0]["metadata"]["contents"]
        return found

    wait_for("the reported program", lambda: contents() == 32 * "c")


def test_a_preview_does_not_reveal_the_similarity_to_another_users_job(tmp_path: Path) -> None:
    told = []
    for word in ("lattice-x", "zzzzzzzzz"):
        directory = tmp_path / word
        directory.mkdir()
        site = Daemon(directory, "threshold = 0.99999")
        named = dataclasses.replace(job("alice"), program=word, path=f"/home/alice/bin/{word}", job_name=word)
        site.add(record(metadata=named.to_json()))
        config = load_config(site.config)
        asked = dataclasses.replace(
            unsubmitted_script.question(Path("/dev/null"), (), None, tmp_path),
            submission=Submission.for_script("/home/bob/job.sh", SCRIPT),
            uid=NOBODY,
            user="nobody",
            at=1.7e9,
        )
        with Database.open(site.database, read_only=True) as database:
            known = job_lookup.knowledge(database, config)
        reply = asyncio.run(Explainer(site.database, "test").preview(asked, known, policy_of(config)))
        (decision,) = reply["story"]["decisions"]
        assert decision["verdict"] == "none" and decision.pop("elapsed_ms") > 0
        told.append(reply)
    assert told[0] == told[1]


def test_another_users_script_requires_database_access(site: Daemon, script: str) -> None:
    with as_nobody():
        status, text = run(site, "explain", "--script", script, "--user", "root")
    assert status == 1 and "leave out --user" in text


def test_a_preview_counts_as_ten_requests(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "ASKED_AT_ONCE", 25)
    monkeypatch.setattr(service, "ASKED_PER_S", 0.001)
    one = Service(Basis(lambda: load_config(daemon.config)), Queue().put, Queue().put_unmade)
    body = json.dumps({"v": 1, "kind": "preview", "submission": request()["submission"]}).encode()

    async def ask_often() -> list[str]:
        return [(await one.answer(body, NOBODY))[0]["kind"] for _ in range(3)]

    assert asyncio.run(ask_often()) == ["explanation", "explanation", "error"]


def test_credentials_and_variables_of_plugins_are_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JWT", "SLURM_JWT_X", "SLURM_SPANK_REPRISE", "SBATCH_PARTITION"):
        monkeypatch.setenv(name, "x")
    (tmp_path / "job.sh").write_bytes(b"srun ./a\0\xff\n")
    asked = preview_request(unsubmitted_script.question(Path("job.sh"), (), None, tmp_path).submission)
    assert "SBATCH_PARTITION" in asked["submission"]["env"] and "SLURM_JWT" not in str(asked)
    assert "SLURM_SPANK" not in str(asked)
    read = protocol.read_request(protocol.body(asked, protocol.REQUEST_LIMIT))
    assert isinstance(read, protocol.Preview) and read.submission.script
    assert read.submission.script.text == "srun ./a\ufffd\ufffd\n"


def test_a_long_script_is_truncated_as_by_the_plugin_with_a_note(site: Daemon, script: str) -> None:
    run(site, "explain", "--script", script)  # import modules as root, because `nobody` may be unable to read them
    Path(script).write_bytes(Path(script).read_bytes().ljust(100_000, b"\n") + 200_000 * b"\xff")
    with as_nobody():
        status, text = run(site, "explain", "--script", script)
        _, as_json = run(site, "explain", "--script", script, "--json")
    assert status == 0, text
    assert "own.sh has 300,000 bytes: only its first 131,072 are read, as at submission" in text
    assert "Settings would be applied from record 1" in text
    assert "300,000 bytes" in json.loads(as_json)["unread"]


def test_a_script_that_does_not_fit_a_request_is_left_out_as_by_the_plugin(site: Daemon, script: str) -> None:
    run(site, "explain", "--script", script)  # import modules as root, because `nobody` may be unable to read them
    Path(script).write_bytes(Path(script).read_bytes() + 100_000 * b"\x01")
    with as_nobody():
        status, text = run(site, "explain", "--script", script)
    assert status == 0, text
    assert "does not fit into a request of 262,144 bytes, so it is not read" in text
    assert len([line for line in text.splitlines() if "does not fit" in line]) == 1


@pytest.mark.parametrize(("text", "sent"), [("a" * 3, 3), ("\u20ac", 3), ("aa\u20ac", 2), ("a" * 4, 3)])
def test_a_script_is_truncated_between_characters(tmp_path: Path, text: str, sent: int) -> None:
    (tmp_path / "job.sh").write_text((SCRIPT_LIMIT - 3) * "a" + text)
    script = unsubmitted_script.question(Path("job.sh"), (), None, tmp_path).submission.script
    assert script and script.truncated == (sent < len(text.encode()))
    assert len(script.text.encode()) == SCRIPT_LIMIT - 3 + sent


def test_an_explanation_has_a_limited_number_of_decisions_and_reports(tmp_path: Path) -> None:
    site = Daemon(tmp_path)
    with Database.open(site.database) as database:
        for number in range(explainer.DECISIONS_LIMIT + 5):
            database.add_decision(decision(f"d-{number}", at=1.7e9 + number, record_id=None))
        for number in range(explainer.TOLD_OUTCOMES_LIMIT + 5):
            database.report_start(Outcome("test", 12, number, 1000, "none", 1.7e9 + number))
    reply = asyncio.run(Explainer(site.database, "test").reply(JOB, 1000, MODEL))
    read = job_story.Story.from_json(reply["story"])
    assert [one.decision.id for one in read.decisions] == [f"d-{n}" for n in range(24, 4, -1)]
    assert len(read.outcomes) == explainer.TOLD_OUTCOMES_LIMIT and read.more


@pytest.mark.parametrize(("size", "count"), [(30_000, 6), (100_000, 2), (300_000, None)])
def test_the_oldest_decisions_are_left_out_of_a_reply_that_is_too_large(
    tmp_path: Path, size: int, count: int | None
) -> None:
    site = Daemon(tmp_path)
    with Database.open(site.database) as database:
        for number in range(12):
            metadata = {**job("alice").to_json(), "job_name": "x" * size}
            database.add_decision(decision(f"d-{number}", at=1.7e9 + number, metadata=metadata, record_id=None))
    reply = asyncio.run(Explainer(site.database, "test").reply(JOB, 1000, MODEL))
    assert len(protocol.frame(reply)) <= protocol.EXPLANATION_LIMIT + protocol.HEADER_BYTES
    if count is None:
        assert reply["kind"] == "error" and "ask support staff, who can read the database" in reply["reason"]
        return
    read = job_story.Story.from_json(reply["story"])
    assert read.more and 0 < len(read.decisions) <= count
    assert read.decisions[0].decision.id == "d-11"


ONE_USER = [1000] * (explainer.WAITING_OF_ONE + 3) + [1001]
MANY = [1000 + number // explainer.WAITING_OF_ONE for number in range(explainer.WAITING_LIMIT + 3)]


@pytest.mark.parametrize("uids", [ONE_USER, MANY], ids=["one user", "many"])
def test_requests_for_explanations_beyond_the_limits_are_refused(tmp_path: Path, uids: list[int]) -> None:
    site = Daemon(tmp_path)

    async def all_at_once() -> list[dict[str, Any]]:
        one = Explainer(site.database, "test")
        return await asyncio.gather(*(one.reply(JOB, uid, MODEL) for uid in uids))

    kinds = [reply["kind"] for reply in asyncio.run(all_at_once())]
    assert (kinds.count("explanation"), kinds.count("error")) == (len(uids) - 3, 3)
    assert kinds[-1] == ("explanation" if uids is ONE_USER else "error"), "one user's requests do not block other users"


def test_no_decision_waits_for_an_explanation(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    others_are_served = threading.Event()

    def slowly(*arguments: Any) -> job_story.Story:
        assert others_are_served.wait(10), "the decision was made only after the explanation"
        return job_story.Story()

    monkeypatch.setattr(explainer, "of_job", slowly)
    service = Service(Basis(lambda: load_config(daemon.config)), Queue().put, Queue().put_unmade)

    async def both() -> tuple[str, str]:
        why = asyncio.create_task(service.answer(json.dumps(explain_request("12")).encode(), os.getuid()))
        await asyncio.sleep(0)
        decided, _ = await service.answer(json.dumps(request()).encode(), os.getuid())
        others_are_served.set()
        return decided["kind"], (await why)[0]["kind"]

    assert asyncio.run(both()) == ("decision", "explanation")


def test_a_missing_database_is_reported_as_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reply = asyncio.run(Explainer(tmp_path / "nothing.db", "test").reply(JOB, 1000, MODEL))
    assert reply["kind"] == "error" and "see its log" in reply["reason"]
    assert "explain-failed" in caplog.text


def test_an_explanation_of_another_release_is_refused_with_the_remedy(site: Daemon) -> None:
    with pytest.raises(Exception, match="install the daemon's release"):
        job_story.Story.from_json({"version": 2})
    with pytest.raises(Exception, match="install the daemon's release"):
        job_story.Story.from_json(None)


def test_keys_of_a_later_release_are_ignored() -> None:
    known = dataclasses.replace(record(metadata=job("alice").to_json()), id=1)
    told = job_story.Story(
        [job_story.Explained(decision())], [Outcome("test", 12, None, 1, "none", 1.0)], {1: known}
    ).to_json()
    for one in (told, told["decisions"][0], told["outcomes"][0], told["records"]["1"]):
        one["later"] = {"x": 1}
    assert (
        job_story.Story.from_json(json.loads(json.dumps(told))).to_json()["decisions"][0]["reason"] == decision().reason
    )


def test_a_submission_does_not_wait_for_the_gain_of_earlier_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Database.open(tmp_path / "reprise.db", create=True).close()
    answered = threading.Event()

    def late(*_: object) -> str:
        answered.wait(10)
        return "late"

    monkeypatch.setattr(Explainer, "_own_gain", late)
    try:
        assert asyncio.run(Explainer(tmp_path / "reprise.db", "test").own_gain(1, 1001)) == ""
    finally:
        answered.set()
    monkeypatch.undo()
    assert asyncio.run(Explainer(tmp_path / "absent.db", "test").own_gain(1, 1001)) == ""
