# SPDX-License-Identifier: Apache-2.0
"""Scores of classes by trees or by a neural network: logarithms of probabilities, up to a constant.

They are computed in plain Python, because a label must not cost the import of a library, and takes a millisecond.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

LEAF = -1
SMALLEST = 1e-9
"""Smallest probability, so that its logarithm is finite."""


class Scores(Protocol):
    """Part of a detector that computes a score for each class."""

    def scores(self, values: Sequence[float]) -> list[float]:
        """Return the classes' scores for the values of the inputs."""


@dataclass(frozen=True)
class Tree:
    """A tree with a list entry for each node; the first node is the root.

    `inputs` is the index of the input that is compared, or `LEAF`. If the input is at most the threshold, `below` is
    the next node, and otherwise `above`. `values` has a number for each class at leaves, and is empty elsewhere.
    """

    inputs: Sequence[int]
    thresholds: Sequence[float]
    below: Sequence[int]
    above: Sequence[int]
    values: Sequence[Sequence[float]]

    def leaf(self, values: Sequence[float]) -> Sequence[float]:
        """Return the numbers at the leaf of some inputs."""
        node = 0
        while (index := self.inputs[node]) != LEAF:
            node = self.below[node] if values[index] <= self.thresholds[node] else self.above[node]
        return self.values[node]


@dataclass(frozen=True)
class Trees:
    """One or more trees. If `add`, scores are the sums of the leaves' numbers; otherwise leaves have probabilities."""

    trees: Sequence[Tree]
    add: bool

    def scores(self, values: Sequence[float]) -> list[float]:
        """Return the classes' scores for the values of the inputs."""
        totals = [math.fsum(numbers) for numbers in zip(*(tree.leaf(values) for tree in self.trees), strict=True)]
        return totals if self.add else [math.log(max(total / len(self.trees), SMALLEST)) for total in totals]


@dataclass(frozen=True)
class Layer:
    """A layer of a neural network: a row of weights, and a bias, for each of its units."""

    weights: Sequence[Sequence[float]]
    biases: Sequence[float]


@dataclass(frozen=True)
class Network:
    """A neural network with rectified linear units.

    Each input is made symmetric by the transformation of Yeo and Johnson (2000) with its `power`; then its `mean` is
    subtracted, and the result is divided by its `scale`.
    """

    powers: Sequence[float]
    means: Sequence[float]
    scales: Sequence[float]
    layers: Sequence[Layer]

    def scores(self, values: Sequence[float]) -> list[float]:
        """Return the classes' scores for the values of the inputs."""
        found = [
            (yeo_johnson(value, power) - mean) / scale
            for value, power, mean, scale in zip(values, self.powers, self.means, self.scales, strict=True)
        ]
        for index, layer in enumerate(self.layers):
            if index:
                found = [max(0.0, value) for value in found]
            found = [
                bias + math.fsum(weight * value for weight, value in zip(row, found, strict=True))
                for row, bias in zip(layer.weights, layer.biases, strict=True)
            ]
        return found


def yeo_johnson(value: float, power: float) -> float:
    """Return the transformation of a value (Yeo and Johnson 2000)."""
    if value >= 0:
        return math.log1p(value) if power == 0 else math.expm1(power * math.log1p(value)) / power
    if power == 2:
        return -math.log1p(-value)
    return -math.expm1((2 - power) * math.log1p(-value)) / (2 - power)


def probabilities(scores: Sequence[float], temperature: float) -> list[float]:
    """Return the classes' probabilities; a larger temperature makes them more equal (Guo et al. 2017)."""
    largest = max(scores)
    weights = [math.exp((score - largest) / temperature) for score in scores]
    return [weight / sum(weights) for weight in weights]
