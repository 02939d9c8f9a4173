# SPDX-License-Identifier: Apache-2.0
"""Python's garbage collection, which takes milliseconds, moved to pauses in which no client waits for an answer.

Requests leave hardly any cyclic garbage. However, the queue of writes and the caches grow, and by default Python
collects after every 700 new objects.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

DUE = 2_000
"""New objects after which a collection runs in the next pause; it takes some 0.7 ms."""
OVERDUE = 500_000
"""New objects after which a collection runs even if clients wait; it takes some 150 ms.

The number is twice the number of objects of 2,048 decisions that wait to be written.
"""
OLDER = 10
"""Collections of a generation after which the next older generation is collected, too."""


def tolerate() -> None:
    """Let garbage accumulate until `collect` is called, or until OVERDUE objects are new."""
    gc.set_threshold(OVERDUE, OLDER, OLDER)


def collect() -> None:
    """Collect garbage if more than DUE objects are new; to be called when no client waits."""
    young, middle, old = gc.get_count()
    if young > DUE:
        gc.collect(0 if middle <= OLDER else 1 if old <= OLDER else 2)


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Suspend collection within the context, and exclude all present objects from later collections.

    Otherwise collections would traverse all records, which takes longer than loading them.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
