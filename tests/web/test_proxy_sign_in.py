# SPDX-License-Identifier: Apache-2.0
"""Test the sign-in by a proxy that names the user, against clients that are not the proxy."""

from __future__ import annotations

import logging
import pwd
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from reprise.config import Web
from reprise.web.app import create
from reprise.web.proxy_sign_in import ProxySignIn, ProxySignInError
from tests.web.site import WebSite

SECRET = "0123456789abcdef" * 4
USER = pwd.getpwuid(1).pw_name
OTHER = pwd.getpwuid(2).pw_name
FROM_PROXY = {"x-forwarded-user": USER, "x-reprise-proxy-secret": SECRET}


def secret_file(directory: Path, secret: str = SECRET, mode: int = 0o644) -> Path:
    path = directory / "proxy-secret"
    path.write_text(f"{secret}\n")
    path.chmod(mode & ~0o027)
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> WebSite:
    directory = tmp_path_factory.mktemp("proxied")
    return WebSite(directory, f'proxy_secret_file = "{secret_file(directory)}"')


@pytest.fixture(scope="module")
def pages(site: WebSite) -> Iterator[TestClient]:
    with TestClient(create(site.config, site.file), follow_redirects=False, client=("127.0.0.1", 5)) as client:
        yield client


def who(client: TestClient, headers: object) -> str:
    """Return the user as whom a request is served, or "" if it has to sign in."""
    answer = client.get("/jobs", headers=headers)  # type: ignore[arg-type]
    if answer.status_code == 303:
        assert answer.headers["location"] == "/sign-in"
        return ""
    assert answer.status_code == 200, answer.text
    return next((name for name in (USER, OTHER, "root") if f'<span class="note">{name}' in answer.text), "?")


def test_the_proxys_user_is_signed_in_and_cannot_sign_out_here(pages: TestClient) -> None:
    assert who(pages, FROM_PROXY) == USER
    assert "Sign out" not in pages.get("/jobs", headers=FROM_PROXY).text
    assert pages.get("/api/jobs", headers=FROM_PROXY).status_code == 200


def test_the_proxys_user_has_only_their_own_rights(pages: TestClient) -> None:
    assert pages.get("/records", headers=FROM_PROXY).status_code == 403
    assert pages.get("/campaigns", headers=FROM_PROXY).status_code == 403


def test_tokens_still_work_beside_the_proxy(pages: TestClient, site: WebSite) -> None:
    bearer = {"authorization": f"Bearer {site.token(2)}"}
    assert who(pages, bearer) == OTHER
    assert who(pages, {**bearer, "x-reprise-proxy-secret": SECRET, "x-forwarded-user": ""}) == OTHER
    assert "by the site through which you came" in pages.get("/sign-in").text


def test_the_proxys_word_replaces_the_cookie_of_an_earlier_user(pages: TestClient, site: WebSite) -> None:
    cookie = {"cookie": f"reprise_token={site.token(0)}"}
    assert who(pages, cookie) == "root" and who(pages, {**cookie, **FROM_PROXY}) == USER


U, S, SAID = "x-forwarded-user", "x-reprise-proxy-secret", SECRET


@pytest.mark.parametrize(
    "headers",
    [
        [(U, USER)],
        [(U, USER), (S, "")],
        [(U, USER), (S, SAID[:-1])],
        [(U, USER), (S, SAID + "0")],
        [(U, USER), (S, SAID.upper())],
        [(U, USER), (S, "0" * 64), (S, SAID)],
        [(U, USER), (S, SAID), (S, SAID)],
        [(U, USER), (U, OTHER), (S, SAID)],
        [(U, USER), (U, USER), (S, SAID)],
        [(U, ""), (U, USER), (S, SAID)],
        [("x_forwarded_user", USER), (S, SAID)],
        [("X-Forwarded_User", USER), (S, SAID)],
        [(U, USER), ("x_forwarded_user", OTHER), (S, SAID)],
        [(U, USER), ("x_reprise_proxy_secret", SAID)],
        [(U, USER), (S, SAID), ("x_reprise_proxy_secret", SAID)],
        [(U, ""), (S, SAID)],
        [(U, "   "), (S, SAID)],
        [(S, SAID)],
        [("x-forwarded-preferred-username", USER), (S, SAID)],
        [("x-remote-user", USER), (S, SAID)],
        [(U, USER), ("authorization", f"Bearer {SAID}")],
    ],
    ids=lambda headers: " ".join(f"{name}={value[:6]}{len(value)}" for name, value in headers),
)
def test_whoever_is_not_the_proxy_must_sign_in(pages: TestClient, headers: list[tuple[str, str]]) -> None:
    assert who(pages, headers) == ""
    assert pages.get("/api/jobs", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("address", "is_believed"),
    [
        *[("127.0.0.1", True), ("::1", True), ("::ffff:127.0.0.1", True)],
        *[("127.0.0.2", False), ("10.0.0.7", False), ("::2", False), ("::ffff:10.0.0.7", False), ("testclient", False)],
    ],
)
def test_the_secret_from_a_wrong_address_is_not_believed(site: WebSite, address: str, is_believed: bool) -> None:
    with TestClient(create(site.config), follow_redirects=False, client=(address, 5)) as client:
        assert who(client, FROM_PROXY) == (USER if is_believed else "")
        assert who(client, {**FROM_PROXY, "x-forwarded-for": "127.0.0.1"}) == (USER if is_believed else "")


@pytest.mark.parametrize(
    "name", ["root", "0", "1", "no-such-user", f"{USER} ", f" {USER}", f"{USER},{OTHER}", "a\tb", "é", "x" * 5000]
)
def test_names_of_root_and_of_unknown_users_are_refused(pages: TestClient, name: str) -> None:
    answer = pages.get("/jobs", headers=[(U.encode(), name.encode()), (S.encode(), SAID.encode())])
    if name.strip() == USER:
        assert answer.status_code == 200, "white space around a header's value does not belong to it"
        return
    assert answer.status_code == 403 and "the proxy named" in answer.text and len(answer.text) < 5000


def test_a_name_cannot_write_into_the_page(pages: TestClient) -> None:
    answer = pages.get("/jobs", headers={**FROM_PROXY, U: "<script>alert(1)</script>"})
    assert answer.status_code == 403 and "<script>alert" not in answer.text and "&lt;script&gt;" in answer.text


def test_a_request_of_another_site_is_refused_although_the_proxy_adds_the_user(pages: TestClient) -> None:
    """The browser sends the proxy's own cookie with a form on any site; the origin gives it away."""
    for other in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        answer = pages.post("/api/campaigns", json={}, headers={**FROM_PROXY, **other})
        assert answer.status_code == 403 and "another site" in answer.text


def test_only_names_of_the_domain_are_accepted(tmp_path: Path) -> None:
    file = secret_file(tmp_path)
    site = WebSite(tmp_path, f'proxy_secret_file = "{file}"', 'proxy_domain = "Example.org"')
    with TestClient(create(site.config), follow_redirects=False, client=("127.0.0.1", 5)) as client:
        assert who(client, {**FROM_PROXY, U: f"{USER}@example.ORG"}) == USER
        for name in (
            USER,
            f"{USER}@evil.example",
            f"{USER}@example.org.evil",
            f"{USER}@evil@example.org",
            "@example.org",
        ):
            assert client.get("/jobs", headers={**FROM_PROXY, U: name}).status_code == 403, name


def test_without_a_secret_no_proxy_is_believed(empty: WebSite) -> None:
    with TestClient(create(empty.config), follow_redirects=False, client=("127.0.0.1", 5)) as client:
        for secret in ("", SECRET, "None"):
            assert who(client, {**FROM_PROXY, S: secret}) == ""
        assert "by the site" not in client.get("/sign-in").text


@pytest.mark.parametrize("secret", ["", "short", "x" * 31])
def test_a_secret_that_could_be_guessed_is_refused_at_the_start(tmp_path: Path, secret: str) -> None:
    with pytest.raises(ProxySignInError, match=r"web\.proxy_secret_file: "):
        ProxySignIn(Web(proxy_secret_file=secret_file(tmp_path, secret)))


def test_a_secret_that_others_can_read_is_refused_at_the_start(tmp_path: Path) -> None:
    path = secret_file(tmp_path)
    path.chmod(0o644)
    with pytest.raises(ProxySignInError, match="is open to other users"):
        ProxySignIn(Web(proxy_secret_file=path))


def test_an_attempt_is_one_line_in_the_log_without_the_secret(site: WebSite, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "reprise")
    with TestClient(create(site.config), follow_redirects=False, client=("127.0.0.1", 5)) as client:
        for _ in range(20):
            who(client, {**FROM_PROXY, S: f"{SECRET[:-1]}x"})
    (line,) = [text for text in caplog.messages if "proxy" in text]
    assert line == 'event=proxy-not-believed address=127.0.0.1 why="the secret is wrong"'


@pytest.mark.slow
def test_a_real_server_sees_the_real_address_and_every_header(tmp_path: Path) -> None:
    """Uvicorn would by default replace the peer's address by one that a header names."""
    file = secret_file(tmp_path)
    site = WebSite(tmp_path, f'proxy_secret_file = "{file}"', 'proxy_addresses = ["192.0.2.1"]')
    site.start()
    try:
        assert (
            _status(
                site, f"X-Forwarded-User: {USER}", f"X-Reprise-Proxy-Secret: {SECRET}", "X-Forwarded-For: 192.0.2.1"
            )
            == 303
        )
        site.stop()
        site.file.write_text(site.file.read_text().replace("192.0.2.1", "127.0.0.1"))
        site.start()
        good = [f"X-Forwarded-User: {USER}", f"X-Reprise-Proxy-Secret: {SECRET}"]
        assert _status(site, *good) == 200
        assert _status(site, *good, f"X-Forwarded-User: {OTHER}") == 303
        assert _status(site, *good, f"X_Forwarded_User: {OTHER}") == 303
        assert _status(site, f"X-Forwarded-User: {USER}\r\n {OTHER}", good[1]) in (303, 400, 403), "a folded line"
        assert _status(site, f"X-Forwarded-User : {USER}", good[1]) in (303, 400), "a blank before the colon"
    finally:
        site.stop()


def _status(site: WebSite, *lines: str) -> int:
    """Send a request with exactly these header lines; return the status of the answer."""
    with socket.create_connection(("127.0.0.1", site.port), 20) as connection:
        head = "\r\n".join(["GET /jobs HTTP/1.1", "Host: x", *lines, "Connection: close", "", ""])
        connection.sendall(head.encode())
        return int(connection.makefile("rb").readline().split()[1])
