# SPDX-License-Identifier: Apache-2.0
"""Make every model train with one thread, because tests with more threads than processors would take minutes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    import sklearn.ensemble  # noqa: F401 - loaded here because only a loaded library's threads can be limited

    with threadpool_limits(1):
        yield
