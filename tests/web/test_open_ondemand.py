# SPDX-License-Identifier: Apache-2.0
"""Test the app of Open OnDemand: what it passes on to the pages, and that it serves the real pages."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import pwd
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import httpx2 as httpx
import pytest
import yaml

from tests.places import ROOT
from tests.waiting import wait_for
from tests.web.site import WebSite, free_port

APP = ROOT / "etc/open-ondemand"
TOKEN = "MTAwMQ.aSLx6Q.q3dVQ7QvZ0b8m3XrXo0eUu5m3cE"  # noqa: S105
Got = list[tuple[str, str, dict[str, str], bytes]]
OTHER = 2  # uid of a user who is not staff


class Pages:
    """Pages that keep requests, and answer with `status` and `headers`."""

    def __init__(self) -> None:
        self.got: Got = []
        self.status, self.headers = 200, {"Content-Type": "text/plain", "Set-Cookie": "a=b"}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Pages, int]]:
    pages = Pages()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            pages.got.append((self.command, self.path, headers, body))
            self.send_response(pages.status)
            for name, value in pages.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else b"page")

        do_POST = do_HEAD = do_GET  # noqa: N815 (the library's names)

        def log_message(self, *_: object) -> None:
            """Keep the tests' output free of requests."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield pages, listening.server_address[1]
    listening.shutdown()
    listening.server_close()


@pytest.fixture
def pages(server: tuple[Pages, int]) -> Pages:
    server[0].__init__()  # type: ignore[misc]
    return server[0]


@pytest.fixture
def app(server: tuple[Pages, int], tmp_path: Path) -> ModuleType:
    """Return the app with a `reprise` of the test, which counts its calls in a file."""
    return loaded(tmp_path, f"http://127.0.0.1:{server[1]}", f"echo x >> {tmp_path}/calls; echo {TOKEN}")


def loaded(directory: Path, pages: str, command: str) -> ModuleType:
    program = directory / "reprise"
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    spec = importlib.util.spec_from_file_location("passenger_wsgi", APP / "passenger_wsgi.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.PAGES, module.REPRISE = pages, str(program)  # type: ignore[attr-defined]
    return module


def ask(
    app: ModuleType, path: str, method: str = "GET", body: bytes = b"", **more: str
) -> tuple[str, dict[str, str], str]:
    """Send a request to the app; return the status, the headers and the body of its answer."""
    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    path, _, query = path.partition("?")
    environ |= {"REQUEST_METHOD": method, "SCRIPT_NAME": "/pun/sys/reprise", "PATH_INFO": path, "QUERY_STRING": query}
    environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), **more}
    told: list[Any] = []

    def begin(status: str, headers: list[tuple[str, str]], _failed: Any = None, /) -> Callable[[bytes], object]:
        told.extend((status, headers))
        return print

    answer: Any = validator(app.application)(environ, begin)
    try:
        text = b"".join(answer).decode()
    finally:
        answer.close()
    return told[0], {name.title(): value for name, value in told[1]}, text


def test_a_request_has_the_users_token_and_none_of_the_portals_secrets(app: ModuleType, pages: Pages) -> None:
    portal = {"HTTP_COOKIE": "mod_auth_openidc_session=1", "HTTP_AUTHORIZATION": "Bearer of-the-portal"}
    forged = {"HTTP_X_FORWARDED_USER": "root", "HTTP_X_REPRISE_PROXY_SECRET": "x", "HTTP_HOST": "ood.example.org"}
    more: dict[str, Any] = {**portal, **forged, "HTTP_ORIGIN": "https://ood.example.org"}
    status, headers, text = ask(app, "/jobs?user=a%20b&x=1", **more)
    assert (status, text) == ("200 OK", "page") and "Set-Cookie" not in headers
    ((method, path, passed, _),) = pages.got
    assert (method, path) == ("GET", "/jobs?user=a%20b&x=1") and passed["authorization"] == f"Bearer {TOKEN}"
    assert not {"cookie", "x-forwarded-user", "x-reprise-proxy-secret"} & set(passed)
    assert passed["host"] == "ood.example.org" and passed["origin"] == "https://ood.example.org"


def test_a_form_is_passed_on_once(app: ModuleType, pages: Pages) -> None:
    pages.status = 401
    kind = "application/x-www-form-urlencoded"
    status, *_ = ask(app, "/campaigns/1/stop", "POST", b"a=1", CONTENT_TYPE=kind)
    assert status.startswith("401") and len(pages.got) == 1, "a form is not repeated with another token"
    assert pages.got[0][3] == b"a=1" and pages.got[0][2]["content-type"] == kind


def test_the_token_is_kept_and_made_anew_if_the_pages_refuse_it(app: ModuleType, pages: Pages, tmp_path: Path) -> None:
    for _ in range(3):
        ask(app, "/")
    assert (tmp_path / "calls").read_text().count("x") == 1
    pages.status, pages.headers = 303, {"Location": "/pun/sys/reprise/sign-in", "Content-Type": "text/plain"}
    status, headers, _ = ask(app, "/")
    assert status.startswith("303") and headers["Location"] == "/pun/sys/reprise/sign-in"
    assert (tmp_path / "calls").read_text().count("x") == 2 and len(pages.got) == 5, "once, not without end"


@pytest.mark.parametrize(
    "path", ["/a\r\nX-Evil: 1", "/é", "/%2e%2e/x", "/a b", "//evil.example/x", "/a?b\r\nX-Evil: 1"]
)
def test_no_path_makes_another_request(app: ModuleType, pages: Pages, path: str) -> None:
    status, *_ = ask(app, path.encode().decode("latin-1"))
    if "?" in path:
        assert status.startswith("502") and pages.got == [], "the server would not pass on such a query"
        return
    assert status.startswith("200") and "x-evil" not in pages.got[0][2]


def test_what_does_not_answer_is_reported_and_escaped(tmp_path: Path, pages: Pages, server: tuple[Pages, int]) -> None:
    status, _, text = ask(loaded(tmp_path, "http://127.0.0.1:9", f"echo {TOKEN}"), "/")
    assert status.startswith("502") and "do not answer" in text
    refused = loaded(tmp_path, f"http://127.0.0.1:{server[1]}", "echo 'reprise: no matcher <answers>' >&2; exit 4")
    status, _, text = ask(refused, "/")
    assert status.startswith("503") and "no matcher &lt;answers&gt;" in text and pages.got == []
    refused.REPRISE = "/nowhere"  # type: ignore[attr-defined]
    assert ask(refused, "/")[0].startswith("503")


@pytest.mark.parametrize("length", ["262145", "x", "-1"])
def test_a_large_request_is_refused(app: ModuleType, pages: Pages, length: str) -> None:
    told: list[str] = []
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/x", "CONTENT_LENGTH": length, "wsgi.input": io.BytesIO(b"x")}
    app.application(environ, lambda status, _: told.append(status))
    assert told[0].startswith("413") and pages.got == []


def test_following_a_campaign_occupies_no_process(app: ModuleType, pages: Pages) -> None:
    assert ask(app, "/campaigns/1/events", HTTP_ACCEPT="text/event-stream")[0].startswith("204") and pages.got == []


def test_the_user_cannot_sign_out_of_the_app_alone(app: ModuleType, pages: Pages) -> None:
    assert ask(app, "/sign-out", "POST")[1]["Location"] == "/pun/sys/dashboard"
    assert ask(app, "/sign-in")[1]["Location"] == "/pun/sys/reprise/" and pages.got == []


def test_the_app_runs_on_python_3_6() -> None:
    ast.parse((APP / "passenger_wsgi.py").read_text(), feature_version=(3, 6))


def test_the_manifest_has_what_the_dashboard_shows() -> None:
    told = yaml.safe_load((APP / "manifest.yml").read_text())
    assert {"name", "category", "icon", "description"} == set(told) and told["name"] == "Reprise"


@pytest.mark.slow
def test_the_real_pages_are_shown_to_the_user_below_the_portals_path(tmp_path: Path) -> None:
    site = WebSite(tmp_path, 'url = "https://ood.example.org/pun/sys/reprise"')
    app = loaded(tmp_path, site.url, f"echo {site.token(OTHER)}")
    site.start()
    try:
        status, _, text = ask(app, "/jobs")
        assert status == "200 OK" and f'<span class="note">{pwd.getpwuid(OTHER).pw_name}</span>' in text
        links = set(re.findall(r'(?:href|src|action)="(/[^"]*)"', text))
        assert links and all(link.startswith("/pun/sys/reprise/") for link in links)
        style = next(link for link in links if "reprise.css" in link)
        assert ask(app, style.removeprefix("/pun/sys/reprise"))[1]["Content-Type"].startswith("text/css")
        assert ask(app, "/records")[0].startswith("403"), "only for staff"
        assert ask(app, "/api/jobs")[0] == "200 OK"
        forged = ask(
            app, "/api/campaigns", "POST", b"{}", HTTP_ORIGIN="https://evil.example", HTTP_HOST="ood.example.org"
        )
        assert forged[0].startswith("403") and "another site" in forged[2]
    finally:
        site.stop()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("passenger"), reason="needs passenger, with which Open OnDemand runs apps")
def test_passenger_runs_the_app(tmp_path: Path) -> None:
    port, directory = free_port(), tmp_path / "app"
    site = WebSite(tmp_path, f'url = "http://127.0.0.1:{port}"')
    shutil.copytree(APP, directory, ignore=shutil.ignore_patterns("__pycache__"))
    loaded(tmp_path, site.url, f"echo {site.token(OTHER)}")  # writes the command
    file = directory / "passenger_wsgi.py"
    text = file.read_text().replace("http://127.0.0.1:7818", site.url)
    file.write_text(text.replace("/usr/local/bin/reprise", f"{tmp_path}/reprise"))
    options = {
        **{"app-type": "wsgi", "startup-file": file.name, "engine": "builtin", "python": directory / "bin/python"},
        **{"address": "127.0.0.1", "port": port, "pid-file": tmp_path / "pid", "log-file": tmp_path / "log"},
        **{"max-pool-size": 1, "environment": "production"},
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    quiet = ["--disable-anonymous-telemetry", "--disable-security-update-check"]
    site.start()
    passenger = subprocess.Popen(["passenger", "start", *words, *quiet], cwd=directory, stdout=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:

            def answers() -> bool:
                with contextlib.suppress(httpx.TransportError):
                    return client.get("/jobs").status_code == 200
                return False

            wait_for("the app", answers)
            page = client.get("/jobs").text
            assert f'<span class="note">{pwd.getpwuid(OTHER).pw_name}</span>' in page
            style = re.findall(r'href="(/static/reprise.css[^"]*)"', page)[0]
            assert client.get(style).headers["content-type"].startswith("text/css")
            assert client.get("/records").status_code == 403
    finally:
        passenger.terminate()
        passenger.wait(30)
        site.stop()
