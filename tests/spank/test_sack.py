# SPDX-License-Identifier: Apache-2.0
"""Test requests over TCP with tokens of Slurm's auth/slurm, against a fake of the daemon that makes them."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reprise.matcher.wire.credentials import CredentialError
from reprise.matcher.wire.jwt import read_claims
from tests.fake_sack import ANY_USER, CREATE, HEADER, VERIFY, FakeSack, url
from tests.munged import Munged
from tests.spank.conftest import Probe, Stub
from tests.spank.daemon import decision
from tests.spank.tcp_daemon import Call, TcpDaemon
from tests.spank.test_tcp import APPLY, SLACK_MS, munged, submit, submitted_in, took_ms

__all__ = ["munged"]
UID = os.geteuid()
VERSION_23_11 = 0x2800


@pytest.fixture
def sack() -> Iterator[FakeSack]:
    with FakeSack() as running:
        yield running


@pytest.fixture
def tcp(munged: Munged, sack: FakeSack) -> Iterator[TcpDaemon]:
    with TcpDaemon(munged, APPLY, sack=sack).listening() as listening:
        yield listening


def test_a_decision_comes_with_tokens_of_slurm(stub: Stub, tcp: TcpDaemon, sack: FakeSack) -> None:
    played = submit(stub, *tcp.settings)
    assert played.carried and played.carried["env"] == {"SRO_A": "1"}
    assert [asked.uid for asked in tcp.asked] == [UID]
    assert sack.asked[0] == (VERSION_23_11, CREATE) and sack.asked[-1] == (VERSION_23_11, VERIFY)
    assert played.log == []


def test_the_largest_question_and_answer_fit_into_tokens(stub: Stub, tcp: TcpDaemon) -> None:
    (stub.directory / "job.sh").write_bytes(b"\xff" * 80_000)
    env = {f"SRO_{i}": os.urandom(450).hex() for i in range(64)}
    tcp.reply = decision("apply", env, reason="x" * 512)
    played = submit(stub, *tcp.settings)
    assert played.carried and played.carried["env"] == env


def test_munge_is_preferred_if_it_runs_and_otherwise_slurm_is_used(stub: Stub, tcp: TcpDaemon, munged: Munged) -> None:
    endpoint, uid, _, socket_setting = tcp.settings
    assert submit(stub, endpoint, uid, socket_setting, "munge_socket=/nowhere").carried
    assert submit(stub, endpoint, uid, socket_setting, f"munge_socket={munged.socket}").carried is None
    assert tcp.unreadable[0].startswith(b"MUNGE:")
    assert submit(stub, endpoint, uid, socket_setting, "credential=munge", "munge_socket=/nowhere").carried is None


# --- answers that must be refused; "gullible": Slurm's daemon accepts the token, so only the plugin can refuse it


def answer(sack: FakeSack, call: Call, reader: int = UID, **changes: object) -> bytes:
    payload = call.nonce + json.dumps(APPLY).encode()
    return sack.token(payload, UID, reader, **changes)


def forged(call: Call, sack: FakeSack) -> bytes:
    right, sack.key = sack.key, os.urandom(32)
    token = answer(sack, call)
    sack.key = right
    return token


def unsigned(call: Call, sack: FakeSack) -> bytes:
    claims = sack.claims(call.nonce + json.dumps(APPLY).encode(), UID, UID)
    return url(b'{"alg":"none"}') + b"." + url(json.dumps(claims).encode()) + b"."


def with_other_claims(call: Call, sack: FakeSack) -> bytes:
    head, _, signature = answer(sack, call, uid=UID + 1).split(b".")
    return head + b"." + answer(sack, call).split(b".")[1] + b"." + signature


def nonce_of_another(call: Call, sack: FakeSack) -> bytes:
    return answer(sack, Call(bytes(16), call.message, call.uid))


REFUSED: dict[str, Callable[[Call, FakeSack], bytes]] = {
    "forged": forged,
    "unsigned": unsigned,
    "with other claims": with_other_claims,
    "with another nonce": nonce_of_another,
    "expired": lambda call, sack: answer(sack, call, exp=1_700_000_000),
    "for another reader": lambda call, sack: answer(sack, call, UID + 1),
    "of a munge that is not asked": lambda _, __: b"MUNGE:AwQDAAC:",
    "truncated": lambda call, sack: answer(sack, call)[:-9],
    "huge": lambda call, sack: answer(sack, call) + b"A" * 131_072,
    "of another author (gullible)": lambda call, sack: answer(sack, call, uid=UID + 1),
    "for any reader (gullible)": lambda call, sack: answer(sack, call, ANY_USER),
    "for its author (gullible)": lambda call, sack: answer(sack, call, UID + 1),
    "of a daemon for itself (gullible)": lambda call, sack: answer(sack, call, context="auth"),
    "with another context (gullible)": lambda call, sack: answer(sack, call, context="sack2"),
    "with a NUL in the context (gullible)": lambda call, sack: answer(sack, call, context="sack\0"),
    "without a payload (gullible)": lambda call, sack: answer(sack, call, payload=None),
    "with a payload of another spelling (gullible)": lambda call, sack: answer(sack, call, payload="AAAA_-=="),
    "with a uid as text (gullible)": lambda call, sack: answer(sack, call, uid=str(UID)),
    "with four parts (gullible)": lambda call, sack: answer(sack, call) + b".AA",
    "with two parts (gullible)": lambda call, sack: answer(sack, call).rpartition(b".")[0],
    "with padding (gullible)": lambda call, sack: b"=.".join(answer(sack, call).split(b".")),
    "of claims that are not JSON (gullible)": lambda _, sack: sack.signed(b"{'a': 1}"),
    "of claims that are no object (gullible)": lambda _, sack: sack.signed(b"[]"),
    "with a deep nest (gullible)": lambda _, sack: sack.signed(b'{"uid":' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_that_is_not_believed(stub: Stub, tcp: TcpDaemon, sack: FakeSack, name: str) -> None:
    def lie(call: Call) -> bytes:
        sack.believes = "gullible" in name
        return REFUSED[name](call, sack)

    tcp.answer = lie
    played = submit(stub, *tcp.settings)
    assert (played.carried, played.log, tcp.answered) == (None, [], 1)


def test_an_answer_to_an_earlier_question_is_not_believed(stub: Stub, tcp: TcpDaemon) -> None:
    kept: list[bytes] = []
    tcp.answer = lambda call: (kept.append(tcp.seal(call)), kept[0])[1]  # type: ignore[func-returns-value]
    assert submit(stub, *tcp.settings).carried
    assert submit(stub, *tcp.settings).carried is None


# --- Slurm's daemon


@pytest.mark.parametrize("kind", [CREATE, VERIFY])
@pytest.mark.parametrize(
    "reply",
    [b"", b"\0", bytes(3), b"\0\0\0\1", struct.pack(">I", 2**32 - 1), struct.pack(">I", 9) + b"abc", b"\0\0\0\3ab\0\0"],
)
def test_a_wrong_reply_of_slurms_daemon_gives_no_decision(
    stub: Stub, tcp: TcpDaemon, sack: FakeSack, kind: int, reply: bytes
) -> None:
    own = sack._reply
    with FakeSack() as liar:
        liar.key = sack.key
        liar.replies = lambda asked, data: reply if asked == kind else own(asked, data, UID)
        played = submit(stub, *tcp.settings, f"sack_socket={liar.socket}")
    assert (played.carried, played.log) == (None, [])


def test_a_daemon_of_slurm_that_hangs_costs_the_deadline(stub: Stub, tcp: TcpDaemon) -> None:
    with FakeSack() as slow:
        slow.hangs = True
        settings = (*tcp.settings, f"sack_socket={slow.socket}", "deadline_ms=200")
        played = submitted_in(200 + SLACK_MS, stub, *settings)
    assert played.carried is None
    assert took_ms(played) < 200 + SLACK_MS


def test_a_daemon_of_slurm_that_died_costs_no_time(stub: Stub, tcp: TcpDaemon, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(tmp_path / "dead"))
    played = submitted_in(SLACK_MS, stub, *tcp.settings, f"sack_socket={tmp_path}/dead", option="explain")
    assert (played.carried, took_ms(played) < SLACK_MS) == (None, True)
    assert "could not be authenticated" in played.log[0][1]


# --- the same token is read in C and in Python


def test_the_plugin_and_the_commands_read_tokens_alike(probe: Probe) -> None:
    sack = FakeSack()
    good = sack.token(b"payload", 1001, 991)
    head, claims, signature = good.split(b".")
    last = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    tokens = [good, b"", b".", b"..", b"a.b", b"a.b.c", b"MUNGE:AwQ:", good + b"\n", b" " + good, good + b"=", good[1:]]
    tokens += [head + b"." + claims[:-1] + bytes([char]) + b"." + signature for char in last]
    tokens += [head + b"." + claims[:cut] + b"." + signature for cut in range(0, len(claims), 7)]
    tokens += [sack.token(b"x" * size, 1, 2) for size in range(1, 9)]
    changes: list[tuple[str, list[object]]] = [
        ("uid", [0, 2**32 - 2, 2**32 - 1, 2**32, 2**63, 2**64, -1, 1.0, True, "1", [1], None]),
        ("ruid", [0, 2**32 - 2, 2**32 - 1, -1, 1.5, None]),
        ("context", ["sack", "auth", "sacks", "", 7, None]),
        (
            "payload",
            ["", "A", "AA", "AAA", "AAAA", "AA==", "AB==", "AA=", "A===", "====", "AAA=", "AAB=", "A-A=", 5, None],
        ),
    ]
    tokens += [sack.token(b"x", 1, 2, **{name: value}) for name, values in changes for value in values]
    body = json.dumps(sack.claims(b"x", 1, 2)).encode()
    tokens += [
        sack.signed(body[:-1] + more + b"}") for more in (b",", b', "uid": 7', b', "id": {"gr": [1, "\xc3\xa4"]}')
    ]
    tokens += [sack.signed(text) for text in (b"", b"7", b"{}", b"\xff", body + b" ", b"\xef\xbb\xbf" + body, HEADER)]

    def in_python(token: bytes) -> object:
        try:
            found = read_claims(token)
        except CredentialError:
            return None
        return [found.uid, found.reader, found.payload.hex()]

    read = [in_python(token) for token in tokens]
    differing = [pair for pair in zip(tokens, read, probe.ask("jwt", tokens), strict=True) if pair[1] != pair[2]]
    assert differing == []
    assert read[0] == [1001, 991, b"payload".hex()] and 20 < sum(found is not None for found in read) < len(read) - 60
    assert base64.b64decode(sack.claims(b"x", 1, 2)["payload"]) == b"x"
