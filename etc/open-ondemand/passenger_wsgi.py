# SPDX-License-Identifier: Apache-2.0
"""App of Open OnDemand that shows the web pages of Reprise to the user who has signed in there.

Open OnDemand runs the app as that user. The app gets a token with `reprise web token`, like the user in a shell, and
adds it to each request that it passes on to the pages. So no other user can be named, and there is no secret to keep.

It needs only Python 3.6, which Open OnDemand has on all its systems.
"""

import subprocess
import time
from html import escape
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import quote, urlsplit

PAGES = "http://127.0.0.1:7818"
"""Address of the pages, as this host reaches them; use https if they are on another host."""
REPRISE = "/usr/local/bin/reprise"
"""The command, which must reach the matcher from this host."""
DASHBOARD = "/pun/sys/dashboard"

TIMEOUT_S = 60
TOKEN_S = 3600.0
"""Seconds after which a new token is made; a token is valid for 12 hours by default."""
BODY_LIMIT = 256 * 1024  # bytes; the limit of the pages
CHUNK = 65536
PASSED = (
    "ACCEPT",
    "ACCEPT_LANGUAGE",
    "HOST",
    "IF_MODIFIED_SINCE",
    "IF_NONE_MATCH",
    "ORIGIN",
    "REFERER",
    "SEC_FETCH_SITE",
)
"""Headers that are passed on. Cookies of Open OnDemand and its `Authorization` are not: they are not for the pages.

Host, Origin and Sec-Fetch-Site let the pages recognize forms of other sites.
"""
NOT_RETURNED = {"connection", "content-length", "date", "keep-alive", "server", "set-cookie", "transfer-encoding"}

_token = {"text": "", "at": 0.0}


class TokenError(Exception):
    """The user has got no token; the message says why."""


def application(environ, start_response):
    """Answer a request (PEP 3333)."""
    method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO") or "/"
    if path == "/sign-out":  # the user is signed in as long as in Open OnDemand
        return _redirect(start_response, DASHBOARD)
    if path == "/sign-in":
        return _redirect(start_response, environ.get("SCRIPT_NAME", "") + "/")
    if "text/event-stream" in environ.get("HTTP_ACCEPT", ""):
        # Following a campaign would occupy one of the few processes that all apps of the user share.
        start_response("204 No Content", [])
        return [b""]
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length) > BODY_LIMIT:
        return _say(start_response, "413 Payload Too Large", "The request is too large.")
    body = environ["wsgi.input"].read(int(length))
    try:
        answer = _asked(environ, method, path, body, _current_token())
        if _is_refused(answer) and method in ("GET", "HEAD"):  # the token has expired, or the site revoked all tokens
            answer.close()
            answer = _asked(environ, method, path, body, _current_token(renew=True))
    except TokenError as error:
        return _say(start_response, "503 Service Unavailable", f"You cannot be signed in: {error}")
    except (OSError, HTTPException) as error:
        return _say(start_response, "502 Bad Gateway", f"The pages of Reprise do not answer: {error}")
    headers = [(name, value) for name, value in answer.getheaders() if name.lower() not in NOT_RETURNED]
    if answer.getheader("Content-Length"):
        headers.append(("Content-Length", answer.getheader("Content-Length")))
    start_response("{} {}".format(answer.status, answer.reason or "Status"), headers)
    return _chunks(answer)


def _asked(environ, method, path, body, token):
    """Send a request to the pages, and return their answer."""
    headers = {name.replace("_", "-").title(): environ["HTTP_" + name] for name in PASSED if "HTTP_" + name in environ}
    if environ.get("CONTENT_TYPE"):
        headers["Content-Type"] = environ["CONTENT_TYPE"]
    headers["Authorization"] = "Bearer " + token
    headers["Connection"] = "close"
    query = environ.get("QUERY_STRING", "")
    target = quote(path.encode("latin-1"), safe="/:@!$&'()*+,;=~") + ("?" + query if query else "")
    parts = urlsplit(PAGES)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=TIMEOUT_S)
    connection.request(method, target, body or None, headers)
    return connection.getresponse()


def _is_refused(answer):
    """Return whether the pages want the user to sign in."""
    return answer.status == 401 or (answer.status == 303 and (answer.getheader("Location") or "").endswith("/sign-in"))


def _current_token(renew=False):
    """Return the user's token. Raise TokenError if the matcher makes none."""
    if renew or time.monotonic() - _token["at"] > TOKEN_S or not _token["text"]:
        try:
            done = subprocess.run(  # noqa: UP022 (Python 3.6)
                [REPRISE, "web", "token"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TokenError(str(error)) from error
        if done.returncode != 0:
            raise TokenError(done.stderr.decode(errors="replace").strip())
        _token["text"], _token["at"] = done.stdout.decode().strip(), time.monotonic()
    return _token["text"]


def _chunks(answer):
    """Yield the body of an answer."""
    try:
        while True:
            chunk = answer.read(CHUNK)
            if not chunk:
                return
            yield chunk
    finally:
        answer.close()


def _redirect(start_response, where):
    start_response("303 See Other", [("Location", where), ("Content-Type", "text/plain"), ("Content-Length", "0")])
    return [b""]


def _say(start_response, status, words):
    text = f"<!doctype html><title>Reprise</title><p>{escape(words)}</p>\n".encode()
    start_response(status, [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(text)))])
    return [text]
