# SPDX-License-Identifier: Apache-2.0
"""Training of models with one thread each: test processes with more threads than processors would take minutes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    import sklearn.ensemble  # noqa: F401 - its threads can be limited only once it is loaded

    with threadpool_limits(1):
        yield
