# SPDX-License-Identifier: Apache-2.0
"""How tests that root runs start a command as an ordinary user: in a namespace in which root's files are theirs."""

from __future__ import annotations

import os

UID = 1000
"""Nobody in particular: nothing outside such a namespace has this number."""
AS_ORDINARY_USER = ["unshare", "--user", f"--map-user={UID}", f"--map-group={UID}"] if os.geteuid() == 0 else []
"""To stand before a command, which keeps its process id, its directory and all else."""
