# SPDX-License-Identifier: Apache-2.0
"""Rendering of pages from templates. The templates escape every value, because values may contain users' text."""

from __future__ import annotations

import math
from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse

from reprise.matcher.support.explanation import when
from reprise.templates import render
from reprise.web.people import Person
from reprise.web.site import site_of
from reprise.web.static_files import content_hash

UNKNOWN = "\N{EN DASH}"


def page(request: Request, name: str, *, person: Person | None, status: int = 200, **values: Any) -> HTMLResponse:
    """Return the page `name`, rendered from templates/web/NAME.html.j2 with these values."""

    def link(route: str, **words: Any) -> str:
        """Return the path of a route, including the reverse proxy's prefix."""
        return request.url_for(route, **words).path

    def file(name: str) -> str:
        """Return the path of a static file.

        The path contains a hash of the file, because browsers cache files for a day.
        """
        return f"{link('static', path=name)}?v={content_hash(name)}"

    forwarding = bool(site_of(request).config.forwarding.forwarders)  # the list of pages depends on it
    frame = {"link": link, "file": file, "person": person, "show": SHOW, "here": name, "forwarding": forwarding}
    text = render(f"web/{name}.html.j2", **frame, **values)
    return HTMLResponse(text, status)


def number(value: float | None, digits: int = 1) -> str:
    """Format a number with thousands separators, e.g. 1,234,567.8; return a dash if it is unknown or not finite."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def percent(share: float | None) -> str:
    """Format a share as a percentage; return a dash if it is unknown."""
    return UNKNOWN if share is None else f"{share:.1%}"


def moment(seconds: float | None) -> str:
    """Format a time that is given in Unix seconds; return a dash if it is unknown."""
    return UNKNOWN if seconds is None else when(seconds)


def span(seconds: float | None) -> str:
    """Format a duration that is given in seconds, e.g. as `12.3 s`, `4 min 5 s`, `3 h 12 min` or `2 d 4 h`.

    Return a dash if the duration is unknown.
    """
    if seconds is None:
        return UNKNOWN
    if seconds < 60:
        return f"{seconds:.1f} s"
    for unit, size, lower, part in (("min", 60, "s", 1), ("h", 3600, "min", 60), ("d", 86400, "h", 3600)):
        if seconds < 60 * size or (unit == "h" and seconds < 86400) or unit == "d":
            return f"{int(seconds // size)} {unit} {int(seconds % size // part)} {lower}"
    return UNKNOWN


def bounds(low: float | None, high: float | None) -> str:
    """Format the 95 % interval of a share as percentages; return "" if a bound is unknown."""
    return "" if low is None or high is None else f"{low:.1%} to {high:.1%}"


SHOW = {"number": number, "percent": percent, "moment": moment, "span": span, "bounds": bounds}
