# SPDX-License-Identifier: Apache-2.0
"""Check that docs/reference/licences.md names every package that Reprise needs."""

from __future__ import annotations

import re
import tomllib

from tests.places import ROOT


def test_every_dependency_has_its_licence_on_the_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    needed = {re.split(r"[<>=~!;\[ ]", line)[0] for line in [*project["dependencies"], *extras]}
    rows = re.findall(
        r"^\| ([a-z0-9, -]+) \| .+ \| .+ \|$", (ROOT / "docs/reference/licences.md").read_text(), re.MULTILINE
    )
    named = {name.strip() for row in rows for name in row.split(",")} - {"package", "patent"}
    assert named == needed
