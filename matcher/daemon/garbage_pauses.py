# SPDX-License-Identifier: Apache-2.0
"""Garbage collection while nobody waits for an answer, since it takes milliseconds.

Requests leave hardly any cyclic garbage. But the queue of writes and the caches grow, and by default Python would
collect after every 700 new objects.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

DUE = 2_000
"""New objects after which a collection runs once nobody waits (some 0.7 ms)."""
OVERDUE = 500_000
"""New objects after which a collection runs even if clients wait (some 150 ms): twice the objects of 2,048 decisions
that wait to be written."""
OLDER = 10
"""Collections of a generation after which the next older one is collected too."""


def tolerate() -> None:
    """Let garbage accumulate until `collect` is called or a collection is overdue."""
    gc.set_threshold(OVERDUE, OLDER, OLDER)


def collect() -> None:
    """Collect garbage if enough may have accumulated. To be called when nobody waits."""
    young, middle, old = gc.get_count()
    if young > DUE:
        gc.collect(0 if middle <= OLDER else 1 if old <= OLDER else 2)


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Suspend collection, and exclude all objects made within from later collections.

    With all records among them, a collection would take longer than the work itself.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
