# SPDX-License-Identifier: Apache-2.0
"""Test that the reference page agrees with the code on variables, defaults, the report and limits."""

from __future__ import annotations

import re

from tests.forward.client.conftest import CLIENT, Site
from tests.places import ROOT

PAGE = (ROOT / "docs/reference/forwarding.md").read_text()
EXPLANATION = (ROOT / "docs/explanation/forwarding.md").read_text()
SETTINGS = (CLIENT / "settings.c").read_text()
LIMITS = dict(re.findall(r"^#define (\w+) (?:\(1 << )?(\d+)", (CLIENT / "limits.h").read_text(), re.MULTILINE))


def test_every_variable_is_listed_with_its_default() -> None:
    listed = dict(re.findall(r"^\| `(REPRISE_FORWARD_\w+)` \| ?`?([\w-]*)`? \|", PAGE, re.MULTILINE))
    assert set(listed) == set(re.findall(r'"(REPRISE_FORWARD_\w+)"', SETTINGS))
    defaults = re.findall(r'\{"(REPRISE_FORWARD_\w+)", \d+, [^,]+, (-?\d+),', SETTINGS)
    assert len(defaults) == 5
    assert {name: listed[name] or "-1" for name, _ in defaults} == dict(defaults)


def test_the_reports_keys_are_listed(site: Site) -> None:
    (report,) = site.plain().reports
    table = PAGE.partition("## The report")[2].partition("## Forwarders")[0]
    first_columns = "".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", first_columns)) == set(report) - {"pid", "program"}


def test_limits_are_those_of_the_code() -> None:
    page, explanation = (" ".join(text.split()) for text in (PAGE, EXPLANATION))
    assert f"up to {LIMITS['PREFIXES_MAX']} directories" in page
    assert f"| {LIMITS['REMOTE_FILES_MAX']}; a further file" in page
    assert f"| {LIMITS['LINKS_MAX']}; a thread that finds none free" in page
    assert f"only those below {LIMITS['DESCRIPTORS_MAX']}" in page
    assert f"at most {LIMITS['MAP_BYTES']} bytes" in page and f"at least {LIMITS['MESSAGE_BYTES_MIN']} bytes" in page
    assert f"up to {LIMITS['WINDOW']} requests" in explanation
    assert f"from number {LIMITS['FIRST_DESCRIPTOR']} on" in explanation


def test_the_map_in_the_reference_is_valid(site: Site) -> None:
    example = PAGE.partition("```\nreprise-forwarders")[2].partition("```")[0]
    site.map_file.write_text(f"reprise-forwarders{example}")
    assert site.plain({"SLURM_NODEID": "2"}).total("forwarders") == 3
