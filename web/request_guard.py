# SPDX-License-Identifier: Apache-2.0
"""Checks of every request's size and origin, and headers for every response, such as the Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 256 * 1024  # maximum size of a request's body in bytes; a campaign file has a few hundred bytes
TOO_LARGE = f"the request is too large: the limit is {BODY_LIMIT} bytes"
SELF = "'self'"
SAFE = ("GET", "HEAD", "OPTIONS")
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""Content-Security-Policy for reports, which are self-contained and therefore include their style sheets."""
HEADERS: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def policy(styles: Sequence[str]) -> str:
    """Return the Content-Security-Policy for pages.

    The policy allows pages to load this site's files, and the style sheets with the hashes `styles`.
    """
    return (
        f"default-src 'none'; script-src 'self'; style-src {' '.join([SELF, *styles])}; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def is_api(scope: Scope) -> bool:
    """Return whether the request is for the REST interface, whose responses are JSON."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")).startswith("/api/")


class Guard:
    """Middleware that refuses requests that are too large or come from another site.

    The middleware adds HEADERS, and a Content-Security-Policy, to responses that do not have these headers.
    """

    def __init__(self, app: ASGIApp, styles: Sequence[str] = ()) -> None:
        self._app = app
        self._headers = {**HEADERS, "content-security-policy": policy(styles)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request: refuse it, or pass it to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        came = 0

        async def counted() -> Message:
            """Receive a message and count its bytes, because the size in the request's headers may be wrong."""
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > BODY_LIMIT:
                raise HTTPException(413, TOO_LARGE)
            return message

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if message["status"] == 413:
                    headers["connection"] = "close"  # without this, the server would read the rest of the body
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        problem = None if scope["method"] in SAFE else _problem(Headers(scope=scope))
        if problem:
            await _refusal(scope, *problem)(scope, receive, with_headers)
            return
        await self._app(scope, counted, with_headers)


def _problem(headers: Headers) -> tuple[int, str] | None:
    """Return the status and reason for refusing a request that changes something, or None if it is accepted."""
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > BODY_LIMIT:
        return 413, TOO_LARGE
    if not _is_from_here(headers):
        return 403, "the request came from another site: use the form on this one"
    return None


def _refusal(scope: Scope, status: int, words: str) -> Response:
    return JSONResponse({"detail": words}, status) if is_api(scope) else PlainTextResponse(f"{words}\n", status)


def _is_from_here(headers: Headers) -> bool:
    """Return whether a request comes from this site.

    Browsers send the origin of a form in headers. A client that does not send these headers is not a browser, so no
    other site can have made the client send its cookie.
    """
    if "sec-fetch-site" in headers:
        return headers["sec-fetch-site"] in ("same-origin", "none")
    if "origin" in headers:
        return urlsplit(headers["origin"]).netloc == headers.get("host")
    return True
