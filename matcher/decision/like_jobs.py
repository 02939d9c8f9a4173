# SPDX-License-Identifier: Apache-2.0
"""Key by which the jobs that match a record are grouped for comparison."""

from __future__ import annotations

from collections.abc import Hashable

from reprise.database.entities import Scope


def like(scope: Scope, *, nodes: int | None, tasks: int | None, application: str) -> Hashable:
    """Return a key by which one user's jobs with one record are grouped; jobs with equal keys are compared.

    Jobs are compared if they have the same number of nodes, or, if the number of nodes is unknown, the same number of
    tasks. A record for the whole cluster serves all applications; the key of its jobs therefore includes the
    application.
    """
    size = (nodes, None if nodes is not None else tasks)
    return (*size, application) if scope is Scope.CLUSTER else size
