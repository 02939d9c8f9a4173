# SPDX-License-Identifier: Apache-2.0
"""The whole database, for command lines, pages and tests: what the tuner, support staff and the daemon use of it."""

from __future__ import annotations

from reprise.database.for_daemon import DaemonDatabase
from reprise.database.for_support import SupportDatabase
from reprise.database.for_tuner import TunerDatabase


class Database(TunerDatabase, SupportDatabase, DaemonDatabase):
    """Open it with `Database.open(path)`. For one thread at a time; several processes may have the file open."""
