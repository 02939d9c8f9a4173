# SPDX-License-Identifier: Apache-2.0
"""Test that a record's kinds of accesses are the same whether read from its parametrization or from its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprise.database import Database
from reprise.database.record_io_kinds import PATTERNS, kinds_in, kinds_in_text
from tests.unit.database_values import record

KINDS = ["write/shared/strided", "read/shared/contiguous"]
OWN: dict[str, Any] = {"parameters": {"forwarders": 2}, PATTERNS: KINDS}
WRONG: list[Any] = [None, 3, "text", [3], {}, [[]], "["]


@pytest.mark.parametrize(
    ("parametrization", "found"),
    [
        (OWN, KINDS),
        ({"parts": {"forwarders": {"parametrization": OWN}, "romio": {"parametrization": {}}}}, KINDS),
        ({}, []),
        *(({PATTERNS: wrong}, []) for wrong in WRONG),
        ({PATTERNS: [3, KINDS[0]]}, KINDS[:1]),
        ({"parts": 3}, []),
        ({"parts": {"forwarders": 3}}, []),
    ],
)
def test_kinds_are_read_from_a_record_and_from_its_row(
    parametrization: dict[str, Any], found: list[str], tmp_path: Path
) -> None:
    with Database.open(tmp_path / "a.db", create=True) as database:
        database.add_record(record(parametrization=parametrization))
        (text,) = database.record_texts()
    assert list(kinds_in(parametrization)) == list(kinds_in_text(text.io_kinds)) == found


def test_a_text_that_is_no_json_has_no_kinds() -> None:
    assert [list(kinds_in_text(text)) for text in ("", "[", "[]", "3", "null")] == [[]] * 5
