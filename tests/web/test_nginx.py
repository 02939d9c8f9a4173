# SPDX-License-Identifier: Apache-2.0
"""Test the configuration of nginx on the page with a real nginx, a service that signs users in, and attackers."""

from __future__ import annotations

import contextlib
import pwd
import re
import shutil
import subprocess
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.places import ROOT
from tests.waiting import wait_for
from tests.web.site import WebSite, free_port, served_as

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("nginx"), reason="needs nginx"),
]

SECRET = "0123456789abcdef" * 4
USER, OTHER = pwd.getpwuid(1).pw_name, pwd.getpwuid(2).pw_name


@contextlib.contextmanager
def signing_in() -> Iterator[int]:
    """Run a service like oauth2-proxy, which knows users by the cookie `session=NAME`; yield its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = re.search(r"session=(\w*)", self.headers.get("Cookie", ""))
            self.send_response(202 if found else 401)
            if found:
                self.send_header("X-Auth-Request-User", found[1])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep the tests' output free of requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def configuration(directory: Path, port: int, pages: int, sign_in: int) -> str:
    """Return nginx's configuration with the location from the page."""
    page = (ROOT / "docs/how-to/web.md").read_text().partition("\n## Sign users in with a proxy\n")[2]
    location = textwrap.dedent(re.findall(r"```\n( *location /reprise/ \{.*?)```", page, re.DOTALL)[0])
    assert "127.0.0.1:7818" in location and "/etc/nginx/reprise-secret.conf" in location
    location = location.replace("127.0.0.1:7818", f"127.0.0.1:{pages}")
    location = location.replace("/etc/nginx/reprise-secret.conf", f"{directory}/secret.conf")
    paths = " ".join(
        f"{kind}_temp_path {directory}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""
        daemon off; pid {directory}/nginx.pid; error_log stderr;
        events {{}}
        http {{
            access_log off; underscores_in_headers on; {paths}
            server {{
                listen 127.0.0.1:{port};
                location = /oauth2/auth {{
                    internal; proxy_pass http://127.0.0.1:{sign_in}/; proxy_pass_request_body off;
                    proxy_set_header Content-Length "";
                }}
                location = /oauth2/sign_in {{ return 401 "sign in"; }}
                {location}
            }}
        }}
    """


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    directory, port = tmp_path_factory.mktemp("proxied"), free_port()
    (directory / "secret").write_text(SECRET)
    (directory / "secret").chmod(0o600)
    (directory / "secret.conf").write_text(f'proxy_set_header X-Reprise-Proxy-Secret "{SECRET}";')
    site = WebSite(directory, f'proxy_secret_file = "{directory}/secret"', f'url = "http://127.0.0.1:{port}/reprise"')
    with signing_in() as sign_in:
        (directory / "nginx.conf").write_text(configuration(directory, port, site.port, sign_in))
        site.start()
        nginx = subprocess.Popen(["nginx", "-p", str(directory), "-c", str(directory / "nginx.conf")])
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}/reprise", timeout=30) as client:
                wait_for("nginx", lambda: answers(client))
                yield client
        finally:
            nginx.terminate()
            nginx.wait(20)
            site.stop()


def answers(client: httpx.Client) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return client.get("/jobs").status_code == 401
    return False


def who(client: httpx.Client, session: str | None, *headers: tuple[str, str]) -> str | int:
    """Return the user as whom a request is served, or the status if it is refused."""
    cookie = [] if session is None else [("cookie", f"session={session}")]
    return served_as(client.get("/jobs", headers=[*cookie, *headers]))


def test_a_user_who_has_signed_in_needs_no_token(proxied: httpx.Client) -> None:
    assert who(proxied, USER) == USER and who(proxied, OTHER) == OTHER
    assert who(proxied, None) == 401 and who(proxied, "root") == 403
    assert 'href="/reprise/jobs"' in proxied.get("/jobs", headers={"cookie": f"session={USER}"}).text


@pytest.mark.parametrize("secret", [SECRET, "x"])
def test_headers_of_a_client_are_replaced_or_make_the_request_void(proxied: httpx.Client, secret: str) -> None:
    """`underscores_in_headers on`, which is not nginx's default, lets the other spelling through."""
    own = ("X-Forwarded-User", OTHER), ("X-Reprise-Proxy-Secret", secret)
    assert who(proxied, USER, *own) == USER
    assert who(proxied, USER, *own, *own) == USER
    assert who(proxied, None, *own) == 401
    assert who(proxied, "", *own) == 303, "signed in without a name: nginx sends no header, and the pages want a token"
    for name, value in own:
        assert who(proxied, USER, (name.replace("-", "_"), value)) == 303, name
