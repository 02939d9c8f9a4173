# SPDX-License-Identifier: Apache-2.0
"""Databases for tests, which run on SQLite and, in the slow tier, also on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reprise.database import Database
from tests import postgresql

ENGINES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def server() -> Iterator[postgresql.Server]:
    """Start a server of PostgreSQL for all tests of this process."""
    with postgresql.running() as one:
        yield one


def _new(request: pytest.FixtureRequest, path: Path) -> Iterator[Path | str]:
    if request.param == "sqlite":
        yield path
        return
    server = request.getfixturevalue("server")
    url = server.new()
    yield url
    server.drop(url)


@pytest.fixture(params=ENGINES)
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Yield the path or the URL of a new database without rows, to be opened with `create`."""
    yield from _new(request, tmp_path / "a.db")


@pytest.fixture(params=ENGINES)
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Yield the path or the URL of a second new database."""
    yield from _new(request, tmp_path / "b.db")


@pytest.fixture
def database(fresh: Path | str) -> Iterator[Database]:
    with Database.open(fresh, create=True) as opened:
        yield opened
