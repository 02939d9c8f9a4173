# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run each test in this folder for every release; all tests of a release run together."""

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
    """Return the root directory of the release's system, which the virtual clusters run."""
    return fill(release)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print a line for each release, with the number of tests that passed."""
    reports = [report for kind in ("passed", "failed", "error") for report in terminalreporter.getreports(kind)]
    for release in RELEASES:
        mine = [report.passed for report in reports if f"[{release}" in report.nodeid]
        if mine:
            terminalreporter.write_line(f"{release}: {sum(mine)} of {len(mine)} checks passed")
