# SPDX-License-Identifier: Apache-2.0
"""The database of tuned jobs, decisions and outcomes. All SQL of the project is here; it imports nothing of it."""

from database.errors import DatabaseError, NotFoundError
from database.facade import Database

__all__ = ["Database", "DatabaseError", "NotFoundError"]
