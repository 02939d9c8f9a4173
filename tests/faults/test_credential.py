# SPDX-License-Identifier: Apache-2.0
"""Test that with forged, replayed or foreign credentials over TCP, a job runs as without the plugin."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from collections.abc import Callable, Iterator

import pytest

from reprise.matcher.wire.munge import Munge
from tests.faults.life import DEADLINE_MS, Job, assert_unharmed
from tests.munged import Munged
from tests.spank.daemon import decision
from tests.spank.tcp_daemon import Call, TcpDaemon

APPLY = decision("apply", {"SRO_A": "1"})
NOBODY = 65534


@pytest.fixture
def tcp(munged: Munged, job: Job) -> Iterator[TcpDaemon]:
    with TcpDaemon(munged, APPLY).listening() as listening:
        job.settings = listening.settings  # the stub's own endpoint comes first, but its socket does not exist
        job.deadline_ms = 1000
        yield listening


def other_nonce(call: Call, tcp: TcpDaemon) -> bytes:
    return tcp.seal(Call(bytes(16), call.message, call.uid))


def no_nonce(call: Call, tcp: TcpDaemon) -> bytes:
    return Munge(str(tcp.munged.socket)).make(json.dumps(APPLY).encode(), call.uid)


def nonce_alone(call: Call, tcp: TcpDaemon) -> bytes:
    return Munge(str(tcp.munged.socket)).make(call.nonce, call.uid)


def for_another_reader(call: Call, tcp: TcpDaemon) -> bytes:
    return tcp.seal(Call(call.nonce, call.message, call.uid + 1))


def without_munge(call: Call, tcp: TcpDaemon) -> bytes:
    return call.nonce + json.dumps(APPLY).encode()


def garbage(call: Call, tcp: TcpDaemon) -> bytes:
    return b"MUNGE:AwQDAAC:"


def flipped(call: Call, tcp: TcpDaemon) -> bytes:
    credential = bytearray(tcp.seal(call))
    credential[len(credential) // 2] ^= 1
    return bytes(credential)


def with_another_key(call: Call, tcp: TcpDaemon) -> bytes:
    with Munged() as other:
        return Munge(str(other.socket)).make(call.nonce + json.dumps(APPLY).encode(), call.uid)


def opened_before(call: Call, tcp: TcpDaemon) -> bytes:
    credential = tcp.seal(call)
    Munge(str(tcp.munged.socket)).open(credential)
    return credential


def too_long(call: Call, tcp: TcpDaemon) -> bytes:
    payload = call.nonce + b" " * 65_537 + json.dumps(APPLY).encode()
    return Munge(str(tcp.munged.socket)).make(payload, call.uid)


def longer_than_is_read(call: Call, tcp: TcpDaemon) -> bytes:
    return tcp.seal(call) + b" " * 131_072


def the_question_itself(call: Call, tcp: TcpDaemon) -> bytes:
    return Munge(str(tcp.munged.socket)).make(call.nonce + json.dumps(call.message).encode(), call.uid)


LIES = [
    other_nonce,
    no_nonce,
    nonce_alone,
    for_another_reader,
    without_munge,
    garbage,
    flipped,
    with_another_key,
    opened_before,
    too_long,
    longer_than_is_read,
    the_question_itself,
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_an_answer(job: Job, tcp: TcpDaemon, lie: Callable[[Call, TcpDaemon], bytes]) -> None:
    tcp.answer = lambda call: lie(call, tcp)
    assert_unharmed(job, waits=True)  # munge takes some time
    assert tcp.answered == len(tcp.asked) >= 2


def test_an_answer_to_an_earlier_question(job: Job, tcp: TcpDaemon) -> None:
    kept: list[bytes] = []

    def answer(call: Call) -> bytes:
        kept.append(tcp.seal(call))
        return kept[0]

    answer(Call(bytes(16), {"kind": "decide"}, os.geteuid()))
    tcp.answer = answer
    assert_unharmed(job, waits=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
def test_an_answer_of_another_user(job: Job, tcp: TcpDaemon) -> None:
    tcp.answer = lambda call: tcp.munged.credential(
        call.nonce + json.dumps(APPLY).encode(), f"--restrict-uid={call.uid}", user=NOBODY
    )
    assert_unharmed(job, waits=True)
    assert tcp.answered
    job.settings = [*job.settings, f"matcher_uid={NOBODY}"]
    assert_unharmed(job, waits=True)
    assert tcp.unreadable, "the request was encoded for another reader"


def test_a_good_answer_is_believed(job: Job, tcp: TcpDaemon) -> None:
    """The other tests prove something only if the job gets the settings of a good answer."""
    assert job.live().environment["SRO_A"] == "1"


LOGGED = {("verbose", True), ("info", True)}  # none of these levels reaches the output of a user
CALLS = ("socketpair", "socket", "fork", "waitpid", "getrandom", "getaddrinfo", "fcntl", "sendmsg", "recv", "ppoll")
MUNGE = ("dlopen", "dlsym", "munge_ctx_create", "munge_ctx_get", "munge_ctx_set")


@pytest.mark.parametrize("fault", ["hangs", *CALLS])
def test_over_tcp(job: Job, tcp: TcpDaemon, fault: str) -> None:
    job.deadline_ms = DEADLINE_MS
    if fault == "hangs":
        tcp.hangs = True
    else:
        job.env = {"FAIL_CALL": fault, "FAIL_AT": "1", "FAIL_AFTER": "1"}
    if fault == "waitpid":  # all data has been sent before waitpid is called
        job.deadline_ms = 1000
        assert job.live().environment["SRO_A"] == "1"
    else:
        assert_unharmed(job, waits=True)


@pytest.mark.parametrize("fault", MUNGE)
def test_over_tcp_without_libmunge(job: Job, tcp: TcpDaemon, fault: str) -> None:
    """The job differs from one without the plugin only in the log, which says why there is no decision."""
    job.env = {"FAIL_CALL": fault, "FAIL_AT": "1", "FAIL_AFTER": "1"}
    life = job.live()
    assert (life.environment, tcp.asked) == (job.live(plugin=False).environment, [])
    assert {(level, "cannot authenticate over TCP" in line) for level, line in life.log} <= LOGGED


@pytest.mark.parametrize("at", ["1", "2"])
def test_over_tcp_with_standard_output_closed_and_no_descriptor_left(job: Job, tcp: TcpDaemon, at: str) -> None:
    job.stub = dataclasses.replace(job.stub, prefix=("sh", "-c", 'exec "$@" <&- >&-', "-"), says="")
    job.env = {"FAIL_CALL": "fcntl", "FAIL_AT": at, "FAIL_AFTER": "1", "FAIL_ERRNO": str(errno.EMFILE)}
    assert_unharmed(job)


def test_over_tcp_a_signal_while_the_child_ends(job: Job, tcp: TcpDaemon) -> None:
    job.env = {"FAIL_CALL": "waitpid", "FAIL_AT": "1", "FAIL_ERRNO": str(errno.EINTR)}
    assert job.live().environment["SRO_A"] == "1"
