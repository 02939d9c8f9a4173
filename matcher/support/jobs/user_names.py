# SPDX-License-Identifier: Apache-2.0
"""Lookup of users that are given by name or id on a command line."""

from __future__ import annotations

import pwd


def uid_of(user: str | None) -> int | None:
    """Return the id of a user given by name or id; None for a name that is unknown on this host."""
    if user is None:
        return None
    try:
        return int(user) if user.isdecimal() and len(user) < 11 else pwd.getpwnam(user).pw_uid
    except (KeyError, ValueError):  # the name contains a NUL
        return None


def name_or_id(user: str | None) -> tuple[str | None, int | None]:
    """Return (name, None) for a user given by name or id; (None, id) for an id that has no name on this host."""
    uid = uid_of(user) if user is not None and user.isdecimal() else None
    if uid is None:
        return user, None
    try:
        return pwd.getpwuid(uid).pw_name, None
    except KeyError:
        return None, uid
