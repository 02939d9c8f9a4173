# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on small matrices, without threads.

Whoever imports scipy does it in the function that needs it: it takes longer than most commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """No threads of the linear algebra libraries: on matrices as small as ours they take 10 to 20 times the processor
    time, and where other programs run many times the wall time (40 to 100 observations, OpenBLAS 0.3)."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - it brings a library of its own beside numpy's: both must be there to be limited

    return ThreadpoolController()
