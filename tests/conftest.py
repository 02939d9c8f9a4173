# SPDX-License-Identifier: Apache-2.0
"""Settings and hooks for all tests."""

from __future__ import annotations

import gc
import os
import re
import sys
from pathlib import Path

import pytest

from reprise.tuner.campaign import campaign_account
from tests import compiled, examples
from tests.ordinary_user import UID

examples.register()
# Lets tests run campaigns in this process as any user, including root. To test that campaigns refuse to run as root, a
# test starts `reprise` as a separate process, which this line does not affect.
campaign_account.effective_uid = lambda: UID


WHOLLY_SLOW = re.compile(r"^pytestmark = pytest\.mark\.slow$", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files that have only slow tests if slow tests are deselected, because some imports take long."""
    if config.getoption("markexpr") != "not slow" or collection_path.suffix != ".py":
        return None
    return True if WHOLLY_SLOW.search(collection_path.read_text()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile test files that have never been compiled, before pytest-xdist starts several processes."""
    config = session.config
    if not config.getoption("numprocesses", None) or hasattr(config, "workerinput") or sys.dont_write_bytecode:
        return
    named = [config.invocation_params.dir / word.partition("::")[0] for word in config.args]
    found = sorted({file for place in named for file in ([place] if place.is_file() else place.rglob("test_*.py"))})
    files = compiled.missing(file for file in found if not pytest_ignore_collect(file, config))
    if len(files) >= compiled.WORTH_IT:
        compiled.compile_all(files, config.rootpath, len(os.sched_getaffinity(0)))


def pytest_collection_finish() -> None:
    """Exclude imported modules and collected tests from garbage collection, because they are needed until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # less often than by default; halves the time, and there is little garbage
