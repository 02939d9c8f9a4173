# SPDX-License-Identifier: Apache-2.0
"""Test requests over TCP with munge, and requests to several endpoints within one deadline."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from reprise.matcher.wire import munge
from tests.munged import Munged
from tests.spank.conftest import SPANK, Played, Stub
from tests.spank.daemon import FakeDaemon, decision, frame, say_nothing
from tests.spank.tcp_daemon import TcpDaemon
from tests.waiting import in_time

APPLY = decision("apply", {"SRO_A": "1"})
NOBODY = 65534
NO_METHOD = (
    "this host cannot authenticate over TCP: neither munged, with libmunge.so.2, nor Slurm's auth/slurm runs on it"
)
SLACK_MS = 150  # tolerance for a busy machine; an idle machine needs 2 ms


@pytest.fixture(scope="module")
def munged() -> Iterator[Munged]:
    with Munged() as running:
        yield running


@pytest.fixture
def tcp(munged: Munged) -> Iterator[TcpDaemon]:
    with TcpDaemon(munged, APPLY).listening() as listening:
        yield listening


def submit(stub: Stub, *settings: str, option: str = "") -> Played:
    """Run the plugin's hooks for a submission, with these arguments of the plugin, and return the results.

    The deadline is 1 s unless `settings` has another; no endpoint is added.
    """
    own = [f"kill_switch={stub.directory / 'disabled'}", "deadline_ms=1000", *settings]
    lines = ["context allocator", *(f"plugstack {argument}" for argument in own), "call init"]
    return stub.play(*lines, *([f"option {option}"] if option else []), "call init_post_opt")


UNTOLD_MS = 2


def took_ms(played: Played) -> int:
    """Return the total time in ms of the two hooks, which share a deadline. Each hook's time is rounded down."""
    return sum(elapsed for _, _, elapsed in played.calls)


def test_a_decision_comes_over_tcp(stub: Stub, tcp: TcpDaemon) -> None:
    played = submit(stub, *tcp.settings)
    assert played.carried == {"v": 1, "id": "d-1", "verdict": "apply", "env": {"SRO_A": "1"}}
    (asked,) = tcp.asked
    assert asked.uid == os.geteuid() and asked.message["submission"]["argv"] == ["sbatch", "job.sh"]
    assert played.log == []


def test_an_endpoint_may_have_a_host_name(stub: Stub, tcp: TcpDaemon) -> None:
    settings = [text.replace("127.0.0.1", "localhost") for text in tcp.settings]
    assert submit(stub, *settings).carried


def test_the_largest_question_and_answer_fit(stub: Stub, tcp: TcpDaemon) -> None:
    (stub.directory / "job.sh").write_bytes(b"\xff" * 80_000)  # each byte becomes U+FFFD (3 bytes in UTF-8)
    env = {f"SRO_{i}": os.urandom(450).hex() for i in range(64)}
    tcp.reply = decision("apply", env, reason="x" * 512)
    played = submit(stub, *tcp.settings)
    assert played.carried and played.carried["env"] == env
    assert len(tcp.asked[0].message["submission"]["script"]["text"].encode()) > 131_000


def test_a_job_is_reported_over_tcp(stub: Stub, tcp: TcpDaemon) -> None:
    lines = ["context remote", *(f"plugstack {s}" for s in (*tcp.settings, "deadline_ms=1000", "kill_switch=/none"))]
    items = [f"item 0 {os.geteuid()}", "item 2 7", f"item 3 {0xFFFFFFFB}", f"item 31 {0xFFFFFFFE}", "item 13 0"]
    stub.play(*lines, *items, "call init", "call user_init", "call task_exit", argv=["slurmstepd"])
    assert [asked.message["kind"] for asked in tcp.asked] == ["decide", "outcome", "outcome"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as another user")
def test_only_the_matcher_can_read_the_question(stub: Stub, tcp: TcpDaemon) -> None:
    submit(stub, *tcp.settings, f"matcher_uid={NOBODY}")
    (credential,) = tcp.unreadable
    words = ["unmunge", "-S", str(tcp.munged.socket), "--no-output"]
    assert subprocess.run(words, input=credential, check=False).returncode == 18  # EMUNGE_CRED_UNAUTHORIZED
    assert subprocess.run(words, input=credential, check=False, user=NOBODY).returncode == 0


def test_explain_names_every_place_that_was_asked(stub: Stub, tcp: TcpDaemon) -> None:
    tcp.answer = lambda _: b"MUNGE:AwQDAAC:"
    played = submit(stub, "endpoint=unix:/nowhere", *tcp.settings, option="explain")
    ((_, line),) = played.log
    places = f"unix:/nowhere, tcp:127.0.0.1:{tcp.port}"
    assert line == (
        f"reprise: unreachable: {places}: the request or the answer could not be authenticated "
        "(`reprise doctor` shows the cause); the job runs unchanged"
    )


# --- time


def submitted_in(longest_ms: int, stub: Stub, *settings: str, option: str = "") -> Played:
    """Return the first of ten submissions that takes less than `longest_ms`; fail if none does."""
    return in_time(lambda: submit(stub, *settings, option=option), lambda played: took_ms(played) < longest_ms)


def test_a_daemon_that_hangs_costs_the_deadline(stub: Stub, tcp: TcpDaemon) -> None:
    tcp.hangs = True
    played = submitted_in(200 + SLACK_MS, stub, *tcp.settings, "deadline_ms=200")
    assert played.carried is None
    assert 200 - UNTOLD_MS <= took_ms(played) < 200 + SLACK_MS


def test_a_munged_that_hangs_costs_the_deadline(stub: Stub) -> None:
    with Munged() as own, TcpDaemon(own, APPLY).listening() as tcp:
        own.signal(signal.SIGSTOP)
        played = submitted_in(200 + SLACK_MS, stub, *tcp.settings, "deadline_ms=200")
    assert played.carried is None
    assert 200 - UNTOLD_MS <= took_ms(played) < 200 + SLACK_MS


def test_a_munged_that_died_costs_the_deadline(stub: Stub, tcp: TcpDaemon, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(tmp_path / "dead"))
    played = submitted_in(200 + SLACK_MS, stub, *tcp.settings, f"munge_socket={tmp_path}/dead", "deadline_ms=200")
    assert played.carried is None
    assert took_ms(played) < 200 + SLACK_MS


def test_without_munged_the_plugin_does_not_wait(stub: Stub, tcp: TcpDaemon) -> None:
    no_socket = ("munge_socket=/nowhere/munge", "sack_socket=/nowhere/sack")
    played = submitted_in(SLACK_MS, stub, *tcp.settings, *no_socket, option="explain")
    assert played.carried is None
    assert took_ms(played) < SLACK_MS
    assert [level for level, _ in played.log] == ["user", "verbose"]
    assert f"unreachable: tcp:127.0.0.1:{tcp.port}: {NO_METHOD}; the job runs unchanged" in played.log[0][1]


@pytest.mark.parametrize(("missing", "at"), [("dlopen", 1), *(("dlsym", number) for number in range(1, 7))])
def test_without_libmunge_the_log_says_why(stub: Stub, tcp: TcpDaemon, missing: str, at: int) -> None:
    fault = {"FAIL_CALL": missing, "FAIL_AT": str(at), "FAIL_AFTER": "1"}
    settings = [
        f"plugstack {text}" for text in (*tcp.settings, "sack_socket=/nowhere", "kill_switch=/none", "deadline_ms=1000")
    ]
    played = stub.play("context allocator", *settings, "call init", "call init_post_opt", env=fault)
    assert (played.carried, tcp.asked) == (None, [])
    assert played.log == [("verbose", f"reprise: {NO_METHOD}; the job runs unchanged")]
    items = [f"item 0 {os.geteuid()}", "item 2 7", f"item 3 {0xFFFFFFFB}", f"item 31 {0xFFFFFFFE}", "item 13 0"]
    hooks = ["call init", "call user_init", "call task_exit"]
    played = stub.play("context remote", *settings, *items, *hooks, argv=["slurmstepd"], env=fault)
    assert played.log == [("info", f"reprise: {NO_METHOD}; the job runs unchanged")]


def test_the_numbers_of_libmunges_options_are_those_of_its_header(tmp_path: Path) -> None:
    source = (SPANK / "credential_munge.c").read_text()
    names = {"SUCCESS": "EMUNGE_SUCCESS", "OPT_SOCKET": "MUNGE_OPT_SOCKET"}
    names |= {"OPT_UID_RESTRICTION": "MUNGE_OPT_UID_RESTRICTION"}
    numbers = {name: re.search(rf"#define {name} (\d+)", source) for name in names}
    claims = [
        f"_Static_assert({names[name]} == {number[1]}, {json.dumps(name)});"
        for name, number in numbers.items()
        if number
    ]
    assert len(claims) == len(names)
    expected = (munge.SUCCESS, munge.OPT_SOCKET, munge.OPT_UID_RESTRICTION)
    assert tuple(int(found[1]) for found in numbers.values() if found) == expected
    checked = tmp_path / "checked.c"
    checked.write_text("\n".join(["#include <munge.h>", *claims, ""]))
    subprocess.run(["cc", "-fsyntax-only", str(checked)], check=True)


@pytest.mark.parametrize("first", ["endpoint=unix:/nowhere/m.sock", "endpoint=tcp:127.0.0.1:1"])
def test_if_the_first_endpoint_is_absent_the_second_is_used_at_once(stub: Stub, tcp: TcpDaemon, first: str) -> None:
    played = submitted_in(SLACK_MS, stub, first, *tcp.settings)
    assert played.carried and played.carried["verdict"] == "apply"
    assert took_ms(played) < SLACK_MS


def test_only_the_first_endpoint_that_answers_is_used(stub: Stub, daemon: FakeDaemon, tcp: TcpDaemon) -> None:
    submit(stub, f"endpoint=unix:{daemon.path}", *tcp.settings)
    assert (len(daemon.asked), tcp.asked) == (1, [])


@pytest.mark.slow
def test_an_endpoint_that_hangs_leaves_the_others_their_share_of_the_deadline(
    stub: Stub, daemon: FakeDaemon, tcp: TcpDaemon
) -> None:
    daemon.converse = say_nothing
    with TcpDaemon(tcp.munged, hangs=True).listening() as second:
        unix = f"endpoint=unix:{daemon.path}"
        played = submitted_in(900, stub, unix, second.endpoint, *tcp.settings, "deadline_ms=900")
    assert played.carried and played.carried["verdict"] == "apply"
    assert 600 - UNTOLD_MS <= took_ms(played) < 900


def test_endpoints_that_all_hang_cost_one_deadline_in_total(stub: Stub, daemon: FakeDaemon, tcp: TcpDaemon) -> None:
    daemon.converse = say_nothing
    tcp.hangs = True
    unix = f"endpoint=unix:{daemon.path}"
    played = submitted_in(200 + SLACK_MS, stub, unix, tcp.endpoint, unix, *tcp.settings, "deadline_ms=200")
    assert played.carried is None
    assert 200 - UNTOLD_MS <= took_ms(played) < 200 + SLACK_MS


# --- the state of the submitting command


@pytest.fixture
def children_are_not_waited_for() -> Iterator[None]:
    """Ignore SIGCHLD in this process, and therefore in the commands that it starts."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.parametrize("hangs", [False, True])
def test_a_parent_that_ignores_sigchld_changes_nothing(
    stub: Stub, tcp: TcpDaemon, hangs: bool, children_are_not_waited_for: None
) -> None:
    tcp.hangs = hangs
    played = submit(stub, *tcp.settings, f"deadline_ms={300 if hangs else 1000}")
    assert (played.carried is None) is hangs


@pytest.mark.slow
def test_a_failing_allocation_gives_the_whole_decision_or_none(stub: Stub, tcp: TcpDaemon, binaries: Path) -> None:
    failing = Stub(binaries / "stub_oom", stub.directory, stub.socket)
    lines = [f"plugstack {text}" for text in (*tcp.settings, "kill_switch=/none", "deadline_ms=1000")]
    script = ["context allocator", *lines, "call init", "call init_post_opt"]
    verdicts: list[object] = []
    # 20 successful runs in a row show that FAIL_AT now exceeds the number of allocations
    while len(verdicts) < 400 and verdicts[-20:] != ["apply"] * 20:
        played = failing.play(*script, env={"FAIL_AT": str(len(verdicts) + 1)})
        verdicts.append(played.carried and played.carried["verdict"])
    assert set(verdicts) == {None, "apply"}
    assert len(verdicts) < 400


def frames(*sizes: int) -> Sequence[bytes]:
    return [size.to_bytes(4, "big") for size in sizes]


@pytest.mark.parametrize("header", [*frames(0, 131_073, 2**32 - 1), b"", b"\0\0", frame(b"x" * 9)[:8]])
def test_a_frame_that_is_invalid_or_incomplete_gives_no_decision(stub: Stub, tcp: TcpDaemon, header: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(header)

        thread = threading.Thread(target=serve)
        thread.start()
        endpoint = f"endpoint=tcp:127.0.0.1:{server.getsockname()[1]}"
        played = submit(stub, endpoint, *tcp.settings[1:])
        thread.join()
    assert played.carried is None
