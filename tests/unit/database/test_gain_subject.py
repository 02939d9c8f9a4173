# SPDX-License-Identifier: Apache-2.0
"""Test the subject of a gain (what it was measured on), in words, for any parametrization of a record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reprise.database import Database
from reprise.database.gain_subject import is_withdrawn, measured_gain, promise, subject, subject_in
from reprise.database.joint_component import joint_name, parts_of
from reprise.database.totals import WantedRecords
from tests.unit.database_values import record


def rules(*problems: str, **changes: Any) -> dict[str, Any]:
    return {"rules": [{"problem": problem, "applied": True, **changes} for problem in problems]}


@pytest.mark.parametrize(
    ("parametrization", "words"),
    [
        ({}, ""),
        ({"parameters": {"size": 4}}, ""),
        ({"parts": {"openmpi-collectives": rules("bcast/4")}}, ""),
        (rules("bcast/4096", "bcast/65536"), "bcast of 4 and 64 KiB in a benchmark"),
        (rules("bcast/65536", "bcast/4096", "bcast/4096"), "bcast of 4 and 64 KiB in a benchmark"),
        (rules("bcast/8", "bcast/65536"), "bcast of 8 B and 64 KiB in a benchmark"),
        (rules("4x1/bcast/8", "4x1/allreduce/1048576"), "bcast of 8 B and allreduce of 1 MiB in a benchmark"),
        (rules(*(f"bcast/{2**power}" for power in range(2, 21))), "bcast of 4 B to 1 MiB in a benchmark"),
        (rules("barrier/0"), "barrier in a benchmark"),
        (
            rules("a/8", "b/1536", "c/1024", "d/3", "e/1"),
            "a of 8 B, b of 1.5 KiB, c of 1 KiB and 2 more collectives in a benchmark",
        ),
        (
            {"rules": [*rules("bcast/8")["rules"], *rules("bcast/16", applied=False)["rules"]]},
            "bcast of 8 B in a benchmark",
        ),
        ({"rules": []}, "single calls in a benchmark"),
        ({"rules": ["odd", {}, {"problem": 7}]}, "single calls in a benchmark"),
        ({"gain_of": "a figure in the application's output (MB/s)"}, "a figure in the application's output (MB/s)"),
        ({"gain_of": 7, "rules": "odd"}, ""),
    ],
)
def test_the_subject_of_a_gain_is_stated_in_words(parametrization: dict[str, Any], words: str) -> None:
    assert subject(parametrization) == words
    row = json.dumps([parametrization.get("gain_of"), parametrization.get("rules")])
    assert subject_in(row) == words
    assert measured_gain(words) == f"measured gain of {words or 'the tuned job'}: "


def test_a_gain_by_the_withdrawn_method_of_0_1_is_stated_but_not_promised() -> None:
    today = {"default_s": 1.0, "tuned_s": 0.5, "default": {"mean": 1.0}, "tuned": {"mean": 0.5}}
    older = {"default_s": 1.0, "tuned_s": 0.5}
    for row, withdrawn in ((today, False), (older, True), ({**today, "by_mean": True}, True), ({}, False)):
        words = subject(rules("bcast/4096", **row))
        assert words == "bcast of 4 KiB in a benchmark" + " by a withdrawn method" * withdrawn
        assert (
            is_withdrawn(words)
            == withdrawn
            == is_withdrawn(subject_in(json.dumps([None, rules("bcast/4", **row)["rules"]])))
        )
    assert promise(0.83, 0.5, words) == ("measured gain of bcast of 4 KiB in a benchmark: 83% (at least 50%)")
    assert promise(0.83, 0.5, subject(rules("bcast/4096", **older))) == (
        "unknown gain (measured for bcast of 4 KiB in a benchmark by a withdrawn method)"
    )
    left_out = rules("bcast/4096", **today)["rules"] + rules("bcast/8", applied=False, **older)["rules"]
    assert not is_withdrawn(subject({"rules": left_out})), "rows that are not applied do not count"


def test_the_database_and_a_record_give_the_same_subject(database: Database) -> None:
    for given in ({}, rules("bcast/4096"), {"gain_of": "a figure"}, {"rules": 3}):
        database.add_record(record(parametrization=given, campaign_id=None, artifact_sha256=None))
    texts = list(database.record_texts())
    assert [subject_in(text.subject) for text in texts] == [
        subject(database.record(text.id).parametrization) for text in texts
    ]
    assert [of_run_time for *_, of_run_time in database.gains_of_jobs(None)] == [1, 0, 0, 0]


def test_a_combination_is_found_by_each_of_its_components(database: Database) -> None:
    assert joint_name(["sro", "ompio"]) == "ompio+sro" and parts_of("ompio+sro") == ("ompio", "sro")
    for name in ("ompio", "ompio+sro", "romio"):
        database.add_record(record(component=name, campaign_id=None, artifact_sha256=None))
    assert [one.id for one in database.records(component="ompio")] == [1, 2]
    assert [one.id for one in database.records(component="sro")] == [2]
    assert [one.id for one in database.records(component="omp")] == []
    assert [one.id for one in database.some_records(WantedRecords(component="ompio"))] == [2, 1]
    assert [number for number, *_ in database.gains_of_jobs("sro")] == [2]
