# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that need a real Slurm: a cluster for the session; the logs of all where a test failed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import install


@pytest.fixture(scope="session")
def root() -> Path:
    """The system that the clusters run: this machine's own (`tests/matrix/` has others)."""
    return Path("/")


@pytest.fixture(scope="session")
def cluster() -> Iterator[VirtualCluster]:
    """Four nodes, three users, Reprise installed, its daemon not running."""
    with VirtualCluster() as running:
        install(running)
        yield running


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Show the daemons' logs below a failure."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for running in VirtualCluster.running:
            report.sections.append(("logs of the virtual cluster", running.logs()))
