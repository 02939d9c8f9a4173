# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

from __future__ import annotations

import gc

from tests import examples

examples.register()


def pytest_collection_finish() -> None:
    """What was imported and collected stays: the collector of garbage need not look through it again and again."""
    gc.collect()
    gc.freeze()
