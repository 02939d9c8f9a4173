# SPDX-License-Identifier: Apache-2.0
"""Test a real daemon over TCP: valid and invalid credentials, addresses, idle clients, and a hung munged."""

from __future__ import annotations

import dataclasses
import json
import os
import pwd
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database
from reprise.endpoint import Endpoint, parse
from reprise.matcher.daemon.listener import listen_tcp
from reprise.matcher.errors import DaemonUnreachableError, MatcherError, ServiceError
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import PING, ask_in_order, ask_over_tcp, explain_request
from reprise.matcher.wire.credentials import CredentialError, CredentialSettings
from reprise.matcher.wire.munge import Munge
from tests.munged import Munged
from tests.places import ROOT
from tests.unit.matcher_daemon import RULES, Daemon, job, mine, record, request
from tests.waiting import wait_for

VECTORS = json.loads((ROOT / "tests/vectors/plugstack.json").read_text())
NONCE = b"0123456789abcdef"
NOBODY = pwd.getpwnam("nobody").pw_uid


@pytest.fixture(scope="module")
def munged() -> Iterator[Munged]:
    with Munged() as running:
        yield running


class TcpDaemon(Daemon):
    """A daemon that also listens on a TCP port of this host."""

    def __init__(self, directory: Path, munged: Munged) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.munged = munged
        super().__init__(directory, *self.lines())

    def lines(self) -> tuple[str, ...]:
        return (
            f'listen = "127.0.0.1:{self.port}"',
            f'munge_socket = "{self.munged.socket}"',
            "request_timeout_s = 1.0",
        )

    def ask_over_tcp(self, message: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any]:
        munge = Munge(str(self.munged.socket))
        return ask_over_tcp("127.0.0.1", self.port, message, munge, matcher_uid=os.geteuid(), timeout_s=timeout_s)

    def connect_over_tcp(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def send_over_tcp(self, frame: bytes) -> bytes:
        """Send raw bytes, and return the whole reply, which is empty if the daemon sends none."""
        with self.connect_over_tcp() as connection:
            connection.sendall(frame)
            with connection.makefile("rb") as stream:
                try:
                    return stream.read()
                except ConnectionResetError:  # the daemon closed the connection without reading everything
                    return b""

    def credential(self, message: object, *options: str, user: int | None = None) -> bytes:
        return self.munged.credential(NONCE + json.dumps(message).encode(), *options, user=user)


@pytest.fixture
def tcp(tmp_path: Path, munged: Munged) -> Iterator[TcpDaemon]:
    daemon = TcpDaemon(tmp_path, munged)
    daemon.add(mine(), record(metadata=job("nobody").to_json()))
    daemon.start()
    yield daemon
    daemon.stop()
    sys.stdout.write(daemon.text())


def test_a_job_is_decided_over_tcp_as_over_the_socket(tcp: TcpDaemon) -> None:
    assert tcp.ask_over_tcp(PING)["records"] == 2
    over_tcp, over_socket = tcp.ask_over_tcp(request()), tcp.ask(request())
    assert (over_tcp["verdict"], over_tcp["env"]) == ("apply", RULES)
    assert {**over_tcp, "id": ""} == {**over_socket, "id": ""}


def test_the_caller_gets_the_error_in_its_request(tcp: TcpDaemon) -> None:
    assert "unknown kind 'nonsense'" in tcp.ask_over_tcp({"v": 1, "kind": "nonsense"})["reason"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as another user")
def test_the_caller_is_the_credentials_user_who_alone_can_read_the_answer(tcp: TcpDaemon) -> None:
    credential = tcp.credential(request(), user=NOBODY)
    answer = tcp.send_over_tcp(protocol.framed(credential))
    words = ["unmunge", "-S", str(tcp.munged.socket)]
    assert subprocess.run([*words, "-n"], input=answer[4:], check=False).returncode == 18  # EMUNGE_CRED_UNAUTHORIZED
    done = subprocess.run([*words, "-k", "UID,UID_RESTRICTION"], input=answer[4:], capture_output=True, user=NOBODY)
    head, _, payload = done.stdout.partition(b"\n\n")
    assert head.split() == [
        b"UID:",
        b"root",
        b"(0)",
        b"UID_RESTRICTION:",
        b"nobody",
        str(NOBODY).encode().join([b"(", b")"]),
    ]
    assert payload.startswith(NONCE)
    assert json.loads(payload.removeprefix(NONCE))["verdict"] == "apply"
    tcp.wait_log("event=decision .*user=nobody")


FRAMES = {
    "no credential": b"hello",
    "a message without one": json.dumps(PING).encode(),
    "a cut one": b"MUNGE:AwQDAAC",
    "NULs": bytes(100),
}


@pytest.mark.parametrize("body", FRAMES.values(), ids=FRAMES)
def test_a_request_without_a_valid_credential_gets_no_answer(tcp: TcpDaemon, body: bytes) -> None:
    assert tcp.send_over_tcp(protocol.framed(body)) == b""
    tcp.wait_log(r"event=bad-frame peer=127.0.0.1 error=\"(munge|slurm): ")


def test_a_forged_credential_gets_no_answer(tcp: TcpDaemon) -> None:
    credential = bytearray(tcp.credential(PING))
    credential[len(credential) // 2] ^= 1
    assert tcp.send_over_tcp(protocol.framed(bytes(credential))) == b""
    with Munged() as other:
        with_another_key = other.credential(NONCE + json.dumps(PING).encode())
    assert tcp.send_over_tcp(protocol.framed(with_another_key)) == b""


def test_a_replayed_credential_gets_no_answer(tcp: TcpDaemon) -> None:
    frame = protocol.framed(tcp.credential(PING))
    assert tcp.send_over_tcp(frame) != b""
    assert tcp.send_over_tcp(frame) == b""
    tcp.wait_log("Replayed credential")


@pytest.mark.slow
def test_an_expired_credential_gets_no_answer(tcp: TcpDaemon) -> None:
    frame = protocol.framed(tcp.credential(PING, "--ttl=1"))
    end = time.time() + 2  # munge counts whole seconds
    wait_for("its end", lambda: time.time() > end)
    assert tcp.send_over_tcp(frame) == b""
    tcp.wait_log("Expired credential")


def test_a_credential_for_another_user_gets_no_answer(tcp: TcpDaemon) -> None:
    assert tcp.send_over_tcp(protocol.framed(tcp.credential(PING, f"--restrict-uid={os.geteuid() + 1}"))) == b""
    tcp.wait_log("Unauthorized credential")


@pytest.mark.parametrize("payload", [b"", NONCE, NONCE[:-1], NONCE + b" " * (protocol.REQUEST_LIMIT + 1)])
def test_a_credential_without_a_nonce_and_a_message_gets_no_answer(tcp: TcpDaemon, payload: bytes) -> None:
    assert tcp.send_over_tcp(protocol.framed(tcp.munged.credential(payload))) == b""
    tcp.wait_log("event=bad-frame")


@pytest.mark.parametrize("length", [0, 2 * protocol.REQUEST_LIMIT + 1, 2**32 - 1])
def test_a_frame_that_is_too_long_is_not_read(tcp: TcpDaemon, length: int) -> None:
    assert tcp.send_over_tcp(length.to_bytes(4, "big")) == b""


def test_the_largest_request_and_answer_fit(tcp: TcpDaemon) -> None:
    noise = os.urandom(protocol.REQUEST_LIMIT // 2 - 200).hex()
    message = {**PING, "noise": noise}
    assert len(protocol.body(message, protocol.REQUEST_LIMIT)) > protocol.REQUEST_LIMIT - 1000
    assert tcp.ask_over_tcp(message)["kind"] == "ok"


@pytest.mark.slow
def test_a_hung_munged_leaves_only_tcp_clients_without_an_answer(tmp_path: Path) -> None:
    with Munged() as own:
        tcp = TcpDaemon(tmp_path, own)
        tcp.add(mine())
        tcp.start()
        frames = [protocol.framed(tcp.credential(PING)) for _ in range(20)]
        own.signal(signal.SIGSTOP)
        waiting = [tcp.connect_over_tcp() for _ in frames]
        for connection, frame in zip(waiting, frames, strict=True):
            connection.sendall(frame)
        assert tcp.ask(request(), timeout_s=0.5)["verdict"] == "apply"
        assert [connection.recv(1) for connection in waiting] == [b""] * len(waiting)
        own.signal(signal.SIGCONT)
        wait_for("an answer", lambda: answers(tcp), 20)
        for connection in waiting:
            connection.close()
        assert tcp.stop() == 0


def answers(tcp: TcpDaemon) -> bool:
    try:
        return bool(tcp.ask_over_tcp(PING)["kind"] == "ok")
    except (DaemonUnreachableError, CredentialError, MatcherError):
        return False


@pytest.mark.slow
def test_idle_tcp_connections_do_not_block_other_clients(tmp_path: Path, munged: Munged) -> None:
    tcp = TcpDaemon(tmp_path, munged)
    tcp.configure(*tcp.lines(), "max_connections = 2")
    tcp.start()
    idle = [tcp.connect_over_tcp() for _ in range(4)]
    assert tcp.ask(PING, timeout_s=0.5)["kind"] == "ok"
    assert tcp.ask_over_tcp(PING)["kind"] == "ok", "idle connections are closed after a second"
    for connection in idle:
        connection.close()
    assert tcp.stop() == 0


def test_reset_connections_do_not_disturb_the_daemon(tcp: TcpDaemon) -> None:
    for _ in range(20):
        with tcp.connect_over_tcp() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert tcp.ask_over_tcp(PING)["kind"] == "ok"
    assert "Traceback" not in tcp.text()


def test_a_port_in_use_and_an_unknown_host_are_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for address in (f"127.0.0.1:{taken.getsockname()[1]}", "no-host.invalid:7817"):
            with pytest.raises(ServiceError, match=r"set matcher\.listen") as caught:
                listen_tcp(address)
            assert str(caught.value).startswith(f"{address}: cannot listen there (")


@pytest.mark.parametrize("address", ["192.0.2.1:7817", "[2001:db8::1]:7817"])
def test_an_address_that_is_not_up_yet_is_listened_on_and_logged(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        listener = listen_tcp(address)
    except ServiceError as error:
        if ":db8:" in address:
            pytest.skip(str(error))  # this host has no IPv6
        raise
    with listener:
        assert listener.getsockname()[1] == 7817
    assert "event=address-missing" in caplog.text and address[1:9] in caplog.text


def test_an_address_serves_once_it_is_up() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to create a network namespace")
    code = """if True:
        import socket, subprocess
        from reprise.matcher.daemon.listener import listen_tcp

        ip = lambda *words: subprocess.run(["ip", *words], check=True)
        ip("link", "set", "lo", "up")
        with listen_tcp("192.0.2.1:7817") as listener:
            ip("address", "add", "192.0.2.1/32", "dev", "lo")
            with socket.create_connection(("192.0.2.1", 7817), timeout=10):
                listener.accept()
    """
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if "Operation not permitted" in done.stderr:
        pytest.skip("creating a network namespace is not permitted here")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_addresses_of_both_families_are_listened_on(host: str, family: socket.AddressFamily) -> None:
    try:
        with socket.create_server((host, 0), family=family) as free:
            port = free.getsockname()[1]
    except OSError:
        pytest.skip(f"this host has no address {host}")
    with listen_tcp(str(Endpoint(None, host, port)).removeprefix("tcp:")) as listener:
        assert listener.getsockname()[:2] == (host, port)


def test_a_missing_daemon_and_a_missing_munged_give_different_errors(munged: Munged) -> None:
    with pytest.raises(DaemonUnreachableError, match="no matcher answers"):
        ask_over_tcp("127.0.0.1", 1, PING, Munge(str(munged.socket)), matcher_uid=0)
    with pytest.raises(CredentialError, match=r"munge: .*/nowhere"):
        ask_over_tcp("127.0.0.1", 1, PING, Munge("/nowhere"), matcher_uid=0)


def test_endpoints_are_read_as_the_plugin_reads_them() -> None:
    for taken, texts in ((True, VECTORS["taken"]), (False, VECTORS["ignored"])):
        for text in texts:
            name, _, value = text.partition("=")
            assert name != "endpoint" or (parse(value) is not None) is taken, text
    assert parse("tcp:[fd00::5]:7817") == Endpoint(None, "fd00::5", 7817)
    assert str(parse("tcp:[fd00::5]:7817")) == "tcp:[fd00::5]:7817"


def test_a_long_explanation_is_received_over_tcp(tcp: TcpDaemon) -> None:
    reply = tcp.ask_over_tcp(request())
    with Database.open(tcp.database) as database:
        wait_for("the decision", lambda: database.counts()["decision"])
        decision = database.decision(reply["id"])
        for number in range(3):  # each decision fills a third of the reply
            metadata = {**decision.metadata, "job_name": "x" * 79_000}
            database.add_decision(dataclasses.replace(decision, id=f"d-{number}", job_id=12, metadata=metadata))
    endpoint = Endpoint(None, "127.0.0.1", tcp.port)
    ((_, told),) = ask_in_order(
        [endpoint],
        explain_request("12"),
        matcher_uid=os.geteuid(),
        credential=CredentialSettings("munge", str(tcp.munged.socket)),
        timeout_s=5.0,
        limit=protocol.EXPLANATION_LIMIT,
    )
    assert len(told["story"]["decisions"]) == 3
