# SPDX-License-Identifier: Apache-2.0
"""Let tests that root runs start a command as an ordinary user, in a namespace where this user owns root's files."""

from __future__ import annotations

import os

UID = 1000
"""The ordinary user's id inside the namespace. It needs no account."""
AS_ORDINARY_USER = ["unshare", "--user", f"--map-user={UID}", f"--map-group={UID}"] if os.geteuid() == 0 else []
"""Prefix of a command; it does not change the command's process id or directory."""
