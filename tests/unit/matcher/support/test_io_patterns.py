# SPDX-License-Identifier: Apache-2.0
"""Test what an explanation says about a job's access patterns."""

from __future__ import annotations

import dataclasses
import json

from reprise.database.entities import JobPattern
from reprise.database.record_io_kinds import PATTERNS
from reprise.matcher.linkage import load
from reprise.matcher.support.explainer import _fitting
from reprise.matcher.support.hidden_words import hide
from reprise.matcher.support.io_patterns import pattern_texts
from reprise.matcher.support.job_story import Story
from tests.unit.database_values import outcome
from tests.unit.matcher.support.test_hidden_words import alices, decided, story

STRIDED, OWN = "write/shared/strided/64K", "write/per-process/contiguous/1M"


def told(patterns: list[JobPattern], kinds: list[str]) -> Story:
    """Return the story of bob's job, which got the settings of alice's record."""
    record = dataclasses.replace(alices(environment={}), parametrization={PATTERNS: kinds})
    whole = story(decided(load("thesis"), 0.001, record), record)
    decision = whole.decisions[0].decision
    runs = [outcome(id=3, uid=decision.uid, decision_id=decision.id, job_id=12)]
    return dataclasses.replace(whole, outcomes=runs, patterns={3: patterns} if patterns else {})


def test_the_patterns_of_a_job_are_named_with_their_shares() -> None:
    some = [JobPattern(3, STRIDED, 310.4, 9 * 10**9), JobPattern(3, "unknown", 20.0, 10**9)]
    assert list(pattern_texts(told(some, []))) == [
        "I/O patterns that forwarders saw, of 10.0 GB: write/shared/strided/64K 90% in 310 s, unknown 10% in 20 s"
    ]
    many = [JobPattern(3, f"p{number}", 1.0, 0) for number in range(6)]
    (text,) = pattern_texts(told(many, []))
    assert text.startswith("I/O patterns that forwarders saw, of 0 bytes: p0 0% in 1 s") and text.endswith(
        "2 more patterns"
    )
    assert list(pattern_texts(told([], ["write/shared/strided"]))) == []


def test_a_record_that_was_measured_with_other_patterns_was_a_wrong_match() -> None:
    some = [JobPattern(3, STRIDED, 310.4, 9 * 10**9)]
    assert len(list(pattern_texts(told(some, ["write/shared/strided"])))) == 1
    _, text = pattern_texts(told(some, ["write/per-process/contiguous", "read/shared/strided"]))
    assert text.startswith(
        "Record 7 was measured with write/per-process/contiguous, read/shared/strided, and most bytes"
    )
    assert text.endswith("it was a wrong match, whatever its score")


def test_another_users_record_is_not_described_and_other_jobs_are_left_out() -> None:
    whole = told([JobPattern(3, STRIDED, 310.4, 9 * 10**9)], ["write/per-process/contiguous"])
    uid = whole.decisions[0].decision.uid
    assert len(list(pattern_texts(whole))) == 2
    assert len(list(pattern_texts(hide(whole, uid)))) == 1
    assert hide(dataclasses.replace(whole, outcomes=[outcome(id=3, uid=uid + 1)]), uid).patterns == {}


def test_patterns_are_sent_by_the_daemon_and_left_out_if_they_fit_into_no_frame() -> None:
    whole = told([JobPattern(3, STRIDED, 310.4, 9 * 10**9), JobPattern(3, OWN, 1.0, 5)], [])
    again = Story.from_json(json.loads(json.dumps(whole.to_json())))
    assert again.patterns == whole.patterns
    assert Story.from_json({key: value for key, value in whole.to_json().items() if key != "patterns"}).patterns == {}
    many = dataclasses.replace(
        whole, patterns={3: [JobPattern(3, f"{OWN}{number}", 1.0, 5) for number in range(20_000)]}
    )
    found = Story.from_json(_fitting(many)["story"])
    assert found.patterns == {} and found.more and found.decisions
