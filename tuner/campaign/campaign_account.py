# SPDX-License-Identifier: Apache-2.0
"""Account that a campaign runs as: never root, since its trials run the script that a campaign file names."""

from __future__ import annotations

import os
from pathlib import Path

from reprise.database import store
from reprise.tuner.errors import TunerError

SERVICE_USER = "reprise"
"""Name of the service user in etc/sysusers.d/reprise.conf."""
NOTHING_RUNS = "replay"
"""Executor that runs nothing: it looks trials up in a file."""


def effective_uid() -> int:
    """Return the effective user id of this process."""
    return os.geteuid()


def refuse_root(executor: str, database: Path) -> None:
    """Raise TunerError, naming the user to run as, if root would run a user's script on this executor."""
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
