# SPDX-License-Identifier: Apache-2.0
"""Access to other users' jobs, which commands show to staff only. The real protection is the database's file mode."""

from __future__ import annotations

import grp
import os
from dataclasses import dataclass

from reprise.matcher.errors import MatcherError


class StaffError(MatcherError):
    """The user is not staff, or the group of staff is unknown."""


@dataclass(frozen=True)
class Reader:
    """The user who runs a command, and whether the user is staff.

    `group` is the name of the staff's group, "" if everyone who can read the database is staff.
    """

    uid: int
    staff: bool
    group: str = ""

    def sees(self, uid: int) -> bool:
        """Return whether the reader may see texts that come from the user `uid`."""
        return self.staff or uid == self.uid

    def require_staff(self, what: str) -> None:
        """Raise StaffError unless the reader is staff; `what` completes "only members of the group GROUP ..."."""
        if not self.staff:
            raise StaffError(f"only members of the group {self.group} {what} (access.staff): ask one of them")


def reader(group: str) -> Reader:
    """Return the user who runs this process; root is always staff. Raises StaffError if the group does not exist."""
    uid = os.geteuid()
    if not group or uid == 0:
        return Reader(uid, True, group)
    try:
        number = grp.getgrnam(group).gr_gid
    except KeyError as error:
        raise StaffError(f"access.staff: this host has no group {group!r}: correct reprise.toml") from error
    return Reader(uid, number in {os.getegid(), *os.getgroups()}, group)
