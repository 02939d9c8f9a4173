# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests with a real Slurm: a cluster for the whole session, whose logs are shown if a test fails."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import install

LONGEST_FIRST = (
    *("test_campaign.py", "test_quickstart.py", "test_together.py", "test_campaign_jobs.py", "test_replicas.py"),
    *("test_main_job.py", "test_rules_on_openmpi.py", "test_mpiio.py", "test_ways.py", "test_faults.py"),
)
"""Test files that start first, because each keeps a pytest process busy for a long time.

By default, pytest-xdist starts the files with the most tests first. Files with few but long tests, such as
test_quickstart.py, would then run last.
"""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest test files of this folder first, so that no long file is still running after all others."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    folder = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        return places.get(item.path.name, len(places)) if item.path.parent == folder else len(places)

    items.sort(key=place)


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the root directory of the system that clusters run: this machine's. `tests/matrix/` overrides this."""
    return Path("/")


@pytest.fixture(scope="session")
def cluster() -> Iterator[VirtualCluster]:
    """Start a cluster with four nodes, three users and Reprise installed, without its daemon.

    The cluster's links are slow. The time of a broadcast then depends on the links rather than on the machine's load,
    so that campaigns find gains.
    """
    with VirtualCluster(rate="250mbit") as running:
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
