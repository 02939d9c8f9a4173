# SPDX-License-Identifier: Apache-2.0
"""The key of a record's jobs that are compared with each other. Pure."""

from __future__ import annotations

from collections.abc import Hashable

from reprise.database.entities import Scope


def like(scope: Scope, *, nodes: int | None, tasks: int | None, application: str) -> Hashable:
    """Return a key that is equal for jobs of one user that are compared with each other.

    Such jobs have the same number of nodes, or if that is unknown, of tasks. A record for a whole cluster serves all
    applications, so its key includes the application.
    """
    size = (nodes, None if nodes is not None else tasks)
    return (*size, application) if scope is Scope.CLUSTER else size
