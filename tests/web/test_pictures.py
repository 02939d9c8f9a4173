# SPDX-License-Identifier: Apache-2.0
"""Test that the documentation's pictures can be made and show a realistic site.

`make docs-pictures` (which sets REPRISE_SCREENSHOTS=write) makes the pictures again. Look at the new pictures before
you commit them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser

from reprise.matcher.support.jobs import site_summary
from reprise.matcher.support.staff import Reader
from reprise.web.app import create
from reprise.web.patience import Patient
from reprise.web.people import People, Person
from tests.waiting import wait_for
from tests.web.showcase import Showcase
from tests.web.site import DAY
from tests.web.test_browser import Looked

pytestmark = pytest.mark.slow

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
WIDE = 1200  # CSS pixels
NAMES = ("overview", "jobs", "job", "record", "campaign", "forwarders")
OF_A_TEST = ("pytest", "/tmp/", "root", "script>", "silent")  # words of the test environment, which no picture may show


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Showcase]:
    """Return a site whose matcher and pages are running, and whose operator is called dana."""
    one = Showcase(tmp_path_factory.mktemp("showcase"))
    one.tune()
    one.run_jobs()
    one.forward()
    one.start_matcher()
    try:
        with pytest.MonkeyPatch.context() as patch, pages(one, patch):
            yield one
    finally:
        one.stop_matcher()
        one.maps.release()


@contextmanager
def pages(site: Showcase, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve the site's pages from this process, patched to show the user dana and a longer uptime of the matcher."""
    told = site_summary._matcher

    def for_weeks(config: Any) -> dict[str, Any]:
        found = told(config)
        return {**found, "uptime_s": found["uptime_s"] + 23.3 * DAY}

    patch.setattr(site_summary, "_matcher", for_weeks)
    patch.setattr(People, "_look_up", lambda _self, uid: Person("dana", Reader(uid, True, ""), operator=True))
    config = uvicorn.Config(create(site.config, site.file), port=site.port, http=Patient, ws="none", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for("the pages", lambda: server.started)
        yield
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def looked(browser: Browser, site: Showcase) -> Iterator[Looked]:
    context = browser.new_context(color_scheme="light", viewport={"width": WIDE, "height": 900})
    one = Looked(context, site)
    one.sign_in(site)
    yield one
    context.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_of_the_docs_shows_a_realistic_site(name: str, looked: Looked, site: Showcase) -> None:
    path = {
        "overview": "/",
        "jobs": "/jobs",
        "job": f"/jobs/{site.job_to_show()}",
        "record": "/records/1",
        "campaign": "/campaigns/1",
        "forwarders": "/forwarders",
    }[name]
    looked.goto(site.url + path)
    shown = looked.page.locator("body").inner_text()
    assert looked.said == []
    assert [word for word in OF_A_TEST if word in shown] == [], "the picture shows no words of the test environment"
    picture = looked.page.screenshot(full_page=name != "jobs")
    assert len(picture) > 20_000
    if os.environ.get("REPRISE_SCREENSHOTS") == "write":
        (PICTURES / f"{name}.png").write_bytes(picture)


def test_the_docs_show_all_pictures() -> None:
    page = "".join((PICTURES.parent / page).read_text() for page in ("how-to/web.md", "reference/pages.md"))
    assert {path.stem for path in PICTURES.glob("*.png")} == set(NAMES)
    assert all(f"](../pictures/{name}.png)" in page for name in NAMES)
