# SPDX-License-Identifier: Apache-2.0
"""Test that the floods of `bench.trust` send the documented requests, and that a daemon accepts these requests."""

from __future__ import annotations

from itertools import islice

import pytest

from bench.trust import senders
from bench.trust.senders import Words
from reprise.matcher.submission import parse
from reprise.matcher.wire import protocol
from tests.unit.matcher_daemon import SCRIPT


@pytest.mark.parametrize(
    ("make", "least", "most"),
    [(senders.small, 300, 1_000), (senders.twelve, 11_000, 14_000), (senders.large, 240_000, 250_000)],
)
def test_a_request_is_as_long_as_it_says_and_no_two_are_the_same(make: object, least: int, most: int) -> None:
    assert callable(make)
    words = Words(1)
    first, second = make(words), make(words)
    assert least < len(first) < most and first != second
    assert isinstance(protocol.read_request(first[protocol.HEADER_BYTES :]), protocol.Decide)


def test_long_requests_have_30_kb_each() -> None:
    frames = list(islice(senders.thirty(Words(1), SCRIPT), 6))
    assert all(24_000 < len(frame) < 34_000 for frame in frames), [len(frame) for frame in frames]
    for frame in frames:
        assert isinstance(protocol.read_request(frame[protocol.HEADER_BYTES :]), protocol.Decide)


def test_most_of_a_large_request_is_metadata() -> None:
    read = protocol.read_request(senders.large(Words(1))[protocol.HEADER_BYTES :])
    assert isinstance(read, protocol.Decide)
    job = parse(read.submission, user="mallory", submit_time=0.0)
    assert sum(len(value) for values in job.options.values() for value in values) > 200_000


def test_a_forged_report_is_a_valid_report() -> None:
    read = protocol.read_request(senders.forged(Words(1))[protocol.HEADER_BYTES :])
    assert isinstance(read, protocol.Outcome) and read.state == "ended"
