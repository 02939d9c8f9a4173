# SPDX-License-Identifier: Apache-2.0
"""File of a detector. It is JSON, so that reading it executes nothing, and its numbers are checked.

`version` is that of the form. `scores` has either trees or a network, with the values in `detector_scores.py`. `ranges`
has, for each class, a pair of bounds for each input.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError, model_validator

from reprise.config import Section, first_problem
from reprise.matcher.council.pattern_detector import AccessClass
from reprise.matcher.detection.detector_inputs import INPUTS
from reprise.matcher.detection.detector_scores import LEAF, Layer, Network, Scores, Tree, Trees
from reprise.matcher.detection.learned_detector import LearnedDetector
from reprise.matcher.errors import DetectorError

VERSION = 1
SHIPPED = Path(__file__).parent / "models" / "detector.json"
LARGEST = 2**24
"""Maximum size of a file in bytes. A forest of 500 trees takes a hundredth; the cap keeps a wrong file from filling the
memory."""

Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e300, le=1e300)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=1e300)]
Numbers = tuple[Number, ...]
Index = Annotated[int, Field(strict=True, ge=LEAF, le=10**6)]


class _Tree(Section):
    inputs: tuple[Index, ...] = Field(min_length=1)
    thresholds: Numbers
    below: tuple[Index, ...]
    above: tuple[Index, ...]
    values: tuple[Numbers, ...]

    @model_validator(mode="after")
    def _ends(self) -> _Tree:
        """Check that all paths end at a leaf: each node comes behind its parent."""
        count = len(self.inputs)
        if any(len(one) != count for one in (self.thresholds, self.below, self.above, self.values)):
            raise ValueError("the lists of a tree have different lengths")
        for node, index in enumerate(self.inputs):
            if index != LEAF and not all(node < child < count for child in (self.below[node], self.above[node])):
                raise ValueError(f"node {node} of a tree has no place for its children")
        return self

    def fits(self, inputs: int, classes: int, *, add: bool) -> bool:
        leaves = [values for index, values in zip(self.inputs, self.values, strict=True) if index == LEAF]
        return max(self.inputs) < inputs and all(
            len(values) == classes and (add or (min(values) >= 0 and sum(values) > 0)) for values in leaves
        )

    def tree(self) -> Tree:
        return Tree(self.inputs, self.thresholds, self.below, self.above, self.values)


class _Trees(Section):
    kind: Literal["trees"]
    add: bool
    trees: tuple[_Tree, ...] = Field(min_length=1, max_length=2000)

    def fits(self, inputs: int, classes: int) -> bool:
        return all(tree.fits(inputs, classes, add=self.add) for tree in self.trees)

    def scores(self) -> Scores:
        return Trees([tree.tree() for tree in self.trees], self.add)


class _Layer(Section):
    weights: tuple[Numbers, ...] = Field(min_length=1, max_length=1000)
    biases: Numbers


class _Network(Section):
    kind: Literal["network"]
    powers: Numbers
    means: Numbers
    scales: tuple[Positive, ...]
    layers: tuple[_Layer, ...] = Field(min_length=1, max_length=10)

    def fits(self, inputs: int, classes: int) -> bool:
        width = inputs
        for layer in self.layers:
            if any(len(row) != width for row in layer.weights) or len(layer.biases) != len(layer.weights):
                return False
            width = len(layer.weights)
        return width == classes and all(len(one) == inputs for one in (self.powers, self.means, self.scales))

    def scores(self) -> Scores:
        layers = [Layer(layer.weights, layer.biases) for layer in self.layers]
        return Network(self.powers, self.means, self.scales, layers)


class _File(Section):
    version: Literal[1]
    name: Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[\w -]+$")]
    inputs: tuple[str, ...] = Field(min_length=1, max_length=len(INPUTS))
    classes: tuple[AccessClass, ...]
    scores: _Trees | _Network = Field(discriminator="kind")
    temperature: float = Field(strict=True, ge=0.01, le=100)
    least_probability: float = Field(strict=True, ge=0, le=1)
    ranges: dict[AccessClass, tuple[tuple[Number, Number], ...]]
    evidence: dict[str, Any]

    @model_validator(mode="after")
    def _fits_together(self) -> _File:
        if unknown := [name for name in self.inputs if name not in INPUTS]:
            raise ValueError(f"unknown input {unknown[0]!r}; known are {', '.join(INPUTS)}")
        if sorted(self.classes) != sorted(AccessClass) or set(self.ranges) != set(AccessClass):
            raise ValueError("classes and ranges must have each class once")
        if any(len(of_class) != len(self.inputs) for of_class in self.ranges.values()):
            raise ValueError("ranges must have a pair of numbers for each input")
        if not self.scores.fits(len(self.inputs), len(self.classes)):
            raise ValueError("scores do not fit the inputs and classes")
        return self


def parse(text: bytes | str, name: str) -> LearnedDetector:
    """Return the detector in the text of a file called `name`. Raise DetectorError with one line if it is invalid."""
    try:
        found = _File.model_validate_json(text)
    except ValidationError as error:
        raise DetectorError(
            f"{name}: {first_problem(error, _File)}; train a new detector, or use the one of Reprise"
        ) from error
    ranges = {one: found.ranges[one] for one in found.classes}
    return LearnedDetector(
        found.name,
        found.inputs,
        found.classes,
        found.scores.scores(),
        found.temperature,
        found.least_probability,
        ranges,
        found.evidence,
    )


def read(path: Path = SHIPPED) -> LearnedDetector:
    """Return the detector in a file, by default the one of Reprise. Raise DetectorError with one line."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
    except OSError as error:
        raise DetectorError(f"{path}: cannot be read ({error.strerror}): give the file of a detector") from error
    if len(text) > LARGEST:
        raise DetectorError(f"{path}: is larger than {LARGEST} bytes: give the file of a detector")
    return parse(text, str(path))


def text_of(detector: LearnedDetector) -> str:
    """Return the text of a detector's file."""
    of = detector.scores
    scores = {"kind": "trees" if isinstance(of, Trees) else "network", **asdict(of)}  # type: ignore[call-overload]
    content: Mapping[str, Any] = {
        "version": VERSION,
        "name": detector.name,
        "inputs": list(detector.inputs),
        "classes": list(detector.classes),
        "temperature": detector.temperature,
        "least_probability": detector.least,
        "ranges": {one: [list(pair) for pair in pairs] for one, pairs in detector.ranges.items()},
        "evidence": dict(detector.evidence),
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in {**content, "scores": scores}.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
