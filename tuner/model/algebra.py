# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on small matrices, without threads.

Modules import scipy in the function that needs it, because the import takes longer than most commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Disable the threads of the linear algebra libraries for a `with` block.

    On matrices this small, threads take 10 to 20 times the processor time, and many times the wall time if other
    programs run (40 to 100 observations, OpenBLAS 0.3).
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - it loads a second library besides numpy's; only loaded libraries can be limited

    return ThreadpoolController()
