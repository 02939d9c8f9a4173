# SPDX-License-Identifier: Apache-2.0
"""The database of tuned jobs, decisions and outcomes.

This package contains all of the project's SQL, and imports no other part of the project except `reprise.errors`.
"""

# Python also finds this package as `database` if its parent directory is the current one or in PYTHONPATH. Importing
# `reprise.database` later would then load a second copy of the package, whose exceptions and classes differ from the
# first copy's.
if __name__ != "reprise.database":
    raise ImportError("this is reprise.database: import it by that name")

from reprise.database.errors import DatabaseError, NotFoundError
from reprise.database.facade import Database

__all__ = ["Database", "DatabaseError", "NotFoundError"]
