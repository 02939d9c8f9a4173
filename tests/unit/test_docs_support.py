# SPDX-License-Identifier: Apache-2.0
"""The page for support speaks of what the daemon and its commands really say."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/support.md").read_text()
LOG, SAID = PAGE.split("## The log")[1], PAGE.split("| it says |")[1].split("\n\n")[0]


def test_every_warning_of_the_daemon_is_explained_and_no_other() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "matcher").rglob("*.py"))
    warnings = set(re.findall(r'warning\(\s*(?:log, )?(?:line\()?"([a-z-]+)"', sources))
    explained = [row.split("|")[1] for row in LOG.splitlines() if row.startswith("| `")]
    assert set(re.findall("`([a-z-]+)`", " ".join(explained))) == warnings


def test_every_answer_that_is_explained_is_given() -> None:
    source = (ROOT / "matcher/explain.py").read_text()
    phrases = [
        part for answer in re.findall("^\\| `([^`]+)`", SAID, re.MULTILINE) for part in re.split(r"\d+|\.\.\.", answer)
    ]
    assert len(phrases) > 5
    assert [phrase for phrase in phrases if phrase.strip(" ,") not in source] == []
