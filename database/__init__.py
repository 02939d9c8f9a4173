# SPDX-License-Identifier: Apache-2.0
"""The database of tuned jobs, decisions and outcomes. All SQL of the project is here; it imports nothing of it."""

if __name__ != "reprise.database":  # found in the current directory or on PYTHONPATH; it would be loaded twice
    raise ImportError("this is reprise.database: import it by that name")

from reprise.database.errors import DatabaseError, NotFoundError
from reprise.database.facade import Database

__all__ = ["Database", "DatabaseError", "NotFoundError"]
