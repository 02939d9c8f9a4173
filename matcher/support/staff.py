# SPDX-License-Identifier: Apache-2.0
"""Who is told of other users' jobs. The database's file mode is what keeps it; this keeps it off the screen."""

from __future__ import annotations

import grp
import os
from dataclasses import dataclass

from reprise.matcher.errors import MatcherError


class StaffError(MatcherError):
    """Only staff may do that, or who they are cannot be told."""


@dataclass(frozen=True)
class Reader:
    """Who runs the command. `group`: the one of staff, empty where all who may read are."""

    uid: int
    staff: bool
    group: str = ""

    def sees(self, uid: int) -> bool:
        """Whether words of that user's are told."""
        return self.staff or uid == self.uid

    def require_staff(self, what: str) -> None:
        """Raise StaffError unless they are staff; `what`: to follow "only members of GROUP"."""
        if not self.staff:
            raise StaffError(f"only members of the group {self.group} {what} (access.staff): ask one of them")


def reader(group: str) -> Reader:
    """Who runs this, where `group` is the staff's. Root is. Raises StaffError where nobody knows the group."""
    uid = os.geteuid()
    if not group or uid == 0:
        return Reader(uid, True, group)
    try:
        number = grp.getgrnam(group).gr_gid
    except KeyError as error:
        raise StaffError(f"access.staff: no group is called {group!r} on this host: correct reprise.toml") from error
    return Reader(uid, number in {os.getegid(), *os.getgroups()}, group)
