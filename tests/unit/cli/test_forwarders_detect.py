# SPDX-License-Identifier: Apache-2.0
"""Test `reprise forwarders detect`, `record` and `train`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reprise.cli.forwarders_detect import CLASSES
from reprise.cli.main import reprise
from reprise.matcher.council.pattern_detector import AccessClass
from reprise.matcher.detection import feature_source
from reprise.matcher.detection.detector_file import text_of
from reprise.matcher.detection.feature_source import Observed
from reprise.matcher.detection.recorded_features import HEADER, Recorded, line, read
from reprise.matcher.errors import DetectorError
from reprise.tuner.detection.labelled_rows import Row
from tests.unit.detection_values import KIB, detector, rows


def run(*arguments: object) -> Result:
    return CliRunner().invoke(reprise, ["forwarders", *map(str, arguments)])


def text(some: Sequence[Row]) -> str:
    lines = [line(Recorded(row.run, row.known, 1.0, "7", row.features)) for row in some]
    return "".join(f"{one}\n" for one in (HEADER, *lines))


def test_the_classes_of_the_option_are_those_of_detectors() -> None:
    assert list(CLASSES) == [one.value for one in AccessClass]


def test_the_patterns_of_recorded_features_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(text(rows([32 * KIB])))
    (tmp_path / "tree.json").write_text(text_of(detector()))
    found = run("detect", tmp_path / "a.jsonl", "--detector", tmp_path / "tree.json")
    assert found.exit_code == 0, found.output
    cells = [row.split() for row in found.output.splitlines()]
    assert ["shared", "strided-32768-32", "write/shared/strided/16K", "8", "8", "of", "8"] in cells
    found = run("detect", tmp_path / "a.jsonl", "--detector", tmp_path / "tree.json", "--json")
    content = json.loads(found.output)
    assert content["version"] == 1 and content["detector"] == "tree" and len(content["patterns"]) == 12


def test_the_patterns_of_a_forwarder_are_those_of_the_last_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = next(row for row in rows([32 * KIB]) if row.known is AccessClass.INDIVIDUAL)
    answers = [[Observed("a\x1bb", 1.0, row.features)], []]
    monkeypatch.setattr(feature_source, "observed", lambda address: answers.pop(0) if address == "ion1:9564" else None)
    (tmp_path / "tree.json").write_text(text_of(detector()))
    found = run("detect", "ion1:9564", "--detector", tmp_path / "tree.json").output
    assert "  write/per-process/contiguous/16K  0.980" in found and "\x1b" not in found
    assert run("detect", "ion1:9564", "--detector", tmp_path / "tree.json").output.startswith("no patterns: ")


def test_features_are_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = rows([32 * KIB])[0]
    monkeypatch.setattr(feature_source, "observed", lambda _: [Observed("7", 5.0, row.features)])
    monkeypatch.setattr("time.sleep", lambda _: None)
    output = tmp_path / "a.jsonl"
    for name in ("one", "two"):
        words = ["record", "a", "--output", output, "--class", CLASSES[2], "--run", name, "--seconds", 2]
        assert run(*words).output == f"{output}: 1 lines were added\n"
    with output.open("rb") as file:
        found = list(read(file, "x"))
    assert [(one.run, one.known, one.features) for one in found] == [
        (name, AccessClass.SHARED_STRIDED, row.features) for name in ("one", "two")
    ]


def test_a_forwarder_that_does_not_answer_is_an_error_in_one_line(tmp_path: Path) -> None:
    for words in (["detect", "/nowhere"], ["record", "/nowhere", "--output", tmp_path / "a"]):
        found = run(*words)
        assert isinstance(found.exception, DetectorError)


@pytest.mark.slow
def test_a_trained_detector_is_written_whole_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reprise.tuner.detection import candidate_detectors, detector_training

    monkeypatch.setattr(detector_training, "METHODS", {"tree": candidate_detectors.fit_tree})
    (tmp_path / "a.jsonl").write_text(text(rows([32 * KIB, 256 * KIB])))
    (tmp_path / "b.jsonl").write_text(text(rows([64 * KIB], seed=2)))
    model = tmp_path / "model.json"
    words = ["train", tmp_path / "a.jsonl", "--validation", tmp_path / "b.jsonl", "--output", model]
    found = run(*words)
    assert found.exit_code == 0, found.output
    assert found.output.splitlines()[0].startswith("detector") and f"{model}: the detector " in found.output
    shown = json.loads(run("detect", tmp_path / "b.jsonl", "--detector", model, "--json").output)
    assert sum(one["right"] for one in shown["patterns"]) == 96
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl", "model.json"]
    content = json.loads(run(*words, "--json").output)
    assert [one["detector"] for one in content["detectors"]] == ["tree", "tree relative"] and content["file"] == str(
        model
    )


def test_missing_files_and_classes_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(text(rows([32 * KIB])))
    (tmp_path / "one.jsonl").write_text(text([row for row in rows([KIB]) if row.known is AccessClass.INDIVIDUAL]))
    model = tmp_path / "model.json"
    for training, validation in (("none", "a.jsonl"), ("one.jsonl", "a.jsonl"), ("a.jsonl", "one.jsonl")):
        found = run("train", tmp_path / training, "--validation", tmp_path / validation, "--output", model)
        assert found.exit_code != 0 and not model.exists()
