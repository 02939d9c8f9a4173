# SPDX-License-Identifier: Apache-2.0
"""Test that the file of a detector is read as it was written, and refused in one line if it is invalid."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reprise.matcher.detection.detector_file import LARGEST, parse, read, text_of
from reprise.matcher.detection.detector_scores import Layer, Network, Trees
from reprise.matcher.errors import DetectorError
from tests.unit.detection_values import detector

NETWORK = Network([1.0, 0.5], [0.0, 1.0], [1.0, 2.0], [Layer([[1.0, 2.0]] * 3, [0.1, 0.2, 0.3])])


def lists(value: Any) -> Any:
    """Return a value with lists in place of tuples."""
    return json.loads(json.dumps(value, default=vars))


def test_a_detector_is_read_as_it_was_written() -> None:
    for written in (detector(), replace(detector(), scores=NETWORK)):
        found = parse(text_of(written), "x")
        assert lists(vars(found)) == lists(vars(written))
        assert type(found.scores) is type(written.scores)


def changed(change: Callable[[dict[str, Any]], Any]) -> str:
    content = json.loads(text_of(detector()))
    change(content)
    return json.dumps(content)


def tree(key: str, value: Any) -> str:
    return changed(lambda content: content["scores"]["trees"][0].__setitem__(key, value))


def network(key: str, value: Any) -> str:
    scores = {"kind": "network", **lists(vars(NETWORK)), key: value}
    return changed(lambda content: content.__setitem__("scores", scores))


def key(name: str, value: Any) -> str:
    return changed(lambda content: content.__setitem__(name, value))


RANGES = json.loads(text_of(detector()))["ranges"]
FPP = "individual"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "JSON"),
        (b"\xff\xfe", "JSON"),
        (pickle.dumps({"version": 1}), "JSON"),
        ("[" * 100_000, "JSON"),
        ("[]", "object"),
        (key("version", 2), "'version'"),
        (key("more", 2), "unknown setting 'more'"),
        (changed(lambda content: content.pop("scores")), "'scores' is missing"),
        (key("name", "a\nb"), "'name'"),
        (key("name", ""), "'name'"),
        (key("inputs", []), "'inputs'"),
        (key("inputs", ["log2_files", "os.system"]), "unknown input 'os.system'"),
        (key("inputs", ["log2_files"]), "ranges must have a pair"),
        (key("classes", [FPP] * 3), "each class once"),
        (key("classes", [FPP, "random"]), "'classes"),
        (key("temperature", 0), "'temperature'"),
        (key("temperature", "1"), "'temperature'"),
        (key("least_probability", 1.1), "'least_probability'"),
        (key("ranges", {FPP: RANGES[FPP]}), "each class once"),
        (key("ranges", {**RANGES, FPP: [[0, 1]]}), "ranges must have a pair"),
        (key("ranges", {**RANGES, FPP: [[0]] * 2}), "'ranges"),
        (key("scores", {"kind": "python", "code": "1"}), "'scores'"),
        (key("evidence", []), "'evidence'"),
        (tree("inputs", []), "inputs'"),
        (tree("inputs", [0, 1, -1, -1]), "different lengths"),
        (tree("inputs", [0, 2, -1, -1, -1]), "do not fit"),
        (tree("inputs", [0, -2, -1, -1, -1]), "inputs"),
        (tree("thresholds", [0.5, None, 0, 0, 0]), "thresholds"),
        (tree("thresholds", [0.5, 1e999, 0, 0, 0]), "thresholds"),
        (tree("below", [0, 3, -1, -1, -1]), "no place for its children"),
        (tree("below", [1, 0, -1, -1, -1]), "no place for its children"),
        (tree("above", [2, 5, -1, -1, -1]), "no place for its children"),
        (tree("values", [[], [], [1, 0], [1, 0, 0], [1, 0, 0]]), "do not fit"),
        (tree("values", [[], [], [-1, 1, 1], [1, 0, 0], [1, 0, 0]]), "do not fit"),
        (tree("values", [[], [], [0, 0, 0], [1, 0, 0], [1, 0, 0]]), "do not fit"),
        (network("layers", []), "layers"),
        (network("layers", [{"weights": [[1, 2]] * 2, "biases": [0, 0]}]), "do not fit"),
        (network("layers", [{"weights": [[1, 2, 3]] * 3, "biases": [0, 0, 0]}]), "do not fit"),
        (network("layers", [{"weights": [[1, 2]] * 3, "biases": [0, 0]}]), "do not fit"),
        (network("scales", [1, 0]), "scales"),
        (network("powers", [1]), "do not fit"),
    ],
)
def test_an_invalid_file_is_refused_in_one_line(text: bytes | str, words: str) -> None:
    with pytest.raises(DetectorError) as raised:
        parse(text, "a.json")
    message = str(raised.value)
    assert message.startswith("a.json: ") and words in message and "\n" not in message and len(message) < 600


def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(LARGEST + 1)
    for path, words in ((large, "is larger than"), (tmp_path, "cannot be read"), (tmp_path / "none", "cannot be read")):
        with pytest.raises(DetectorError) as raised:
            read(path)
        assert str(raised.value).startswith(f"{path}: {words}")


def test_trees_and_sums_of_trees_are_told_apart() -> None:
    content = json.loads(text_of(detector()))
    content["scores"]["add"] = True
    content["scores"]["trees"][0]["values"][2:] = [[-3.0, 1.0, 2.0]] * 3  # no probabilities
    scores = parse(json.dumps(content), "x").scores
    assert isinstance(scores, Trees) and scores.scores([0.0, 0.0]) == [-3.0, 1.0, 2.0]
