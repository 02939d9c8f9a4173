# SPDX-License-Identifier: Apache-2.0
"""Test `reprise rules`: reports on rules files of every kind, and errors for unreadable files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.cli.main import reprise
from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi.rules import showing
from reprise.tuner.openmpi.rules.checking import Finding, findings
from reprise.tuner.openmpi.rules.explaining import Call
from reprise.tuner.openmpi.rules.releases import FAMILIES, FILE_MAX, NODE_LEVEL, load, read
from tests.examples import examples
from tests.nobody import as_nobody
from tests.places import GOLDEN, ROOT
from tests.unit.rules_corpus import CASES, HAN_CASES, OVERRUNS

THEIR_GOLDEN = GOLDEN / "rules"
OLD = ["4.1.0-4.1.7", "4.1.8+", "5.0.0-5.0.6", "5.0.7+"]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(reprise, ["rules", *map(str, arguments)])


def document(*arguments: str | Path) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code in (0, 3), result.output
    return json.loads(result.output)


def found(data: bytes, level: str) -> dict[str, list[str]]:
    """Return the messages of one level, each with the releases to which it applies."""
    all_findings = findings(data, [read(data, family) for family in FAMILIES])
    return {one.message: list(one.releases) for one in all_findings if one.level == level}


def test_show_prints_the_rules_with_names_of_algorithms_and_line_numbers() -> None:
    result = run("show", THEIR_GOLDEN / "classic.conf", "--release", "4.1.4")
    assert result.exit_code == 0
    assert "4.1.0-4.1.7: read as classic: 12 rows for bcast, gather" in result.output
    assert "65536 to 1048575 bytes: split_binary_tree (4), segments of 32768 bytes (line 11)" in result.output
    assert "\n  gather\n" in result.output
    assert "\n  gather\n" not in run("show", THEIR_GOLDEN / "classic.conf", "--collective", "bcast").output


def test_show_groups_releases_that_read_a_file_equally() -> None:
    readings = document("show", THEIR_GOLDEN / "classic.conf")["readings"]
    assert [reading["releases"] for reading in readings] == [OLD, ["6"]]
    assert readings[0]["rules"]["gather"][1]["rows"][1] == {
        "where": "line 28",
        "compared_bytes": [4096, 16383],
        "algorithm": 2,
        "fanout": 0,
        "segment": 0,
        "requests": 0,
    }


def test_explain_names_the_deciding_rule_and_its_line() -> None:
    call = ("--collective", "gather", "--ranks", "4", "--nodes", "2", "--size", "2048")
    output = run("explain", THEIR_GOLDEN / "classic.conf", *call).output
    assert "Open MPI compares 8192 (one rank's part in bytes, times the number of ranks)" in output
    assert (
        "4.1.0-4.1.7, 4.1.8+: binomial (2)\n    line 25: the entry for 4 ranks; line 28: the row for 4096 to" in output
    )
    assert "only with OMPI_MCA_coll_han_priority=0" in output
    told = document("explain", THEIR_GOLDEN / "classic.conf", *call)
    assert told["call"]["compared_bytes"] == 8192
    assert [one["outcome"] for one in told["releases"]] == ["rule"] * 4 + ["built-in"]
    assert told["releases"][0]["choice"]["name"] == "binomial"


@pytest.mark.parametrize(
    ("data", "call", "words"),
    [
        (b"", Call("bcast", 1, 4, 8), "the whole file is ignored: the file ends"),
        (b"0", Call("bcast", 1, 4, 8), "the file has no rules for bcast"),
        (b"1 10 1 0 1 0 1 0 0", Call("gatherv", 1, 4, 8), "gatherv does not use rules files"),
        (b"1 7 1 0 1 0 0 0 0", Call("bcast", 1, 2, 0), "the row for 0 and more bytes, with algorithm 0"),
        (b"1 7 1 0 1 0 99 0 0", Call("bcast", 1, 2, 2**31), "there is no algorithm 99, so the call fails"),
        (b"1 7 1 0 0", Call("bcast", 1, 2, 8), "which has no row for 8 bytes"),
        (
            b"1 14 1 0 2 0 1 0 0 32 2 0 0",
            Call("scan", 1, 4, 8),
            "scan of 8 bytes among 4 ranks on 1 node: Open MPI comp",
        ),
        (b"1 6 1 0 1 0 1 0 0", Call("barrier", 4, 4, 0), "barrier among 4 ranks on 4 nodes: Open MPI compares 0"),
    ],
)
def test_every_choice_has_a_reason(data: bytes, call: Call, words: str) -> None:
    assert words in "\n".join(showing.explain(data, FAMILIES[:1], call).lines)


def test_a_communicator_without_an_entry_is_reported() -> None:
    data = b'{"collectives": {"bcast": [{"comm_size_min": 8, "rules": [{"alg": 1}]}]}}'
    assert "no entry of bcast is for 4 ranks on 2 nodes" in "\n".join(
        showing.explain(data, FAMILIES[-1:], Call("bcast", 2, 4, 8)).lines
    )


def test_check_of_a_file_that_all_releases_read_equally_succeeds() -> None:
    result = run("check", THEIR_GOLDEN / "portable.conf")
    assert result.exit_code == 0
    told = document("check", THEIR_GOLDEN / "portable.conf")
    assert told["alike"] is True
    assert [one["read"] for one in told["releases"]] == [True] * 5


@pytest.mark.parametrize("release", ["4.1.4", "5.0.7"])
def test_check_considers_only_the_requested_releases(release: str) -> None:
    assert run("check", THEIR_GOLDEN / "classic.conf", "--release", release).exit_code == 0
    assert run("check", THEIR_GOLDEN / "json.conf", "--release", release).exit_code == 3
    assert run("check", THEIR_GOLDEN / "json.conf", "--release", "6.0.0").exit_code == 0
    assert run("check", THEIR_GOLDEN / "nodes.conf", "--release", "nodes").exit_code == 0


def test_a_file_that_is_ignored_is_an_error_for_the_releases_that_ignore_it() -> None:
    errors = found(CASES["a header"].data, "error")
    assert [releases for message, releases in errors.items() if "-2" in message] == [[OLD[0], OLD[2]]]


def test_a_file_that_crashes_jobs_is_reported_as_such() -> None:
    data = OVERRUNS["2^32 message sizes"]
    (message,) = found(data, "error")
    assert (
        "jobs may crash in MPI_Init while they read the file: line 1: a number of message sizes is 4294967296"
        in message
    )
    assert showing.check(data, FAMILIES).lines[0].startswith("4.1.0-4.1.7  CRASHES: line 1")
    assert "the job CRASHES" in "\n".join(showing.explain(data, FAMILIES, Call("bcast", 1, 4, 8)).lines)


def test_counts_that_need_too_much_memory_are_reported() -> None:
    assert any("2147483648, too large to allocate memory" in m for m in found(b"1 7 2147483648 0 1 0 1 0 0", "error"))
    assert any("each task allocates memory for all first" in m for m in found(b"1 7 1 0 9999999 0 1 0 0", "error"))


def test_a_missing_algorithm_is_an_error_for_the_releases_without_it() -> None:
    assert found(b"1 0 1 0 1 0 7 0 0", "error") == {
        "line 1: allgather has no algorithm 7: a job aborts in the first call that this row decides: use 0 to 6": OLD[
            :2
        ]
    }


def test_a_file_that_release_6_reads_differently_is_reported_with_an_example() -> None:
    (message,) = [m for m, r in found(b"1 7 2 1 1 0 0 0 0 4 1 0 1 0 0", "warning").items() if r == ["6"]]
    assert message == (
        "its meaning differs from 4.1.0-4.1.7: bcast of 0 compared bytes, 2 ranks, nodes: 1, gets algorithm 1 "
        "instead of the built-in rules"
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"1 7 1 64 1 0 1 0 0", "communicators of fewer than 64 ranks get this entry of bcast, too"),
        (b"1 7 3 2 1 0 1 0 0 4 1 0 1 0 0 3 1 0 1 0 0", "line 1: 3 ranks follow 4: sort the entries of bcast"),
        (
            b"1 7 1 0 2 0 1 0 0 0 2 0 0",
            "line 1: 0 bytes follow 0: sort the rows of bcast by size, and list each size once",
        ),
        (b"1 9 1 0 1 0 1 0 0", "gather by basic_linear gives wrong results in some programs if a file selects it"),
        (b"1 7 1 0 1 0 1 0 08 0", "08 starts like an octal number, and is read as several numbers"),
        (b"1 7 1 0 1 0 0b1 0 0", "0b1 is 1 if Open MPI was built with glibc 2.38"),
        (b"0", "the file has no rules"),
        (
            b'{"collectives": {"bcast": [{"rules": [{"alg": "quick"}]}]}}',
            "bcast has no such algorithm: the rule is skipped",
        ),
    ],
)
def test_probable_mistakes_are_warnings(data: bytes, words: str) -> None:
    assert any(words in message for message in found(data, "warning"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"1 7 1 0 2 0 0 0 0 0100 1 0 0", "line 1: 0100 is octal, that is 64"),
        (b"1 5 1 0 1 0 1 0 0", "alltoallw does not use rules files"),
        (b"1 7 1 0 1 0 1 0 0", "han outranks tuned"),
    ],
)
def test_other_remarks_are_notes(data: bytes, words: str) -> None:
    assert any(words in message for message in found(data, "note"))


def test_a_good_file_has_only_the_note_about_han() -> None:
    data = (THEIR_GOLDEN / "portable.conf").read_bytes().split(b"9 # gather")[0].replace(b"2 # coll", b"1 # coll")
    assert [one.level for one in findings(data, [read(data, family) for family in FAMILIES])] == ["note"]
    assert findings(data, [read(data, FAMILIES[0])]) == []  # rows of equal sizes count as ordered


def test_the_most_severe_findings_come_first() -> None:
    listed = findings(b"1 7 1 64 1 0 99 0 010", [read(b"1 7 1 64 1 0 99 0 010", family) for family in FAMILIES])
    assert [one.level for one in listed] == sorted(
        (one.level for one in listed), key=["error", "warning", "note"].index
    )
    assert isinstance(listed[0], Finding)


@pytest.mark.parametrize("options", [[], ["--han"]], ids=["tuned", "han"])
def test_check_notes_that_a_newer_series_is_assumed_to_read_as_6(options: list[str]) -> None:
    file = THEIR_GOLDEN / ("han-5.0.conf" if options else "portable.conf")
    lines = run("check", file, *options, "--release", "6.1.0", "--release", "7.0.1").output.splitlines()
    assert lines[0].startswith("6")
    assert "note: 6.1.0 is assumed to read files as 6 does, which is unproved" in lines[-1]
    assert "; 7.0.1 is assumed to read files as 6 does" in lines[-1]
    assert "unproved" not in run("check", file, *options, "--release", "6.0.0").output
    assert "unproved" not in run("check", file, *options).output


def test_a_rules_file_for_han_is_shown_checked_and_explained() -> None:
    path = THEIR_GOLDEN / "han-5.0.conf"
    assert "from 1 ranks: from 0 bytes tuned; from 1024 bytes han @simple" in run("show", path, "--han").output
    assert run("check", path, "--han").exit_code == 3
    assert run("check", path, "--han", "--release", "5.0.7").exit_code == 0
    output = run("explain", path, "--han", "--collective", "bcast", "--ranks", "4", "--size", "4096").output
    assert "intra_node: line 10: han @simple" in output
    assert "inter_node: MCA parameters decide" in output
    told = document("explain", path, "--han", "--collective", "bcast", "--ranks", "4", "--size", "8")
    assert told["readings"][1]["levels"]["intra_node"]["component"] == "tuned"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--collective", "bcats", "--ranks", "4"), "'bcats' is not a collective: choose one of allgather,"),
        (("--collective", "bcast", "--ranks", "2", "--nodes", "4"), "2 ranks cannot run on 4 nodes"),
        (("--collective", "bcast", "--ranks", "4", "--release", "4.0.3"), "Open MPI 4.0.3: its format of rules files"),
        (("--collective", "bcast", "--ranks", "4", "--release", "new"), "'new' is not an Open MPI release"),
    ],
)
def test_an_invalid_question_is_refused_in_one_line(arguments: tuple[str, ...], why: str) -> None:
    result = run("explain", THEIR_GOLDEN / "classic.conf", *arguments)
    assert isinstance(result.exception, TunerError)
    assert why in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize("arguments", [("--ranks", "0"), ("--ranks", "4", "--size", "-1"), ("--ranks", "99999999999")])
def test_a_number_that_no_call_can_have_is_refused(arguments: tuple[str, ...]) -> None:
    assert run("explain", THEIR_GOLDEN / "classic.conf", "--collective", "bcast", *arguments).exit_code == 2


def test_an_unusable_path_is_reported_with_its_effect_on_jobs(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate(FILE_MAX + 1)
    for path, why in [
        (tmp_path, "is a directory, so Open MPI would continue without rules"),
        (tmp_path / "none", r"cannot be read \(No such file or directory\)"),
        (pipe, "is not a regular file"),
        (large, "is larger than 4 MiB"),
        (tmp_path / "large" / "below", r"\(Not a directory\)"),
    ]:
        with pytest.raises(TunerError, match=why):
            load(path)


def test_a_file_that_the_user_may_not_read_is_named(place: Path) -> None:
    path = place / "rules.conf"
    path.write_bytes(b"0")
    path.chmod(0)
    with as_nobody(), pytest.raises(TunerError, match=r"cannot be read \(Permission denied\)"):
        load(path)


@pytest.mark.parametrize(
    "data",
    [
        b"9" * 6000,
        b"-" + b"9" * 6000,
        b"0" * 6000 + b"1 7 1 0 1 0 1 0 0",
        b"1 7 1 0 1 0 0" + b"7" * 6000 + b" 0 0",
        b"1 7 1 0 1 0 0b" + b"1" * 60000 + b" 0 0",
        b"rule-file-version-" + b"9" * 6000 + b"\n1 7 1 0 1 0 1 0 0",
        b"[" + b"9" * 6000 + b"]",
        b"1 bcast 1 0 1 1 1 " + b"9" * 6000,
    ],
    ids=["long", "negative", "zeros", "octal", "binary", "header", "JSON", "han"],
)
def test_numbers_with_thousands_of_digits_are_read_without_an_error(data: bytes) -> None:
    assert showing.check(data, FAMILIES).lines
    assert showing.check_han(data, FAMILIES).lines


@given(st.binary(max_size=300) | st.sampled_from([case.data for case in CASES.values()] + list(HAN_CASES.values())))
@settings(max_examples=examples(150))
def test_any_bytes_can_be_shown_checked_and_explained(data: bytes) -> None:
    families = [*FAMILIES, NODE_LEVEL]
    for shown in (
        showing.show(data, families),
        showing.check(data, families),
        showing.explain(data, families, Call("bcast", 2, 4, 1024)),
        showing.show_han(data, FAMILIES),
        showing.check_han(data, FAMILIES),
        showing.explain_han(data, FAMILIES, Call("bcast", 2, 4, 1024)),
    ):
        assert shown.lines
        json.dumps(shown.document)


def test_all_releases_read_the_documented_example_equally() -> None:
    page = (ROOT / "docs/reference/rules-files.md").read_text()
    text = page.split("### A file that means the same to all")[1].split("```")[1]
    told = showing.check(text.encode(), FAMILIES)
    assert told.document["alike"] is True
    for ranks, words in [(3, "the built-in rules decide"), (4, "binomial (6)"), (5, "the built-in rules decide")]:
        assert words in "\n".join(showing.explain(text.encode(), FAMILIES, Call("bcast", 2, ranks, 8)).lines)
