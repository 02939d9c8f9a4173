# SPDX-License-Identifier: Apache-2.0
"""Rules files, most with an error, and calls whose outcomes show how Open MPI reads each file.

The real outcomes of each release are in `tests/golden/rules_on_openmpi.json`. `make test-matrix` runs the calls again,
and `python -m tests.matrix.openmpi` regenerates that file. No release has an algorithm 99, so a call fails if a rule
chooses algorithm 99 for it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reprise.tuner.openmpi.catalogue import compared_bytes
from reprise.tuner.openmpi.rules.releases import family_of, read
from reprise.tuner.openmpi.rules.rules_model import decide
from reprise.tuner.openmpi.rules.scan import OLDEST
from tests.places import GOLDEN

THEIR_GOLDEN = GOLDEN / "rules_on_openmpi.json"
RANKS = 4  # number of ranks of each launch
LIBRARIES = {"5.0.7": 41, "6.0.0rc2": 43}  # minor version of the glibc of newer builds (Debian 13, sid)

BCAST = b"1 7 1 0 1 0 99 0 0"
SIZED = ("allgather", "allreduce", "alltoall", "bcast", "gather", "reduce", "reduce_scatter", "scatter")
CALLS = ("bcast:8:4", "bcast:4096:4", "bcast:8:2", "allreduce:8:4")


@dataclass(frozen=True)
class Case:
    """A rules file, and calls in the form collective:size:ranks, on a communicator of the first `ranks` ranks."""

    data: bytes
    calls: tuple[str, ...] = CALLS


def _sizes(*rows: str) -> Case:
    """Return a case with one entry for bcast that has these rows, and calls of sizes near those of the rows."""
    text = f"1 7 1 0 {len(rows)} {' '.join(rows)}"
    return Case(text.encode(), ("bcast:1:4", "bcast:511:4", "bcast:600:4", "bcast:1024:4", "bcast:8192:4"))


def _ranks(text: bytes) -> Case:
    return Case(text, ("bcast:8:2", "bcast:8:3", "bcast:8:4"))


CASES = {
    # files that every release reads
    "a rule": Case(BCAST),
    "a final newline": Case(BCAST + b"\n"),
    "a number a line": Case(b"\n".join(BCAST.split()) + b"\n"),
    "comments": Case(b"# of a test\n1 # one 7 8\n7 1 0 1 0 99 0 0"),
    "a comment at the end, without a newline": Case(BCAST + b" # 1 2 3"),
    "a comment in the middle of a number": Case(b"1 7 1 0 1 0 9#9 0 0\n9 0 0"),
    "lines that end as in DOS": Case(b"1\r\n7\r\n1\r\n0\r\n1\r\n0 99 0 0\r\n"),
    "lines that end as on old Macs, with a comment": Case(b"# all\r1\r7\r1\r0\r1\r0 99 0 0\r"),
    "octal and hexadecimal": Case(b"1 07 0x1 0 01 0 0x63 0 0"),
    "a size that looks like octal and is": Case(
        b"1 7 1 0 2 0 1 0 0 0100 99 0 0", ("bcast:63:4", "bcast:64:4", "bcast:99:4", "bcast:100:4")
    ),
    "an 8 behind a 0": Case(b"1 7 1 0 1 08 99 0 0 1 99 0 0"),
    "0x without digits": Case(b"1 7 1 0x 1 0x 99 0 0"),
    "0b": Case(b"1 7 1 0 1 0b0 99 0 0"),
    "words between numbers": Case(b"a 1 b 7 1 0 1 0 99 0 0 and more"),
    "commas": Case(b"1,7,1,0,1,0,99,0,0"),
    "zero bytes between": Case(b"1\0007\0001\0000\0001\0000\00099\0000\0000"),
    "bytes that are no text": Case(b"\xff\xfe1 7 1 0 1\xc2\xa00 99 0 0"),
    "a byte order mark": Case(b"\xef\xbb\xbf" + BCAST),
    "plus signs": Case(b"+1 +7 +1 +0 +1 +0 +99 +0 +0"),
    "a lone minus in front of a number": Case(b"1 7 1 0 1 0 - 99 0 0"),
    "a word with a minus": Case(b"one-7 1 7 1 0 1 0 99 0 0"),
    "two minus signs": Case(b"1 7 1 0 1 0 --99 0 0"),
    "a fraction": Case(b"1 7 1 0 1 0 99.0 0"),
    "more than the file says": Case(BCAST + b" 3 1 0 1 0 99 0 0"),
    "an unfinished number at the end": Case(b"1 7 1 0 1 0 99 0 0x"),
    # files that show which of several rules a release chooses
    "inclusive sizes": _sizes("0 1 0 0", "1024 99 0 0"),
    "sizes out of order": _sizes("0 1 0 0", "1024 1 0 0", "512 99 0 0"),
    "a size twice, the wrong one first": _sizes("0 1 0 0", "512 99 0 0", "512 1 0 0"),
    "a size twice, the wrong one last": _sizes("0 1 0 0", "512 1 0 0", "512 99 0 0"),
    "size 0 twice": _sizes("0 1 0 0", "0 99 0 0"),
    "a size of 2^31": _sizes("0 1 0 0", "2147483648 99 0 0"),
    "a size of 2^32 and 8": _sizes("0 1 0 0", "4294967304 99 0 0"),
    "a size of 2^63": _sizes("0 1 0 0", "9223372036854775808 99 0 0"),
    "a size of 30 digits": _sizes("0 1 0 0", "1" * 30 + " 99 0 0"),
    "no guard": _ranks(b"1 7 1 4 1 0 99 0 0"),
    "a guard": _ranks(b"1 7 2 1 1 0 0 0 0 4 1 0 99 0 0"),
    "a guard above": _ranks(b"1 7 2 1 1 0 99 0 0 3 1 0 0 0 0"),
    "more ranks than any rule": _ranks(b"1 7 2 2 1 0 1 0 0 3 1 0 99 0 0"),
    "fewer ranks than any rule": _ranks(b"1 7 2 64 1 0 99 0 0 128 1 0 1 0 0"),
    "communicators out of order": _ranks(b"1 7 3 2 1 0 1 0 0 4 1 0 1 0 0 3 1 0 99 0 0"),
    "the wrong communicator size first": _ranks(b"1 7 2 4 1 0 99 0 0 2 1 0 1 0 0"),
    "a communicator size twice": _ranks(b"1 7 2 3 1 0 1 0 0 3 1 0 99 0 0"),
    "each communicator size doubled": _ranks(b"1 7 5 1 1 0 0 0 0 3 1 0 0 0 0 3 1 0 99 0 0 4 1 0 99 0 0 4 1 0 0 0 0"),
    "a communicator of 2^31": _ranks(b"1 7 2 1 1 0 1 0 0 2147483648 1 0 99 0 0"),
    "a communicator of 2^32 and 3": _ranks(b"1 7 2 1 1 0 1 0 0 4294967299 1 0 99 0 0"),
    "an algorithm of 2^32 and 1": Case(b"1 7 1 0 1 0 4294967297 0 0"),
    "an algorithm of 2^32": Case(b"1 7 1 0 1 0 4294967296 0 0"),
    "an algorithm of 2^31": Case(b"1 7 1 0 1 0 2147483648 0 0"),
    "algorithm 0": Case(b"1 7 1 0 1 0 0 0 0"),
    "a collective twice": Case(b"2 7 1 0 1 0 99 0 0 7 1 0 1 0 1 0 0"),
    "a collective twice, the wrong one last": Case(b"2 7 1 0 1 0 1 0 0 7 1 0 1 0 99 0 0"),
    "a collective without entries": Case(b"2 7 0 2 1 0 1 0 99 0 0"),
    "an entry without rows": _ranks(b"1 7 2 0 1 0 99 0 0 3 0"),
    "no collectives": Case(b"0"),
    "units": Case(
        b"9 0 1 0 2 0 0 0 0 4096 99 0 0 2 1 0 2 0 0 0 0 4096 99 0 0 3 1 0 2 0 0 0 0 4096 99 0 0 "
        b"6 1 0 2 0 0 0 0 1 99 0 0 7 1 0 2 0 0 0 0 4096 99 0 0 9 1 0 2 0 0 0 0 4096 99 0 0 "
        b"11 1 0 2 0 0 0 0 4096 99 0 0 12 1 0 2 0 0 0 0 4096 99 0 0 15 1 0 2 0 0 0 0 4096 99 0 0",
        (*(f"{name}:{size}:4" for name in SIZED for size in (1020, 1024, 4092, 4096)), "barrier:0:4", "gather:2048:2"),
    ),
    # files that at least one release ignores; only "the last collective" is read by all releases
    "empty": Case(b""),
    "only a comment": Case(b"# 1 7 1 0 1 0 99 0 0"),
    "only blanks": Case(b" \n\t\n"),
    "words": Case(b"the rules are not here"),
    "the first size is not 0": Case(b"2 7 1 0 1 0 99 0 0 2 1 0 1 64 1 0 0"),
    "a negative size": Case(b"1 7 1 0 2 0 99 0 0 -5 99 0 0"),
    "a negative segment": Case(b"1 7 1 0 1 0 99 0 -1"),
    "a negative communicator": Case(b"1 7 1 -4 1 0 99 0 0"),
    "a negative count": Case(b"1 7 -1 0 1 0 99 0 0"),
    "a row cut off": Case(b"2 7 1 0 1 0 99 0 0 2 1 0 1 0 1 0"),
    "a count too large": Case(b"1 7 1 0 2 0 99 0 0"),
    "a count too small": Case(b"2 7 1 0 1 0 99 0 0 1024 99 0 0 2 1 0 1 0 1 0 0"),
    "an unknown collective": Case(b"2 7 1 0 1 0 99 0 0 22 1 0 1 0 1 0 0"),
    "the last collective": Case(b"2 7 1 0 1 0 99 0 0 21 1 0 1 0 1 0 0"),
    "too many collectives": Case(b"23 7 1 0 1 0 99 0 0"),
    "a level of nodes": Case(b"1 7 1 2 1 4 2 0 99 0 0 1024 99 0 0"),
    "a level of nodes that reads as something else": Case(b"1 7 1 0 1 0 1 0 99 0 0"),
    "2^31 communicator sizes": Case(b"1 7 2147483648 0 1 0 99 0 0 3 1 0 99 0 0"),
    "2^31 message sizes": Case(b"1 7 1 0 2147483648 0 99 0 0 1024 99 0 0"),
    "2^32 and 1 communicator sizes, one of them there": Case(b"1 7 4294967297 0 1 0 99 0 0"),
    "2^63 message sizes": Case(b"1 7 1 0 9223372036854775808 0 99 0 0 1024 99 0 0"),
    # headers
    "a header": Case(b"rule-file-version-2\n" + BCAST),
    "a header of version 1": Case(b"rule-file-version-1\n" + BCAST),
    "a header of version 1, with five numbers": Case(b"rule-file-version-1\n1 7 1 0 2 0 99 0 0 7\n1024 99 0 0"),
    "a header of version 9": Case(b"rule-file-version-9\n1 7 1 0 2 0 99 0 0 7\n1024 99 0 0 7\n"),
    "a header of version -2": Case(b"rule-file-version--2\n" + BCAST),
    "a header behind a comment": Case(b"# mine\nrule-file-version-2\n" + BCAST),
    "a header behind a blank line": Case(b"\nrule-file-version-2\n" + BCAST),
    "a header without a number": Case(b"rule-file-version-x\n" + BCAST),
    "a header that takes the next number": Case(b"rule-file-version- " + BCAST),
    "a header that is cut off": Case(b"rule-file " + BCAST),
    "a header with large letters": Case(b"Rule-File-Version-2\n" + BCAST),
    "five numbers": Case(b"rule-file-version-2\n1 7 1 0 2\n0 99 0 0 7\n1024 99 0 0 7\n"),
    "five numbers in one row of two": Case(b"rule-file-version-2\n1 7 1 0 2\n0 1 0 0\n1024 99 0 0 7\n"),
    "five numbers behind tabs": Case(b"rule-file-version-2\n1 7 1 0 2\n0\t99\t0\t0\t \t7\n1024 99 0 0 7 # last\n"),
    "five numbers and no header": Case(b"1 7 1 0 2\n0 99 0 0 7\n1024 99 0 0 7\n"),
    "a header, and all rows on one line": Case(b"rule-file-version-2\n1 7 1 0 2 0 99 0 0 1024 99 0 0"),
    "a header, and a comma in front of the fifth": Case(b"rule-file-version-2\n1 7 1 0 1\n0 99 0 0, 7\n"),
    "a header, and a negative fifth": Case(b"rule-file-version-2\n1 7 1 0 2\n0 99 0 0 -7\n1024 99 0 0\n"),
    "a header in DOS": Case(b"rule-file-version-2\r\n1 7 1 0 2\r\n0 99 0 0\r\n1024 99 0 0 7\r\n"),
    # files in the format of release 6
    "JSON": Case(b'{"collectives": {"bcast": [{"rules": [{"alg": 99}]}]}}'),
    "JSON that is also numbers": Case(b'{"1": 7, "1": [0, 1, 0, 99, 0, 0]}'),
}

# Files with counts that exceed a C int: Open MPI's reader writes beyond its arrays, with results that differ between
# builds.
OVERRUNS = {
    "2^32 communicator sizes": b"1 7 4294967296 0 1 0 1 0 0 3 1 0 1 0 0 4 1 0 1 0 0",
    "2^32 and 1 communicator sizes": b"1 7 4294967297 0 1 0 1 0 0 3 1 0 1 0 0 4 1 0 1 0 0",
    "2^32 message sizes": b"1 7 1 0 4294967296 0 1 0 0",
}

HAN_CASES = {
    "names": b"1 bcast 1 intra_node 1 1 1 0 tuned",
    "ids": b"1 7 1 0 1 1 1 0 tuned",
    "a level's name that is none": b"1 bcast 1 node 1 1 1 0 tuned",
    "two levels": b"1\nbcast # one\n2\n0\n1 1 2\n0 tuned\n1024 sm\n2\n2 1 1 0 han 4 1 0 libnbc\n",
    "an algorithm": b"1 bcast 1 2 1 1 1 0 han @simple",
    "an algorithm by id": b"1 bcast 1 2 1 1 1 0 han @ 2",
    "an algorithm in the component's word": b"1 bcast 1 2 1 1 1 0 han@simple",
    "an algorithm that is none": b"1 bcast 1 2 1 1 1 0 han @fastest",
    "an algorithm of another component": b"1 bcast 1 2 1 1 2 0 tuned @simple 8 sm",
    "segments": b"1 bcast 1 0 1 1 2 0 tuned [1024, 2048] 64 sm",
    "segments cut off": b"1 bcast 1 0 1 1 1 0 tuned [1024",
    "a first size of 1": b"1 bcast 1 0 1 1 1 1 tuned",
    "a first size of 2": b"1 bcast 1 0 1 1 1 2 tuned",
    "a first communicator of 2": b"1 bcast 1 0 1 2 1 0 tuned",
    "a communicator of 0": b"1 bcast 1 0 1 0 1 0 tuned",
    "octal counts, decimal sizes": b"1 bcast 1 0 01 1 02 0 tuned 0100 sm",
    "a size in hexadecimal": b"1 bcast 1 0 1 1 2 0 tuned 0x10 sm",
    "a negative size": b"1 bcast 1 0 1 1 2 0 tuned -1 sm",
    "sizes out of order": b"1 bcast 1 0 1 1 3 0 tuned 1024 sm 512 basic",
    "a collective that is none": b"1 brodcast 1 0 1 1 1 0 tuned",
    "a collective of 22": b"1 22 1 0 1 1 1 0 tuned",
    "a collective with a tail": b"1 gatherv2 1 0 1 1 1 0 tuned",
    "a component that is none": b"1 bcast 1 0 1 1 1 0 fastest",
    "a level of 3": b"1 bcast 1 3 1 1 1 0 tuned",
    "no collectives": b"0",
    "empty": b"",
    "a collective without levels": b"2 bcast 0 reduce 1 0 1 1 1 0 tuned",
    "a collective twice": b"2 bcast 1 0 1 1 1 0 tuned bcast 1 0 1 1 1 0 sm",
    "cut off": b"2 bcast 1 0 1 1 1 0 tuned reduce 1 0 1 1",
    "a comment glued to a word": b"1 bcast#x 1 0 1 1 1 0 tuned",
    "a long word": b"1 " + b"b" * 40 + b" 1 0 1 1 1 0 tuned",
    "more than the file says": b"1 bcast 1 0 1 1 1 0 tuned 1",
}


def failing(data: bytes, release: str, calls: Sequence[str]) -> list[str]:
    """Return the calls for which a rule chooses a missing algorithm, if the release reads the file as Reprise does."""
    family = family_of(release)
    rules = read(data, family, libc=LIBRARIES.get(release, OLDEST)).rules
    found = []
    for call in calls:
        collective, size, ranks = call.split(":")
        compared = compared_bytes(collective, int(size), int(ranks))
        if decide(rules, collective, 1, int(ranks), compared).algorithm not in family.algorithms[collective]:
            found.append(call)
    return found


RANDOM_CALLS = (
    *(f"bcast:{size}:{ranks}" for size in (1, 64, 4096) for ranks in (2, 3, RANKS)),
    "allreduce:8:4",
    "allreduce:4096:2",
)
_NUMBERS = ("0", "1", "2", "3", "4", "99", "64", "0100", "0x40", "4096", "2147483648", "-1")
_BETWEEN = ("#", "# 1 2\n", "\n", "\r\n", "-", "+", "x", "0x", "08", "--", "99,", "rule-file-version-2", "\t", "a-")


def random_file(source: random.Random) -> bytes:
    """Return a random rules file with few errors: up to three words are changed, and the file may be truncated."""
    header = source.choice(("", "", "", "", "rule-file-version-2\n", "rule-file-version-1\n"))
    fifth = ("", " 7") if "2" in header else ("",) * 40 + (" 7",)

    def rows(count: int) -> str:
        sizes = sorted([0, *source.sample((2, 64, 100, 4096), count - 1)])
        choices = [f"{source.choice('0199')} {source.choice('04')} {source.choice(('0', '1024'))}" for _ in sizes]
        pairs = zip(sizes, choices, strict=True)
        return "".join(f"{size} {choice.replace('9', '99')}{source.choice(fifth)}\n" for size, choice in pairs)

    def collective(number: int) -> str:
        keys = sorted(source.sample(range(6), source.randint(1, 3)))
        counts = [source.randint(1, 3) for _ in keys]
        entries = "".join(f"{key} {count}\n{rows(count)}" for key, count in zip(keys, counts, strict=True))
        return f"{number} {len(keys)}\n{entries}"

    ids = source.sample((7, 2), source.randint(1, 2))
    words = f"{header}{len(ids)}\n{''.join(map(collective, ids))}".split(" ")
    for _ in range(source.choice((0, 0, 0, 1, 1, 2, 3))):
        place = source.randrange(len(words))
        match source.randrange(8):
            case 0 | 1 | 2:
                words.insert(place, source.choice(_BETWEEN))
            case 3 | 4:
                words[place] = source.choice(_NUMBERS)
            case 5:
                words.insert(place, source.choice(_NUMBERS))
            case 6:
                del words[place]
            case _:
                del words[place + 1 :]
        words = words or [""]
    return " ".join(words).encode()


# Outcomes by kind, case and release. "tuned": the calls that failed, each because of a rule in effect. "overruns":
# whether the launch crashed. "han": the rows that were read, or None if the file was ignored.
Outcomes = dict[str, dict[str, dict[str, Any]]]


def golden() -> Outcomes:
    """Return the stored outcomes: {"tuned", "overruns" or "han": {case: {release: outcome}}}."""
    found: Outcomes = {}
    for kind, cases in json.loads(THEIR_GOLDEN.read_text()).items():
        found[kind] = {
            case: {release: outcome for releases, outcome in groups for release in releases}
            for case, groups in cases.items()
        }
    return found


def store(outcomes: Outcomes) -> None:
    """Store the outcomes, with one line for each group of releases that have the same outcome in a case."""
    lines = []
    for kind, cases in outcomes.items():
        rows = []
        for case, by_release in cases.items():
            groups: list[tuple[list[str], Any]] = []
            for release, outcome in by_release.items():
                same = next((releases for releases, other in groups if other == outcome), None)
                if same is None:
                    groups.append(([release], outcome))
                else:
                    same.append(release)
            rows.append(f"  {json.dumps(case)}: [\n   " + ",\n   ".join(map(json.dumps, groups)) + "\n  ]")
        lines.append(f" {json.dumps(kind)}: {{\n" + ",\n".join(rows) + "\n }")
    THEIR_GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
