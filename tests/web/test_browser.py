# SPDX-License-Identifier: Apache-2.0
"""Test the web pages in a real Chromium, served as an admin would serve them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page

from reprise.database import Database
from tests.waiting import wait_for
from tests.web.site import HOSTILE, WebSite

pytestmark = pytest.mark.slow

CHECKS = (Path(__file__).parent / "checks.js").read_text()
NARROW, WIDE = 360, 1200  # widths of the window in CSS pixels
PAGES = {
    "overview": "/",
    "jobs": "/jobs",
    "job": "/jobs/d-0003",
    "job-hostile": "/jobs/d-hostile",
    "no-job": "/jobs/d-none",
    "records": "/records",
    "record": "/records/1",
    "record-hostile": "/records/3",
    "campaigns": "/campaigns",
    "campaign": "/campaigns/1",
    "forwarders": "/forwarders",
    "campaign-new": "/campaigns/new?component=sleep&decision=d-0002",
    "report": "/campaigns/1/report",
    "sign-in": "/sign-in",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSite]:
    """Return a site with jobs, records, forwarders and a finished campaign, whose pages are served."""
    site = WebSite(tmp_path_factory.mktemp("site"))
    site.populate()
    site.forward()
    site.run_campaign()
    site.start()
    yield site
    site.stop()


class Looked:
    """A browser page that records errors: `said` holds its console lines, `outside` its requests to other hosts."""

    def __init__(self, context: BrowserContext, site: WebSite) -> None:
        self.page: Page = context.new_page()
        self.said: list[str] = []
        self.outside: list[str] = []
        self._host = urlsplit(site.url).netloc
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._answered)
        self.page.on("request", lambda request: self._asked(request.url))

    def _answered(self, dialog: Dialog) -> None:
        self.said.append(dialog.message)
        dialog.dismiss()

    def _asked(self, url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != self._host:
            self.outside.append(url)

    def sign_in(self, site: WebSite) -> None:
        """Sign in, using only the keyboard."""
        self.page.goto(site.url)
        assert self.page.url.endswith("/sign-in")
        self.page.wait_for_function("document.activeElement.id === 'token'")
        self.page.keyboard.type(site.token())
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(f"{site.url}/")

    def goto(self, url: str) -> None:
        self.page.goto(url)
        self.page.wait_for_function("document.querySelectorAll('[data-chart]:not(.js-plotly-plot)').length === 0")
        self.page.evaluate(CHECKS)


@pytest.fixture(
    scope="module", params=[("light", WIDE), ("dark", WIDE), ("light", NARROW)], ids=lambda it: f"{it[0]}-{it[1]}"
)
def looked(request: pytest.FixtureRequest, browser: Browser, served: WebSite) -> Iterator[Looked]:
    scheme, width = request.param
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    one = Looked(context, served)
    one.sign_in(served)
    yield one
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_errors_and_fits_the_screen(name: str, looked: Looked, served: WebSite) -> None:
    """The page has no errors, loads nothing from other hosts, fits the screen, and has sufficient contrast.

    The console may report only that a page does not exist (404). The contrast must meet WCAG AA.
    """
    looked.said.clear()
    looked.goto(served.url + PAGES[name])
    allowed = 1 if name == "no-job" else 0  # "Failed to load resource: ... 404"
    assert len(looked.said) == allowed, looked.said
    assert looked.outside == []
    page = looked.page
    assert_sound(page)
    assert "owned" not in page.title() and "Reprise" in page.title()


def assert_sound(page: Page) -> None:
    """Assert that the page fits the screen and meets WCAG AA's contrast, and that every control has a name."""
    page.evaluate(CHECKS)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert page.evaluate("checks.contrast()") == []
    assert page.evaluate("checks.unnamed()") == []


def unreached(page: Page) -> list[str]:
    """Return the controls that the Tab key does not reach."""
    page.evaluate(CHECKS)
    names = page.evaluate("checks.controls()")
    reached = set()
    for _ in range(len(names) + 5):  # the Tab key also reaches scrollable elements
        page.keyboard.press("Tab")
        reached.add(page.evaluate("checks.focused()"))
    return [words for place, words in enumerate(names) if str(place) not in reached]


def press(page: Page, name: str) -> None:
    """Press the button `name`, using only the keyboard."""
    page.get_by_role("button", name=name).wait_for(timeout=30_000)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"the Tab key does not reach {name!r}")


def drawn(page: Page) -> int:
    """Return the total number of points in the charts of a campaign's page."""
    charts = "[...document.querySelectorAll('#live [data-chart]')].flatMap((one) => one.data || [])"
    return int(page.evaluate(f"{charts}.reduce((count, trace) => count + (trace.y || []).length, 0)"))


@pytest.mark.parametrize("name", PAGES)
def test_every_control_is_reached_by_keyboard(name: str, browser: Browser, served: WebSite) -> None:
    context = browser.new_context(viewport={"width": WIDE, "height": 900})
    one = Looked(context, served)
    one.sign_in(served)
    one.goto(served.url + PAGES[name])
    missing = unreached(one.page)
    context.close()
    assert not missing


def test_the_first_tab_leads_past_the_pages_list(looked: Looked, served: WebSite) -> None:
    looked.goto(f"{served.url}/jobs")
    looked.page.keyboard.press("Tab")
    assert looked.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    looked.page.keyboard.press("Enter")
    assert looked.page.evaluate("document.activeElement.id") == "content"


def test_hostile_names_are_shown_as_text(looked: Looked, served: WebSite) -> None:
    looked.goto(f"{served.url}/jobs/d-hostile")
    assert looked.page.get_by_role("rowheader", name=HOSTILE, exact=True).count() == 1
    looked.goto(f"{served.url}/")
    assert looked.page.get_by_role("cell", name=HOSTILE, exact=True).count() == 2
    assert looked.page.locator("main img, main script:not([type='application/json'])").count() == 0


def test_a_job_is_found_by_its_number_and_explained_as_by_the_command(looked: Looked, served: WebSite) -> None:
    looked.goto(f"{served.url}/jobs")
    looked.page.get_by_label("Job", exact=True).fill("1003")
    looked.page.keyboard.press("Enter")
    looked.page.wait_for_url("**/jobs/1003")
    told = served.reprise("jobs", "show", "1003").stdout
    shown = looked.page.locator("main").inner_text()
    begin = ("It was given", "From record", "Score", "  given: ", "  held out: ", "The job (uid ", "I/O forwarders")
    for line in told.splitlines():
        if line.startswith(begin):
            assert " ".join(line.split()) in " ".join(shown.split())


def test_a_campaign_is_started_followed_paused_resumed_and_ended_on_its_page(browser: Browser, tmp_path: Path) -> None:
    site = WebSite(tmp_path)
    site.start()
    context = browser.new_context()
    one = Looked(context, site)
    page = one.page
    try:
        one.sign_in(site)
        page.goto(f"{site.url}/campaigns/new?component=sleep")
        definition = site.campaign(pause="3")
        # The script sleeps 0.9 s by default and 0.1 s at best, a gain that is visible even on a busy machine.
        Path(definition["application"]["script"]).write_text('#!/bin/bash\nsleep "0.$((1 + 2 * ${SRO_SIZE:-4}))"\n')
        page.get_by_label("Name").fill(definition["name"])
        page.get_by_label("User").fill("alice")
        page.get_by_label("Batch script").fill(definition["application"]["script"])
        page.get_by_label("Method").select_option("exhaustive")
        press(page, "Create the file")
        area = page.get_by_label("File", exact=True)
        area.wait_for()
        page.set_viewport_size({"width": NARROW, "height": 900})
        assert_sound(page)
        assert unreached(page) == []
        area.fill(
            area.input_value().replace("kind: slurm", "kind: local")
            + "noise: {policy: none}\nrepetitions: {default_runs: 2, final_pairs: 4}\n"
        )
        press(page, "Start the campaign")
        page.wait_for_url("**/campaigns/1")
        wait_for("a trial in the picture", lambda: drawn(page) or None, 30)
        page.evaluate("window.sameDocument = true")
        seen, points = int(page.locator("#trials").inner_text()), drawn(page)
        wait_for("more trials", lambda: int(page.locator("#trials").inner_text()) >= seen + 2 or None, 30)
        wait_for("more points in the picture", lambda: drawn(page) >= points + 2, 30)
        assert page.evaluate("window.sameDocument"), "the page was not loaded again"
        assert_sound(page)
        assert unreached(page) == []
        press(page, "Pause")
        page.get_by_role("button", name="Resume").wait_for(timeout=30_000)
        assert page.locator("#state").inner_text() == "stopped"
        assert_sound(page)
        press(page, "Resume")
        page.get_by_role("button", name="Pause").wait_for(timeout=30_000)
        page.locator("#state.complete").wait_for(timeout=60_000)
        assert page.get_by_role("button", name="Pause").count() == 0
        page.get_by_role("link", name="1", exact=True).click()
        page.wait_for_url("**/records/1")
        assert "SRO_SIZE=0" in page.locator("pre").first.inner_text()
        assert one.said == [] and one.outside == []
    finally:
        context.close()
        site.stop()
    with Database.open(site.config.database.path, read_only=True) as database:
        assert [one.state for one in database.campaigns()] == ["complete"]


def test_a_page_shows_changes_of_its_campaign_made_elsewhere(browser: Browser, tmp_path: Path) -> None:
    """After REST requests pause, resume and stop the campaign, the page offers the actions of the new state."""
    site = WebSite(tmp_path)
    site.start()
    context = browser.new_context()
    try:
        one = Looked(context, site)
        one.sign_in(site)
        with site.client() as client:
            begun = client.post("/api/campaigns", json=slow_campaign(site))
            assert begun.status_code == 201, begun.text
            one.page.goto(f"{site.url}/campaigns/1")
            offers(one.page, "running", "Pause", "Stop permanently")
            assert client.post("/api/campaigns/1", json={"action": "pause"}).status_code == 200
            offers(one.page, "stopped", "Resume", "Stop permanently")
            assert client.post("/api/campaigns/1", json={"action": "resume"}).status_code == 200
            offers(one.page, "running", "Pause", "Stop permanently")
            assert client.post("/api/campaigns/1", json={"action": "stop"}).status_code == 200
            offers(one.page, "failed")
        assert one.said == []
    finally:
        context.close()
        site.stop()


def offers(page: Page, state: str, *buttons: str) -> None:
    """Wait until the campaign's page shows `state`, and assert that it offers exactly these buttons."""
    page.locator(f"#state.{state}").wait_for(timeout=30_000)
    page.wait_for_load_state()
    assert page.locator("form.actions button").all_inner_texts() == [*buttons]


def slow_campaign(site: WebSite) -> dict[str, Any]:
    """Return the definition of a campaign that does not end by itself during a test."""
    return site.campaign(pause="9", repetitions={"default_runs": 30, "final_pairs": 4})


def test_a_campaign_is_stopped_for_good_on_its_page(browser: Browser, tmp_path: Path) -> None:
    site = WebSite(tmp_path)
    site.start()
    context = browser.new_context()
    try:
        with site.client() as client:
            begun = client.post("/api/campaigns", json=slow_campaign(site))
            assert begun.status_code == 201, begun.text
        one = Looked(context, site)
        one.sign_in(site)
        one.page.goto(f"{site.url}/campaigns/1")
        press(one.page, "Stop permanently")
        one.page.locator("#state.failed").wait_for(timeout=30_000)
        assert "stopped for good by" in one.page.locator("#last-words").inner_text()
        with site.client() as client:
            again = client.post("/api/campaigns/1", json={"action": "resume"})
            assert again.status_code == 409 and "is failed already" in again.json()["detail"]
    finally:
        context.close()
        site.stop()
