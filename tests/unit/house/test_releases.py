# SPDX-License-Identifier: Apache-2.0
"""Check that the version, the changelog and the page of releases name the same releases."""

from __future__ import annotations

import re

import pytest

from reprise import __version__
from reprise.matcher.wire import protocol
from tests.places import ROOT

CHANGES = (ROOT / "CHANGELOG.md").read_text()
HEADINGS = re.findall(r"^## (.*)$", CHANGES, re.MULTILINE)
RELEASES = [heading for heading in HEADINGS if heading != "Unreleased"]
PAGE = (ROOT / "docs/reference/releases.md").read_text()


def test_the_changelog_begins_with_the_version() -> None:
    """A development version has a section "Unreleased"; a release has one with its number and its date."""
    newest = "Unreleased" if __version__.endswith(".dev0") else f"{__version__} ("
    assert HEADINGS[0].startswith(newest)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", heading) for heading in RELEASES)


def test_the_page_has_a_row_for_each_release_of_the_changelog() -> None:
    rows = re.findall(r"^\| (\S+) \| (\S+) \| .*\[changes\]\(\.\./\.\./CHANGELOG\.md#([^)\s]+)\)", PAGE, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in RELEASES]
    assert sorted(rows) == sorted(
        (*heading.strip(")").split(" ("), anchor) for heading, anchor in zip(RELEASES, anchors, strict=True)
    )


@pytest.mark.skipif(__version__.endswith(".dev0"), reason="the row of the next release is added with its version")
def test_the_newest_row_has_the_schema_and_the_protocol_of_this_version() -> None:
    row = re.search(rf"^\| {re.escape(__version__)} \| \S+ \| \S+ \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)
    schema = max(int(path.name[:4]) for path in (ROOT / "database/migrations").glob("*.sql"))
    assert row and [int(number) for number in row.groups()] == [schema, protocol.VERSION]


def test_a_release_begins_with_the_actions_of_admins() -> None:
    """The first version has none, because there was nothing to upgrade from."""
    for section in re.split(r"^## ", CHANGES, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        if heading != "Unreleased" and not heading.startswith("0.1.0"):
            assert body.lstrip().startswith("### Upgrading\n"), heading
