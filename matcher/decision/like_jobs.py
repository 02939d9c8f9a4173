# SPDX-License-Identifier: Apache-2.0
"""Which jobs of a record are compared with each other: like with like. Pure."""

from __future__ import annotations

from collections.abc import Hashable

from reprise.database.entities import Scope


def like(scope: Scope, *, nodes: int | None, tasks: int | None, application: str) -> Hashable:
    """Equal for jobs of one user that are compared: on as many nodes, or where that is not known, of as many tasks. A
    record for a whole cluster is given to all kinds of applications, and each is compared with itself."""
    size = (nodes, None if nodes is not None else tasks)
    return (*size, application) if scope is Scope.CLUSTER else size
