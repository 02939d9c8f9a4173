# SPDX-License-Identifier: Apache-2.0
"""The database of tuned jobs, decisions and outcomes. It contains all SQL of the project and imports no other part."""

if __name__ != "reprise.database":  # found in the current directory or on PYTHONPATH; it would be loaded twice
    raise ImportError("this is reprise.database: import it by that name")

from reprise.database.errors import DatabaseError, NotFoundError
from reprise.database.facade import Database

__all__ = ["Database", "DatabaseError", "NotFoundError"]
