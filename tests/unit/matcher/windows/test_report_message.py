# SPDX-License-Identifier: Apache-2.0
"""Test that reports of forwarders are read, and that malformed ones are refused in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.errors import ProtocolError
from reprise.matcher.windows.report_message import LONGEST, MOST_JOBS, MOST_OPERATIONS, decision_line, read
from tests.unit.matcher.windows.windows_values import NONCE, message, pattern, sent


def test_a_report_has_the_forwarders_name_and_the_features_of_jobs_with_requests() -> None:
    found = message(3, patterns=[pattern(), pattern(request_min=None, request_max=None, request_mean=None)])
    assert (found.name, found.nonce, found.jobs) == ("ion1:3", NONCE, ["4711"])
    (one,) = found.measured
    assert (one.bytes, one.features.operation, one.features.distance_mean) == (1000, Operation.WRITE, 65536)


def test_distances_between_any_offsets_are_read() -> None:
    assert message(patterns=[pattern(distance_mean=2.0**64)]).measured[0].features.distance_mean == 2**64


def test_the_largest_report_is_below_the_limit_with_munge() -> None:
    """A credential of munge takes four bytes for three, and some 200 more."""
    name = "x" * 63
    many = [
        pattern(name, 2**63 - 1, distance_mean=1.23456789012345e17, requests=2**63 - 1, user=2**32 - 2)
    ] * MOST_OPERATIONS
    text = json.dumps(sent(4095, jobs=[name] * MOST_JOBS, patterns=many)).encode()
    assert read(text) and len(text) * 4 / 3 + 500 < LONGEST


def test_the_user_of_a_pattern_is_known_if_the_forwarder_reports_one() -> None:
    found = message(patterns=[pattern(), pattern(user=None), pattern(user=0), pattern(user=1000)])
    assert [one.user for one in found.measured] == [None, None, 0, 1000]


WRONG: dict[str, dict[str, Any]] = {
    "another version": {"version": 2},
    "a version as text": {"version": "1"},
    "a nonce in capitals": {"nonce": NONCE.upper()},
    "a short nonce": {"nonce": "12"},
    "a host with a newline": {"host": "ion1\n"},
    "a long host": {"host": "i" * 65},
    "no host": {"host": ""},
    "a negative number": {"number": -1},
    "a large number": {"number": 4096},
    "negative bytes": {"bytes": -1},
    "too many bytes": {"bytes": 2**63},
    "a bandwidth that is no number": {"bandwidth": float("nan")},
    "an infinite load": {"load": float("inf")},
    "a negative window": {"window": -1},
    "a window as a fraction": {"window": 0.5},
    "too many jobs": {"jobs": ["1"] * 66},
    "a long name": {"jobs": ["1" * 64]},
    "another operation": {"patterns": [pattern(operation="other")]},
    "too many patterns": {"patterns": [pattern()] * 131},
    "another key": {"more": 1},
    "a negative user": {"patterns": [pattern(user=-1)]},
    "a user that is no number": {"patterns": [pattern(user="root")]},
    "a user that no user can have": {"patterns": [pattern(user=2**32 - 1)]},
    "a negative distance": {"patterns": [pattern(distance_mean=-1)]},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_malformed_report_is_refused_in_one_line(what: str) -> None:
    refused(json.dumps(sent(**WRONG[what])).encode())


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b"null", b"[" * 100_000], ids=lambda text: repr(text[:2]))
def test_another_text_is_refused_in_one_line(text: bytes) -> None:
    refused(text)


def refused(text: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(text)
    assert str(caught.value).startswith("report: ") and "\n" not in str(caught.value)


def test_a_decision_has_the_form_that_forwarders_accept() -> None:
    line = b'{"version": 1, "nonce": "0123456789abcdef", "number": 17, "window": 500, "keep": 0}'
    assert decision_line(NONCE, 17, 500, 0) == line
