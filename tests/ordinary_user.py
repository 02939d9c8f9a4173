# SPDX-License-Identifier: Apache-2.0
"""Start a command as an ordinary user from tests that root runs, in a namespace where that user owns root's files."""

from __future__ import annotations

import os

UID = 1000
"""User id without an account: nothing outside such a namespace has this number."""
AS_ORDINARY_USER = ["unshare", "--user", f"--map-user={UID}", f"--map-group={UID}"] if os.geteuid() == 0 else []
"""Prefix for a command, which keeps its process id, its directory and everything else."""
