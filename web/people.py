# SPDX-License-Identifier: Apache-2.0
"""Who looks at a page, and what they may see and do there."""

from __future__ import annotations

import grp
import os
import pwd
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from reprise.config import Config
from reprise.matcher.errors import MatcherError
from reprise.matcher.support.staff import Reader
from reprise.matcher.wire import tokens

REMEMBERED_S = 60.0  # a directory service is asked no more often; so long who leaves a group stays in it
REMEMBERED = 1000  # people


class PeopleError(MatcherError):
    """It cannot be told who may do what."""


@dataclass(frozen=True)
class Person:
    """A user who signed in. `operator`: may start and end campaigns."""

    name: str
    reader: Reader
    operator: bool

    @property
    def uid(self) -> int:
        return self.reader.uid

    @property
    def staff(self) -> bool:
        return self.reader.staff


class People:
    """Tells people by their tokens. Root, and the user that runs the pages, are staff; else the group is asked."""

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
        """Of a token."""
        return timedelta(hours=self._config.web.token_hours)

    def of_token(self, token: str) -> Person:
        """Who has this token. Raises TokenError."""
        uid = tokens.uid_of(tokens.key_of(self._config), token, self.lifetime)
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
        raise PeopleError(f"{setting}: no group is called {name!r} on this host: correct reprise.toml") from error
