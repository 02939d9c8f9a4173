# SPDX-License-Identifier: Apache-2.0
"""Test reading recorded metrics: every report is read as it was written, and a wrong line is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.council.access_pattern import SIZE_CLASSES, Files, Operation, Pattern, Spatiality, size_class
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.json_lines import LONGEST
from reprise.matcher.council.recorded_metrics import HEADER, line, read
from reprise.matcher.errors import CouncilError
from tests.unit.matcher.council.council_values import report

AMOUNT = st.floats(0, 1e12)
PATTERNS = st.builds(
    Pattern,
    st.sampled_from(Operation),
    st.sampled_from(Files),
    st.sampled_from(Spatiality),
    st.sampled_from([*SIZE_CLASSES]),
)
REPORTS = st.builds(
    Report,
    st.text('aß\n"', min_size=1, max_size=20),
    st.none() | PATTERNS,
    st.integers(0, 2**63 - 1),
    AMOUNT,
    st.integers(1, 10**9),
    st.none() | AMOUNT,
    st.booleans(),
)


@given(st.lists(REPORTS, max_size=2))
def test_reports_are_read_as_they_were_written(reports: list[Report]) -> None:
    lines = [HEADER, *(line(1.5, one) for one in reports)]
    assert list(read([text.encode() for text in lines], "file")) == reports


RIGHT = json.loads(line(0, report("a", 1000)))
WRONG = {
    "empty": b"",
    "not JSON": b"{",
    "not UTF-8": b"\xff",
    "a list": b"[]",
    "too long": b" " * LONGEST + b"{}",
    **{
        f"{key} {value}": json.dumps({**RIGHT, key: value}).encode()
        for key, value in (
            ("bandwidth", -1),
            ("bandwidth", "1"),
            ("bandwidth", float("nan")),
            ("bandwidth", None),
            ("window", -1),
            ("window", 1.5),
            ("bytes", -1),
            ("host", ""),
            ("pattern", "write"),
            ("opted_out", 1),
            ("more", 1),
        )
    },
    **{
        f"no {key}": json.dumps({name: RIGHT[name] for name in RIGHT if name != key}).encode() for key in ("host", "at")
    },
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_line_is_named_in_one_line(wrong: str) -> None:
    with pytest.raises(CouncilError, match=r"^metrics: line 3: [^\n]*$"):
        list(read([HEADER.encode(), json.dumps(RIGHT).encode(), WRONG[wrong]], "metrics"))


@pytest.mark.parametrize(
    "first", [b"", b'{"version": 2}', json.dumps(RIGHT).encode()], ids=["none", "version 2", "report"]
)
def test_a_file_without_the_header_of_this_version_is_refused(first: bytes) -> None:
    with pytest.raises(CouncilError, match=r"^metrics: [^\n]*$"):
        list(read([first], "metrics"))


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(CouncilError, match=r"^metrics: line 1: "):
        list(read([], "metrics"))


def test_request_sizes_have_classes_that_span_a_factor_of_four() -> None:
    assert [size_class(kilobytes * 1024) for kilobytes in (0, 3.9, 4, 32, 64, 255, 256, 1024, 8192)] == [
        *("0K", "0K", "4K", "16K", "64K", "64K", "256K", "1M", "4M")
    ]
