# SPDX-License-Identifier: Apache-2.0
"""Tests of the council with real forwarders in front of diod: it decides, and loses neither members nor knowledge."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from reprise.config import Config
from reprise.database import Database
from reprise.matcher.council.recorded_metrics import read
from reprise.matcher.windows.report_message import decision_line
from tests.forward.council_site import BLOCK, Site
from tests.forward.forwarder.conftest import Place
from tests.munged import Munged
from tests.unit.database_values import outcome
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

FOUR = (0, 1, 2, 3)
TIMEOUT_S = Config().council.timeout_s
ROUND_S = 1.0
LATE_S = 1.5
"""Seconds that a busy machine may add to a round."""
NOBODY = 65534


@pytest.fixture
def site(place: Place) -> Iterator[Site]:
    """Yield a site with diod and a council; forwarders are started by tests."""
    made = Site(place)
    try:
        made.start_council()
        yield made
    finally:
        made.end()


@contextmanager
def traffic(site: Site, *numbers: int, user: str = "4711") -> Iterator[None]:
    """Write to a file through each of some forwarders meanwhile, as long as the forwarder lives."""
    stop = threading.Event()

    def write(number: int) -> None:
        nine = site.client(number, user)
        fid = nine.create(f"file{number}")
        with suppress(OSError, EOFError, AssertionError, IndexError, ValueError):
            for i in range(10**9):
                if stop.is_set():
                    return
                nine.write(fid, i % 64 * 2 * BLOCK, b"x" * BLOCK)

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in numbers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


def decisions(site: Site) -> float:
    return sum(value for name, value in site.metrics().items() if name.startswith("reprise_council_decisions_total"))


def explored(site: Site) -> float:
    return site.metrics()['reprise_council_decisions_total{mode="explore"}']


def joined(site: Site, count: int) -> None:
    wait_for("all forwarders", lambda: site.metrics()["reprise_council_forwarders"] == count)


def windows(site: Site) -> set[int]:
    return {site.status(number)["window_us"] for number in site.forwarders}


def learned(site: Site, least: float = 5) -> None:
    """Wait until some decisions were made about a pattern."""
    wait_for("a pattern", lambda: site.metrics()["reprise_council_patterns"] >= 1)
    before = decisions(site)
    wait_for("decisions", lambda: decisions(site) >= before + least)


def seconds_of(site: Site, count: int) -> float:
    """Return how long some decisions take on average."""
    before, begun = decisions(site), time.monotonic()
    wait_for("decisions", lambda: decisions(site) >= before + count)
    return (time.monotonic() - begun) / count


def test_all_forwarders_use_the_window_that_the_council_learns(site: Site) -> None:
    for number in FOUR:
        site.start_forwarder(number)
    with traffic(site, *FOUR):
        joined(site, 4)
        learned(site, 6)
        wait_for("one window everywhere", lambda: len(windows(site)) == 1)
        assert seconds_of(site, 4) < ROUND_S + LATE_S
        assert all(site.status(number)["council_decides"] == 1 for number in FOUR)
    with (site.directory / "metrics.jsonl").open("rb") as file:
        reports = list(read(file, "metrics"))
    assert len({report.host for report in reports}) == 4 and len({report.window for report in reports}) > 2
    assert {str(report.pattern) for report in reports if report.bytes} >= {"write/shared/strided/4K"}
    assert site.council_log().count("event=joined") == 4 and "WARNING" not in site.council_log()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hanging"])
def test_a_council_with_one_of_four_forwarders_dead_decides_within_its_timeout(site: Site, how: signal.Signals) -> None:
    for number in FOUR:
        site.start_forwarder(number)
    with traffic(site, 0, 1, 2):
        joined(site, 4)
        learned(site, 3)
        missed = site.metrics()["reprise_council_missed_total"]  # a busy machine may be late too
        before, begun = decisions(site), time.monotonic()
        site.forwarders[3].send_signal(how)
        wait_for("a decision", lambda: decisions(site) > before + 1)  # its report may be in the first one
        assert time.monotonic() - begun < 2 * ROUND_S + TIMEOUT_S + LATE_S
        assert seconds_of(site, 4) < ROUND_S + LATE_S  # it does not wait again
        if how == signal.SIGSTOP:
            assert site.metrics()["reprise_council_missed_total"] > missed
            site.forwarders[3].send_signal(signal.SIGCONT)
        else:
            joined(site, 3)
            site.kill_forwarder(3)
            (site.place.directory / "clients3").unlink()
            site.start_forwarder(3)
        joined(site, 4)
        wait_for("one window everywhere", lambda: len(windows(site)) == 1)


def test_knowledge_survives_a_council_that_is_killed_and_forwarders_keep_their_window(site: Site) -> None:
    for number in FOUR:
        site.start_forwarder(number)
    with traffic(site, *FOUR):
        joined(site, 4)
        learned(site)
        wait_for("the knowledge", (site.directory / "learned.json").exists)
        site.kill_council()
        wait_for("the loss", lambda: all("does not decide" in site.log_of(number).read_text() for number in FOUR))
        kept = wait_for("one window everywhere", lambda: len(found := windows(site)) == 1 and found)
        for _ in range(5):
            time.sleep(0.2)
            assert windows(site) == kept
        site.start_council()
        assert "event=learned patterns=1" in site.council_log()
        joined(site, 4)
        begun = decisions(site)
        wait_for("decisions", lambda: decisions(site) >= begun + 2)
        assert all(site.status(number)["council_decides"] == 1 for number in FOUR)


def test_a_stopped_council_stores_what_it_learned(site: Site) -> None:
    site.start_forwarder(0)
    with traffic(site, 0):
        learned(site, 2)
        assert site.council
        site.council.terminate()
        assert site.council.wait(timeout=30) == 0
    assert b"write/shared/strided/4K" in (site.directory / "learned.json").read_bytes()


def test_a_job_that_forbids_exploring_is_never_explored_on(site: Site) -> None:
    for number in (0, 1):
        site.start_forwarder(number)
    with traffic(site, 0), traffic(site, 1, user="4712-steady"):
        joined(site, 2)
        learned(site, 8)
        metrics = site.metrics()
    assert metrics['reprise_council_decisions_total{mode="explore"}'] == 0
    assert metrics["reprise_council_opted_out"] == 1
    assert windows(site) == {0}


def test_only_jobs_that_the_matcher_knows_and_that_did_not_opt_out_are_explored_on(place: Place) -> None:
    with Database.open(place.directory / "reprise.db", create=True) as database:
        database.report_start(outcome(job_id=4711, verdict="apply"))
        database.report_start(outcome(job_id=4712, verdict="off"))
    made = Site(place, explore="known")
    try:
        made.start_council()
        made.start_forwarder(0)
        with traffic(made, 0):
            wait_for("an experiment", lambda: explored(made) > 0)
            for user in ("4712", "4713", "alice"):  # opted out, unknown, no job
                nine = made.client(0, user)
                wait_for("the job", lambda: made.metrics()["reprise_council_opted_out"] == 1)
                before, count = explored(made), decisions(made)
                wait_for("decisions", lambda count=count: decisions(made) >= count + 4)  # type: ignore[misc]
                assert explored(made) == before
                nine.close()
                made.clients.remove(nine)
                wait_for("an experiment", lambda before=before: explored(made) > before)  # type: ignore[misc]
    finally:
        made.end()


# --- strangers


def test_a_flood_of_reports_is_bounded(site: Site) -> None:
    site.start_forwarder(0)
    with traffic(site, 0):
        learned(site, 2)
        before = site.metrics()["process_resident_memory_bytes"]
        connections = []
        for _ in range(1500):  # more than the council accepts
            with suppress(OSError):
                connections.append(socket.create_connection(("127.0.0.1", site.port), 10))
        for one in connections:
            with suppress(OSError):
                one.settimeout(1)
                one.sendall(b"{" * 100_000)  # no end of a line
        assert seconds_of(site, 4) < ROUND_S + TIMEOUT_S + LATE_S
        after = site.metrics()
        assert after["reprise_council_forwarders"] == 1
        assert after['reprise_council_refused_total{why="full"}'] > 0
        assert after["process_resident_memory_bytes"] - before < 300e6
        for one in connections:
            one.close()
    assert site.council_log().count("event=refused") < 10


def test_a_forwarder_that_floods_is_disconnected(site: Site) -> None:
    report = (
        b'{"version":1,"nonce":"0123456789abcdef","host":"ion9","number":1,"seconds":1,"bytes":0,"bandwidth":0,'
        b'"window":0,"load":null,"jobs":[],"patterns":[]}\n'
    )
    with socket.create_connection(("127.0.0.1", site.port), 10) as stream:
        stream.sendall(1000 * report)
        stream.settimeout(30)
        with suppress(ConnectionError):
            while stream.recv(1 << 16):
                pass
    assert site.metrics()['reprise_council_refused_total{why="flood"}'] == 1
    assert site.metrics()["reprise_council_reports_total"] < 20


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("munged"), reason="needs root, and munge")
def test_only_forwarders_are_believed_and_only_the_council(place: Place) -> None:
    with Munged() as munged:
        site = Site(place, "munge", munged.socket)
        try:
            site.start_council()
            site.start_forwarder(0)
            report = (
                b'{"version":1,"nonce":"0123456789abcdef","host":"ion9","number":1,"seconds":1,"bytes":1,'
                b'"bandwidth":1,"window":0,"load":null,"jobs":[],"patterns":[]}'
            )
            for line in (munged.credential(report, user=NOBODY), report, b"MUNGE:garbage:"):
                with socket.create_connection(("127.0.0.1", site.port), 10) as stream:
                    stream.sendall(line + b"\n")
                    stream.settimeout(30)
                    assert stream.recv(1) == b""
            assert site.metrics()['reprise_council_refused_total{why="credential"}'] == 3
            assert f"user {NOBODY} is neither root nor" in site.council_log()
            with traffic(site, 0):
                learned(site, 2)
                assert site.metrics()["reprise_council_forwarders"] == 1
                wait_for("a decision", lambda: site.status(0)["council_decides"] == 1)
        finally:
            site.end()


def test_a_stranger_in_the_place_of_the_council_is_not_believed(place: Place) -> None:
    site = Site(place, "munge", place.directory / "no munged")
    with socket.create_server(("127.0.0.1", site.port)) as stranger:
        try:
            site.start_forwarder(0)
            stream, _ = stranger.accept()
            stream.sendall(decision_line("0" * 16, 1, 8000, 8000) + b"\n")
            wait_for("the refusal", lambda: "is ignored" in site.log_of(0).read_text())
            assert site.status(0)["window_us"] == 0
        finally:
            site.end()


def test_two_councils_do_not_share_a_directory(site: Site) -> None:
    words = [*site.council.args] if site.council and isinstance(site.council.args, list) else []
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "another council is running" in done.stderr
