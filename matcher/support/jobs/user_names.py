# SPDX-License-Identifier: Apache-2.0
"""Users named on a command line, by name or by id."""

from __future__ import annotations

import pwd


def uid_of(user: str | None) -> int | None:
    """Return the user's id; None for a name that this host does not know."""
    if user is None:
        return None
    try:
        return int(user) if user.isdecimal() and len(user) < 11 else pwd.getpwnam(user).pw_uid
    except (KeyError, ValueError):  # the name contains a NUL
        return None


def name_or_id(user: str | None) -> tuple[str | None, int | None]:
    """Return (name, None), or (None, id) for an id without a name on this host."""
    uid = uid_of(user) if user is not None and user.isdecimal() else None
    if uid is None:
        return user, None
    try:
        return pwd.getpwuid(uid).pw_name, None
    except KeyError:
        return None, uid
