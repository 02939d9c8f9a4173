# SPDX-License-Identifier: Apache-2.0
"""Start commands as an ordinary user if root runs the tests, in a user namespace where this user owns root's files."""

from __future__ import annotations

import os

UID = 1000
"""The ordinary user's uid inside the namespace. No account with this uid is needed."""
AS_ORDINARY_USER = ["unshare", "--user", f"--map-user={UID}", f"--map-group={UID}"] if os.geteuid() == 0 else []
"""Prefix that makes a command run as the ordinary user. The command keeps the process id and directory of the
prefix."""
