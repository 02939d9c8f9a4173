# SPDX-License-Identifier: Apache-2.0
"""A user whom file modes stop, which they do not stop root."""

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
    load_migrations()  # of a checkout that nobody but its owner may enter
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
