# SPDX-License-Identifier: Apache-2.0
"""Models are trained by one thread each: several processes that wait for each other's threads take minutes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    import sklearn.ensemble  # noqa: F401 - its threads are limited once it is loaded

    with threadpool_limits(1):
        yield
