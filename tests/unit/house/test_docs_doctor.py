# SPDX-License-Identifier: Apache-2.0
"""Compare docs/reference/doctor.md with the checks of `reprise doctor`."""

from __future__ import annotations

import re

from tests.places import ROOT


def test_every_check_is_listed_and_no_other() -> None:
    page = (ROOT / "docs/reference/doctor.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \|", page.split("| check |")[1], re.MULTILINE)
    source = "".join(path.read_text() for path in sorted((ROOT / "reprise/doctor").glob("*.py")))
    given = re.findall(
        r'(?:\b(?:CHECK|check)(?:, \(_, port\))? = |\b(?:ok|warning|problem|from_error)\(\s*)"(\w+)"', source
    )
    assert set(listed) == set(given) and len(listed) == len(set(listed))
