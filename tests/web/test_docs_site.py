# SPDX-License-Identifier: Apache-2.0
"""Test that the documentation's site (`make docs-site`) is complete, has no broken links, and needs no network."""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from tests.once import made_once
from tests.places import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}
"""HTML elements that a browser loads without a click, each with the attribute that contains the address."""


class Parsed(HTMLParser):
    """The anchors and links of one page, and the addresses that a browser loads with it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {name for name in (given.get("id"), given.get("name")) if name}
        if tag == "a" and (link := given.get("href")):
            self.links.append(link)
        if (address := given.get(LOADED.get(tag, ""))) and given.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(address)


def make(place: Path) -> None:
    """Build the documentation's site below this directory; fail on any warning."""
    command = ["make", "--silent", "docs-site", f"SITE={place / 'site'}"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "WARNING" not in made.stdout + made.stderr


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the documentation's site, built once."""
    return made_once(tmp_path_factory, "docs-site", make) / "site"


@pytest.fixture(scope="session")
def site(directory: Path) -> dict[Path, Parsed]:
    """Return the site's pages, keyed by path relative to the site's directory."""
    pages = {path.relative_to(directory): Parsed(path) for path in directory.rglob("*.html")}
    return {path: parsed for path, parsed in pages.items() if path.name != "404.html"}


@pytest.mark.parametrize(
    ("page", "text", "said"),
    [
        ("user.md", "[x](none.md)", "how-to/none.md"),
        ("user.md", "[x](remove.md#nowhere)", "nowhere"),
        ("stray.md", "# A page without a link from the index", "how-to/stray.md"),
    ],
)
def test_a_broken_link_or_a_page_without_a_link_fails(
    directory: Path, tmp_path: Path, page: str, text: str, said: str
) -> None:
    assert directory.is_dir()  # the fixture `directory` has installed the generator
    for name in ("docs", "etc", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Makefile", "mkdocs.yml", "requirements-docs.lock", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"):
        shutil.copy2(ROOT / name, tmp_path)
    (tmp_path / "build").mkdir()
    with (tmp_path / "docs/how-to" / page).open("a") as changed:
        changed.write(f"\n{text}\n")
    command = ["make", "--silent", "docs-site", f"SITE_MAKER={ROOT / 'build/docs-site'}"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode != 0
    assert said in made.stderr


def test_every_page_of_the_documentation_is_in_the_site(site: dict[Path, Parsed]) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= site.keys()


def test_every_link_leads_to_a_page_and_a_section(site: dict[Path, Parsed]) -> None:
    broken, checked = [], 0
    for page, parsed in site.items():
        for link in parsed.links:
            url = urlsplit(link)
            if url.scheme:
                continue
            target = Path(posixpath.normpath(page.parent / unquote(url.path))) if url.path else page
            checked += 1
            if target not in site or (url.fragment and unquote(url.fragment) not in site[target].anchors):
                broken.append(f"{page}: {link}")
    assert checked > 1000
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(directory: Path, site: dict[Path, Parsed]) -> None:
    addresses = [(page, address) for page, parsed in site.items() for address in parsed.loaded]
    assert len(addresses) > len(site)
    assert [one for one in addresses if urlsplit(one[1]).scheme or one[1].startswith("//")] == []
    assert [one for one in addresses if not (directory / one[0].parent / urlsplit(one[1]).path).is_file()] == []


def test_no_list_or_table_became_text(directory: Path, site: dict[Path, Parsed]) -> None:
    found = {}
    for page in site:
        text = re.sub(r"<pre.*?</pre>", "", (directory / page).read_text(), flags=re.DOTALL)
        for paragraph in re.findall(r"<p>(.*?)</p>", text, re.DOTALL):
            if re.search(r"\n *(- |\d\. |\|)|```", paragraph):
                found[page] = paragraph[:200]
    assert found == {}


@pytest.mark.parametrize(("words", "page"), [("quarantine", "explanation/benefit"), ("munge", "reference/protocol")])
def test_search_finds_a_page_when_the_site_is_opened_as_files(
    browser: Browser, directory: Path, words: str, page: str
) -> None:
    opened = browser.new_page()
    requests: list[str] = []
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto((directory / "how-to/user.html").as_uri())
    opened.click(".md-search__input")
    opened.keyboard.type(words)
    opened.wait_for_selector(f".md-search-result__link[href*='{page}']", timeout=20_000, state="attached")
    assert [url for url in requests if url.startswith("http")] == []
    opened.close()
