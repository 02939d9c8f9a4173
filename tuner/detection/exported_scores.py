# SPDX-License-Identifier: Apache-2.0
"""Models of scikit-learn and xgboost as scores that need neither library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from reprise.matcher.council.pattern_detector import AccessClass
from reprise.matcher.detection.detector_scores import LEAF, Layer, Network, Tree, Trees


def forest(trees: Sequence[Any]) -> Trees:
    """Return fitted decision trees of scikit-learn as one forest.

    The share of a class at a leaf is (rows of the class + 1) / (rows + classes), so that a leaf with few rows is not
    certain.
    """
    return Trees([_tree(one.tree_) for one in trees], add=False)


def _tree(of: Any) -> Tree:
    is_leaf = of.children_left == LEAF
    values = []
    for leaf, shares, rows in zip(is_leaf, of.value[:, 0, :], of.weighted_n_node_samples, strict=True):
        counts = shares / shares.sum() * rows
        values.append([float(count) for count in (counts + 1) / (rows + len(counts))] if leaf else [])
    return Tree(
        inputs=np.where(is_leaf, LEAF, of.feature).tolist(),
        thresholds=np.where(is_leaf, 0.0, of.threshold).tolist(),
        below=of.children_left.tolist(),
        above=of.children_right.tolist(),
        values=values,
    )


def network(powers: Any, scaler: Any, model: Any) -> Network:
    """Return a fitted PowerTransformer, StandardScaler and MLPClassifier."""
    layers = [
        Layer(weights.T.tolist(), biases.tolist())
        for weights, biases in zip(model.coefs_, model.intercepts_, strict=True)
    ]
    return Network(powers.lambdas_.tolist(), scaler.mean_.tolist(), scaler.scale_.tolist(), layers)


def boosted_trees(model: Any) -> Trees:
    """Return a fitted XGBClassifier, whose trees add to the score of one class each in turn."""
    dumped = model.get_booster().get_dump(dump_format="json")
    count = len(AccessClass)
    return Trees([_boosted(json.loads(text), number % count, count) for number, text in enumerate(dumped)], add=True)


def _boosted(root: Mapping[str, Any], of_class: int, classes: int) -> Tree:
    nodes = list(_nodes(root))
    place = {node["nodeid"]: index for index, node in enumerate(nodes)}

    def children(name: str) -> list[int]:
        return [place[node[name]] if name in node else LEAF for node in nodes]

    def value(node: Mapping[str, Any]) -> list[float]:
        return [node["leaf"] if one == of_class else 0.0 for one in range(classes)] if "leaf" in node else []

    return Tree(
        inputs=[int(node["split"].removeprefix("f")) if "split" in node else LEAF for node in nodes],
        thresholds=[_below(node["split_condition"]) if "split" in node else 0.0 for node in nodes],
        below=children("yes"),
        above=children("no"),
        values=[value(node) for node in nodes],
    )


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("children", ()):
        yield from _nodes(child)


def _below(threshold: float) -> float:
    """Return the largest number of 32 bits below a threshold, since xgboost's inputs must be less than it."""
    return float(np.nextafter(np.float32(threshold), np.float32(-np.inf)))
