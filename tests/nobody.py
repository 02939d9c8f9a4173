# SPDX-License-Identifier: Apache-2.0
"""Run code as the user nobody, who is subject to file modes, unlike root."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

from reprise.database.schema import load_migrations


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    load_migrations()  # read as root, because nobody may have no access to the checkout
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
