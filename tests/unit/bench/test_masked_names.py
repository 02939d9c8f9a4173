# SPDX-License-Identifier: Apache-2.0
"""Test the benchmark of programs with masked names: its counts of right, wrong and missing matches."""

from __future__ import annotations

import dataclasses

from bench.recognition.masked_names import BUILDS, PROGRAMS, measure
from reprise.matcher.submission.program_identity import UNKNOWN, ProgramIdentity


def identity(letter: str) -> ProgramIdentity:
    return ProgramIdentity(40 * letter, 32 * letter, 32 * letter, 32 * letter)


def test_builds_and_strangers_are_counted() -> None:
    letters = dict(zip(PROGRAMS, "abcdefg", strict=True))
    builds = {(program, build): identity(letters[program]) for program in PROGRAMS for build in BUILDS}
    strangers = {"other": identity("0"), "same": identity("a"), "unknown": UNKNOWN}
    found = measure(builds, strangers)
    assert (found["masked_names_recall"], found["masked_names_false"], found["false"]) == (1.0, 1, ["same"])
    builds |= {("cg", "O0"): UNKNOWN, ("ft", "O0"): dataclasses.replace(identity("a"))}
    found = measure(builds, {})
    assert found["asked"] == 140 and found["masked_names_recall"] < 0.93 and found["masked_names_confused"] > 0
