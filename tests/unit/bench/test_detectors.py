# SPDX-License-Identifier: Apache-2.0
"""Test the runs whose features train detectors, and the benchmark of detectors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from bench.patterns import detectors
from bench.patterns.__main__ import KEYS, PARTS, main
from bench.patterns.feature_grid import (
    FAR_SIZES,
    LAYOUTS,
    TRAINED_SIZES,
    UNSEEN_SIZES,
    Lane,
    Run,
    exploration,
    lanes,
    runs,
    size_of,
)
from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import AccessClass
from reprise.matcher.detection import detector_file
from reprise.tuner.detection.detector_quality import detect_ms, quality
from reprise.tuner.detection.labelled_rows import split
from reprise.tuner.forge import forge_command, forge_pattern


def test_the_grid_has_each_pattern_with_each_number_of_processes_and_forwarders() -> None:
    assert len(set(lanes())) == 9 and all(lane.processes // lane.forwarders >= 2 for lane in lanes())
    of_lane = runs(1)
    assert len(set(of_lane)) == len(of_lane) == 3 * (2 * 4 + 2)
    assert {run.size for run in of_lane} == {*TRAINED_SIZES, *UNSEEN_SIZES, *FAR_SIZES}
    assert set(of_lane) == set(runs(2)) and of_lane != runs(2) and of_lane == runs(1)
    assert {run.known for run in of_lane} == set(LAYOUTS) == set(AccessClass)


def test_the_name_of_a_run_has_its_size() -> None:
    assert {size_of(f"lane/{run}"): run.size for run in runs(1)} == {run.size: run.size for run in runs(1)}


@pytest.mark.parametrize("lane", lanes(), ids=str)
def test_a_run_is_a_plan_that_forge_takes(lane: Lane) -> None:
    for run in runs(1):
        found = exploration(lane, run, "/f", 24.0)
        moving = [step for step in found.phases[0].steps if step.total_size]
        assert [step.operation for step in moving] == [forge_pattern.Operation(run.operation)]
        assert moving[0].total_size // run.size // lane.processes > 0
        assert found.pause and found.pause * run.rate == pytest.approx(lane.processes)
        assert forge_command.arguments(found)[-1] == f"close:{dict_of(run)}:/f"


def dict_of(run: Run) -> str:
    return {"individual": "individual", "shared contiguous": "contiguous", "shared strided": "strided"}[run.known]


def test_files_of_all_lanes_fit_into_the_memory() -> None:
    """A file that is read is written before, for at most twice as many requests as the mean pause allows."""
    largest = max(2 * run.rate * run.size for run in runs(1) if run.operation is Operation.READ)
    assert 24 * largest * len(lanes()) < 10 * 2**30


@pytest.mark.slow
def test_the_detector_of_reprise_meets_its_bars() -> None:
    shipped = detector_file.read()
    _, test = split(detectors.rows_in(detectors.FEATURES, TRAINED_SIZES), detectors.SEED)
    unseen = detectors.rows_in(detectors.FEATURES, UNSEEN_SIZES)
    assert quality(shipped, test).accuracy >= 0.997
    assert quality(shipped, unseen).wrong <= detectors.THESIS_ERRORS * len(unseen)
    assert detect_ms(shipped, unseen) <= 5
    assert detectors.FEATURES.stat().st_size < 1e6


@pytest.mark.slow
def test_the_evidence_of_the_detector_of_reprise_is_what_its_features_show() -> None:
    shipped = detector_file.read()
    unseen = detectors.rows_in(detectors.FEATURES, UNSEEN_SIZES)
    assert quality(shipped, unseen).to_json() == shipped.evidence["validation"]


def test_parts_that_did_not_run_are_null(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> Mapping[str, Any]:
        raise ValueError("no data")

    monkeypatch.setitem(PARTS, "detectors", lambda: {"accuracy": 0.999, "chosen": "tree"})
    assert main(["--only", "detectors"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found == {
        **dict.fromkeys(KEYS),
        "accuracy": 0.999,
        "details": {"detectors": {"chosen": "tree"}},
        "failed": [],
    }
    monkeypatch.setitem(PARTS, "detectors", fail)
    assert main(["--only", "detectors"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["failed"] == ["detectors"]
