# SPDX-License-Identifier: Apache-2.0
"""Python's garbage collection takes milliseconds; these functions move it to times when no client waits for an answer.

Requests leave hardly any cyclic garbage. However, the queue of writes and the caches grow, and by default Python
collects after every 700 new objects.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

DUE = 2_000
"""Number of new objects after which a collection, of some 0.7 ms, runs the next time that no client waits."""
OVERDUE = 500_000
"""Number of new objects after which a collection, of some 150 ms, runs even if clients wait.

This is twice the number of objects in memory for 2,048 decisions that wait to be written.
"""
OLDER = 10
"""Number of collections of a generation after which the next older generation is collected, too."""


def tolerate() -> None:
    """Let garbage accumulate until `collect` is called, or until there are OVERDUE new objects."""
    gc.set_threshold(OVERDUE, OLDER, OLDER)


def collect() -> None:
    """Collect garbage if there are more than DUE new objects. Call this when no client waits."""
    young, middle, old = gc.get_count()
    if young > DUE:
        gc.collect(0 if middle <= OLDER else 1 if old <= OLDER else 2)


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Suspend collection within the context, and exclude all present objects from later collections.

    If collections were not suspended, they would traverse all records, which takes longer than loading them.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
