# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of the web pages: a shared site that tests only read, and an empty site that a test may change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from reprise.web.app import create
from tests.web.site import WebSite

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = "/usr/bin/chromium"


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> WebSite:
    """Return a site with jobs, records and forwarders; tests must not change the site."""
    site = WebSite(tmp_path_factory.mktemp("site"))
    site.populate()
    site.forward()
    return site


@pytest.fixture(scope="session")
def pages(filled: WebSite) -> Iterator[TestClient]:
    """Return an HTTP client that is not signed in. This process serves the site's pages."""
    with TestClient(create(filled.config, filled.file), follow_redirects=False) as client:
        yield client


@pytest.fixture
def empty(tmp_path: Path) -> WebSite:
    """Return an empty site for one test."""
    return WebSite(tmp_path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run a headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()
