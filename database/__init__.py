# SPDX-License-Identifier: Apache-2.0
"""The database of tuned jobs, decisions and outcomes.

This package contains all of the project's SQL, and imports no other part of the project except `reprise.errors`.
"""

# the package was found in the current directory or on PYTHONPATH, and would be loaded twice
if __name__ != "reprise.database":
    raise ImportError("this is reprise.database: import it by that name")

from reprise.database.errors import DatabaseError, NotFoundError
from reprise.database.facade import Database

__all__ = ["Database", "DatabaseError", "NotFoundError"]
