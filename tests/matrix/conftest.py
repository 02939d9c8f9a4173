# SPDX-License-Identifier: Apache-2.0
"""Run the tests collected here once for each release, with all tests of one release together."""

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import pytest_runtest_makereport
from tests.matrix.roots import RELEASES, Release, fill

__all__ = ["pytest_runtest_makereport"]


@pytest.fixture(scope="session", params=RELEASES, ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    chosen: Release = request.param
    return chosen


@pytest.fixture(scope="session")
def root(release: Release) -> Path:
    """Return the root of the system that the clusters run."""
    return fill(release)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print a line for each release."""
    reports = [report for kind in ("passed", "failed", "error") for report in terminalreporter.getreports(kind)]
    for release in RELEASES:
        mine = [report.passed for report in reports if f"[{release}" in report.nodeid]
        if mine:
            terminalreporter.write_line(f"{release}: {sum(mine)} of {len(mine)} checks passed")
