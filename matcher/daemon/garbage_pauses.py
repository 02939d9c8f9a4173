# SPDX-License-Identifier: Apache-2.0
"""When Python looks for garbage: while nobody waits for an answer, since it takes milliseconds.

Requests leave hardly any that is not freed at once. But what waits to be written, and what is kept of their values,
grow, and after every 700 objects more it would look by itself.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

DUE = 2_000
"""Objects more than there were, after which it looks when nobody waits (some 0.7 ms)."""
OVERDUE = 500_000
"""The same whoever waits (some 150 ms): what 2,048 decisions that wait to be written are made of, twice."""
OLDER = 10
"""So many times, then among what was there before too."""


def tolerate() -> None:
    """Look for it when `collect` is called, or when it is overdue."""
    gc.set_threshold(OVERDUE, OLDER, OLDER)


def collect() -> None:
    """Look for it, if there may be some. To be called when nobody waits."""
    young, middle, old = gc.get_count()
    if young > DUE:
        gc.collect(0 if middle <= OLDER else 1 if old <= OLDER else 2)


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Keep Python from looking for garbage, and never look through what is made within: among all records, that would
    take longer than the rest."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
