# SPDX-License-Identifier: Apache-2.0
"""Users of the web pages, and their rights."""

from __future__ import annotations

import grp
import os
import pwd
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from reprise.config import Config
from reprise.matcher.errors import MatcherError
from reprise.matcher.support.staff import Reader
from reprise.matcher.wire import tokens
from reprise.web.proxy_sign_in import UnknownUserError

REMEMBERED_S = 60.0  # seconds for which a user's groups are cached, to reduce the load on the directory service
REMEMBERED = 1000  # maximum number of users whose groups are cached

NAME_SHOWN = 100  # characters of an unknown name that are shown


class PeopleError(MatcherError):
    """Raised if users' rights cannot be determined, because a configured group does not exist."""


@dataclass(frozen=True)
class Person:
    """A signed-in user; an `operator` may start and stop campaigns. `by_proxy`: a proxy has signed the user in."""

    name: str
    reader: Reader
    operator: bool
    by_proxy: bool = False

    @property
    def uid(self) -> int:
        """User id."""
        return self.reader.uid

    @property
    def staff(self) -> bool:
        """Whether the user is staff."""
        return self.reader.staff


class People:
    """Look-up of users by their tokens, and of users' rights by their groups.

    Root and the user of the web server are always staff. Other users are staff if they are operators or in the group
    `access.staff`.
    """

    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._known: dict[int, tuple[float, Person]] = {}
        self._lock = threading.Lock()
        for setting, group in (("access.staff", config.access.staff), ("web.operators", config.web.operators)):
            if group:
                _group(setting, group)

    @property
    def lifetime(self) -> timedelta:
        """Time for which a token is valid."""
        return timedelta(hours=self._config.web.token_hours)

    def of_token(self, token: str) -> Person:
        """Return the user who owns a token. Raise TokenError if the token is invalid."""
        return self._of_uid(tokens.uid_of(tokens.key_of(self._config), token, self.lifetime))

    def of_name(self, name: str) -> Person:
        """Return the user whom the proxy has signed in under this name.

        Raise UnknownUserError for names that this host does not know, and for root and the service user: they have all
        rights, and an account with such a name at an identity provider proves nothing.
        """
        try:
            uid = pwd.getpwnam(name).pw_uid
        except (KeyError, ValueError) as error:  # ValueError: a NUL
            raise UnknownUserError(
                f"the proxy named {name[:NAME_SHOWN]!r}, whom this host does not know: see web.proxy_domain, or "
                "make the user known here"
            ) from error
        if uid in (0, os.geteuid()):
            raise UnknownUserError(f"the proxy named {name!r}, who can only sign in with a token")
        return replace(self._of_uid(uid), by_proxy=True)

    def _of_uid(self, uid: int) -> Person:
        with self._lock:
            at, person = self._known.get(uid, (0.0, None))
            if person is None or self._clock() - at > REMEMBERED_S:
                person = self._look_up(uid)
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[uid] = (self._clock(), person)
        return person

    def _look_up(self, uid: int) -> Person:
        try:
            entry = pwd.getpwuid(uid)
            name, groups = entry.pw_name, set(os.getgrouplist(entry.pw_name, entry.pw_gid))
        except KeyError:
            name, groups = str(uid), set()
        staff, operators = self._config.access.staff, self._config.web.operators
        operator = bool(operators) and _group("web.operators", operators) in groups
        is_staff = uid in (0, os.geteuid()) or operator or (bool(staff) and _group("access.staff", staff) in groups)
        return Person(name, Reader(uid, is_staff, staff), operator)


def _group(setting: str, name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError as error:
        raise PeopleError(f"{setting}: group {name!r} does not exist on this host: correct reprise.toml") from error
