# SPDX-License-Identifier: Apache-2.0
"""Test recorded features, and the recording of them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable

import pytest

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.json_lines import LONGEST
from reprise.matcher.council.pattern_detector import AccessClass, Features
from reprise.matcher.detection.detection_report import cells, of_observed, of_recorded
from reprise.matcher.detection.feature_recording import Recording, record
from reprise.matcher.detection.feature_source import Observed
from reprise.matcher.detection.recorded_features import HEADER, Recorded, line, read
from reprise.matcher.errors import DetectorError
from tests.unit.detection_values import KIB, detector

SIZE = 32 * KIB
STRIDED = Features(Operation.WRITE, 1, SIZE, SIZE, SIZE, 10.0 * SIZE)
ALONE = Features(Operation.WRITE, 1, SIZE, SIZE, SIZE, None)
ROW = Recorded("run", AccessClass.SHARED_STRIDED, 1764380001.0, "7", STRIDED)


def lines(*rows: Recorded) -> io.BytesIO:
    return io.BytesIO("".join(f"{text}\n" for text in (HEADER, *map(line, rows))).encode())


def test_features_are_read_as_they_were_written() -> None:
    unknown = Recorded("other", None, 2.5, "8", ALONE)
    assert list(read(lines(ROW, unknown), "x")) == [ROW, unknown]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: "),
        ('{"version": 2}', "version 2, and 1 is read"),
        (f"{HEADER}\n{{", "line 2: "),
        (f"{HEADER}\n{line(ROW)}\n{line(ROW).replace('strided', 'random')}", "line 3: "),
        (f"{HEADER}\n{line(ROW).replace('write', 'open')}", "line 2: "),
        (f"{HEADER}\n{line(ROW).replace('327680.0', 'NaN')}", "line 2: "),
        (f"{HEADER}\n{line(ROW).replace('327680.0', '-1')}", "line 2: "),
        (f"{HEADER}\n{line(ROW).replace('distance_mean', 'distance')}", "unknown setting 'distance'"),
        (f"{HEADER}\n{' ' * LONGEST}1", "is longer than"),
    ],
)
def test_wrong_lines_are_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(DetectorError) as raised:
        list(read(io.BytesIO(text.encode()), "a.jsonl"))
    assert str(raised.value).startswith("a.jsonl: ") and words in str(raised.value) and "\n" not in str(raised.value)


class Forwarder:
    """A forwarder that answers with one job's features, which begin at a time, or None as its metrics do."""

    def __init__(self, *answers: Iterable[Observed]) -> None:
        self.answers = list(answers)
        self.now = 100.9
        self.asked_at: list[float] = []

    def ask(self, address: str) -> list[Observed]:
        self.asked_at.append(self.now)
        return list(self.answers.pop(0))

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def recorded(self, recording: Recording, seconds: int) -> list[Recorded]:
        return list(record(recording, ["a"], self.ask, lambda: self.now, self.sleep, seconds))


def test_each_second_is_recorded_once() -> None:
    first, second = (Observed("7", at, STRIDED) for at in (100.0, 102.0))
    other = Observed("8", 100.0, ALONE)
    forwarder = Forwarder([first, other], [first], [second], [])
    found = forwarder.recorded(Recording(AccessClass.SHARED_STRIDED, "7", "run"), 4)
    assert [(one.at, one.run, one.known, one.job) for one in found] == [
        (100, "run", AccessClass.SHARED_STRIDED, "7"),
        (102, "run", AccessClass.SHARED_STRIDED, "7"),
    ]
    assert forwarder.asked_at == pytest.approx([101.4, 102.4, 103.4, 104.4])


def test_metrics_without_a_time_are_those_of_the_second_before() -> None:
    one = Observed("7", None, STRIDED)
    other = Observed("7", None, ALONE)
    found = Forwarder([one], [one], [other]).recorded(Recording(), 3)
    assert [(row.at, row.run, row.known, row.features) for row in found] == [
        (100, "7", None, STRIDED),
        (102, "7", None, ALONE),
    ]


def test_the_patterns_of_jobs_are_reported_with_the_reason_if_they_are_unknown() -> None:
    some = [Observed("7", 1.0, STRIDED), Observed("8", None, ALONE)]
    found = of_observed(detector(), some)
    assert cells(found)[0] == [
        ("7", "write", "write/shared/strided/16K", "0.980", ""),
        ("8", "write", "unknown", "", "distance_mean is unknown"),
    ]
    assert cells([])[0] == [] and json.dumps(found)


def test_the_patterns_of_recorded_runs_are_counted() -> None:
    unlabelled = Recorded("other", None, 2.5, "8", ALONE)
    wrong = Recorded("run", AccessClass.SHARED_CONTIGUOUS, 2.5, "7", ALONE)
    found = of_recorded(detector(), [ROW, ROW, wrong, unlabelled])
    assert cells(found)[0] == [
        ("run", "write/shared/strided/16K", "2", "2 of 3"),
        ("run", "unknown", "1", "2 of 3"),
        ("other", "unknown", "1", ""),
    ]
