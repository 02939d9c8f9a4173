# SPDX-License-Identifier: Apache-2.0
"""The whole database, for command lines, pages and tests: the views of tuner, support staff and daemon together."""

from __future__ import annotations

from reprise.database.for_daemon import DaemonDatabase
from reprise.database.for_support import SupportDatabase
from reprise.database.for_tuner import TunerDatabase


class Database(TunerDatabase, SupportDatabase, DaemonDatabase):
    """The whole database; open it with `Database.open(path)`.

    An object is for one thread at a time; several processes may open the file.
    """
