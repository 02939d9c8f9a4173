# SPDX-License-Identifier: Apache-2.0
"""Test that whoever notifies never waits, whatever hangs, and that failures are one line in the log."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.config import Config, Notify
from reprise.database.errors import StorageError
from reprise.matcher.daemon import told_admins
from reprise.matcher.daemon.pending_writer import Writer
from reprise.matcher.daemon.pending_writes import Entry, Queue
from reprise.matcher.daemon.told_admins import Admins
from reprise.notify import bounded_process
from reprise.notify.bounded_process import Ended, run
from reprise.notify.delivery import START_S, Failure, deliver
from reprise.notify.notification import Notification, quarantined, sample, writes_wait
from reprise.notify.notifier import WAITING, Notifier
from reprise.tuner.errors import CampaignFailedError
from tests.unit.database_values import record
from tests.unit.matcher_daemon import ME, Daemon, mine, request
from tests.unit.notify.servers import PASSWORD, mail_server, web_server
from tests.unit.tuner_site import Site
from tests.waiting import has_ended, wait_for

SETTINGS = Notify(command=["/bin/true"], per_hour=1000)
TOLD = quarantined("c", 7, "sro", {}, None, "it failed")


class Deliveries:
    """Deliveries that succeed, fail or hang."""

    def __init__(self) -> None:
        self.got: list[Notification] = []
        self.go_on = threading.Event()
        self.failures: Sequence[Failure] = ()

    def __call__(self, _settings: Notify, notification: Notification) -> Sequence[Failure]:
        assert self.go_on.wait(60)
        self.got.append(notification)
        return self.failures


@pytest.fixture
def deliveries() -> Deliveries:
    made = Deliveries()
    made.go_on.set()
    return made


def lines(caplog: pytest.LogCaptureFixture, event: str) -> list[str]:
    return [text for text in caplog.messages if text.startswith(f"event={event} ")]


def test_telling_never_waits_for_a_delivery_that_hangs(
    deliveries: Deliveries, caplog: pytest.LogCaptureFixture
) -> None:
    deliveries.go_on.clear()
    notifier = Notifier(lambda: SETTINGS, deliveries)
    for _ in range(10 * WAITING):
        notifier.tell(TOLD)
    assert deliveries.got == [], "the first delivery still hangs, and nobody has waited for it"
    assert len(lines(caplog, "notify-failed")) == 1, "one line, although hundreds were dropped"
    deliveries.go_on.set()
    notifier.stop()
    assert len(deliveries.got) in (WAITING, WAITING + 1)


def test_without_a_way_of_sending_no_thread_starts(deliveries: Deliveries) -> None:
    before = threading.active_count()
    for settings in (Notify(), Notify(command=["/bin/true"], events=["campaign-end"])):
        notifier = Notifier(lambda settings=settings: settings, deliveries)  # type: ignore[misc]
        notifier.tell(TOLD)
        notifier.stop()
    assert threading.active_count() == before and deliveries.got == []


def test_events_over_the_limit_are_counted_in_the_next_notification(deliveries: Deliveries) -> None:
    now = 0.0
    notifier = Notifier(lambda: Notify(command=["/bin/true"], per_hour=2), deliveries, lambda: now)
    for _ in range(5):
        notifier.tell(TOLD)
    notifier.tell(writes_wait("c", 3, 60.0, "full"))
    wait_for("the other event, which has its own limit", lambda: len(deliveries.got) == 3)
    now = 3601.0
    notifier.tell(TOLD)
    notifier.stop()
    assert [(one.event, one.left_out) for one in deliveries.got] == [
        *[("quarantine", 0), ("quarantine", 0), ("writes-wait", 0), ("quarantine", 3)]
    ]


def test_a_failure_is_one_line_and_a_defect_does_not_end_the_thread(
    deliveries: Deliveries, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    deliveries.failures = [Failure("command", "a\nb event=forged")]
    notifier = Notifier(lambda: SETTINGS, deliveries)
    notifier.tell(TOLD)
    wait_for("the failure", lambda: lines(caplog, "notify-failed"))
    assert lines(caplog, "notify-failed") == [
        r'event=notify-failed about=quarantine by=command error="a\nb event=forged"'
    ]
    deliveries.failures = None  # type: ignore[assignment]
    notifier.tell(TOLD)
    deliveries.failures = ()
    notifier.tell(TOLD)
    notifier.stop()
    assert len(deliveries.got) == 3 and lines(caplog, "notified")


# --- processes


@pytest.mark.slow
def test_a_process_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    script = f"sleep 300 & echo $! > {child}; wait"
    assert run(["/bin/sh", "-c", script], b"", 1.0, {}) is None
    wait_for("the child's end", lambda: has_ended(int(child.read_text())))


def test_a_process_has_only_the_environment_and_the_input_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_TOKEN", PASSWORD)
    ended = run(["/bin/sh", "-c", "env; cat; exit 3"], b"given", 10.0, {"A": "1"}, reads=True)
    assert ended and ended.status == 3 and {"A=1", "given"} <= set(ended.output.decode().split("\n"))
    assert PASSWORD.encode() not in ended.output
    assert run(["/bin/echo", "said"], b"x" * 200_000, 10.0, {}) == Ended(0, b""), "it neither reads nor is it read"


def test_the_sending_process_has_no_secret_in_its_arguments_or_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def noted(*arguments: object, **named: object) -> Ended:
        asked.extend((*arguments, named))
        return Ended(0, b"a reason\n" + b"x" * 5000)

    monkeypatch.setenv("REPRISE_TOKEN", PASSWORD)
    monkeypatch.setattr(bounded_process, "run", noted)
    (tmp_path / "secret").write_text(PASSWORD)
    settings = Notify(webhook="https://chat.example/x", webhook_token_file=tmp_path / "secret")
    (failure,) = deliver(settings, TOLD)
    assert failure.why.startswith("a reason") and len(failure.why) <= 1000
    assert PASSWORD not in str(asked) and "PATH" in str(asked[3])


@pytest.mark.slow
def test_every_way_is_tried_although_one_fails(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with mail_server() as mails, web_server() as posts:
        posts.status = 500
        settings = Notify.model_validate(
            {
                **{"smtp": f"127.0.0.1:{mails.port}", "smtp_tls": "none", "mail_from": "r@c.example"},
                **{"mail_to": ["a@c.example"], "webhook": f"http://127.0.0.1:{posts.port}/x"},
                "command": ["/bin/sh", "-c", f"cat > {out}"],
            }
        )
        assert deliver(settings, TOLD) == [Failure("webhook", "127.0.0.1: HTTP status 500")]
        assert mails.message()["Subject"] == TOLD.subject
    assert json.loads(out.read_text()) == json.loads(json.dumps(TOLD.as_json()))


@pytest.mark.slow
def test_a_server_that_never_answers_costs_only_the_limit() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = Notify(webhook=f"http://127.0.0.1:{silent.getsockname()[1]}/x", timeout_s=1)
        begun = time.monotonic()
        (failure,) = deliver(settings, TOLD)
    assert "timed out" in failure.why and time.monotonic() - begun < 1 + START_S


# --- the matcher, campaigns, the command


def test_waiting_writes_are_notified_once_after_a_minute_and_again_after_they_were_written() -> None:
    now, told = 0.0, list[Notification]()
    admins = Admins(Config, told.append, lambda: now)
    queue = Queue()
    queue.put(Entry("line"))
    queue.take_lines()

    def cannot() -> None:
        raise StorageError("no space left on device")

    writer = Writer(queue, cannot, admins)  # type: ignore[arg-type]
    for now in (0.0, 30.0, 59.0):  # noqa: B007 (`admins` reads it)
        writer.write_some()
    assert told == []
    for now in (61.0, 90.0, 400.0):  # noqa: B007
        writer.write_some()
    (one,) = told
    assert one.event == "writes-wait" and one.details == {"waiting": 1, "seconds": 61}
    assert "no space left on device" in one.text and "Do not restart the matcher" in one.text
    admins.writes_done()
    now = 500.0
    writer.write_some()
    now = 500.0 + told_admins.PATIENCE_S
    writer.write_some()
    assert len(told) == 2


def test_a_quarantine_names_the_record_by_its_program() -> None:
    told = list[Notification]()
    Admins(Config, told.append).quarantined(record(id=9), "priya", "its jobs fail more often: 9 of 10")
    (one,) = told
    assert one.subject == "Reprise on cluster: record 9 is quarantined for priya"
    assert "record 9 (openmpi, of solver)" in one.text and "reprise records retire 9" in one.text


@pytest.mark.slow
def test_a_real_matcher_notifies_of_a_quarantine(daemon: Daemon, tmp_path: Path) -> None:
    out = tmp_path / "told.json"
    daemon.configure("holdout = 0.1", "[notify]", f'command = ["/bin/sh", "-c", "cat > {out}.new; mv {out}.new {out}"]')
    daemon.add(mine())
    daemon.start()
    for job in range(60):
        reply = daemon.ask(request())
        if reply["verdict"] == "none":
            break
        failed = 256 if reply["verdict"] == "apply" else 0
        said = {"v": 1, "kind": "outcome", "state": "ended", "decision": reply["id"], "verdict": reply["verdict"]}
        daemon.ask(
            {
                **{**said, "applied": len(reply["env"]), "elapsed_s": 5.0, "exit_status": failed},
                "job": {"id": job, "array_task": None, "uid": os.getuid(), "nodes": 4, "tasks": 4, "cluster": "test"},
            }
        )
    wait_for("the notification", out.exists)
    told = json.loads(out.read_text())
    assert told["subject"] == f"Reprise on test: record 1 is quarantined for {ME}"
    assert "its jobs fail more often" in told["text"] and "lattice" in told["text"]
    wait_for("the line in the log", lambda: daemon.log_contains("event=notified about=quarantine"))


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "state"), [(False, "complete"), (True, "failed")])
def test_the_end_of_a_campaign_is_notified(site: Site, tmp_path: Path, broken: bool, state: str) -> None:
    out = tmp_path / "told.json"
    notify = {"command": ["/bin/sh", "-c", f"cat > {out}"]}
    site.config = Config.model_validate({**site.settings, "notify": notify})
    number = site.begin(name="@night", settings={"before": "exit 127"} if broken else {})
    if broken:
        with pytest.raises(CampaignFailedError):
            site.run(number)
    else:
        site.run(number)
    told = json.loads(out.read_text())
    assert told["subject"] == f"Reprise on testing: campaign 1 (?night) is {state}"
    assert told["details"]["state"] == site.campaign(number).state == state


@pytest.mark.slow
def test_a_hook_that_fails_changes_nothing_about_a_campaign(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.config = Config.model_validate({**site.settings, "notify": {"command": ["/nowhere"]}})
    records = site.run(number := site.begin())
    assert records and site.campaign(number).state == "complete"
    assert lines(caplog, "notify-failed") == [
        'event=notify-failed about=campaign-end by=command error="/nowhere cannot be run: No such file or directory"'
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("/bin/true", "command: sent\n", 0),
        ("/bin/false", "command: /bin/false ended with status 1\n", 1),
        ("", "", 1),
    ],
)
def test_the_command_sends_a_test(tmp_path: Path, command: str, output: str, status: int) -> None:
    config = tmp_path / "reprise.toml"
    config.write_text(f'[notify]\ncommand = ["{command}"]\n' if command else "")
    done = CliRunner().invoke(reprise, ["--config", str(config), "config", "notify"])
    assert (done.exit_code != 0, done.stdout) == (bool(status), output)


def test_a_sample_is_of_no_event_that_can_be_switched_off() -> None:
    assert not SETTINGS.wants(sample("c").event) and dataclasses.replace(sample("c"), left_out=1).left_out == 1
