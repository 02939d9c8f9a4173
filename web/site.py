# SPDX-License-Identifier: Apache-2.0
"""State and dependencies that all routes share: the configuration, the database, and the user of a request."""

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
from reprise.web.arbiter_check import ArbiterCheck
from reprise.web.overview import Overview
from reprise.web.people import People, Person
from reprise.web.proxy_sign_in import ProxySignIn

COOKIE = "reprise_token"
BEARER = HTTPBearer(auto_error=False, description="A token of `reprise web token`")
IN_COOKIE = APIKeyCookie(name=COOKIE, auto_error=False, description="The token, as stored by the sign-in page")
BUSY_S = 2.0  # maximum number of seconds that a request waits for a locked database


class SignInError(MatcherError):
    """Raised if a request has no valid token, that is, if its user has not signed in."""


class Site:
    """The configuration and the state that is kept between requests.

    The constructor raises PeopleError if a configured group does not exist, and ProxySignInError if a configured
    proxy's secret cannot be used.
    """

    def __init__(self, config: Config, path: Path | None) -> None:
        self.config = config
        self.path = path
        self.people = People(config)
        self.proxy = ProxySignIn(config.web)
        self.overview = Overview(config)
        self.arbiter = ArbiterCheck(config.forwarding.maps)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Open the database read-only for one request, and close it at the end of the context."""
        with Database.open(self.config.database.path, read_only=True, busy_timeout_s=BUSY_S) as database:
            yield database


def site_of(request: Request) -> Site:
    """Return the site of the application that handles a request."""
    site: Site = request.app.state.site
    return site


def person_of(request: Request) -> Person:
    """Return the user that the proxy names or that a request's bearer token or cookie identifies.

    The proxy's word comes first, because a browser may still have the cookie of an earlier user. Raise SignInError if
    there is neither, and UnknownUserError if the proxy names somebody who may not use the pages.
    """
    site = site_of(request)
    if named := site.proxy.user(request.headers.raw, request.client.host if request.client else None):
        person = site.people.of_name(named)
        request.scope["person"] = person
        return person
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        token = request.cookies.get(COOKIE, "")
    if not token:
        raise SignInError("sign in with a token: `reprise web token` prints one")
    try:
        person = site.people.of_token(token.strip())
    except TokenError as error:
        raise SignInError(str(error)) from error
    request.scope["person"] = person
    return person


def staff_of(person: Annotated[Person, Depends(person_of)]) -> Person:
    """Return the user of a request if the user is staff. Raise StaffError otherwise."""
    if not person.staff:
        raise StaffError("only staff may see this page (access.staff, web.operators): ask a member of staff")
    return person


def operator_of(person: Annotated[Person, Depends(person_of)]) -> Person:
    """Return the user of a request if the user is an operator. Raise StaffError otherwise."""
    if not person.operator:
        raise StaffError("only operators may control campaigns (web.operators): ask an operator")
    return person


ASite = Annotated[Site, Depends(site_of)]
APerson = Annotated[Person, Depends(person_of)]
Staff = Annotated[Person, Depends(staff_of)]
STAFF = [Depends(staff_of)]  # for staff-only routes that do not need the user
Operator = Annotated[Person, Depends(operator_of)]
