# SPDX-License-Identifier: Apache-2.0
"""A real mail server and a real HTTP server, for tests of notifications."""

from __future__ import annotations

import contextlib
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope

from tests.unit.matcher.daemon.test_metrics import free_port

PASSWORD = "correct-horse"  # noqa: S105


def certificate(directory: Path) -> tuple[Path, Path]:
    """Make a certificate for `localhost`; return the files of the certificate and its key."""
    chain, key = directory / "chain.pem", directory / "key.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    of = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", str(chain), "-keyout", str(key)]
    subprocess.run([*made, *of], check=True, capture_output=True)
    return chain, key


@dataclass
class Mails:
    """A mail server that keeps what it gets. `reply` answers a mail; `logins` are the passwords that it was sent."""

    port: int = 0
    reply: str = "250 OK"
    envelopes: list[Envelope] = field(default_factory=list)
    logins: list[bytes] = field(default_factory=list)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:  # noqa: N802 (aiosmtpd's name)
        self.envelopes.append(envelope)
        return self.reply

    def authenticate(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        self.logins.append(data.password)
        return AuthResult(success=data.password == PASSWORD.encode(), handled=False)

    def message(self) -> EmailMessage:
        """Return the only mail."""
        (envelope,) = self.envelopes
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        return message


@contextlib.contextmanager
def mail_server(chain: Path | None = None, key: Path | None = None) -> Iterator[Mails]:
    """Run a mail server; with a certificate, it has STARTTLS and wants a password."""
    mails, more = Mails(free_port()), dict[str, Any]()
    if chain:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        more = {"tls_context": context, "authenticator": mails.authenticate, "auth_required": True}
    controller = Controller(mails, hostname="127.0.0.1", port=mails.port, **more)
    controller.start()
    try:
        yield mails
    finally:
        controller.stop()


@dataclass
class Posts:
    """An HTTP server that keeps requests, as their path, headers and body, and answers with `status` and `headers`."""

    port: int = 0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)


@contextlib.contextmanager
def web_server() -> Iterator[Posts]:
    """Run an HTTP server."""
    posts = Posts()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posts.got.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(posts.status)
            for name, value in posts.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep the tests' output free of requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    posts.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield posts
    finally:
        server.shutdown()
        server.server_close()
