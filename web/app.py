# SPDX-License-Identifier: Apache-2.0
"""The web application, which combines the routes with access rules and error handling."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from reprise import __version__
from reprise.config import Config
from reprise.database.errors import DatabaseError, NotFoundError
from reprise.matcher.errors import MatcherError, NothingKnownError
from reprise.matcher.support.staff import StaffError
from reprise.matcher.wire.tokens import TokenError
from reprise.tuner.errors import TunerError
from reprise.web import api, pages
from reprise.web.drawing import library, style_sources
from reprise.web.overview import NotYetError
from reprise.web.proxy_sign_in import UnknownUserError
from reprise.web.rendering import page
from reprise.web.request_guard import Guard, is_api
from reprise.web.site import SignInError, Site
from reprise.web.static_files import PLOTLY, STATIC

log = logging.getLogger(__name__)

API = "api_"
FOR_A_DAY = {"cache-control": "max-age=86400"}
STATUS: dict[type[Exception], int] = {
    TokenError: 401,
    StaffError: 403,
    UnknownUserError: 403,
    NotFoundError: 404,
    NothingKnownError: 404,
    NotYetError: 503,
    TunerError: 409,
    MatcherError: 400,
    DatabaseError: 503,
}


AGAIN_S = "2"  # seconds after which a browser repeats a request that has failed with NotYetError


class WebError(Exception):
    """The web pages cannot be served; the message contains the remedy."""

    exit_status = 1


class _Guarded(FastAPI):
    """An application in which the guard comes before all other handlers, including the error handler."""

    styles: Sequence[str] = ()

    def build_middleware_stack(self) -> ASGIApp:
        return Guard(super().build_middleware_stack(), self.styles)


class _Static(StaticFiles):
    def file_response(self, *arguments: Any, **named: Any) -> Response:
        response = super().file_response(*arguments, **named)
        response.headers.update(FOR_A_DAY)
        return response


def root_path(config: Config) -> str:
    """Return the path prefix at which a reverse proxy serves the pages, from the setting web.url."""
    return urlsplit(config.web.url).path.rstrip("/")


def create(config: Config, path: Path | None = None) -> FastAPI:
    """Return the web application. Raise WebError or MatcherError on failure.

    `path` is the configuration file that processes started by the application use.
    """
    site = Site(config, path)

    @asynccontextmanager
    async def serving(_: FastAPI) -> AsyncIterator[None]:
        site.overview.start()
        yield
        site.overview.stop()

    app = _Guarded(
        title="Reprise",
        version=__version__,
        description="Settings of jobs, the reasons for them, and their gain. Authenticate with a token of "
        "`reprise web token`, as `Authorization: Bearer TOKEN`. Times are Unix seconds (UTC). Within a version, keys "
        "are only added.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # FastAPI's documentation pages would load files from other hosts
        redoc_url=None,
        lifespan=serving,
    )
    app.state.site = site
    script = library()
    if script is None:
        raise WebError("plotly.js is missing: install the Python package `plotly`, which `reprise[web]` requires")
    app.styles = style_sources(script.read_text(encoding="utf-8"))
    for route in api.router.routes:  # rename: `pages` has routes with the same names
        if isinstance(route, APIRoute) and not route.name.startswith(API):
            route.name = API + route.name
    app.include_router(api.router)
    app.include_router(pages.router)

    @app.get(f"/static/{PLOTLY}", include_in_schema=False)
    def plotly() -> FileResponse:
        return FileResponse(script, media_type="text/javascript", headers=FOR_A_DAY)

    app.mount("/static", _Static(directory=STATIC), name="static")
    for kind in (*STATUS, SignInError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _failed)
    return app


async def _failed(request: Request, error: Exception) -> Response:
    """Return the response to an error: JSON for paths below /api, otherwise a page."""
    for_program = is_api(request.scope)
    if isinstance(error, SignInError) and not for_program:
        return RedirectResponse(request.url_for("sign_in").path, 303)
    status, words = _said(error)
    again = isinstance(error, NotYetError)
    headers = {"retry-after": AGAIN_S, "refresh": AGAIN_S} if again else {}
    if for_program:
        headers |= {"www-authenticate": "Bearer"} if status == 401 else {}
        return JSONResponse({"detail": words}, status, headers=headers)
    told = page(
        request, "error", status=status, code=status, words=words, again=again, person=request.scope.get("person")
    )
    told.headers.update(headers)
    return told


def _said(error: Exception) -> tuple[int, str]:
    if isinstance(error, SignInError):
        return 401, str(error)
    if isinstance(error, RequestValidationError):
        problem = error.errors()[0]
        return 422, f"{'.'.join(str(part) for part in problem['loc'][1:])}: {problem['msg']}"
    if isinstance(error, HTTPException):
        return error.status_code, error.detail
    for kind, status in STATUS.items():
        if isinstance(error, kind):
            if kind is DatabaseError:
                log.warning("%s", error)
            return status, " ".join(str(error).split())
    log.error("failed", exc_info=error)
    return 500, "internal error: see the log of the pages"
