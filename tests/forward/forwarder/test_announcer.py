# SPDX-License-Identifier: Apache-2.0
"""Tests of the forwarder's reports to a council, and of the decisions that it believes, with a made-up council."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from reprise.matcher.windows import report_message
from tests.forward.forwarder.conftest import Place
from tests.munged import Munged
from tests.waiting import wait_for

TWINS = ("--scheduler=twins", "--servers=2", "--window=0")
NOBODY = 65534
needs_munge = pytest.mark.skipif(os.getuid() != 0 or not shutil.which("munged"), reason="needs root, and munge")


class FakeCouncil:
    """A council on a Unix socket, whose decisions a test writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.listener.settimeout(30)
        self.stream: socket.socket | None = None
        self.lines: Iterator[bytes] = iter(())
        self.number = 0

    def accept(self) -> None:
        """Take the forwarder's next connection."""
        if self.stream:
            self.stream.close()
        self.stream, _ = self.listener.accept()
        self.stream.settimeout(30)
        self.lines = iter(self.stream.makefile("rb"))

    def line(self) -> bytes:
        """Return the forwarder's next line."""
        return next(self.lines)

    def report(self) -> dict[str, Any]:
        """Return the forwarder's next report."""
        found: dict[str, Any] = json.loads(self.line())
        return found

    def send(self, text: bytes) -> None:
        """Send a line."""
        assert self.stream
        self.stream.sendall(text + b"\n")

    def decide(self, nonce: str, window: int, keep: int = 0) -> None:
        """Send a decision."""
        self.number += 1
        self.send(report_message.decision_line(nonce, self.number, window, keep))

    def close(self) -> None:
        """Close the sockets."""
        self.listener.close()
        if self.stream:
            self.stream.close()


@pytest.fixture
def council(place: Place) -> Iterator[FakeCouncil]:
    """Yield a council, with which a forwarder can be started."""
    made = FakeCouncil(place.directory / "council")
    yield made
    made.close()


def started(place: Place, council: FakeCouncil, *options: str) -> str:
    """Start a forwarder without credentials, and return the nonce of its connection."""
    place.start(*TWINS, f"--council={council.path}", "--council-auth=none", *options)
    council.accept()
    nonce: str = council.report()["nonce"]
    return nonce


def window(place: Place) -> int:
    found: int = place.control("status")["window_us"]
    return found


def report_on(council: FakeCouncil, microseconds: int) -> dict[str, Any]:
    """Return the next report on a window."""
    while (one := council.report())["window"] != microseconds:
        pass
    return one


def reaches(place: Place, microseconds: int) -> None:
    wait_for(f"a window of {microseconds} us", lambda: window(place) == microseconds)


# --- reports


@pytest.mark.slow
def test_a_report_has_what_was_moved_since_the_last_one(place: Place, council: FakeCouncil) -> None:
    place.start(*TWINS, "--number=7", f"--council={council.path}", "--council-auth=none")
    council.accept()
    council.report()
    nine = place.client("4711")
    other = place.client("4712-steady")
    fid = nine.create("file")
    for i in range(10):
        nine.write(fid, i * 20000, b"x" * 5000)
    reports = []

    def found() -> bool:
        reports.append(council.report())
        return bool(reports[-1]["bytes"])

    wait_for("the report", found)
    one = reports[-1]
    assert (one["version"], one["number"], one["host"], one["window"]) == (1, 7, socket.gethostname(), 0)
    assert sum(report["bytes"] for report in reports) == 50_000
    assert one["bandwidth"] == pytest.approx(one["bytes"] / one["seconds"] / 10**6, abs=1e-5)
    assert one["load"] == pytest.approx(one["bandwidth"], abs=1e-5)  # it was idle for most of the second
    assert set(one["jobs"]) == {"4711", "4712-steady"} and one["seconds"] >= 0.5
    pattern = next(pattern for report in reports for pattern in report["patterns"])
    assert (pattern["job"], pattern["operation"], pattern["files"]) == ("4711", "write", 1)
    assert (pattern["request_max"], pattern["distance_mean"]) == (5000, 15000)
    other.close()
    place.clients.remove(other)
    wait_for("the end of the connection", lambda: council.report()["jobs"] == ["4711"])


@pytest.mark.slow
def test_reports_are_of_the_form_that_the_council_reads(place: Place, council: FakeCouncil) -> None:
    started(place, council)
    for i in range(70):  # more jobs than a forwarder counts
        place.client(f'job "{i}\\').create(f"file{i}")
    wait_for("all", lambda: len(report_message.read(council.line().strip()).jobs) == 65)


@pytest.mark.slow
def test_no_offset_or_name_that_a_client_chooses_makes_a_report_unreadable(place: Place, council: FakeCouncil) -> None:
    started(place, council)
    nine = place.client('\x7f\u00e9"\\\n' * 9)
    fid = nine.create("file")
    for offset in (0, 2**64 - 1, 1, 2**63, 0):
        with suppress(OSError):
            nine.read(fid, offset, 4096)
    wait_for("the reads", lambda: report_message.read(council.line().strip()).measured)


@pytest.mark.slow
def test_there_is_one_report_a_second_when_the_second_has_passed(place: Place, council: FakeCouncil) -> None:
    started(place, council)
    phases, begun = [], time.monotonic()
    for _ in range(6):
        council.report()
        phases.append(time.time() % 1)
    assert time.monotonic() - begun > 4.5 - 0.5  # the first one may have been on its way
    assert median(phases) < 0.5


# --- decisions


def test_a_decision_is_applied_and_measured_from_then_on(place: Place, council: FakeCouncil) -> None:
    nonce = started(place, council)
    council.decide(nonce, 500)
    reaches(place, 500)
    assert report_on(council, 500)["seconds"] >= 0.5
    metrics = place.metrics()
    assert metrics["reprise_forwarder_council_decisions_total"] == metrics["reprise_forwarder_council_decides"] == 1
    assert place.log().count("decides on the window") == 1


@pytest.mark.slow
def test_a_window_that_was_in_force_for_a_moment_is_not_reported(place: Place, council: FakeCouncil) -> None:
    nonce = started(place, council)
    for microseconds in (250, 500, 250, 500):
        wait_for("the end of a second", lambda: 0.6 < time.time() % 1 < 0.9)
        council.decide(nonce, microseconds)
        reaches(place, microseconds)
        assert report_on(council, microseconds)["seconds"] >= 0.5  # that on the second's rest is left out


MALFORMED: dict[str, Callable[[str], bytes]] = {
    "no JSON": lambda _: b"hello",
    "nothing": lambda _: b"",
    "another nonce": lambda _: report_message.decision_line("0" * 16, 1, 500, 0),
    "no nonce": lambda _: report_message.decision_line("", 1, 500, 0),
    "a window that is too short": lambda nonce: report_message.decision_line(nonce, 1, 124, 0),
    "a window that is too long": lambda nonce: report_message.decision_line(nonce, 1, 1_000_001, 0),
    "a negative window": lambda nonce: report_message.decision_line(nonce, 1, -500, 0),
    "a window to keep that is too short": lambda nonce: report_message.decision_line(nonce, 1, 500, 3),
    "number 0": lambda nonce: report_message.decision_line(nonce, 0, 500, 0),
    "a long number": lambda nonce: report_message.decision_line(nonce, 10**30, 500, 0),
    "more behind it": lambda nonce: report_message.decision_line(nonce, 1, 500, 0) + b" ",
    "another version": lambda nonce: report_message.decision_line(nonce, 1, 500, 0).replace(b": 1,", b": 2,", 1),
    "a NUL": lambda nonce: b"\0" + report_message.decision_line(nonce, 1, 500, 0),
}


def test_malformed_decisions_are_ignored_with_one_line(place: Place, council: FakeCouncil) -> None:
    nonce = started(place, council)
    for count, what in enumerate(MALFORMED, 1):
        council.send(MALFORMED[what](nonce))

        def refused(count: int = count) -> bool:
            return place.metrics()["reprise_forwarder_council_refused_total"] == count

        wait_for(f"the refusal of {what}", refused)
    assert window(place) == 0 and place.log().count("is ignored: it is malformed") == 1
    council.decide(nonce, 500)
    reaches(place, 500)


@pytest.mark.slow
def test_an_old_decision_is_ignored(place: Place, council: FakeCouncil) -> None:
    nonce = started(place, council)
    for number, microseconds in ((5, 500), (4, 1000), (5, 2000), (6, 125)):
        council.send(report_message.decision_line(nonce, number, microseconds, 0))
    reaches(place, 125)
    assert place.metrics()["reprise_forwarder_council_refused_total"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("flood", [b"x" * 200_000, b"\n" * 100_000], ids=["a long line", "many lines"])
def test_a_council_that_sends_too_much_is_disconnected(place: Place, council: FakeCouncil, flood: bytes) -> None:
    nonce = started(place, council)
    council.decide(nonce, 500, keep=250)
    reaches(place, 500)
    assert council.stream
    with suppress(OSError):
        council.stream.sendall(flood)
    reaches(place, 250)
    council.accept()
    assert council.report()["nonce"] != nonce


# --- the council is gone


@pytest.mark.slow
def test_an_experiment_ends_when_the_council_is_gone_and_begins_anew_when_it_is_back(
    place: Place, council: FakeCouncil
) -> None:
    nonce = started(place, council)
    council.decide(nonce, 8000, keep=250)
    reaches(place, 8000)
    assert council.stream
    council.stream.shutdown(socket.SHUT_RDWR)
    reaches(place, 250)
    council.accept()
    again = council.report()["nonce"]
    assert again != nonce and window(place) == 250
    council.number = 0
    council.decide(nonce, 500)  # a decision for the connection before
    council.decide(again, 1000)
    reaches(place, 1000)


@pytest.mark.slow
def test_without_a_council_the_window_of_the_option_stays(place: Place) -> None:
    place.start("--scheduler=twins", "--window=2000", f"--council={place.directory}/none", "--council-auth=none")
    nine = place.client()
    nine.write(nine.create("file"), 0, b"data")
    wait_for("the line", lambda: "does not decide: No such file or directory" in place.log())
    assert window(place) == 2000 and place.control("status")["council_decides"] == 0
    time.sleep(2.5)  # two attempts
    assert place.log().count("does not decide") == 1


@pytest.mark.slow
def test_a_name_that_is_not_found_keeps_nobody_waiting(place: Place) -> None:
    place.start(*TWINS, "--council=no-such-host.invalid:1", "--council-auth=none")
    nine = place.client()
    begun = time.monotonic()
    nine.write(nine.create("file"), 0, b"data")
    assert time.monotonic() - begun < 4
    wait_for("the line", lambda: "does not decide" in place.log())


@pytest.mark.slow
def test_a_council_that_hangs_is_given_up(place: Place, council: FakeCouncil) -> None:
    nonce = started(place, council)
    council.decide(nonce, 8000, keep=125)
    reaches(place, 8000)
    reaches(place, 125)  # after 10 s
    assert "no decision that is believed arrives" in place.log()
    council.accept()


# --- credentials


def sealed_nonce(council: FakeCouncil, munged: Munged) -> str:
    """Return the nonce in the forwarder's next report, a credential."""
    words = ["unmunge", "-S", str(munged.socket), "-m", "/dev/null"]
    opened = subprocess.run(words, input=council.line().strip(), check=True, capture_output=True)
    return report_message.read(opened.stdout).nonce


@needs_munge
@pytest.mark.slow
def test_only_decisions_of_the_council_are_believed(place: Place, council: FakeCouncil) -> None:
    with Munged() as munged:
        place.start(*TWINS, f"--council={council.path}", munge=munged.socket)
        council.accept()
        nonce = sealed_nonce(council, munged)

        def sealed(number: int, microseconds: int, user: int | None = None) -> bytes:
            return munged.credential(report_message.decision_line(nonce, number, microseconds, 0), user=user)

        council.send(report_message.decision_line(nonce, 1, 500, 0))  # without a credential
        wait_for("the refusal", lambda: place.metrics()["reprise_forwarder_council_refused_total"] == 1)
        assert "munge refuses its credential" in place.log()
        council.send(sealed(2, 500, user=NOBODY))
        wait_for("the refusal", lambda: place.metrics()["reprise_forwarder_council_refused_total"] == 2)
        good = sealed(3, 250)
        council.send(good)
        reaches(place, 250)
        council.send(good)  # munge opens no credential twice
        wait_for("the refusal", lambda: place.metrics()["reprise_forwarder_council_refused_total"] == 3)
        assert window(place) == 250


@needs_munge
@pytest.mark.slow
def test_decisions_of_the_configured_user_are_believed(place: Place, council: FakeCouncil) -> None:
    with Munged() as munged:
        place.start(*TWINS, f"--council={council.path}", f"--council-uid={NOBODY}", munge=munged.socket)
        council.accept()
        nonce = sealed_nonce(council, munged)
        council.send(munged.credential(report_message.decision_line(nonce, 1, 500, 0), user=NOBODY))
        reaches(place, 500)


@needs_munge
@pytest.mark.slow
def test_a_munged_that_hangs_keeps_nobody_waiting(place: Place, council: FakeCouncil) -> None:
    with Munged() as munged:
        place.start(*TWINS, f"--council={council.path}", munge=munged.socket)
        munged.signal(signal.SIGSTOP)
        nine = place.client()
        fid = nine.create("file")
        begun = time.monotonic()
        while time.monotonic() - begun < 3:
            before = time.monotonic()
            nine.write(fid, 0, b"data")
            assert time.monotonic() - before < 4  # munge's client waits for 10 s and more
        munged.signal(signal.SIGCONT)


# --- options


@pytest.mark.parametrize("scheduler", ["fifo", "sjf"])
def test_a_council_without_windows_is_refused(place: Place, scheduler: str) -> None:
    words = place.words(f"--scheduler={scheduler}", "--council=127.0.0.1:1")
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stderr) == (
        1,
        f"reprise-forwarder: council has no effect with scheduler={scheduler}, which has no windows: "
        "use scheduler=twins\n",
    )
