# SPDX-License-Identifier: Apache-2.0
"""Test the JSON form of rules, as Open MPI 6 parses and reads it."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.tuner.openmpi.rules.lax_json import NotJSONError, Object, parse
from reprise.tuner.openmpi.rules.releases import Reading, family_of, read
from reprise.tuner.openmpi.rules.rules_model import BUILT_IN, SIZE_MAX, Choice, decide

SIX = family_of("6")


def bcast(entry: str) -> Reading:
    return read(f'{{"collectives": {{"bcast": [{entry}]}}}}'.encode(), SIX)


def choice(entry: str, nodes: int = 1, ranks: int = 4, size: int = 8) -> Choice:
    reading = bcast(entry)
    assert reading.dropped is None
    return decide(reading.rules, "bcast", nodes, ranks, size)


@pytest.mark.parametrize(
    "text",
    [
        b"[1,2,]",
        b'{"a":1,}',
        b'\xef\xbb\xbf{"a": [true, false, null, -1.5e+3, "\\q\\n\\u0041"]}',
        b" 1 ",
        b"-",
        b"1 \0 anything",
        b'"line\nfeed"',
        b"[" * 50_000 + b"]" * 50_000,
    ],
)
def test_text_that_release_6_parses_is_parsed(text: bytes) -> None:
    parse(text)


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b" ", b"{", b"[1 2]", b"[,]", b"[1,,2]", b"{,}", b'{"a" 1}', b'{"a":}', b"{1:2}", b"01", b"1.", b"1e"),
        *(b"// no\n1", b"[1]]", b'"open', b'"\\u12"', b"nul", b"+1", b"'a'", b'"a\0b"', b"[" * 50_000, b"0 7 1"),
    ],
)
def test_text_that_release_6_does_not_parse_is_not_json(text: bytes) -> None:
    with pytest.raises(NotJSONError, match="line 1"):
        parse(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


def plain(value: object) -> object:
    if isinstance(value, Object):
        return {key: plain(inner) for key, inner in value.pairs}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(VALUES)
def test_proper_json_is_read_as_python_reads_it(value: object) -> None:
    text = json.dumps(value)
    # Open MPI differs from Python here: a null byte ends its C strings, and it combines surrogates differently
    if "\\u0000" not in text and "\\ud" not in text:
        assert plain(parse(text.encode())) == json.loads(text)


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text('{}[]",:0-1.eE \\uabntrue\n', max_size=60).map(str.encode))
def test_no_bytes_make_the_parser_fail_otherwise(text: bytes) -> None:
    with contextlib.suppress(NotJSONError):
        parse(text)


def test_the_first_range_that_holds_the_call_decides() -> None:
    rules = (
        '"rules": [{"msg_size_min": 4, "msg_size_max": 8, "alg": 3}, {"alg": "pipeline", "seg_size": 64, "reqs": 2}]'
    )
    entry = f'{{"comm_size_min": 4, "comm_size_max": 8, {rules}}}, {{"rules": [{{"alg": 1, "faninout": 5}}]}}'
    assert [choice(entry, size=size).algorithm for size in (3, 4, 8, 9)] == [3, 3, 3, 3]
    assert choice(entry, size=9) == Choice(3, 0, 64, 2)
    assert [choice(entry, ranks=ranks).algorithm for ranks in (3, 4, 8, 9)] == [1, 3, 3, 1]
    assert choice(entry, ranks=2**31 - 1) == Choice(1, 5)


def test_only_the_first_entry_that_matches_the_communicator_applies() -> None:
    assert choice('{"rules": [{"msg_size_min": 100, "alg": 3}]}, {"rules": [{"alg": 1}]}') == BUILT_IN


@pytest.mark.parametrize(
    ("spread", "where"), [("one-per-node", [0, 3, 0]), ("single-node", [3, 0, 0]), ("any", [3] * 3)]
)
def test_the_spread_of_the_ranks_chooses(spread: str, where: list[int]) -> None:
    entry = f'{{"comm_rank_distribution": "{spread}", "rules": [{{"alg": 3}}]}}'
    assert [choice(entry, nodes=nodes).algorithm for nodes in (1, 4, 2)] == where


@pytest.mark.parametrize("algorithm", ["99", '"fastest"', "-1", "4294967395"])
def test_a_rule_with_an_algorithm_that_6_does_not_have_is_left_out(algorithm: str) -> None:
    assert choice(f'{{"rules": [{{"alg": {algorithm}}}, {{"alg": 6}}]}}') == Choice(6)


@pytest.mark.parametrize("rule", ["{}", '{"alg": 1.5}', '{"alg": null}', "5", '{"alg": 4294967296}'])
def test_a_rule_without_an_algorithm_leaves_its_messages_to_the_built_in_rules(rule: str) -> None:
    assert choice(f'{{"rules": [{rule}, {{"alg": 6}}]}}') == BUILT_IN


def test_inf_as_a_maximum_matches_every_message_size_and_no_communicator() -> None:
    assert choice('{"rules": [{"msg_size_max": "inf", "alg": 3}]}', size=SIZE_MAX) == Choice(3)
    assert choice('{"comm_size_max": "inf", "rules": [{"alg": 3}]}') == BUILT_IN


def test_a_repeated_field_keeps_its_first_value_and_a_repeated_collective_its_last() -> None:
    assert choice('{"rules": [{"alg": 3, "alg": 1}]}') == Choice(3)
    both = b'{"collectives": {"bcast": [{"rules": [{"alg": 3}]}], "bcast": []}}'
    assert decide(read(both, SIX).rules, "bcast", 1, 4, 8) == BUILT_IN


@pytest.mark.parametrize("key", ["segsize", "segment_size"])
def test_a_field_unknown_to_release_6_is_ignored(key: str) -> None:
    assert choice(f'{{"rules": [{{"alg": 3, "{key}": 1024}}]}}') == Choice(3)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{}", "has no `collectives` object"),
        (b"[]", "has no `collectives` object"),
        (b"0", "does not fall back to the classic form"),
        (b'{"collectives": []}', "has no `collectives` object"),
        (b'{"collectives": {"reducescatter": []}}', "no collective is called 'reducescatter'"),
        (b'{"collectives": {"bcast": {}}}', "bcast: the rules of a collective must be an array"),
        (b'{"collectives": {"bcast": [{}]}}', r"bcast\[0\]: the array `rules` is missing"),
        (b'{"collectives": {"bcast": [5]}}', r"bcast\[0\]: the array `rules` is missing"),
        (b'{"collectives": {"bcast": [{"rules": [{"msg_size_min": "8", "alg": 1}]}]}}', r"rules\[0\]: msg_size_min is"),
        (b'{"collectives": {"bcast": [{"comm_size_min": 1.5, "rules": []}]}}', "comm_size_min is neither"),
        (b'{"collectives": {"bcast": [{"comm_rank_distribution": 1, "rules": []}]}}', "is not a string"),
    ],
)
def test_json_that_is_not_a_rules_file_is_dropped(data: bytes, why: str) -> None:
    reading = read(data, SIX)
    assert reading.rules == {}
    assert reading.form == "JSON"
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(reading.dropped)


def test_text_that_is_not_json_is_read_as_the_classic_form() -> None:
    assert read(b"1 7 1 0 1 0 3 0 0", SIX).form == "classic"
    assert read(b'{"collectives": {"bcast": []}', SIX).dropped


def test_the_older_releases_drop_json() -> None:
    data = b'{"collectives": {"bcast": [{"rules": [{"alg": 3}]}]}}'
    assert all(read(data, family_of(release)).dropped for release in ("4.1.4", "4.1.8", "5.0.0", "5.0.7"))
