# SPDX-License-Identifier: Apache-2.0
"""Keep campaigns from running as root, since their trials run a user's script."""

from __future__ import annotations

import os
from pathlib import Path

from reprise.database import store
from reprise.tuner.errors import TunerError

SERVICE_USER = "reprise"
"""Name of Reprise's service user, as in etc/sysusers.d/reprise.conf."""
NOTHING_RUNS = "replay"
"""Kind of the executor that draws results from a file and does not run any script."""


def effective_uid() -> int:
    """Return the effective user id of this process."""
    return os.geteuid()


def refuse_root(executor: str, database: Path) -> None:
    """Raise TunerError if root would run a user's script with this executor; the message names a suitable user."""
    if effective_uid() != 0 or executor == NOTHING_RUNS:
        return
    try:
        owner = store.owner_of(database)
    except OSError:
        owner = SERVICE_USER
    user = SERVICE_USER if owner == "root" else owner
    raise TunerError(
        "campaigns do not run as root, because their trials run the application's script: use the service user, "
        f"`runuser -u {user} -- reprise tune ...`"
    )
