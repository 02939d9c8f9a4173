# SPDX-License-Identifier: Apache-2.0
"""A program's likeness to a record's is told in words."""

from __future__ import annotations

from typing import Any

import pytest

from reprise.matcher.support.same_program import program_text


def part(name: str, similarity: float, left: str = "a", right: str = "b") -> dict[str, Any]:
    return {"name": name, "left": left, "right": right, "similarity": similarity}


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([part("build_id", 1.0), part("functions", 1.0)], "same build"),
        ([part("build_id", 0.0), part("functions", 31 / 32)], "rebuilt: 97 % of function names"),
        ([part("functions", 0.0, left=""), part("contents", 1.0)], "rebuilt: 100 % of words"),
        ([part("functions", 1 / 64), part("contents", 0.5)], "in common: 0 % of function names, 49 % of words"),
        ([part("imports", 1.0)], "in common: 100 % of what it uses of libraries and modules"),
        ([part("build_id", 1.0, left="", right="")], ""),
        ([part("script", 1.0)], ""),
    ],
)
def test_words(parts: list[dict[str, Any]], text: str) -> None:
    assert program_text([{"name": "identity", "parts": parts}]) == text
