# SPDX-License-Identifier: Apache-2.0
"""Test that property tests try the same examples in each quick or full run, but other examples in `make properties`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.places import ROOT


def drawn(profile: str) -> Sequence[int]:
    found: list[int] = []

    @settings(settings.get_profile(profile))
    @given(st.integers())
    def take(number: int) -> None:
        found.append(number)

    take()
    return found


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_a_tier_draws_the_same_whatever_was_imported_before(
    profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drawn(profile)
    module = ModuleType("of_the_product")
    module.__file__ = str(tmp_path / "of_the_product.py")
    Path(module.__file__).write_text(f"NUMBERS = {[*range(10**6, 10**6 + 1000)]}\n")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert drawn(profile) == before


def test_make_properties_draws_other_examples_and_15_times_as_many() -> None:
    full, many = settings.get_profile("full"), settings.get_profile("many")
    assert (many.max_examples, many.derandomize) == (15 * full.max_examples, False)


def test_a_property_has_its_number_of_examples_from_the_profile() -> None:
    by_hand = re.compile(r"max_examples=(?!examples\(|EXAMPLES\b)")
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)}
    assert [path.name for path, text in texts.items() if by_hand.search(text)] == []
