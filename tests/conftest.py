# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import pytest

from reprise.tuner.campaign import campaign_account
from tests import examples
from tests.ordinary_user import UID

examples.register()
# Campaigns of tests run as whoever runs the tests, root as well; those that look at the refusal start `reprise` itself.
campaign_account.effective_uid = lambda: UID


WHOLLY_SLOW = re.compile(r"^pytestmark = pytest\.mark\.slow$", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file whose tests are all slow is not imported where none is wanted: some import much."""
    if config.getoption("markexpr") != "not slow" or collection_path.suffix != ".py":
        return None
    return True if WHOLLY_SLOW.search(collection_path.read_text()) else None


def pytest_collection_finish() -> None:
    """What was imported and collected stays: the collector of garbage need not look through it again and again."""
    gc.collect()
    gc.freeze()
