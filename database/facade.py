# SPDX-License-Identifier: Apache-2.0
"""The whole database, for commands, web pages and tests; it has the methods for tuner, support staff and daemon."""

from __future__ import annotations

from reprise.database.for_daemon import DaemonDatabase
from reprise.database.for_support import SupportDatabase
from reprise.database.for_tuner import TunerDatabase


class Database(TunerDatabase, SupportDatabase, DaemonDatabase):
    """The whole database; open it with `Database.open(path)`.

    Only one thread at a time may use an object; several processes may open the file.
    """
