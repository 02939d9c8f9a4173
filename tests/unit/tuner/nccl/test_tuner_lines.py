# SPDX-License-Identifier: Apache-2.0
"""Test how tuner plugins read a tuner file, which line decides a call, and what the check reports."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.tuner.nccl.tuner_check import mistakes
from reprise.tuner.nccl.tuner_decision import Call, channels, decide, exists
from reprise.tuner.nccl.tuner_lines import (
    ALGORITHMS,
    COLLECTIVES,
    CPP,
    PROTOCOLS,
    READERS,
    C,
    Line,
    numbered,
    read,
    write,
)
from tests.examples import examples

PLAIN = "allreduce,0,65536,tree,ll,2,1,-1"
TREE = Line("allreduce", 0, 65536, "tree", "ll", 2, 1)


@pytest.mark.parametrize(
    ("text", "in_c", "in_cpp"),
    [
        (PLAIN, [TREE], [TREE]),
        (f"{PLAIN},4", [Line(*vars(TREE).values())], None),
        ("", [], []),
        ("# comment,1,2,3,4,5,6,7", [], []),
        ("allreduce,0,65536,tree,ll,2,1", [], []),
        (f"{PLAIN},-1,-1,7", [TREE], []),  # an eleventh field
        ("allreduce,,0,65536,tree,ll,2,1,-1", [TREE], None),  # an empty field
        (" allreduce\t, 0,65536 ,tree , ll,2, 1,-1 ", [TREE], [TREE]),
        (PLAIN + "\r", [TREE], [TREE]),
        (f"{' ' * 250}broadcast,{PLAIN[10:]}", [TREE], [replace(TREE, collective="broadcast")]),  # two lines in C
    ],
)
def test_the_two_plugins_read_a_line(text: str, in_c: list[Line], in_cpp: list[Line] | None) -> None:
    data = text.encode()
    if text.endswith(",4"):
        assert [one.operations for one in read(data)] == [4]
        return
    assert read(data, C) == in_c
    assert in_cpp is None or read(data, CPP) == in_cpp


def test_an_unknown_name_becomes_another() -> None:
    (line,) = read(b"Allreduce,0,9,Tree,LL,2,1,-1")
    assert (line.collective, line.algorithm, line.protocol) == ("allreduce", "ring", "simple")
    (line,) = read(b"alltoall,x,-1,tree,ll,y,4294967297,99999999999999999999")
    assert (line.collective, line.low, line.high, line.channels, line.nodes) == ("allreduce", 0, 2**64 - 1, 0, 1)


def test_the_first_line_that_matches_decides_unless_nccl_cannot_use_it() -> None:
    lines = read(f"{PLAIN}\nallreduce,0,4294967295,ring,simple,-1,-1,-1,-1,1\n".encode())
    call = Call("allreduce", 65536, 1, 4, registered=1)
    assert decide(lines, call) == TREE
    assert decide(lines, call, [("tree", "ll")]) == lines[1]
    assert decide(lines, call, [("tree", "ll"), ("ring", "simple")]) is None
    assert decide(lines, Call("allreduce", 65537, 1, 4, registered=1)) == lines[1]
    assert decide(lines, Call("allreduce", 65537, 1, 4)) is None
    assert decide(lines, Call("allreduce", 65536, 2, 4)) is None
    assert decide(lines, Call("broadcast", 8, 1, 4, registered=1)) is None
    assert [channels(one, 1) for one in (TREE, lines[1], None)] == [2, 1, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLAIN, ""),
        ("\n\n# a comment\n" + PLAIN, ""),
        ("allreduce,0,9,tree,ll,2,1", "line 1: has 7 fields"),
        (f"{PLAIN},-1,-1,1", "has 11 fields"),
        ("allreduce,,9,tree,ll,2,1,-1", "size '' is not a number"),
        ("AllReduce,0,9,tree,ll,2,1,-1", "collective 'AllReduce' is unknown"),
        ("allreduce,0,9,tree,ll ,2,1,-1", "protocol 'll ' is unknown"),
        ("allreduce,0,4G,tree,ll,2,1,-1", "size '4G'"),
        ("allreduce,0,9,tree,ll,2,1,-1\r", "'-1\\r' is not a number"),
        ("allreduce,9,0,tree,ll,2,1,-1", "matches no size"),
        ("broadcast,0,9,tree,simple,2,1,-1", "has no tree with simple for broadcast"),
        ("allreduce,0,9,nvls,ll,2,1,-1", "has no nvls with ll"),
        ("allreduce,0,9,ring,ll,-1,1,-1", "is 1 channel"),
        ("allreduce,0,9,ring,ll,2,0,-1", "matches no communicator"),
        ("# " + 300 * "x", "has 302 bytes"),
        (f"{PLAIN}\nallreduce,8,9,ring,ll,2,1,8", "line 2: has no effect, because line 1"),
        (f"{PLAIN}\nallreduce,8,65537,ring,ll,2,1,8", ""),
        ("allreduce,0,9,pat,ll,2,1,-1\nallreduce,0,9,ring,ll,2,1,-1", "line 1: NCCL has no pat"),
    ],
)
def test_the_check_reports_mistakes(text: str, expected: str) -> None:
    found = mistakes(text.encode())
    assert len(found) == bool(expected), found
    assert expected in "".join(map(str, found))


FIELDS = st.one_of(st.sampled_from(["", "-1", "0", "8", " 1", "tree", "ll", "allreduce", "x"]), st.text(max_size=4))
LINES = st.one_of(
    st.lists(FIELDS, max_size=12).map(",".join),
    st.builds(
        "{},{},{},{},{},{},{},{},{},{}".format,
        *(st.sampled_from(COLLECTIVES), st.integers(0, 99), st.integers(0, 99)),
        *(st.sampled_from(ALGORITHMS), st.sampled_from(PROTOCOLS), st.integers(-1, 9)),
        *(st.integers(-1, 4), st.integers(-1, 8), st.integers(-1, 2), st.integers(-1, 1)),
    ),
)


@settings(max_examples=examples(200))
@given(st.lists(LINES, max_size=6).map("\n".join))
def test_a_file_without_mistakes_is_read_alike_by_all_plugins(text: str) -> None:
    data = text.encode(errors="replace")
    if not mistakes(data):
        assert read(data, C) == read(data, CPP)
        assert [number for number, _ in numbered(data)] == [
            number for number, line in enumerate(data.split(b"\n"), 1) if line and not line.startswith(b"#")
        ]


def test_what_is_written_is_read_as_it_was() -> None:
    lines = [
        Line(collective, 0, 2**40, algorithm, protocol, 0, 2, 8)
        for collective in COLLECTIVES
        for algorithm in ALGORITHMS
        for protocol in PROTOCOLS
        if exists(collective, algorithm, protocol)
    ]
    text = write(lines, ["a comment", "ä" * 500])
    assert [read(text.encode(), reader) for reader in READERS] == [lines, lines]
    assert [one for one in mistakes(text.encode()) if "no effect" not in one.text] == []
