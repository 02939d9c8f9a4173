# SPDX-License-Identifier: Apache-2.0
"""Test the rows with which detectors are trained and tested."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import AccessClass, Features
from reprise.matcher.detection.recorded_features import Recorded
from reprise.tuner.detection.labelled_rows import FOLDS, Row, centres, folds, split
from reprise.tuner.errors import TunerError
from tests.unit.detection_values import rows

GOOD, BAD = Features(Operation.READ, 4, 10, 10, 10, 0.0), Features(Operation.READ, 4, 10, 10, 10, None)


def run(name: str, known: AccessClass | None, seconds: int, features: Features = GOOD) -> list[Recorded]:
    """Return a run whose features show the second in the number of files."""
    return [Recorded(name, known, at, "job", replace(features, files=at + 1)) for at in range(seconds)]


def all_runs(seconds: int = 9) -> list[Recorded]:
    return [row for known in AccessClass for row in run(f"of {known}", known, seconds)]


def test_each_run_has_equally_many_rows_from_its_centre() -> None:
    found = centres([*all_runs(), *run("short", AccessClass.SHARED_STRIDED, 5)], 7, "x")
    assert Counter(row.run for row in found) == {**{f"of {known}": 5 for known in AccessClass}, "short": 5}
    assert [row.features.files for row in found if row.run == "of shared contiguous"] == [3, 4, 5, 6, 7]
    assert len(centres(all_runs(), 2, "x")) == 3 * 2


def test_rows_without_a_class_or_a_feature_are_left_out() -> None:
    extra = [*run("unknown", None, 9), *run("bad", AccessClass.SHARED_STRIDED, 9, BAD)]
    assert centres([*all_runs(), *extra], 7, "x") == centres(all_runs(), 7, "x")


def test_a_missing_class_is_refused_in_one_line() -> None:
    for some in (run("a", AccessClass.INDIVIDUAL, 3), [], run("a", None, 3)):
        with pytest.raises(TunerError, match=r"^a\.jsonl: no run has the class .*: record runs of each class$"):
            centres(some, 3, "a.jsonl")


def test_the_split_has_70_percent_of_each_class() -> None:
    training, test = split(rows([1000, 2000], seconds=10), 1)
    assert Counter(row.known for row in training) == dict.fromkeys(AccessClass, 56)
    assert Counter(row.known for row in test) == dict.fromkeys(AccessClass, 24)
    assert split(rows([1000, 2000], seconds=10), 1) == (training, test) != split(rows([1000, 2000], seconds=10), 2)


def test_each_row_is_judged_once_by_models_of_other_runs() -> None:
    some = rows([1000, 2000])
    found = folds(some, 1)
    assert len(found) == FOLDS and found == folds(some, 1)
    for fitted, held in found:
        assert not {row.run for row in fitted} & {row.run for row in held}
        assert {row.known for row in fitted} == {row.known for row in held} == set(AccessClass)
        assert len(fitted) + len(held) == len(some)
    judged = [row for _, held in found for row in held]
    assert sorted(map(repr, judged)) == sorted(map(repr, some))


def test_a_class_with_two_runs_has_two_folds_and_one_with_one_run_is_refused() -> None:
    some = [Row(f"{known}{number}", known, GOOD) for known in AccessClass for number in range(2)]
    assert len(folds(some, 1)) == 2
    with pytest.raises(TunerError, match="record at least two runs"):
        folds(some[1:], 1)
