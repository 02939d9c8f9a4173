# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several unit tests share: a directory for several users, a daemon, and a site."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprise.tuner.definition import component_registry
from tests.unit.matcher_daemon import Daemon
from tests.unit.tuner_site import Site


@pytest.fixture
def place() -> Iterator[Path]:
    """Create a directory that other users can enter, unlike pytest's own directories."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """Create a daemon without starting it. After the test, print its log, which pytest shows if the test failed."""
    one = Daemon(tmp_path)
    yield one
    one.stop()
    sys.stdout.write(one.text())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Create a site where campaigns of the fake component can be run."""
    monkeypatch.setitem(component_registry.KINDS, "fake", "tests.fake_component")
    return Site(tmp_path)
