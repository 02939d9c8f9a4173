# SPDX-License-Identifier: Apache-2.0
"""Anchors of the sections of a page in Markdown."""

from __future__ import annotations

import re
from itertools import groupby


def anchors(markdown: str) -> set[str]:
    """Return the anchors that GitHub gives to headings; the anchor of a repeated heading ends with a number."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown), re.MULTILINE)
    slugs = sorted(re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles)
    return {slug + (f"-{number}" if number else "") for slug, same in groupby(slugs) for number, _ in enumerate(same)}
