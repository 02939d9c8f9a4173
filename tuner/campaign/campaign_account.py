# SPDX-License-Identifier: Apache-2.0
"""As whom does a campaign run? Never as root: its trials run the script that a campaign file names."""

from __future__ import annotations

import os
from pathlib import Path

from reprise.database import store
from reprise.tuner.errors import TunerError

SERVICE_USER = "reprise"
"""As etc/sysusers.d/reprise.conf names it."""
NOTHING_RUNS = "replay"
"""The executor whose trials are looked up in a file."""


def effective_uid() -> int:
    """As whom this process acts."""
    return os.geteuid()


def refuse_root(executor: str, database: Path) -> None:
    """Raise TunerError where root would run a user's script on this executor, with whom to run it as."""
    if effective_uid() != 0 or executor == NOTHING_RUNS:
        return
    try:
        owner = store.owner_of(database)
    except OSError:
        owner = SERVICE_USER
    user = SERVICE_USER if owner == "root" else owner
    raise TunerError(
        "campaigns do not run as root, since their trials run whatever the application's script says: run this as the "
        f"service user, `runuser -u {user} -- reprise tune ...`"
    )
