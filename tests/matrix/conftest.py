# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run each test in this folder for every release; all tests of a release run together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import pytest_runtest_makereport
from tests.matrix.results import Result, Subject, write
from tests.matrix.roots import RELEASES, Release, fill

__all__ = ["pytest_runtest_makereport"]
FOLDER = Path(__file__).parent
SUBJECT = "subject"


@pytest.fixture(scope="session", params=RELEASES, ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    chosen: Release = request.param
    return chosen


@pytest.fixture(scope="session")
def root(release: Release) -> Path:
    """Return the root directory of the release's system, which the virtual clusters run."""
    return fill(release)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note in the test's reports what it tests."""
    item.user_properties.append((SUBJECT, subject_of(item).described()))


def subject_of(item: Any) -> Subject:
    """Return the subject of a test: a parameter, or the SUBJECT of its module."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    found: Subject = next((one for one in given if isinstance(one, Subject)), None) or item.module.SUBJECT
    return found


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print a line for each release, with the number of tests that passed, and write the results of a whole run."""
    reports = [report for kind in ("passed", "failed", "error") for report in terminalreporter.getreports(kind)]
    passed: dict[tuple[str, str], dict[str, bool]] = {}
    for report in (one for one in reports if one.user_properties):  # not those of files that cannot be imported
        tests = passed.setdefault(tuple(dict(report.user_properties)[SUBJECT]), {})
        tests[report.nodeid] = report.passed and tests.get(report.nodeid, True)
    results = [Result(*subject, sum(tests.values()), len(tests)) for subject, tests in sorted(passed.items(), key=rank)]
    for one in results:
        terminalreporter.write_line(str(one))
    is_whole = [config.invocation_params.dir / word for word in config.args] == [FOLDER]
    if is_whole and not terminalreporter.stats.get("deselected"):
        write(results)


def rank(entry: tuple[tuple[str, str], object]) -> tuple[bool, bool, str]:
    """Return the sort key of a subject: first Slurm, with munge before without, then others by their names."""
    (software, _), _ = entry
    return not software.startswith("Slurm"), "without" in software, software
