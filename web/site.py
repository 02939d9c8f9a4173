# SPDX-License-Identifier: Apache-2.0
"""State that all routes share: the configuration, the database, the user and the user's rights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPBearer

from reprise.config import Config
from reprise.database import Database
from reprise.matcher.errors import MatcherError
from reprise.matcher.support.staff import StaffError
from reprise.matcher.wire.tokens import TokenError
from reprise.web.overview import Overview
from reprise.web.people import People, Person

COOKIE = "reprise_token"
BEARER = HTTPBearer(auto_error=False, description="A token of `reprise web token`")
IN_COOKIE = APIKeyCookie(name=COOKIE, auto_error=False, description="The token, as stored by the sign-in page")
BUSY_S = 2.0  # seconds that a page waits for a locked database


class SignInError(MatcherError):
    """Nobody has signed in."""


class Site:
    """The configuration, and state that is kept between requests. Raise PeopleError if a group does not exist."""

    def __init__(self, config: Config, path: Path | None) -> None:
        self.config = config
        self.path = path
        self.people = People(config)
        self.overview = Overview(config)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Open the database for reading, for one request."""
        with Database.open(self.config.database.path, read_only=True, busy_timeout_s=BUSY_S) as database:
            yield database


def site_of(request: Request) -> Site:
    """Return the site of a request."""
    site: Site = request.app.state.site
    return site


def person_of(request: Request) -> Person:
    """Return the user, by a bearer token or the cookie. Raise SignInError if there is neither."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        token = request.cookies.get(COOKIE, "")
    if not token:
        raise SignInError("sign in with a token: `reprise web token` prints one")
    try:
        person = site_of(request).people.of_token(token.strip())
    except TokenError as error:
        raise SignInError(str(error)) from error
    request.scope["person"] = person
    return person


def staff_of(person: Annotated[Person, Depends(person_of)]) -> Person:
    """Return the user, who must be staff. Raise StaffError otherwise."""
    if not person.staff:
        raise StaffError("only staff may see this (access.staff, web.operators): ask one of them")
    return person


def operator_of(person: Annotated[Person, Depends(person_of)]) -> Person:
    """Return the user, who must be an operator. Raise StaffError otherwise."""
    if not person.operator:
        raise StaffError("only operators may do this (web.operators): ask one of them")
    return person


ASite = Annotated[Site, Depends(site_of)]
APerson = Annotated[Person, Depends(person_of)]
Staff = Annotated[Person, Depends(staff_of)]
STAFF = [Depends(staff_of)]  # for routes that do not use the user
Operator = Annotated[Person, Depends(operator_of)]
