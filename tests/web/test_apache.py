# SPDX-License-Identifier: Apache-2.0
"""Test the configuration of Apache on the page about Open OnDemand with a real Apache, and with attackers.

Users sign in with a password here, because Open OnDemand's OpenID Connect needs an identity provider.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.places import ROOT
from tests.waiting import wait_for
from tests.web.site import WebSite, free_port, served_as
from tests.web.test_nginx import OTHER, SECRET, USER, answers

APACHE = shutil.which("apache2")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not APACHE, reason="needs apache2, of Debian's apache2-bin")]

MODULES = (
    *("mpm_event", "authn_core", "authn_file", "auth_basic", "authz_core", "authz_user"),
    *("headers", "proxy", "proxy_http"),
)
PASSWORD = "x"  # noqa: S105


def configuration(directory: Path, port: int, pages: int) -> str:
    """Return Apache's configuration with the location from the page."""
    assert APACHE
    page = (ROOT / "docs/how-to/open-ondemand.md").read_text()
    location = textwrap.dedent(re.findall(r"```\n( *<Location \"/reprise/\">.*?)```", page, re.DOTALL)[0])
    assert "127.0.0.1:7818" in location and "AuthType openid-connect" in location
    location = location.replace("127.0.0.1:7818", f"127.0.0.1:{pages}")
    location = location.replace("/etc/ood/reprise-secret.conf", f"{directory}/secret.conf")
    basic = f"AuthType Basic\n  AuthName x\n  AuthUserFile {directory}/passwords"
    modules = Path(APACHE).resolve().parents[1] / "lib/apache2/modules"
    return "\n".join(
        [
            *(f"LoadModule {name}_module {modules}/mod_{name}.so" for name in MODULES),
            f"ServerName localhost\nListen 127.0.0.1:{port}\nPidFile {directory}/pid\nErrorLog {directory}/log",
            f"User #{os.getuid()}\nGroup #{os.getgid()}" if os.getuid() else "",
            f"DocumentRoot {directory}\nDefaultRuntimeDir {directory}",
            location.replace("AuthType openid-connect", basic),
        ]
    )


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    directory, port = tmp_path_factory.mktemp("proxied"), free_port()
    directory.chmod(0o755)
    (directory / "secret").write_text(SECRET)
    (directory / "secret").chmod(0o600)
    (directory / "secret.conf").write_text(f'RequestHeader set X-Reprise-Proxy-Secret "{SECRET}"\n')
    hashed = base64.b64encode(hashlib.sha1(PASSWORD.encode()).digest()).decode()  # noqa: S324 (Apache's format)
    (directory / "passwords").write_text("".join(f"{name}:{{SHA}}{hashed}\n" for name in (USER, OTHER, "root")))
    site = WebSite(directory, f'proxy_secret_file = "{directory}/secret"', f'url = "http://127.0.0.1:{port}/reprise"')
    (directory / "apache.conf").write_text(configuration(directory, port, site.port))
    site.start()
    command = [str(APACHE), "-d", str(directory), "-f", str(directory / "apache.conf"), "-D", "FOREGROUND"]
    apache = subprocess.Popen(command)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/reprise", timeout=30) as client:

            def works() -> bool:
                assert apache.poll() is None, (directory / "log").read_text() if (directory / "log").exists() else ""
                return answers(client)

            wait_for("Apache", works)
            yield client
    finally:
        apache.terminate()
        apache.wait(20)
        site.stop()


def who(client: httpx.Client, name: str | None, *headers: tuple[str, str]) -> str | int:
    """Return the user as whom a request is served, or the status if it is refused."""
    words = base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()
    signed_in = [] if name is None else [("authorization", f"Basic {words}")]
    return served_as(client.get("/jobs", headers=[*signed_in, *headers]))


def test_a_user_who_has_signed_in_needs_no_token(proxied: httpx.Client) -> None:
    assert who(proxied, USER) == USER and who(proxied, OTHER) == OTHER
    assert who(proxied, None) == 401 and who(proxied, "root") == 403
    page = proxied.get("/jobs", auth=(USER, PASSWORD)).text
    style = re.findall(r'href="/reprise(/static/reprise\.css[^"]*)"', page)[0]
    assert proxied.get(style, auth=(USER, PASSWORD)).status_code == 200


@pytest.mark.parametrize("secret", [SECRET, "x"])
def test_headers_of_a_client_are_replaced_or_make_the_request_void(proxied: httpx.Client, secret: str) -> None:
    own = ("X-Forwarded-User", OTHER), ("X-Reprise-Proxy-Secret", secret)
    assert who(proxied, USER, *own) == USER
    assert who(proxied, USER, *own, *own) == USER
    assert who(proxied, None, *own) == 401
    for name, value in own:
        assert who(proxied, USER, (name.replace("-", "_"), value)) in (303, 400), name
    assert who(proxied, USER, ("Connection", "X-Forwarded-User")) in (USER, 303), "a header that is asked to be removed"
    assert who(proxied, USER, ("Connection", "X-Reprise-Proxy-Secret")) in (USER, 303)
